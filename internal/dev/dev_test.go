package dev

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock/internal/app"
	"penstock/internal/config"
	"penstock/internal/provider/preset"
)

// environment is an environment of these variables, with no Ollama to be found.
func environment(vars map[string]string) config.Env {
	return func(name string) (string, bool) {
		if name == "OLLAMA_HOST" {
			return "127.0.0.1:1", true
		}
		v, ok := vars[name]
		return v, ok
	}
}

// A development server must not take the exports that it printed itself for a provider.
func TestDetectLeavesOurselvesAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		vars map[string]string
		want int
	}{
		"nothing":             {nil, 0},
		"a key":               {map[string]string{"OPENAI_API_KEY": "sk-real"}, 1},
		"a server of theirs":  {map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}, 1},
		"our own exports":     {map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1", "OPENAI_API_KEY": "psk_dev_x"}, 0},
		"our own key":         {map[string]string{"OPENAI_API_KEY": "psk_dev_x"}, 0},
		"a key for Anthropic": {map[string]string{"ANTHROPIC_API_KEY": "sk-ant-real"}, 1},
		"both":                {map[string]string{"ANTHROPIC_API_KEY": "sk-ant-real", "OPENAI_API_KEY": "sk-real"}, 2},
		"our own for both":    {map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:8080", "ANTHROPIC_API_KEY": "psk_dev_x", "OPENAI_API_KEY": "psk_dev_x"}, 0},
		"a key for Gemini":    {map[string]string{"GEMINI_API_KEY": "AIza"}, 1},
		"Google's other name": {map[string]string{"GOOGLE_API_KEY": "AIza"}, 1},
		"every other vendor": {map[string]string{
			"MISTRAL_API_KEY": "k", "GROQ_API_KEY": "k", "TOGETHER_API_KEY": "k", "XAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k", "OPENROUTER_API_KEY": "k",
			"FIREWORKS_API_KEY": "k", "PERPLEXITY_API_KEY": "k", "CEREBRAS_API_KEY": "k",
		}, 9},
		"a key for Azure, which needs an address": {map[string]string{"AZURE_API_KEY": "k"}, 0},
		"credentials for AWS":                     {map[string]string{"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "eu-central-1"}, 0},
		"that are meant for Bedrock": {map[string]string{
			"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "eu-central-1", "PENSTOCK_DEV_BEDROCK": "1",
		}, 1},
		"meant, without a region":    {map[string]string{"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s", "PENSTOCK_DEV_BEDROCK": "1"}, 0},
		"meant, without credentials": {map[string]string{"AWS_REGION": "eu-central-1", "PENSTOCK_DEV_BEDROCK": "1"}, 0},
		"a key of Bedrock":           {map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "ABSK", "AWS_REGION": "us-east-1"}, 1},
		"that has no region":         {map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "ABSK"}, 0},
		"our own address":            {map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1", "OPENAI_API_KEY": "x"}, 0},
	} {
		if got := detect(t.Context(), environment(tt.vars), "127.0.0.1:8080"); len(got) != tt.want {
			t.Errorf("%s: found %+v, want %d providers", name, got, tt.want)
		}
	}
}

func TestDetectAnthropic(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                              "",
		"https://api.anthropic.com":     "https://api.anthropic.com/v1",
		"https://proxy.example/claude/": "https://proxy.example/claude/v1",
		"https://proxy.example/v1":      "https://proxy.example/v1",
	} {
		found := detect(t.Context(), environment(map[string]string{"ANTHROPIC_API_KEY": "sk-ant-real", "ANTHROPIC_BASE_URL": base}), "")
		if len(found) != 1 || found[0].provider.Kind != config.KindAnthropic || found[0].provider.BaseURL != want || found[0].provider.APIKey.Reveal() != "sk-ant-real" {
			t.Fatalf("%s: found %+v", base, found)
		}
		if _, err := app.NewProvider(found[0].vendor.Name, found[0].provider); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// A local server is found at its default port if it says that its models are its own: another program may have the port.
func TestDetectLocalServers(t *testing.T) {
	t.Parallel()
	serve := func(owner string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"local-`+owner+`","owned_by":"`+owner+`"}]}`)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/v1"
	}
	at := map[string]string{"vllm": serve("vllm"), "sglang": serve("sglang"), "llamacpp": serve("llamacpp"), "ollama": "http://127.0.0.1:1/v1"}
	look := detector{env: environment(nil), vendors: preset.Vendors, localAt: func(v preset.Vendor) string { return at[v.Kind] }}
	found := look.find(t.Context())
	var file config.File
	describe(&file, "http://127.0.0.1:1", "psk_dev_7gq2xk9dmw4ztfv8hsb3rnj6cp", found)
	s, err := config.NewSnapshot(file)
	if err != nil || len(found) != 3 {
		t.Fatalf("%v: %+v", err, found)
	}
	for name, want := range map[string]string{"local-vllm": "vllm", "local-sglang": "sglang", "local-llamacpp": "llamacpp"} {
		if m, _ := s.Model(name); len(m.Targets) != 1 || s.Targets[m.Targets[0]].Provider != want || s.Providers[want].Kind != want {
			t.Errorf("%s goes to %v", name, m.Targets)
		}
	}
	if m, _ := s.Model("auto"); s.Targets[m.Targets[0]].UpstreamModel != "local-vllm" {
		t.Errorf("auto is %v", m.Targets)
	}
	at["vllm"], at["sglang"] = serve("another program"), "http://127.0.0.1:1/v1"
	if found = look.find(t.Context()); len(found) != 1 {
		t.Errorf("another program is taken for a model server: %+v", found)
	}
	look.listen = strings.TrimSuffix(strings.TrimPrefix(at["llamacpp"], "http://"), "/v1")
	if found = look.find(t.Context()); len(found) != 0 {
		t.Errorf("it found itself: %+v", found)
	}
}

// A provider of each vendor can be created, and every model that is proposed or listed is a valid target.
func TestDetectedVendorsServe(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"AWS_REGION": "eu-central-1"}
	for _, v := range preset.Vendors {
		for _, name := range v.KeyVariables {
			vars[name] = "key-of-" + v.Name
		}
	}
	found := detect(t.Context(), environment(vars), "")
	var file config.File
	describe(&file, "http://127.0.0.1:1", "psk_dev_7gq2xk9dmw4ztfv8hsb3rnj6cp", found)
	s, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range s.Providers {
		if _, err := app.NewProvider(name, c); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{
		"gemini-2.5-flash": "gemini", "gemini-of-tomorrow": "gemini", "gemini-embedding-001": "gemini",
		"eu.anthropic.claude-haiku-4-5-20251001-v1:0": "bedrock", "amazon.nova-of-tomorrow": "bedrock",
		"mistral-small-latest": "mistral", "mistral-embed": "mistral", "magistral-of-tomorrow": "mistral",
		"llama-3.3-70b-versatile": "groq", "meta-llama/Llama-3.3-70B-Instruct-Turbo": "together", "grok-3-mini": "xai", "grok-of-tomorrow": "xai",
		"deepseek-chat": "deepseek", "google/gemini-2.5-flash": "openrouter", "accounts/fireworks/models/x": "fireworks", "sonar-pro": "perplexity", "zai-glm-4.7": "cerebras",
	} {
		m, ok := s.Model(name)
		if !ok || len(m.Targets) != 1 || s.Targets[m.Targets[0]].Provider != want {
			t.Errorf("%s goes to %v", name, m.Targets)
		}
	}
	for _, name := range []string{"us.anthropic.claude-haiku-4-5-20251001-v1:0", "amazon.titan-embed-text-v2:0", "pplx-embed-v1-4b"} {
		if _, listed := s.Models[name]; listed {
			t.Errorf("%s cannot be called here, and is listed", name)
		}
	}
	if m, _ := s.Model("auto"); m.Targets[0] != "openai-gpt-4.1-mini" || len(m.Targets) != len(found) {
		t.Errorf("auto goes to %v", m.Targets)
	}
}
