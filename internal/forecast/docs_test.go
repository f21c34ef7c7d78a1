package forecast

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const capacityPage = "../../docs/how-to/size-a-machine.md"

// block is a part of the page that is made from a scenario: its name, what the scenario's file was, and the
// result.
var block = regexp.MustCompile(`(?s)<!-- forecast ([a-z-]+) of ([0-9a-f]+) -->\n(.*?)<!-- end -->`)

// whole says whether scenarios that take a minute are played too.
func whole() bool { return os.Getenv("PENSTOCK_FORECAST_WHOLE") != "" }

// TestDocsShowWhatScenariosComeTo keeps the page true: -update writes it. What takes too long for every run
// is played when PENSTOCK_FORECAST_WHOLE is set; else its file must be the one that was played.
func TestDocsShowWhatScenariosComeTo(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(capacityPage)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	made := block.ReplaceAllStringFunc(string(page), func(old string) string {
		part := block.FindStringSubmatch(old)
		name := part[1]
		shown = append(shown, name)
		file, err := os.ReadFile(filepath.Join(scenarios, name+".yaml"))
		if err != nil {
			t.Error(err)
			return old
		}
		hash := fmt.Sprintf("%x", sha256.Sum256(file))[:12]
		if name == "hundredfold" && !whole() {
			if part[2] != hash {
				t.Errorf("%s.yaml is not what was played; run: make docs", name)
			}
			return old
		}
		r := play(t, load(t, name))
		if name == "hundredfold" {
			checkHundredfold(t, r, 100_000)
		}
		return fmt.Sprintf("<!-- forecast %s of %s -->\n%s<!-- end -->", name, hash, markdown(name, r))
	})
	files, err := filepath.Glob(filepath.Join(scenarios, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".yaml"); !slices.Contains(shown, name) {
			t.Errorf("the page does not show %s", name)
		}
	}
	switch {
	case made == string(page):
	case *update:
		if err := os.WriteFile(capacityPage, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/how-to/size-a-machine.md is not what the scenarios show; run: make docs")
	}
}

// markdown writes a result as the page shows it.
func markdown(name string, r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ([%s.yaml](scenarios/%s.yaml))\n\n", r.About, name, name)
	fmt.Fprintf(&b, "%s\n", r.Summary())
	for _, table := range r.Tables() {
		rows := append([][]string{table.Header, slices.Repeat([]string{"---"}, len(table.Header))}, table.Rows...)
		b.WriteString("\n")
		for _, row := range rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return b.String()
}
