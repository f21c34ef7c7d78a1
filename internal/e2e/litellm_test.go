package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// litellmConfig is a LiteLLM configuration of twelve models of ten vendors, and two aliases.
const litellmConfig = "../litellm/testdata/twelve.yaml"

// litellmTargets are the vendors that each model of that file may be answered by.
var litellmTargets = map[string][]string{
	"gpt-4o": {"openai", "azure"}, "gpt-4": {"openai", "azure"}, "mini": {"openai"}, "claude": {"anthropic"}, "smart": {"anthropic"}, "haiku": {"anthropic"},
	"llama": {"groq"}, "mistral-small": {"mistral"}, "local": {"ollama"}, "own-vllm": {"vllm"}, "embed": {"openai"}, "grok": {"xai"}, "deep": {"deepseek"}, "flash": {"gemini"},
}

// TestLiteLLMConfigServes imports a LiteLLM configuration with the real binary, validates it, and calls every model of it. The
// addresses of the vendors lead to the simulator; everything else of the imported file is served as it is.
func TestLiteLLMConfigServes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	importing := Start(t, nil, "config", "import", "litellm", litellmConfig, "--out", path)
	if code := importing.Exit(); code != 0 {
		t.Fatalf("config import: exit code %d: %s", code, importing.Output())
	}
	vendors := &vendorGate{sim: startSim(t), called: make(chan string, 64)}
	address := FreeAddress(t)
	vendors.redirect(t, path, "listen: "+address+"\nadmin_listen: "+FreeAddress(t)+"\ndata: "+t.TempDir()+"\ntenants: {demo: {keys: [{name: app, secret: \"${APP_KEY}\"}]}}\n")
	env := []string{"APP_KEY=" + Key, "LITELLM_MASTER_KEY=" + AdminKey}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\$\{(\w+_KEY)\}`).FindAllStringSubmatch(string(text), -1) {
		if m[1] != "APP_KEY" && m[1] != "LITELLM_MASTER_KEY" {
			env = append(env, m[1]+"=sk-of-"+m[1])
		}
	}
	if p := Start(t, env, "config", "validate", path); p.Exit() != 0 {
		t.Fatalf("config validate: %s", p.Output())
	}
	server := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
	server.AwaitReady()
	for model, want := range litellmTargets {
		call := Call{Method: http.MethodPost, Path: "/v1/chat/completions", Body: `{"model":"` + model + `","messages":[{"role":"user","content":"Hello"}]}`}
		if model == "embed" {
			call.Path, call.Body = "/v1/embeddings", `{"model":"embed","input":"Hello"}`
		}
		a := server.Do(call)
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
			continue
		}
		if vendor := <-vendors.called; !strings.Contains(strings.Join(want, " "), vendor) {
			t.Errorf("%s was answered by %s, want %v", model, vendor, want)
		}
	}
}

// vendorGate passes the calls to each vendor on to the simulator, and tells the vendor.
type vendorGate struct {
	sim    string
	called chan string
}

// redirect gives every provider of a configuration an address of its own on this machine. More is added to the file.
func (g *vendorGate) redirect(t *testing.T, path, more string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for name, p := range file["providers"].(map[string]any) {
		provider, server := p.(map[string]any), httptest.NewServer(g.proxy(t, name))
		t.Cleanup(server.Close)
		switch {
		case provider["azure"] != nil: // its address is the resource alone
			provider["base_url"] = server.URL
		case provider["kind"] == "gemini":
			provider["base_url"] = server.URL + "/v1beta"
		default:
			provider["base_url"] = server.URL + "/v1"
		}
	}
	if text, err = yaml.Marshal(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, more...), 0o600); err != nil {
		t.Fatal(err)
	}
}

var azurePath = regexp.MustCompile(`^/openai/deployments/[^/]+`)

func (g *vendorGate) proxy(t *testing.T, vendor string) http.Handler {
	t.Helper()
	to, err := url.Parse(g.sim)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		g.called <- vendor
		p.Out.URL.Path = azurePath.ReplaceAllString(p.In.URL.Path, "/v1")
		p.SetURL(to)
	}}
}
