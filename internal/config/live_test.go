package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lines(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.String())
	}
	return out
}

func TestReloadSwapsAndTellsWhatChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "penstock.yaml")
	vars := map[string]string{"OPENAI_API_KEY": openAIKey, "SEARCH_KEY": searchKey, "OTHER_KEY": adminKey}
	env := envOf(vars)
	write(t, file, fixture(t, "small.good.yaml"))
	first, err := Load(file, env)
	if err != nil {
		t.Fatal(err)
	}
	live := NewLive(first)

	vars["OPENAI_API_KEY"] = "sk-rotated"
	write(t, file, fixture(t, "reload.good.yaml"))
	changes, err := live.Reload(file, env)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"listen: 127.0.0.1:8080 → 127.0.0.1:8081 (takes effect at the next start)",
		"models.fast: removed",
		"models.slow: added",
		"providers.local: added",
		"providers.openai.api_key: changed",
		"targets.openai-mini.price.audio_input: 0.15 → 1",
		"targets.openai-mini.price.audio_output: 0.6 → 2",
		"targets.openai-mini.price.cache_write: 0.15 → 1",
		"targets.openai-mini.price.cache_write_1h: 0.15 → 1",
		"targets.openai-mini.price.cached_input: 0.075 → 1",
		"targets.openai-mini.price.input: 0.15 → 1",
		"targets.openai-mini.price.output: 0.6 → 2",
		"targets.openai-mini.price.reasoning: 0.6 → 2",
		"targets.openai-mini.region: nothing → eu",
		`targets["gpt-4.1"]: added`,
		"tenants.search.keys.added: added",
		"tenants.search.keys.app.scopes: [inference jobs:write jobs:read webhooks prompts:read prompt… → [inference]",
		"tenants.search.weight: 1 → 2",
		"work.slots: 64 → 8 (takes effect at the next start)",
	}
	if diff := cmp.Diff(want, lines(changes)); diff != "" {
		t.Errorf("changes (-want +got)\n%s", diff)
	}
	now := live.Current()
	if now.Hash == first.Hash || now.Targets["openai-mini"].PriceVersion != now.Hash {
		t.Errorf("hash %s, price version %s", now.Hash, now.Targets["openai-mini"].PriceVersion)
	}
	if got := now.Providers["openai"].APIKey.Reveal(); got != "sk-rotated" {
		t.Errorf("api key = %q", got)
	}
	if now.Process.Work.Slots != 64 {
		t.Error("a reload changed the settings of the process")
	}
	if shown, _ := now.YAML(); !strings.Contains(string(shown), "slots: 64") {
		t.Error("the effective configuration does not show what applies")
	}

	again, err := live.Reload(file, env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{want[0], want[len(want)-1]}, lines(again)); diff != "" {
		t.Errorf("what waits for a restart must be told again (-want +got)\n%s", diff)
	}
}

func TestReloadKeepsTheOldWhenTheNewIsWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "penstock.yaml")
	first := parseGood(t, fixture(t, "small.good.yaml"), testEnv(t))
	live := NewLive(first)
	write(t, file, "models: {fast: {targets: [none]}}")
	_, err := live.Reload(file, noEnv)
	if _, ok := errors.AsType[Problems](err); !ok {
		t.Errorf("want Problems, got %v", err)
	}
	if live.Current() != first {
		t.Error("a wrong file replaced the snapshot")
	}
}

func TestLiveIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	a := parseGood(t, fixture(t, "small.good.yaml"), testEnv(t))
	b := parseGood(t, fixture(t, "full.good.yaml"), testEnv(t))
	live := NewLive(a)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				live.Swap(b)
				live.Swap(a)
			}
		})
		wg.Go(func() {
			for range 500 {
				s := live.Current()
				if m, ok := s.Model("fast"); !ok || !strings.HasPrefix(s.Targets[m.Targets[0]].PriceVersion, s.Hash) {
					t.Error("a reader saw parts of two snapshots")
				}
			}
		})
	}
	wg.Wait()
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	known := []string{"listen", "limits", "providers", "targets", "log"}
	for _, tt := range []struct{ name, want string }{
		{"lisen", `; did you mean "listen"?`},
		{"lsiten", `; did you mean "listen"?`},
		{"limit", `; did you mean "limits"?`},
		{"provider", `; did you mean "providers"?`},
		{"lgo", `; did you mean "log"?`},
		{"a", ""},
		{"entirely_else", ""},
		{strings.Repeat("x", 1000), ""},
	} {
		if got := suggest(tt.name, known); got != tt.want {
			t.Errorf("suggest(%.20q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPathsAreUnambiguous(t *testing.T) {
	t.Parallel()
	targets := path("targets")
	if a, b := targets.key("a.price"), targets.key("a").key("price"); a == b {
		t.Errorf("two values share the path %s", a)
	}
	for p, want := range map[path]path{
		"a.b.c": "a.b", "a.b[0]": "a.b", `a["x.y"]`: `a["x`, "a": "",
	} {
		if got := p.parent(); got != want {
			t.Errorf("parent(%s) = %q, want %q", p, got, want)
		}
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	t.Parallel()
	many := make(Problems, maxShownProblems+5)
	for i := range many {
		many[i] = Problem{Path: "x", Line: i + 1, Column: 1, Message: "is wrong"}
	}
	text := many.Error()
	if !strings.HasSuffix(text, "and 5 more") || strings.Count(text, "is wrong") != maxShownProblems {
		t.Errorf("the text shows %d problems and ends in %q", strings.Count(text, "is wrong"), text[len(text)-20:])
	}
	one := Problems{{Path: "a.b", Line: 3, Column: 7, Message: "is wrong"}}
	if got := one.Error(); got != "1 problem in the configuration:\n  3:7: a.b: is wrong" {
		t.Errorf("Error() = %q", got)
	}
}
