package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"penstock/internal/config"
)

func TestConfigInit(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	if got := d.run("config", "init", "--out", path); got.code != exitUsage || !strings.Contains(got.stderr, "--vendor openai") {
		t.Errorf("without any key: %+v", got)
	}
	d.env["ANTHROPIC_API_KEY"], d.env["OPENAI_API_KEY"] = "sk-ant-secret", "sk-secret"
	out := d.ok("config", "init", "--out", path, "--postgres")
	if !strings.Contains(out, "export DATABASE_URL=…") || strings.Contains(out, "export OPENAI_API_KEY") || !strings.Contains(out, "penstock config validate "+path) {
		t.Errorf("it prints %s", out)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "secret") || !strings.Contains(string(text), `api_key: "${OPENAI_API_KEY}"`) {
		t.Errorf("%v: %s", err, text)
	}
	d.env["DATABASE_URL"] = "postgres://u:p@db/penstock"
	if got := d.ok("config", "validate", path); !strings.Contains(got, "with 2 providers, 2 targets, 2 models and 0 tenants") || !strings.Contains(got, "The price of 2 targets comes from the catalogue") {
		t.Errorf("it is not valid: %s", got)
	}
	if got := d.run("config", "init", "--out", path); got.code != exitError || !strings.Contains(got.stderr, "exists; use --force") {
		t.Errorf("overwriting: %+v", got)
	}
	d.ok("config", "init", "--out", path, "--force", "--vendor", "ollama", "--model", "llama3.2,qwen3:8b", "--listen", "0.0.0.0:80")
	if got := d.ok("config", "validate", path); !strings.Contains(got, "1 provider, 2 targets, 2 models") {
		t.Errorf("%s", got)
	}
	for args, want := range map[string]string{
		"--vendor opnai": `there is no vendor "opnai"; did you mean "openai"?`,
		"--vendor openai,anthropic --model gpt-4o-mni": `no model "gpt-4o-mni" of these vendors; did you mean "gpt-4o-mini"?`,
		"--vendor openai --listen here":                "--listen must look like 127.0.0.1:8080",
		"--vendor openai --model claude-haiku-4-5":     `"claude-haiku-4-5" is a model of anthropic, not of openai; use --vendor anthropic for it`,
	} {
		if got := d.run(append([]string{"config", "init", "--out", "-"}, strings.Fields(args)...)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// Every kind of provider is proposed, each with a file that serve accepts.
func TestConfigInitProposesEveryKind(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	kinds := map[string]bool{}
	for _, v := range starters() {
		if got := d.run("config", "init", "--out", "-", "--vendor", v.Name); got.code != exitOK || !strings.Contains(got.stdout, v.Model) || !strings.Contains(got.stdout, "kind: "+v.Kind) {
			t.Errorf("%s: %+v", v.Name, got)
		}
		kinds[v.Kind] = true
	}
	for _, kind := range config.ProviderKinds {
		if !kinds[kind] {
			t.Errorf("%s is not proposed", kind)
		}
	}
	// The variable that is set is the one that the file names.
	d.env["GOOGLE_API_KEY"], d.env["AWS_BEARER_TOKEN_BEDROCK"], d.env["AWS_DEFAULT_REGION"] = "AIza-secret", "ABSK-secret", "eu-central-1"
	got := d.ok("config", "init", "--out", "-")
	for _, want := range []string{`gemini: {kind: gemini, api_key: "${GOOGLE_API_KEY}"}`, `bedrock: {kind: bedrock, api_key: "${AWS_BEARER_TOKEN_BEDROCK}", aws: {region: "${AWS_DEFAULT_REGION}"}}`} {
		if !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	delete(d.env, "AWS_BEARER_TOKEN_BEDROCK")
	d.env["AWS_SESSION_TOKEN"] = "temporary"
	if got := d.ok("config", "init", "--out", "-", "--vendor", "bedrock"); !strings.Contains(got, `secret_access_key: "${AWS_SECRET_ACCESS_KEY}", session_token: "${AWS_SESSION_TOKEN}"`) {
		t.Error(got)
	}
	if got := d.ok("config", "init", "--out", "-"); strings.Contains(got, "bedrock") {
		t.Errorf("credentials for AWS are taken for Bedrock's:\n%s", got)
	}
}

// On a terminal it asks, and an empty answer takes the proposal.
func TestConfigInitAsks(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	d.terminal = true
	d.stdin = "antropic, openai\nanthropic, openai\n\npostgres\n\n"
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	out := d.ok("config", "init", "--out", path)
	for _, want := range []string{"Vendors, of openai, anthropic,", "[openai]: ", `there is no vendor "antropic"; did you mean "anthropic"?`, "Models, as the vendors name them [claude-haiku-4-5,gpt-4.1-mini]: ", "Database, sqlite or postgres [sqlite]: ", "[127.0.0.1:8080]: ", "export ANTHROPIC_API_KEY=…"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not ask %q:\n%s", want, out)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "\ndatabase: \"${DATABASE_URL}\"\n") {
		t.Errorf("%v: %s", err, text)
	}
	d.stdin = ""
	if got := d.run("config", "init", "--out", path, "--force"); got.code != exitError || !strings.Contains(got.stderr, "use flags instead") {
		t.Errorf("without answers: %+v", got)
	}
}

// A LiteLLM configuration of twelve models imports, validates and serves.
func TestConfigImportLiteLLM(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	const source = "../../internal/litellm/testdata/twelve.yaml"
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	got := d.run("config", "import", "litellm", source, "--out", path)
	if got.code != exitOK || got.stdout != "" || !strings.Contains(got.stderr, "Set these environment variables: ANTHROPIC_API_KEY,") ||
		!strings.Contains(got.stderr, "14 models imported; 14 settings not carried") || strings.Contains(got.stderr, "sk-literal") {
		t.Fatalf("%+v", got)
	}
	var report struct {
		Config    string
		Findings  []struct{ Path, Status, Message string }
		Variables []string
	}
	if err := json.Unmarshal([]byte(d.ok("config", "import", "litellm", source, "-o", "json")), &report); err != nil || len(report.Findings) != 18 {
		t.Fatalf("%v: %+v", err, report)
	}
	for _, name := range report.Variables {
		d.env[name] = "sk-of-" + strings.ToLower(name)
	}
	d.env["LITELLM_MASTER_KEY"] = testAdminKey
	if got := d.ok("config", "validate", path); !strings.Contains(got, "14 models") {
		t.Errorf("%s", got)
	}
	// It serves: the local server is a simulated one.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d.env["APP_KEY"] = testKey
	served := strings.Replace(string(text), "http://127.0.0.1:11434/v1", upstream(t)+"/v1", 1) +
		"listen: 127.0.0.1:0\nadmin_listen: 127.0.0.1:0\ntenants: {demo: {keys: [{name: app, secret: \"${APP_KEY}\"}]}}\n"
	d.serves(write(t, "penstock.yaml", served))
	if got := d.ok("jobs", "submit", "-m", "local", "--wait", "Hello"); len(strings.Fields(got)) != 3 {
		t.Errorf("the answer is %q, want 3 words", got)
	}
	if got := d.ok("models", "list"); strings.Count(got, "\n") != 15 || !strings.Contains(got, "smart") {
		t.Errorf("models: %s", got)
	}
	if got := d.ok("tenants", "list"); !strings.Contains(got, "demo") {
		t.Errorf("the master key is the admin key: %s", got)
	}
	if got := d.run("config", "import", "litellm", path); got.code != exitError || !strings.Contains(got.stderr, "it has no model_list") {
		t.Errorf("another file: %+v", got)
	}
}

// One name that Penstock cannot carry does not cost the file.
func TestConfigImportLeavesOutOneEntry(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	out := filepath.Join(t.TempDir(), "penstock.yaml")
	source := write(t, "litellm.yaml", "model_list:\n  - {model_name: bad name with spaces, litellm_params: {model: gpt-4o}}\n  - {model_name: good, litellm_params: {model: gpt-4o}}\n")
	got := d.run("config", "import", "litellm", source, "--out", out)
	if got.code != exitOK || !strings.Contains(got.stderr, `model_list[0].model_name: not carried: the model "bad name with spaces" is left out`) || !strings.Contains(got.stderr, "1 model imported; 1 setting not carried") {
		t.Errorf("%+v", got)
	}
	d.env["OPENAI_API_KEY"] = "sk-test"
	if got := d.ok("config", "validate", out); !strings.Contains(got, "1 model") {
		t.Error(got)
	}
	source = write(t, "litellm.yaml", "model_list: {a: b}\n")
	if got := d.run("config", "import", "litellm", source); got.code != exitError || !strings.Contains(got.stderr, "model_list must be a list") {
		t.Errorf("%+v", got)
	}
}

// The command line takes the names of the file and the API.
func TestBudgetFlagTakesTheNamesOfTheFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"daily=5,hard", "daily_usd=5,hard=true"} {
		got, err := readBudget("--budget", text)
		if err != nil || got["daily_usd"] != "5" || got["hard"] != true || len(got) != 2 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
