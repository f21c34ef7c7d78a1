package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/catalogue"
)

const describedYAML = `
providers:
  openai: {kind: openai}
  proxy: {kind: openai, base_url: "http://10.0.0.1/v1"}
  resource: {kind: openai, base_url: "https://x.openai.azure.com", azure: {api_version: 2024-10-21}}
targets:
  found: {provider: openai, upstream_model: gpt-4o-mini}
  own: {provider: openai, upstream_model: gpt-4o-mini, price: {input: "1", output: "2"}, context_tokens: 1000, capabilities: [streaming]}
  free: {provider: openai, upstream_model: gpt-4o-mini, price: {input: "0", output: "0"}}
  refused: {provider: openai, upstream_model: gpt-4o-mini, catalogue: none}
  elsewhere: {provider: proxy, upstream_model: gpt-4o-mini}
  named: {provider: proxy, upstream_model: gpt-4o-mini, catalogue: openai/gpt-4o-mini}
  deployment: {provider: resource, upstream_model: my-deployment, catalogue: azure/gpt-4o}
  unknown: {provider: openai, upstream_model: gpt-of-tomorrow}
  vector: {provider: openai, upstream_model: text-embedding-3-small}
`

func TestTargetsTakeFromTheCatalogue(t *testing.T) {
	t.Parallel()
	s := parseGood(t, describedYAML, noEnv)
	date := s.Catalogue().Date
	for name, want := range map[string]struct {
		input   penstock.Rate
		context int64
		source  string
	}{
		"found": {150_000, 128_000, "catalogue " + date}, "own": {1_000_000, 1000, ""}, "free": {0, 128_000, ""},
		"refused": {}, "elsewhere": {}, "named": {150_000, 128_000, "catalogue " + date},
		"deployment": {2_500_000, 128_000, "catalogue " + date}, "unknown": {},
		"vector": {20_000, 0, "catalogue " + date}, // the context of an embedding is that of one of many inputs
	} {
		got := s.Targets[name]
		if got.Price.Input != want.input || got.ContextTokens != want.context || got.PriceSource != want.source {
			t.Errorf("%s: input %s, context %d, source %q; want %+v", name, got.Price.Input, got.ContextTokens, got.PriceSource, want)
		}
		version := s.Hash
		if want.source != "" {
			version += "+catalogue@" + date
		}
		if got.PriceVersion != version {
			t.Errorf("%s: the version of the price is %q, want %q", name, got.PriceVersion, version)
		}
		unpriced := name == "refused" || name == "elsewhere" || name == "unknown"
		if got.Unpriced != unpriced {
			t.Errorf("%s: unpriced is %v", name, got.Unpriced)
		}
	}
	if got := s.Targets["own"].Lacks; got != penstock.NewCapabilities("tools", "vision", "json_schema", "rerank") {
		t.Errorf("own capabilities are replaced: lacks %v", got.List())
	}
	if !strings.Contains(string(s.Body), `"price_source":"catalogue `+date+" "+s.Catalogue().Hash+` azure/gpt-4o"`) {
		t.Errorf("the stored snapshot does not say where prices come from: %s", s.Body)
	}
	notices := strings.Join(s.Notices(time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)), "\n")
	if !strings.Contains(notices, "The price of 4 targets comes from the catalogue of "+date+": deployment, found, named, vector.") {
		t.Errorf("notices: %s", notices)
	}
}

// A file replaces the embedded catalogue, and a reload reads the file again.
func TestCatalogueFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "models.jsonl")
	write := func(input string) {
		t.Helper()
		text := fmt.Sprintf(`{"catalogue":"2027-01-31","source":"mine"}
{"vendor":"openai","model":"new","mode":"chat","max_output_tokens":1000,"price":{"input":%q,"output":"9","input_above_200k":"8","output_above_200k":"18"},"capabilities":["tools"],"ends_on":"2027-03-01"}
`, input)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("4")
	config := filepath.Join(t.TempDir(), "penstock.yaml")
	text := "catalogue: {file: " + path + "}\nproviders: {openai: {kind: openai}}\ntargets:\n  new: {provider: openai, upstream_model: new}\n  old: {provider: openai, upstream_model: gpt-4o-mini}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := Load(config, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	got := first.Targets["new"]
	if got.Price.Input != 4_000_000 || got.Price.InputAbove200k != 8_000_000 || got.MaxOutputTokens != 1000 ||
		got.Lacks != penstock.NewCapabilities("vision", "json_schema", "rerank") || !first.Targets["old"].Unpriced {
		t.Errorf("%+v", got)
	}
	if notices := strings.Join(first.Notices(time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)), "\n"); !strings.Contains(notices, "targets.new: openai/new ends on 2027-03-01") {
		t.Errorf("notices: %s", notices)
	}
	live := NewLive(first)
	write("5")
	changes, err := live.Reload(config, noEnv)
	if err != nil || live.Current().Targets["new"].Price.Input != 5_000_000 || live.Current().Hash == first.Hash {
		t.Fatalf("%v, %+v", err, live.Current().Targets["new"])
	}
	if shown := fmt.Sprint(changes); !strings.Contains(shown, "targets.new.price.input: 4 → 5") {
		t.Errorf("the reload lists %s", shown)
	}
	if err := os.WriteFile(path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = live.Reload(config, noEnv)
	if problems, ok := errors.AsType[Problems](err); !ok || problems[0].Path != "catalogue.file" || problems[0].Line != 1 || !strings.Contains(err.Error(), "line 1: the first line must be") {
		t.Errorf("a broken catalogue: %v", err)
	}
	if live.Current().Targets["new"].Price.Input != 5_000_000 {
		t.Error("a broken catalogue changed the configuration in force")
	}
}

func TestCatalogueProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"catalogue: {use: some}\n":                                           `catalogue.use: "some" is not one of all, none`,
		"catalogue: {use: none, file: /x}\n":                                 "catalogue.file: has no effect with use: none",
		"targets: {t: {catalogue: openai/gpt-4o-mni}}\n":                     `targets.t.catalogue: "openai/gpt-4o-mni" is not in the catalogue of ` + catalogue.Embedded().Date + `; did you mean "openai/gpt-4o-mini"?`,
		"catalogue: {use: none}\ntargets: {t: {catalogue: openai/gpt-4o}}\n": "targets.t.catalogue: has no effect, because catalogue.use is none",
	} {
		if _, err := Parse("x.yaml", []byte(text), noEnv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	off := parseGood(t, "catalogue: {use: none}"+describedYAMLWithout("catalogue:"), noEnv)
	if off.Catalogue() != nil || !off.Targets["found"].Unpriced || len(off.Notices(time.Now())) != 0 {
		t.Errorf("use: none still takes facts: %+v", off.Targets["found"])
	}
}

// describedYAMLWithout is the file without the lines that have a word.
func describedYAMLWithout(word string) string {
	var kept []string
	for line := range strings.Lines(describedYAML) {
		if !strings.Contains(line, word) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestVendorOfProviders(t *testing.T) {
	t.Parallel()
	known := catalogue.Embedded().Vendors()
	for host, vendor := range vendors {
		if got := (ProviderConfig{Kind: KindOpenAI, BaseURL: "https://" + host + "/v1"}).Vendor(); got != vendor {
			t.Errorf("%s: %q, want %q", host, got, vendor)
		}
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+vendor+" ") {
			t.Errorf("the catalogue has no vendor %s", vendor)
		}
	}
	for url, want := range map[string]string{"https://bedrock-runtime.eu-west-1.amazonaws.com": "bedrock", "http://127.0.0.1:11434/v1": "", "https://api.openai.com.evil.example/v1": ""} {
		if got := (ProviderConfig{BaseURL: url}).Vendor(); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
