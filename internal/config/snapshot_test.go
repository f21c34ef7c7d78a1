package config

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"penstock"
)

// hashedYAML is what the tests of the hash change.
const hashedYAML = `
listen: 127.0.0.1:8080
providers:
  openai: {kind: openai, api_key: "${OPENAI_API_KEY}"}
targets:
  a: {provider: openai, upstream_model: x, price: {input: "0.15", output: "0.60"}}
  b: {provider: openai, upstream_model: y}
models:
  fast: {targets: [a, b]}
tenants:
  search: {weight: 3, lanes: [realtime, bulk], keys: [{name: app, secret: "${SEARCH_KEY}"}, {name: ci, secret: "${OTHER_KEY}"}]}
`

// hashCase is a change of hashedYAML, and whether the hash stays the same.
type hashCase struct {
	name, old, new string
	same           bool
}

func TestHashNamesWhatResolvesAlike(t *testing.T) {
	t.Parallel()
	checkHashes(t, []hashCase{
		{"order of targets", "  a: {provider: openai, upstream_model: x, price: {input: \"0.15\", output: \"0.60\"}}\n  b: {provider: openai, upstream_model: y}",
			"  b: {upstream_model: y, provider: openai}\n  a: {price: {output: \"0.6\", input: \"0.150\"}, provider: openai, upstream_model: x}", true},
		{"order of lanes", "[realtime, bulk]", "[bulk, realtime]", true},
		{"order of keys", `{name: app, secret: "${SEARCH_KEY}"}, {name: ci, secret: "${OTHER_KEY}"}`,
			`{name: ci, secret: "${OTHER_KEY}"}, {name: app, secret: "${SEARCH_KEY}"}`, true},
		{"a default spelled out", "upstream_model: y", "upstream_model: y, max_output_tokens: 4096, timeouts: {total: 10m}", true},
		{"the default base URL", `api_key: "${OPENAI_API_KEY}"`, `base_url: "https://api.openai.com/v1/"`, true},
		{"a free price", "upstream_model: y", `upstream_model: y, price: {input: "0", output: "0.00"}`, false},
		{"listen", "127.0.0.1:8080", "127.0.0.1:8081", true},
		{"process settings", "listen: 127.0.0.1:8080", "work: {slots: 1}\nlog: {level: debug}", true},
		{"queue and lanes", "listen: 127.0.0.1:8080", "queue: {max_items: 5}\nlanes: {bulk: {weight: 2}}", true},
		{"a key's secret", "${SEARCH_KEY}", "${TWELVE_KEY}", true},
		{"a provider's key", "${OPENAI_API_KEY}", "${DB_PASSWORD}", true},

		{"a price", "0.15", "0.16", false},
		{"a price that follows another", `input: "0.15"`, `input: "0.15", cache_write: "0.15", cache_write_1h: "0.15", audio_input: "0.150", reasoning: "0.60", audio_output: "0.6"`, true},
		{"a price of cache writes", `input: "0.15"`, `input: "0.15", cache_write: "0.2"`, false},
		{"a price of audio", `input: "0.15"`, `input: "0.15", audio_input: "40"`, false},
		{"a later price", `output: "0.60"}`, `output: "0.60"}, price_changes: [{from: "2027-01-01", price: {input: "1", output: "2"}}]`, false},
		{"a cached price", `input: "0.15"`, `input: "0.15", cached_input: "0.1"`, false},
		{"an upstream model", "upstream_model: y", "upstream_model: z", false},
		{"a timeout", "upstream_model: y", "upstream_model: y, timeouts: {idle: 29s}", false},
		{"free reads of a cache", "upstream_model: y", "upstream_model: y, limits: {free_cached_input: true}", false},
		{"a concurrency", "upstream_model: y", "upstream_model: y, limits: {concurrency: 1}", false},
		{"a region", "upstream_model: y", "upstream_model: y, region: eu", false},
		{"the order of a model's targets", "[a, b]", "[b, a]", false},
		{"a fallback", "tenants:", "fallback_model: fast\ntenants:", false},
		{"a base URL", "kind: openai,", "kind: openai, base_url: http://127.0.0.1:1,", false},
		{"a weight", "weight: 3", "weight: 4", false},
		{"lanes", "[realtime, bulk]", "[realtime]", false},
		{"a key's name", "name: ci", "name: cd", false},
		{"a key's scopes", "name: ci,", "name: ci, scopes: [inference],", false},
	})
}

// The hash covers tenants and their keys, except for secrets.
func TestHashCoversTenants(t *testing.T) {
	t.Parallel()
	checkHashes(t, []hashCase{
		{"a tenant's limit", "weight: 3", "weight: 3, limits: {requests_per_minute: 5}", false},
		{"a tenant's limit for a model", "weight: 3", "weight: 3, limits: {models: {fast: {concurrency: 5}}}", false},
		{"a tenant's queue", "weight: 3", "weight: 3, limits: {queued_items: 5}", false},
		{"a tenant's stored bytes", "weight: 3", "weight: 3, limits: {stored_bytes: 5}", false},
		{"a tenant's budget", "weight: 3", `weight: 3, budget: {daily_usd: "5"}`, false},
		{"a hard budget", "weight: 3", `weight: 3, budget: {daily_usd: "5", hard: true}`, false},
		{"a tenant's budget for a model", "weight: 3", `weight: 3, model_budgets: {fast: {total_usd: "5"}}`, false},
		{"a tenant's budget for a tag", "weight: 3", `weight: 3, tag_budgets: {"team:search": {total_usd: "5"}}`, false},
		{"a tier", "weight: 3", "weight: 3, tier: gold", false},
		{"a tenant's retention", "weight: 3", "weight: 3, retention: {results: 100h}", false},
		{"the global retention spelled out", "weight: 3", "weight: 3, retention: {results: 168h}", true},
		{"a key's limit", "name: ci,", "name: ci, limits: {concurrency: 1},", false},
		{"a key's budget", "name: ci,", `name: ci, budget: {total_usd: "1"},`, false},
		{"a further tenant", "tenants:", "tenants:\n  more: {}", false},
	})
}

func checkHashes(t *testing.T, cases []hashCase) {
	t.Helper()
	env := testEnv(t)
	want := parseGood(t, hashedYAML, env)
	if !strings.HasPrefix(want.Hash, "cfg_") || len(want.Hash) != len("cfg_")+12 {
		t.Fatalf("hash %q", want.Hash)
	}
	for _, tt := range cases {
		text := strings.Replace(hashedYAML, tt.old, tt.new, 1)
		if text == hashedYAML {
			t.Fatalf("%s: the case changes nothing", tt.name)
		}
		got := parseGood(t, text, env)
		if (got.Hash == want.Hash) != tt.same {
			t.Errorf("%s: hash %s and %s, want same = %v", tt.name, want.Hash, got.Hash, tt.same)
		}
		if bytes.Equal(got.Body, want.Body) != tt.same {
			t.Errorf("%s: the bodies do not agree with the hashes", tt.name)
		}
	}
}

func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	s := parseGood(t, fixture(t, "full.good.yaml"), testEnv(t))
	secret := NewSecret(openAIKey)
	nested := struct {
		Open   Secret
		hidden Secret
		deep   *Snapshot
	}{secret, secret, s}

	outputs := map[string]string{}
	for name, v := range map[string]any{
		"secret": secret, "pointer": &secret, "nested": nested, "snapshot": s, "snapshot value": *s,
		"file": s.file, "process": s.Process, "providers": s.Providers,
		"list": []Secret{secret}, "table": map[string]Secret{"k": secret},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			outputs[name+" "+verb] = fmt.Sprintf(verb, v)
		}
		if text, err := json.Marshal(v); err == nil {
			outputs[name+" json"] = string(text)
		}
		if text, err := yaml.Marshal(v); err == nil {
			outputs[name+" yaml"] = string(text)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		outputs[name+" slog"] = log.String()
	}
	shown, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	outputs["YAML"], outputs["Body"] = string(shown), string(s.Body)

	for name, out := range outputs {
		for _, text := range []string{openAIKey, "sk-resold-secret", "db-secret", searchKey, adminKey, twelveKey} {
			for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%v", []byte(text))} {
				if strings.Contains(out, form) {
					t.Errorf("%s shows %q", name, text)
				}
			}
		}
	}
	if got := outputs["secret %v"]; got != redacted {
		t.Errorf("a secret prints as %q", got)
	}
	if got := outputs["table json"]; got != `{"k":"[redacted]"}` {
		t.Errorf("a secret marshals as %s", got)
	}
	if got := fmt.Sprint(Secret{}); got != "" {
		t.Errorf("no secret prints as %q", got)
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	s := parseGood(t, fixture(t, "full.good.yaml"), testEnv(t))
	search := penstock.Tenant{ID: "search", Weight: 3, Lanes: []penstock.Lane{"realtime", "bulk"}, Retention: hours(24, 24, 72),
		Regions: []string{"eu", "us"}, Models: []string{"fast", "quick"}, Tier: "gold"}
	twelve := penstock.Tenant{ID: "12", Weight: 1, Lanes: penstock.Lanes, Retention: hours(720, 48, 72)}
	for _, tt := range []struct {
		secret string
		want   penstock.Principal
		ok     bool
	}{
		{searchKey, penstock.Principal{Kind: penstock.PrincipalKey, Tenant: search, Key: "app", Scopes: []penstock.Scope{"inference", "jobs:read"}, CacheTTL: 90 * time.Second}, true},
		{adminKey, penstock.Principal{Kind: penstock.PrincipalKey, Tenant: search, Key: "admin", Scopes: penstock.Scopes}, true},
		{twelveKey, penstock.Principal{Kind: penstock.PrincipalKey, Tenant: twelve, Key: "app", Scopes: penstock.Scopes}, true},
		{"", penstock.Principal{}, false},
		{searchKey + "x", penstock.Principal{}, false},
		{strings.ToUpper(searchKey), penstock.Principal{}, false},
		{NewSecret(searchKey).digest().secret().Reveal(), penstock.Principal{}, false}, // the digest is no key
		{strings.Repeat("x", MaxKeySecretLength+1), penstock.Principal{}, false},
	} {
		got, ok := s.Principal(tt.secret)
		if diff := cmp.Diff(tt.want, got); ok != tt.ok || diff != "" {
			t.Errorf("Principal(%.30q) = %v (-want +got)\n%s", tt.secret, ok, diff)
		}
	}
}

func TestLongestKeyIsRecognised(t *testing.T) {
	t.Parallel()
	for _, n := range []int{MinKeySecretLength, MaxKeySecretLength} {
		random := make([]byte, n)
		rand.Read(random)
		secret := base64.StdEncoding.EncodeToString(random)[:n]
		s, err := NewSnapshot(File{Tenants: map[string]TenantConfig{
			"t": {Keys: []KeyConfig{{Name: "k", Secret: NewSecret(secret)}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Principal(secret); !ok {
			t.Errorf("a key of %d characters is valid but not recognised", n)
		}
	}
}

func TestModelFallsBack(t *testing.T) {
	t.Parallel()
	with := parseGood(t, fixture(t, "full.good.yaml"), testEnv(t))
	without := parseGood(t, fixture(t, "small.good.yaml"), testEnv(t))
	for _, tt := range []struct {
		s          *Snapshot
		name, want string
		ok         bool
	}{
		{with, "fast", "fast", true},
		{with, "gpt-5", "local", true},
		{with, "", "local", true},
		{without, "fast", "fast", true},
		{without, "gpt-5", "", false},
		{without, "", "", false},
	} {
		if got, ok := tt.s.Model(tt.name); got.Name != tt.want || ok != tt.ok {
			t.Errorf("Model(%q) = %q, %v; want %q, %v", tt.name, got.Name, ok, tt.want, tt.ok)
		}
	}
}

func TestRefusalOfMaxItemsNamesTheBound(t *testing.T) {
	t.Parallel()
	_, err := Parse("x.yaml", []byte("limits: {max_items: 1}"), noEnv)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("at most %d inputs", MaxInputs)) {
		t.Errorf("the refusal does not name MaxInputs: %v", err)
	}
}

// BenchmarkCaller is on the path of every request.
func BenchmarkCaller(b *testing.B) {
	file := File{Tenants: map[string]TenantConfig{}}
	for i := range 1000 {
		file.Tenants[fmt.Sprintf("tenant-%d", i)] = TenantConfig{
			Keys: []KeyConfig{{Name: "app", Secret: NewSecret(fmt.Sprintf("psk_%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)})))}},
		}
	}
	s, err := NewSnapshot(file)
	if err != nil {
		b.Fatal(err)
	}
	for name, secret := range map[string]string{"known": fmt.Sprintf("psk_%x", sha256.Sum256([]byte{500 & 0xff, 500 >> 8})), "unknown": strings.Repeat("x", 48)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Principal(secret)
			}
		})
	}
}

// Not parallel: the allocations of other tests would count.
func TestCallerDoesNotAllocate(t *testing.T) {
	s := parseGood(t, fixture(t, "full.good.yaml"), testEnv(t))
	long := strings.Repeat("x", MaxKeySecretLength)
	if n := testing.AllocsPerRun(100, func() { s.Principal(searchKey); s.Principal(long) }); n > 0 {
		t.Errorf("Principal allocates %v times", n)
	}
}

// A definition changes with what a model means, and with nothing else.
func TestDefinition(t *testing.T) {
	t.Parallel()
	const file = `
providers: {up: {kind: openai, base_url: "http://127.0.0.1:1/v1"}, other: {kind: openai}}
targets: {a: {provider: up, upstream_model: m}, b: {provider: other, upstream_model: m}}
models: {one: {targets: [a]}, two: {targets: [b]}}
`
	base := parseGood(t, file, noEnv).Models["one"].Definition
	for name, tt := range map[string]struct {
		old, new string
		same     bool
	}{
		"another model":    {"two: {targets: [b]}", "two: {targets: [a, b]}", true},
		"another target":   {"b: {provider: other, upstream_model: m}", "b: {provider: other, upstream_model: n}", true},
		"another provider": {"other: {kind: openai}", "other: {kind: anthropic}", true},
		"a tenant":         {"models:", "tenants: {t: {}}\nmodels:", true},
		"its targets":      {"one: {targets: [a]}", "one: {targets: [a, b]}", false},
		"its upstream":     {"a: {provider: up, upstream_model: m}", "a: {provider: up, upstream_model: n}", false},
		"its provider":     {"127.0.0.1:1", "127.0.0.1:2", false},
	} {
		got := parseGood(t, strings.Replace(file, tt.old, tt.new, 1), noEnv).Models["one"].Definition
		if same := got == base; same != tt.same {
			t.Errorf("%s: the definition is the same: %v", name, same)
		}
	}
}

// A name that ends with a star answers for all names that begin like it; the longest one takes precedence, a configured
// name before all, and the fallback last.
func TestModelByPrefix(t *testing.T) {
	t.Parallel()
	s := parseGood(t, `
providers: {p: {kind: openai, base_url: "http://127.0.0.1:1/v1"}}
targets: {t: {provider: p, upstream_model: "*"}}
models:
  claude-*: {targets: [t]}
  claude-opus-*: {targets: [t]}
  claude-haiku: {targets: [t]}
  auto: {targets: [t]}
fallback_model: auto
`, noEnv)
	for asked, want := range map[string]string{
		"claude-3": "claude-*", "claude-opus-4": "claude-opus-*", "claude-haiku": "claude-haiku", "claude-": "claude-*", "claude": "auto", "gpt": "auto", "claude-*": "claude-*",
	} {
		m, ok := s.Model(asked)
		if !ok || m.Name != want || s.Names(asked).Answers != want || len(s.TargetsOf(m.Name)) != 1 {
			t.Errorf("%s: %s, want %s", asked, m.Name, want)
		}
	}
	if _, err := Parse("x.yaml", []byte("models: {\"a*b\": {targets: [t]}}"), noEnv); err == nil || !strings.Contains(err.Error(), "the name must match") {
		t.Errorf("a star inside a name: %v", err)
	}
}
