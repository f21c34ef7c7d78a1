package catalogue

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEmbeddedIsValid(t *testing.T) {
	t.Parallel()
	c := Embedded()
	if c.Date == "" || c.Source == "" || len(c.Hash) != 12 || len(c.Entries) < 500 {
		t.Fatalf("date %q, source %q, hash %q, %d entries", c.Date, c.Source, c.Hash, len(c.Entries))
	}
	e, ok := c.Find("openai", "gpt-4o-mini")
	if !ok || e.Price.Input != "0.15" || e.Price.CachedInput != "0.075" || e.Price.Output != "0.6" || e.ContextTokens != 128_000 ||
		!e.Has("tools") || !e.Has("vision") || !e.Has("json_schema") {
		t.Errorf("gpt-4o-mini: %+v", e)
	}
	for _, e := range c.Entries {
		if silent := e.Mode == "embedding" || e.Mode == "rerank" || e.Mode == "moderation"; e.Price.Output == "0" && !silent || e.Price.Input == "0" && e.Price.PerSearch == "" {
			t.Errorf("%s is free: zero means unknown in the source", e.Name())
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	c := Embedded()
	for name, tt := range map[string]struct {
		filter Filter
		want   func(Entry) bool
	}{
		"vendor":       {Filter{Vendor: "anthropic"}, func(e Entry) bool { return e.Vendor == "anthropic" }},
		"mode":         {Filter{Mode: "embedding"}, func(e Entry) bool { return e.Mode == "embedding" }},
		"text":         {Filter{Text: "SONNET"}, func(e Entry) bool { return strings.Contains(e.Name(), "sonnet") }},
		"capabilities": {Filter{Capabilities: []string{"vision", "reasoning"}}, func(e Entry) bool { return e.Has("vision") && e.Has("reasoning") }},
		"context":      {Filter{MinContext: 1_000_000}, func(e Entry) bool { return e.ContextTokens >= 1_000_000 }},
	} {
		got := c.Select(tt.filter)
		want := 0
		for _, e := range c.Entries {
			if tt.want(e) {
				want++
			}
		}
		if len(got) != want || want == 0 || want == len(c.Entries) {
			t.Errorf("%s: %d of %d entries, want %d", name, len(got), len(c.Entries), want)
		}
	}
	if got := c.Select(Filter{}); len(got) != len(c.Entries) {
		t.Errorf("without a filter: %d of %d entries", len(got), len(c.Entries))
	}
}

const head = `{"catalogue":"2026-09-01","source":"a test"}` + "\n"

func TestParseNamesTheLineAndTheFix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            "the file is empty; its first line must be",
		"{}\n":                        "line 1: catalogue must be the day",
		`{"vendor":"x"}` + "\n":       "line 1: the first line must be",
		head + "nonsense\n":           "line 2: not a valid object",
		head + `{"vendor":"a"} {}`:    "line 2: there must be one JSON object on a line",
		head + `{"colour":"red"}`:     "line 2: not a valid object",
		head + `{"vendor":"A"}`:       "line 2: vendor must match",
		head + `{"vendor":"a"}`:       "line 2: model must have",
		head + entry("m", "song", ""): "line 2: mode of a/m must be one of",
		head + entry("m", "chat", `,"price":{"input":"1"}`):              "line 2: price of a/m must have input and output",
		head + entry("m", "chat", `,"price":{"input":"1","output":"x"}`): `line 2: price of a/m: "x" is not a price`,
		head + entry("m", "chat", `,"ends_on":"soon"`):                   "line 2: ends_on of a/m must be a day",
		head + entry("m", "chat", `,"capabilities":["Tools"]`):           "line 2: capabilities of a/m",
		head + entry("m", "chat", `,"context_tokens":-1`):                "line 2: context_tokens and max_output_tokens of a/m",
		head + entry("m", "chat", "") + "\n\n" + entry("m", "chat", ""):  "line 4: a/m is listed twice",
		head + strings.Repeat(" ", MaxFileBytes):                         "larger than",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func entry(model, mode, more string) string {
	return `{"vendor":"a","model":"` + model + `","mode":"` + mode + `"` + more + `}`
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "models.jsonl")
	if err := os.WriteFile(path, []byte(head+entry("m", "chat", `,"ends_on":"2026-10-01"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil || c.Date != "2026-09-01" || c.Source != "a test" {
		t.Fatalf("%+v, %v", c, err)
	}
	e, ok := c.Named("a/m")
	if !ok {
		t.Fatal("a/m is not found")
	}
	for day, want := range map[int]bool{30: false, 31: true, 32: true} { // of September
		if got := e.Ended(time.Date(2026, 9, day, 12, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("September %d: ended is %v", day, got)
		}
	}
	for path, want := range map[string]string{t.TempDir(): "not a regular file", path + "x": "no such file"} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + entry("m", "chat", `,"price":{"input":"1","output":"2"}`)))
	f.Add([]byte(head))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		for _, e := range c.Entries {
			if found, ok := c.Named(e.Name()); !ok || found.Model != e.Model {
				t.Fatalf("%s is not found by its name", e.Name())
			}
		}
	})
}
