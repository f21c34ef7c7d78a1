package penstock

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var importsOurs = regexp.MustCompile(`(?m)^\s*(?:\w+ )?"(penstock(?:/[^"]*)?)"$`)

// A module of its own that imports packages of Penstock requires the modules that those packages import, with checksums. Its own
// commands, such as make bench, do not build otherwise, and they are not part of make test.
func TestOtherModulesKnowOurDependencies(t *testing.T) {
	t.Parallel()
	for module, pattern := range map[string]string{"deploy/check": "*.go", "bench": "*/*.go"} {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
			if err != nil {
				t.Fatal(err)
			}
			required, err := os.ReadFile(filepath.Join(module, "go.mod"))
			if err != nil {
				t.Fatal(err)
			}
			for path := range dependenciesOf(t, filepath.Join(module, pattern)) {
				if known := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(path) + ` v[^/ ]+ h1:`); !known.Match(sums) {
					t.Errorf("%s/go.sum has no checksum of %s; run go mod tidy in %s", module, path, module)
				}
				if !strings.Contains(string(required), path+" v") {
					t.Errorf("%s/go.mod does not require %s; run go build -mod=mod ./... in %s", module, path, module)
				}
			}
		})
	}
}

// dependenciesOf returns the modules of others behind the packages of Penstock that some files import.
func dependenciesOf(t *testing.T, files string) map[string]bool {
	t.Helper()
	names, err := filepath.Glob(files)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", files, err)
	}
	command := []string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range importsOurs.FindAllSubmatch(text, -1) {
			if path := string(found[1]); !strings.HasPrefix(path, "penstock/bench") {
				command = append(command, path)
			}
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", command...).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := make(map[string]bool)
	for path := range strings.FieldsSeq(string(out)) {
		modules[path] = true
	}
	if len(modules) == 0 {
		t.Fatalf("%s imports no package of Penstock that has a dependency", files)
	}
	return modules
}
