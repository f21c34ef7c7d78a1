package app

import (
	"testing"

	"penstock/internal/config"
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
		"our own address":     {map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1", "OPENAI_API_KEY": "x"}, 0},
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
		if len(found) != 1 || found[0].kind != config.KindAnthropic || found[0].url != want || found[0].key.Reveal() != "sk-ant-real" {
			t.Fatalf("%s: found %+v", base, found)
		}
		if _, err := new(registry).newProvider(found[0].name, config.ProviderConfig{Kind: found[0].kind, BaseURL: found[0].url, APIKey: found[0].key}, nil); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}
