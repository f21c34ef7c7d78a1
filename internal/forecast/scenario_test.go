package forecast

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"penstock/internal/config"
)

// The scenario that the page explains is one.
func TestDocsExplainAScenario(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(capacityPage)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml scenario\n")
	text, _, _ = strings.Cut(text, "```")
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := play(t, s)
	row := r.tenants(t, "backlog")
	if row.Succeeded == 0 || r.Targets[0].Limited == 0 {
		t.Errorf("%d items succeeded and %d calls were refused, although the upstream allows less than is believed", row.Succeeded, r.Targets[0].Limited)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(smallest))
	if err != nil {
		t.Fatal(err)
	}
	if s.Processes.Slots != defaultSlots || s.Seed != 1 || s.Lanes.Realtime != 64 || s.Tenants[0].Lane != "standard" || s.Tenants[0].MaxAttempts != 4 {
		t.Errorf("defaults are %+v", s)
	}
	if l := s.Targets["a"].Upstream.Limits; l.Concurrency != 3 {
		t.Errorf("the upstream enforces %+v, want what is believed", l)
	}
}

const smallest = `
duration: 10s
targets: {a: {limits: {concurrency: 3}}}
models: {m: [a]}
tenants: [{name: t, models: [m], arrivals: {rate: 1}, input_tokens: {fixed: 1}, output_tokens: {fixed: 1}}]
`

// Every problem is reported, with its line and its path.
func TestProblems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		_, err := Load(file)
		problems, ok := errors.AsType[config.Problems](err)
		if !ok {
			t.Errorf("%s: %v, want problems", file, err)
			continue
		}
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.String())
		}
		got, golden := strings.Join(lines, "\n")+"\n", strings.TrimSuffix(file, ".yaml")+".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", file, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(smallest)
	f.Add("duration: [")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse([]byte(text))
		if _, ok := errors.AsType[config.Problems](err); err != nil && !ok {
			t.Errorf("error %v", err)
		}
		if err == nil && (len(s.Tenants) == 0 || len(s.Models) == 0) {
			t.Error("a scenario without a load")
		}
	})
}
