package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	searchKey = "psk_search_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	adminKey  = "psk_admin_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	twelveKey = "psk_twelve_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	openAIKey = "sk-openai-secret"
)

// testEnv is the environment that the fixtures were written for.
func testEnv(t testing.TB) Env {
	secrets := t.TempDir()
	for name, text := range map[string]string{"resold": "sk-resold-secret\n", "admin": adminKey + "\r\n"} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return envOf(map[string]string{
		"OPENAI_API_KEY": openAIKey,
		"SEARCH_KEY":     searchKey,
		"TWELVE_KEY":     twelveKey,
		"METRICS_KEY":    "fW8yJq3tKb0+XzNs5cPv7hRmDgA2eLu9",
		"OPERATOR_KEY":   "c0RbXq7Lw2+ZtV9kD4nHsUeYpGm1iJ8f",
		"OTHER_KEY":      "psk_other_7gq2xk9dmw4ztfv8hsb3rnj6cp",
		"DB_PASSWORD":    "db-secret",
		"SECRETS":        secrets,
		"SLOTS":          "128",
		"REGION":         "eu-west-1",
		"NOT_A_URL":      "mysql://literal-secret@db",
		"SHORT":          "fifteen-charact",
		"WITH_SPACE":     "psk with spaces in it",
		"WITH_NEWLINE":   "sk-1\nx-evil: 1",
		"EMPTY":          "",
	})
}

func envOf(vars map[string]string) Env {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func noEnv(string) (string, bool) { return "", false }

func parseGood(t testing.TB, text string, env Env) *Snapshot {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fixture(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it\n%s", file, diff)
	}
}

func fixtures(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures match %s: %v", pattern, err)
	}
	return files
}

func TestGoodFiles(t *testing.T) {
	t.Parallel()
	for _, file := range fixtures(t, "*.good.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			s, err := Load(file, testEnv(t))
			if err != nil {
				t.Fatal(err)
			}
			shown, err := s.YAML()
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s\n%s\n\n%s", s.Hash, s.Body, shown)
			golden(t, strings.TrimSuffix(filepath.Base(file), ".yaml")+".golden", got)
		})
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, file := range fixtures(t, "*.bad.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			_, err := Load(file, testEnv(t))
			problems, ok := errors.AsType[Problems](err)
			if !ok {
				t.Fatalf("want Problems, got %v", err)
			}
			if strings.Contains(err.Error(), "literal-secret") {
				t.Errorf("the error shows a secret:\n%v", err)
			}
			var lines strings.Builder
			for _, p := range problems {
				fmt.Fprintln(&lines, p)
			}
			golden(t, strings.TrimSuffix(filepath.Base(file), ".yaml")+".golden", lines.String())
		})
	}
}

func TestSnapshotHoldsWhatTheFileSays(t *testing.T) {
	t.Parallel()
	s := parseGood(t, fixture(t, "full.good.yaml"), testEnv(t))

	wantTarget := penstock.Target{
		Name: "resold-mini", Provider: "resold", Vendor: "openai at llm.example", UpstreamModel: "gpt-4o-mini", PriceVersion: s.Hash,
		Price:           penstock.Price{Input: 200_000, CachedInput: 200_000, CacheWrite: 200_000, CacheWrite1h: 200_000, AudioInput: 200_000, Output: 1_000_000, Reasoning: 1_000_000, AudioOutput: 1_000_000},
		MaxOutputTokens: 4096, Quality: 0.5, FreeCachedInput: true, Private: true,
		Lacks:          penstock.NewCapabilities(penstock.CapabilityVision, penstock.CapabilityJSONSchema, penstock.CapabilityRerank),
		Batching:       penstock.Batching{MaxInputs: 256, MaxTokens: DefaultBatchTokens},
		ConnectTimeout: 2 * time.Second, FirstTokenTimeout: 30 * time.Second,
		IdleTimeout: 20 * time.Second, TotalTimeout: 5 * time.Minute,
	}
	if diff := cmp.Diff(&wantTarget, s.Targets["resold-mini"]); diff != "" {
		t.Errorf("target (-want +got)\n%s", diff)
	}
	for name, want := range map[string]penstock.Model{
		"spread": {Policy: penstock.PolicyWeighted, Weights: map[string]int{"openai-mini": 3, "resold-mini": 1}},
		"best":   {Policy: penstock.PolicyScored, Score: penstock.ScoreWeights{Cost: 2, Latency: 1, Quality: 0.5}},
		"cheap":  {Policy: penstock.PolicyCheapest, Score: penstock.ScoreWeights{Cost: 1}},
		"quick":  {Policy: penstock.PolicyFastest, Score: penstock.ScoreWeights{Latency: 1}},
	} {
		want.Name, want.Targets, want.Definition = name, []string{"openai-mini", "resold-mini"}, s.Models[name].Definition
		if diff := cmp.Diff(want, s.Models[name]); diff != "" {
			t.Errorf("model %s (-want +got)\n%s", name, diff)
		}
	}
	wantModel := penstock.Model{Name: "fast", Policy: "ordered", Targets: []string{"openai-mini", "resold-mini"}, CacheTTL: 10 * time.Minute,
		Definition: s.Models["fast"].Definition}
	if diff := cmp.Diff(wantModel, s.Models["fast"]); diff != "" {
		t.Errorf("model (-want +got)\n%s", diff)
	}
	wantTenant := penstock.Tenant{ID: "search", Weight: 3, Lanes: []penstock.Lane{"realtime", "bulk"}, Retention: hours(24, 24, 72),
		Regions: []string{"eu", "us"}, Models: []string{"fast", "quick"}, Tier: "gold"}
	if diff := cmp.Diff(wantTenant, s.Tenants["search"]); diff != "" {
		t.Errorf("tenant (-want +got)\n%s", diff)
	}
	if got := s.Providers["resold"].APIKey.Reveal(); got != "sk-resold-secret" {
		t.Errorf("secret from a file = %q", got)
	}
	if got := s.Process.Database.Reveal(); got != "postgres://penstock:db-secret@db:5432/penstock" {
		t.Errorf("database = %q", got)
	}
	if s.Process.Work.Slots != 128 {
		t.Errorf("slots = %d, want what the environment says", s.Process.Work.Slots)
	}
}

func TestDefaultsYieldToWhatIsWrittenAroundThem(t *testing.T) {
	t.Parallel()
	s, err := NewSnapshot(File{
		Process:   Process{Work: Work{LeaseTimeout: 200 * time.Millisecond}},
		Providers: map[string]ProviderConfig{"p": {Kind: KindOpenAI}},
		Targets: map[string]TargetConfig{
			"t": {Provider: "p", UpstreamModel: "m", Timeouts: Timeouts{Total: 3 * time.Second}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Process.Work.PollInterval; got != 100*time.Millisecond {
		t.Errorf("poll interval = %v, want half of the lease timeout", got)
	}
	target := s.Targets["t"]
	for name, got := range map[string]time.Duration{
		"connect": target.ConnectTimeout, "first token": target.FirstTokenTimeout, "idle": target.IdleTimeout,
	} {
		if got != 3*time.Second {
			t.Errorf("%s timeout = %v, want the total", name, got)
		}
	}
}

func TestNewSnapshotValidatesAndCopies(t *testing.T) {
	t.Parallel()
	file := File{Models: map[string]ModelConfig{"m": {Targets: []string{"t"}}}}
	_, err := NewSnapshot(file)
	problems, _ := errors.AsType[Problems](err)
	want := Problems{{Path: "models.m.targets[0]", Message: `"t" is not one of targets`}}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}

	file.Providers = map[string]ProviderConfig{"p": {Kind: KindOpenAI}}
	file.Targets = map[string]TargetConfig{"t": {Provider: "p", UpstreamModel: "x"}}
	file.Tenants = map[string]TenantConfig{"demo": {Keys: []KeyConfig{{Name: "k", Secret: NewSecret(searchKey)}}}}
	s, err := NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	if file.Targets["t"].MaxOutputTokens != 0 || file.Tenants["demo"].Keys[0].Secret.Reveal() != searchKey {
		t.Error("NewSnapshot changed the file it was given")
	}
	file.Models["m"].Targets[0] = "changed"
	if got := s.Models["m"].Targets[0]; got != "t" {
		t.Errorf("changing the file changed the snapshot: %q", got)
	}
}

func TestEnvironmentWinsOverFile(t *testing.T) {
	t.Parallel()
	text := "listen: 127.0.0.1:1\ndata: /a\n"
	s := parseGood(t, text, envOf(map[string]string{
		"PENSTOCK_LISTEN": "127.0.0.1:2", "PENSTOCK_ADMIN_LISTEN": "127.0.0.1:3", "PENSTOCK_DATA": "", "PENSTOCK_DATABASE_URL": "postgres://db/x",
	}))
	if s.Process.Listen != "127.0.0.1:2" {
		t.Errorf("listen = %q", s.Process.Listen)
	}
	if s.Process.AdminListen != "127.0.0.1:3" {
		t.Errorf("admin_listen = %q", s.Process.AdminListen)
	}
	if s.Process.Data != "/a" {
		t.Errorf("data = %q, an empty variable must count as unset", s.Process.Data)
	}
	if got := s.Process.Database.Reveal(); got != "postgres://db/x" {
		t.Errorf("database = %q", got)
	}

	_, err := Parse("x.yaml", []byte(text), envOf(map[string]string{"PENSTOCK_LISTEN": "nowhere"}))
	if err == nil || !strings.Contains(err.Error(), "PENSTOCK_LISTEN") {
		t.Errorf("the error does not say that the environment is at fault: %v", err)
	}

	file := File{Process: Process{Listen: "127.0.0.1:1"}}
	file.Override(envOf(map[string]string{"PENSTOCK_LISTEN": "127.0.0.1:2"}))
	if file.Listen != "127.0.0.1:2" {
		t.Errorf("Override left listen at %q", file.Listen)
	}
}

func TestExpansion(t *testing.T) {
	t.Parallel()
	env := envOf(map[string]string{"A": "one", "B": "${A}", "EMPTY": ""})
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"$A", "$A"},
		{"${A}", "one"},
		{"x${A}y${A}z", "xoneyonez"},
		{"${B}", "${A}"}, // what a variable holds is data
		{"a${EMPTY}b", "ab"},
		{"}", "}"},
	} {
		d := decoder{env: env}
		if got, ok := d.expand(tt.in, ""); !ok || got != tt.want {
			t.Errorf("expand(%q) = %q, %v %v; want %q", tt.in, got, ok, d.problems, tt.want)
		}
	}
	for _, in := range []string{"${NONE}", "${A", "${}", "${A:-b}", "${1}", "${${A}}"} {
		d := decoder{env: env}
		if got, ok := d.expand(in, "x.y"); ok || len(d.problems) != 1 || d.problems[0].Path != "x.y" {
			t.Errorf("expand(%q) = %q, %v %v; want one problem", in, got, ok, d.problems)
		}
	}
}

func TestFileBounds(t *testing.T) {
	t.Parallel()
	var keys, tenants strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&keys, "{name: k%d}, ", i)
		fmt.Fprintf(&tenants, "  t%d: {keys: *k}\n", i)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"too large", "data: " + strings.Repeat("x", MaxFileBytes), "larger than"},
		{"too many tokens", strings.Repeat("a: 1\n", maxTokens/3+1), "YAML tokens"},
		{"deep lists", strings.Repeat("[", 1000), "nested too deeply"},
		{"deep maps", strings.Repeat("{a: ", 1000), "nested too deeply"},
		{"deep dashes", strings.Repeat("- ", 1000), "nested too deeply"},
		{"aliases that multiply", "tenants:\n  t: {keys: &k [" + keys.String() + "]}\n" + tenants.String(), "aliases are expanded"},
		{"not text", "data: \xff\xfe", "UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("x.yaml", []byte(tt.text), noEnv)
			problems, _ := errors.AsType[Problems](err)
			if len(problems) != 1 && tt.name != "aliases that multiply" {
				t.Errorf("want one problem, got %d", len(problems))
			}
			if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Message, tt.want) }) {
				t.Errorf("no problem says %q: %.300v", tt.want, err)
			}
		})
	}
}

func TestByteOrderMarkAndLineBreaksDoNotMatter(t *testing.T) {
	t.Parallel()
	text := fixture(t, "small.good.yaml")
	env := testEnv(t)
	want := parseGood(t, text, env).Hash
	got := parseGood(t, "\uFEFF"+strings.ReplaceAll(text, "\n", "\r\n"), env).Hash
	if got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, bytes.Repeat([]byte("x"), maxSecretFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		dir:                          "not a regular file",
		big:                          "larger than",
		filepath.Join(dir, "absent"): "no such file",
		"relative":                   "absolute",
	} {
		if _, err := readSecret(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readSecret(%s) = %v, want %q", name, err, want)
		}
	}
}

func TestLoadMissingFile(t *testing.T) {
	t.Parallel()
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), noEnv); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load = %v, want os.ErrNotExist", err)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		f.Add([]byte(fixture(f, filepath.Base(file))))
	}
	env := testEnv(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("fuzz.yaml", data, env)
		if err != nil {
			if problems, ok := errors.AsType[Problems](err); !ok || len(problems) == 0 {
				t.Fatalf("an error without problems: %v", err)
			}
			return
		}
		if _, err := s.YAML(); err != nil {
			t.Fatal(err)
		}
		if again := parseGood(t, string(data), env); again.Hash != s.Hash {
			t.Fatalf("the same text hashes to %s and %s", s.Hash, again.Hash)
		}
	})
}
