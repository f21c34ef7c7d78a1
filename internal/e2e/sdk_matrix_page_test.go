package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
)

// matrixPage is the page about clients that a run makes.
func matrixPage(t *testing.T, passed map[cell]bool) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Clients

<!-- Made from a run of the clients by ` + "`make docs`" + `. Do not edit. -->

` + "`make test`" + ` runs these clients against the real binary, each on targets of five kinds. The test fails if this page differs from the run. All targets are the
[simulator](simulator.md), which speaks the API of each kind. ` + "`make test`" + ` also runs Google's and AWS's own SDKs against the simulator. No run calls a real vendor.

An initial in a cell is a [kind of target](#kinds-of-targets) on which the client passed the feature. "yes" means that the client passed a feature that calls no target.
"–" means that the run leaves out the feature for this client. [Not run](#not-run) has the reason for each "–" and for each missing initial.

`)
	matrixTable(&b, passed)
	b.WriteString("\n## Kinds of targets\n\n| initial | target |\n|---|---|\n")
	for _, target := range matrixTargets {
		fmt.Fprintf(&b, "| %s | %s |\n", target.initial, target.name)
	}
	b.WriteString("\n## Features\n\n| feature | what a passed run shows |\n|---|---|\n")
	for _, f := range matrixFeatures {
		fmt.Fprintf(&b, "| %s | %s |\n", f.title, f.proves)
	}
	b.WriteString("\n## Versions\n\n| client | packages | |\n|---|---|---|\n")
	versions := clientVersions(t)
	for _, c := range matrixClients {
		var packages []string
		for _, name := range c.uses {
			if versions[name] == "" {
				t.Fatalf("%s has no version in package.json and go.mod", name)
			}
			packages = append(packages, fmt.Sprintf("`%s` %s", name, versions[name]))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.name, strings.Join(packages, ", "), c.way)
	}
	b.WriteString("\n## Settings\n\n| client | how it finds the server |\n|---|---|\n")
	for _, c := range matrixClients {
		fmt.Fprintf(&b, "| %s | %s |\n", c.name, c.set)
	}
	b.WriteString("\n## Not run\n\n| client | feature | target | reason |\n|---|---|---|---|\n")
	for _, e := range matrixExclusions {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cmp.Or(e.client, "all"), featureTitle(e.feature), targetInitial(e.target), e.reason)
	}
	return b.String()
}

// matrixTable writes the cells that passed: a row for each client, a column for each feature.
func matrixTable(b *strings.Builder, passed map[cell]bool) {
	b.WriteString("| client |")
	for _, f := range matrixFeatures {
		fmt.Fprintf(b, " %s |", f.title)
	}
	b.WriteString("\n|" + strings.Repeat("---|", len(matrixFeatures)+1) + "\n")
	for _, c := range matrixClients {
		fmt.Fprintf(b, "| %s |", c.name)
		for _, f := range matrixFeatures {
			var seen []string
			for _, target := range matrixTargets {
				if passed[cell{c.name, f.name, target.model}] {
					seen = append(seen, target.initial)
				}
			}
			if passed[cell{c.name, f.name, ""}] {
				seen = append(seen, "yes")
			}
			fmt.Fprintf(b, " %s |", cmp.Or(strings.Join(seen, " "), "–"))
		}
		b.WriteString("\n")
	}
}

func featureTitle(name string) string {
	for _, f := range matrixFeatures {
		if f.name == name {
			return f.title
		}
	}
	return "all"
}

func targetInitial(model string) string {
	for _, target := range matrixTargets {
		if target.model == model {
			return target.initial
		}
	}
	return "all"
}

var requiredModule = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`)

// clientVersions are the versions that the packages of Node and the modules of Go are pinned to.
func clientVersions(t *testing.T) map[string]string {
	t.Helper()
	var node struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := readManifest(filepath.Join(sdkDir, "package.json"), &node); err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(sdkDir, "go", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := node.Dependencies
	for _, m := range requiredModule.FindAllStringSubmatch(string(module), -1) {
		versions[m[1]] = strings.TrimPrefix(m[2], "v")
	}
	return versions
}

// comparePage holds that a page is the one that a run makes, or writes it.
func comparePage(t *testing.T, path, made string) {
	t.Helper()
	if *updateGolden {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(string(page), made); d != "" {
		t.Errorf("%s differs from the run; run make docs and read the difference (-page +run):\n%s", path, d)
	}
}
