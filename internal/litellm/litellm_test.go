package litellm

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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

// anyVariable has a strong secret in every variable.
func anyVariable(name string) (string, bool) {
	if strings.HasPrefix(name, "PENSTOCK_") {
		return "", false
	}
	return "psk_import_7gq2xk9dmw4ztfv8hsb3rnj6cp", true
}

func TestTwelveModels(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/twelve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Import(text)
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&report, "%s %s: %s\n", f.Status, f.Path, f.Message)
	}
	golden(t, "twelve.penstock.yaml", string(r.YAML))
	golden(t, "twelve.report", report.String()+"variables: "+strings.Join(r.Variables, " ")+"\n")
	if strings.Contains(string(r.YAML)+report.String(), "sk-literal") {
		t.Error("a secret is shown")
	}
	s, err := config.Parse("imported.yaml", r.YAML, anyVariable)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Models) != 14 || r.Models != 14 { // twelve, and two aliases
		t.Errorf("%d models", len(s.Models))
	}
	for name, want := range map[string][]string{
		"gpt-4o": {"gpt-4o", "gpt-4o-2"}, "claude": {"claude", "gpt-4o", "gpt-4o-2"}, "mini": {"mini", "haiku"}, "gpt-4": {"gpt-4o", "gpt-4o-2"},
		"smart": {"claude", "gpt-4o", "gpt-4o-2"},
	} {
		if diff := cmp.Diff(want, s.Models[name].Targets); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	for name, unpriced := range map[string]bool{"gpt-4o": false, "gpt-4o-2": false, "claude": false, "local": true, "own-vllm": false, "deep": false, "flash": false} {
		if s.Targets[name].Unpriced != unpriced {
			t.Errorf("%s: unpriced is %v", name, s.Targets[name].Unpriced)
		}
	}
}

// Every key of a file is carried or reported: a key that nobody knows is in the report, wherever it is.
func TestNothingIsDroppedSilently(t *testing.T) {
	t.Parallel()
	r, err := Import([]byte(`
model_list:
  - {model_name: a, litellm_params: {model: gpt-4o, surprise_1: x}, model_info: {surprise_2: x}, surprise_3: x}
  - {model_name: b, litellm_params: {model: sagemaker/x}}
  - {litellm_params: {model: gpt-4o}}
  - {model_name: "openai/*", litellm_params: {model: "openai/*"}}
  - {model_name: c, litellm_params: {model: azure/x}}
  - {model_name: d, litellm_params: {model: gpt-4o, rpm: many, timeout: long, input_cost_per_token: cheap}}
  - {model_name: e, litellm_params: {model: gpt-4o, input_cost_per_token: 1e-7}}
litellm_settings: {surprise_4: x, request_timeout: soon, fallbacks: [{a: b}, {z: [a]}], default_fallbacks: [a]}
router_settings: {surprise_5: x, routing_strategy: luck, model_group_alias: {n: nobody, a: d}}
general_settings: {surprise_6: x, master_key: hunter2}
environment_variables: {surprise_7: x}
surprise_8: x
`))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range r.Findings {
		if f.Message == "" || f.Path == "" {
			t.Errorf("a finding says nothing: %+v", f)
		}
		fmt.Fprintf(&all, "%s %s\n", f.Status, f.Path)
	}
	for i := 1; i <= 8; i++ {
		if !strings.Contains(all.String(), fmt.Sprintf("surprise_%d\n", i)) {
			t.Errorf("surprise_%d is not reported", i)
		}
	}
	for _, want := range []string{
		"not_carried model_list[1].litellm_params.model", "not_carried model_list[2]", "not_carried model_list[3].litellm_params.model", "not_carried model_list[4].litellm_params",
		"not_carried model_list[5].litellm_params.rpm", "not_carried model_list[5].litellm_params.timeout", "not_carried model_list[5].litellm_params.input_cost_per_token",
		"not_carried model_list[6].litellm_params", "not_carried litellm_settings.request_timeout", "not_carried litellm_settings.fallbacks[0]", "not_carried fallbacks",
		"not_carried router_settings.routing_strategy", "not_carried router_settings.model_group_alias.n", "not_carried router_settings.model_group_alias.a",
		"carried general_settings.master_key",
	} {
		if !strings.Contains(all.String(), want+"\n") {
			t.Errorf("%s is not reported in\n%s", want, &all)
		}
	}
	if strings.Contains(string(r.YAML), "hunter2") {
		t.Error("a secret is in the file")
	}
	if _, err := config.Parse("imported.yaml", r.YAML, anyVariable); err != nil {
		t.Errorf("%v in\n%s", err, r.YAML)
	}
}

// Each prefix of LiteLLM goes to the kind that knows the vendor, and the file is valid.
func TestPrefixesGoToTheirKinds(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"openai/gpt-4o": "openai", "anthropic/claude-haiku-4-5": "anthropic", "gemini/gemini-2.5-flash": "gemini",
		"bedrock/anthropic.claude-3-haiku-20240307-v1:0": "bedrock", "bedrock/converse/us.amazon.nova-lite-v1:0": "bedrock", "bedrock/eu-central-1/meta.llama3-8b-instruct-v1:0": "bedrock",
		"mistral/mistral-small-latest": "mistral", "groq/llama-3.3-70b-versatile": "groq", "together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo": "together", "xai/grok-3": "xai",
		"deepseek/deepseek-chat": "deepseek", "openrouter/openai/gpt-4.1-mini": "openrouter", "fireworks_ai/accounts/fireworks/models/x": "fireworks", "perplexity/sonar": "perplexity",
		"hosted_vllm/own": "vllm", "ollama/llama3.2": "ollama", "ollama_chat/llama3.2": "ollama", "cerebras/llama-3.3-70b": "openai", "mistral/mistral-embed": "mistral",
		"cohere/rerank-english-v3.0": "cohere", "jina_ai/jina-reranker-v2-base-multilingual": "jina", "jina_ai/jina-embeddings-v3": "jina", "voyage/rerank-2.5": "voyage",
		"hosted_vllm/BAAI/bge-reranker-v2-m3": "vllm", "together_ai/Salesforce/Llama-Rank-V1-rerank": "together", "openai/own-rerank": "openai",
		"cohere/command-r": "", "cohere/command-of-tomorrow": "", "voyage/voyage-3": "", "mistral/own-rerank": "", "anthropic/own-rerank": "", "azure/own-rerank": "",
		"vertex_ai/gemini-2.5-pro": "", "sagemaker/x": "", "bedrock/amazon.rerank-v1:0": "", "bedrock/amazon.titan-embed-text-v2:0": "", "perplexity/pplx-embed-v1-4b": "",
	} {
		r, err := Import([]byte("model_list: [{model_name: m, litellm_params: {model: \"" + model + "\", api_base: os.environ/BASE}}]"))
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if r.Models != 0 || len(r.Findings) != 1 || r.Findings[0].Status != NotCarried {
				t.Errorf("%s is carried: %+v\n%s", model, r.Findings, r.YAML)
			}
			continue
		}
		s, err := config.Parse("imported.yaml", r.YAML, func(name string) (string, bool) {
			if v, ok := r.Samples[name]; ok {
				return v, true
			}
			return anyVariable(name)
		})
		if err != nil {
			t.Errorf("%s: %v in\n%s", model, err, r.YAML)
			continue
		}
		target := s.Targets["m"]
		if target == nil {
			t.Errorf("%s is not carried: %+v", model, r.Findings)
			continue
		}
		if got := s.Providers[target.Provider]; got.Kind != want || strings.Contains(target.UpstreamModel, "converse") {
			t.Errorf("%s is %s at %+v", model, target.UpstreamModel, got)
		}
	}
}

// Models that rank documents are carried with their address, whatever form of it LiteLLM takes, and with the price of a search.
func TestRerankModels(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`model: cohere/rerank-v3.5`:                                                        `kind: cohere`,
		`model: cohere/rerank-v3.5, api_base: "https://cohere.example"`:                    `base_url: https://cohere.example/v2`,
		`model: cohere/rerank-v3.5, api_base: "https://cohere.example/v1/rerank"`:          `base_url: https://cohere.example/v2`,
		`model: cohere/rerank-v3.5, api_base: "https://cohere.example/v2/rerank"`:          `base_url: https://cohere.example/v2`,
		`model: jina_ai/own-rerank, api_base: "https://jina.example/v1/rerank"`:            `base_url: https://jina.example/v1`,
		`model: voyage/rerank-2, api_base: "https://voyage.example/v1/"`:                   `base_url: https://voyage.example/v1`,
		`model: jina_ai/own-rerank`:                                                        `${JINA_AI_API_KEY}`,
		`model: cohere/rerank-v3.5, input_cost_per_query: 0.002`:                           `per_search: "0.002"`,
		`model: cohere/rerank-v3.5, input_cost_per_query: 2e-3, input_cost_per_token: 0.0`: `per_search: "0.002"`,
		`model: voyage/rerank-2, input_cost_per_token: 5e-8`:                               `input: "0.05"`,
	} {
		r, err := Import([]byte("model_list: [{model_name: m, litellm_params: {" + params + "}, model_info: {mode: rerank}}]"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Models != 1 || !strings.Contains(string(r.YAML), want) {
			t.Errorf("%s: want %s in\n%s%+v", params, want, r.YAML, r.Findings)
		}
		if _, err := config.Parse("imported.yaml", r.YAML, anyVariable); err != nil {
			t.Errorf("%s: %v in\n%s", params, err, r.YAML)
		}
	}
	for _, bad := range []string{"input_cost_per_query: much", "input_cost_per_query: -1"} {
		r, err := Import([]byte("model_list: [{model_name: m, litellm_params: {model: cohere/rerank-v3.5, " + bad + "}}]"))
		if err != nil || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message, "price.per_search") {
			t.Errorf("%s: %+v, %v", bad, r.Findings, err)
		}
	}
}

// LiteLLM finds credentials of AWS in many places; Penstock takes keys, and says so.
func TestBedrockCredentials(t *testing.T) {
	t.Parallel()
	r, err := Import([]byte(`
model_list:
  - {model_name: a, litellm_params: {model: bedrock/amazon.nova-lite-v1:0, aws_region_name: eu-west-1, aws_access_key_id: os.environ/KEY_ID, aws_secret_access_key: very-secret, aws_session_token: os.environ/SESSION}}
  - {model_name: b, litellm_params: {model: bedrock/amazon.nova-lite-v1:0, aws_region_name: os.environ/REGION, aws_role_name: some-role}}
  - {model_name: c, litellm_params: {model: bedrock/us-west-2/amazon.nova-lite-v1:0, api_key: os.environ/BEDROCK_KEY}}
  - {model_name: e, litellm_params: {model: bedrock/amazon.nova-lite-v1:0, aws_region_name: eu-west-1, aws_access_key_id: AKIA2, aws_secret_access_key: another-very-secret}}
  - {model_name: d, litellm_params: {model: "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/x", api_key: os.environ/BEDROCK_KEY}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&report, "%s %s: %s\n", f.Status, f.Path, f.Message)
	}
	golden(t, "bedrock.penstock.yaml", string(r.YAML))
	golden(t, "bedrock.report", report.String()+"variables: "+strings.Join(r.Variables, " ")+"\n")
	if strings.Contains(string(r.YAML)+report.String(), "very-secret") {
		t.Error("a secret is shown")
	}
	if _, err := config.Parse("imported.yaml", r.YAML, anyVariable); err != nil {
		t.Error(err)
	}
}

func TestWildcards(t *testing.T) {
	t.Parallel()
	r, err := Import([]byte(`model_list: [{model_name: "*", litellm_params: {model: "openai/*"}}, {model_name: "claude-*", litellm_params: {model: "anthropic/claude-*"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := config.Parse("imported.yaml", r.YAML, anyVariable)
	if err != nil {
		t.Fatalf("%v in\n%s", err, r.YAML)
	}
	for name, want := range map[string]string{"claude-of-tomorrow": "anthropic", "anything": "openai"} {
		m, ok := s.Model(name)
		if !ok || s.Targets[m.Targets[0]].Provider != want || s.Targets[m.Targets[0]].UpstreamModel != "*" {
			t.Errorf("%s goes to %+v", name, m)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "listen: x", "{", "a: &a [*a]"} {
		if _, err := Import([]byte(text)); err == nil || !strings.Contains(err.Error(), "not a LiteLLM configuration") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Import([]byte(strings.Repeat("a: 1\n", config.MaxFileBytes))); err == nil {
		t.Error("a huge file is read")
	} else if _, ok := errors.AsType[config.Problems](err); !ok {
		t.Errorf("%v", err)
	}
}

// One odd entry costs itself only: all others are carried, and the report names it.
func TestOddEntriesAreLeftOutAlone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for entry, want := range map[string]string{
		`{model_name: bad name with spaces, litellm_params: {model: gpt-4o}}`: `not_carried model_list[1].model_name: the model "bad name with spaces" is left out: the name must match`,
		`{model_name: ` + long + `, litellm_params: {model: gpt-4o}}`:         `not_carried model_list[1].model_name: the model "` + long[:60] + `…"`,
		`{model_name: "", litellm_params: {model: gpt-4o}}`:                   `not_carried model_list[1]: it needs model_name`,
		`{model_name: ["a"], litellm_params: {model: gpt-4o}}`:                `not_carried model_list[1]: it needs model_name`,
		`just text`: `not_carried model_list[1]: it needs model_name`,
		`null`:      `not_carried model_list[1]: it needs model_name`,
		`{model_name: é, litellm_params: {model: gpt-4o}}`:                                                     `not_carried model_list[1].model_name`,
		`{model_name: odd, litellm_params: {model: openai/` + long + long + `}}`:                               `not_carried model_list[1]: it is left out: upstream_model: must be at most`,
		`{model_name: odd, litellm_params: {model: gpt-4o, api_base: "ftp://x"}}`:                              `not_carried model_list[1]: it is left out: base_url:`,
		`{model_name: odd-4.1, litellm_params: {model: gpt-4o, api_base: "no url"}}`:                           `not_carried model_list[1]: it is left out: base_url:`,
		`{model_name: odd, litellm_params: {model: azure/x, api_base: "https://a.example", api_version: a b}}`: `not_carried model_list[1]: it is left out: azure.api_version:`,
	} {
		r, err := Import([]byte("model_list:\n  - {model_name: good, litellm_params: {model: gpt-4o}}\n  - " + entry +
			"\n  - {model_name: last, litellm_params: {model: claude-haiku-4-5}}\nrouter_settings: {model_group_alias: {to-odd: odd, to-good: good}}\nlitellm_settings: {fallbacks: [{odd: [good]}, {good: [odd, last]}]}\n"))
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		s, err := config.Parse("imported.yaml", r.YAML, anyVariable)
		if err != nil {
			t.Errorf("%s: %v in\n%s", entry, err, r.YAML)
			continue
		}
		if len(s.Models) != 3 || len(s.Targets) != 2 || len(s.Providers) != 2 {
			t.Errorf("%s: %d models, %d targets and %d providers in\n%s", entry, len(s.Models), len(s.Targets), len(s.Providers), r.YAML)
		}
		if report := reportOf(r); !strings.Contains(report, want) || strings.Contains(report, long) {
			t.Errorf("%s: no %s in\n%s", entry, want, report)
		}
	}
}

// A setting that Penstock's file cannot hold costs neither its deployment nor the file.
func TestOddSettingsAreLeftOutAlone(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{model_name: odd-4.1, litellm_params: {model: gpt-4o}, model_info: {max_output_tokens: 9000000}}`:                             `not_carried model_list[0]: max_output_tokens of the target is left out: must be from`,
		`{model_name: odd, litellm_params: {model: gpt-4o}, model_info: {max_input_tokens: 900000000000}}`:                             `context_tokens of the target is left out`,
		`{model_name: odd, litellm_params: {model: gpt-4o, rpm: 9000000000, tpm: 5}}`:                                                  `limits.requests_per_minute of the target is left out`,
		`{model_name: odd, litellm_params: {model: gpt-4o, timeout: 0.002}}`:                                                           `litellm_settings.cache`,
		`{model_name: odd, litellm_params: {model: gpt-4o, timeout: 0.0001}}`:                                                          `litellm_params.timeout: it must be a number of seconds`,
		`{model_name: odd, litellm_params: {model: gpt-4o, api_key: os.environ/PENSTOCK_API_KEY, api_base: os.environ/PENSTOCK_BASE}}`: `carried os.environ/PENSTOCK_BASE: variables that begin with PENSTOCK_ set keys of Penstock's file; set LITELLM_PENSTOCK_BASE`,
	} {
		r, err := Import([]byte("model_list: [" + params + "]\nlitellm_settings: {cache: true, cache_params: {ttl: 0.5}}"))
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		if report := reportOf(r); r.Models != 1 || !strings.Contains(report, want) || !strings.Contains(report, "litellm_settings.cache: set cache.ttl") {
			t.Errorf("%s: %d models, want %s in\n%s", params, r.Models, want, report)
		}
	}
}

// Aliases to models that were left out, and aliases with names that Penstock cannot carry, are left out too.
func TestOddAliasesAreLeftOutAlone(t *testing.T) {
	t.Parallel()
	r, err := Import([]byte(`
model_list: [{model_name: a b, litellm_params: {model: gpt-4o}}, {model_name: good, litellm_params: {model: gpt-4o}}, {model_name: odd, litellm_params: {model: gpt-4o, api_base: "ftp://x"}}]
router_settings: {model_group_alias: {to-left-out: a b, to-pruned: odd, "also odd": good, fine: good}}
`))
	if err != nil {
		t.Fatal(err)
	}
	report := reportOf(r)
	for _, want := range []string{`model_group_alias.to-left-out: no model "a b" was imported`, `model_group_alias["also odd"]: the alias is left out`, `model_list[2]: it is left out`} {
		if !strings.Contains(report, want) {
			t.Errorf("no %s in\n%s", want, report)
		}
	}
	if r.Models != 2 || strings.Contains(string(r.YAML), "to-pruned") {
		t.Errorf("%d models in\n%s", r.Models, r.YAML)
	}
}

func reportOf(r *Result) string {
	var all strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&all, "%s %s: %s\n", f.Status, f.Path, f.Message)
	}
	return all.String()
}

func TestModelListMustBeAList(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"model_list: {a: b}", "model_list: gpt-4o", "model_list: 3"} {
		if _, err := Import([]byte(text)); err == nil || !strings.Contains(err.Error(), "model_list must be a list") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPerMillion(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0.00000015": "0.15", "1.5e-07": "0.15", "3e-06": "3", "0": "0", "1.2345678901e-06": "1.234568 rounded", "0.1": "100000",
		"-1": "no", "cheap": "no", "1e40": "no", "": "no",
	} {
		got, exact, ok := dollars(in, million)
		if !exact && ok {
			got += " rounded"
		}
		if !ok {
			got = "no"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzImport(f *testing.F) {
	text, err := os.ReadFile("testdata/twelve.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Import(text)
		if err != nil {
			if strings.Contains(err.Error(), "the translat") {
				t.Fatal(err)
			}
			return
		}
		if _, err := config.Parse("imported.yaml", r.YAML, config.Pretend(r.Samples)); err != nil {
			t.Fatal(err)
		}
	})
}
