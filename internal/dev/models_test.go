package dev

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock/internal/config"
)

// Names of vendors' models go to their own vendor first, also names that no catalogue knows, and callers can list them.
func TestDevSendsNamesToTheirOwnVendor(t *testing.T) {
	t.Parallel()
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"llama3.2:3b"},{"id":"gpt-4o"},{"id":"sim"},{"id":"auto"},{"id":"not a name"}]}`)
	}))
	t.Cleanup(local.Close)
	vars := map[string]string{"OPENAI_API_KEY": "sk-real", "ANTHROPIC_API_KEY": "sk-ant-real", "OLLAMA_HOST": local.URL}
	found := detect(t.Context(), func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, "")
	var file config.File
	describe(&file, "http://127.0.0.1:1", "psk_dev_7gq2xk9dmw4ztfv8hsb3rnj6cp", found)
	s, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gpt-4o": "openai", "gpt-of-tomorrow": "openai", "o3-mini": "openai", "text-embedding-3-small": "openai",
		"claude-haiku-4-5": "anthropic", "claude-of-tomorrow": "anthropic", "llama3.2:3b": "ollama", "sim": "sim", "anything-else": "openai",
	} {
		m, ok := s.Model(name)
		if !ok || s.Targets[m.Targets[0]].Provider != want {
			t.Errorf("%s goes to %v", name, m.Targets)
		}
		if strings.HasPrefix(name, "claude") && len(m.Targets) != 1 {
			t.Errorf("%s can go elsewhere: %v", name, m.Targets)
		}
	}
	if got := s.Targets["openai-gpt-4o"]; got == nil || got.Unpriced || got.PriceSource == "" {
		t.Errorf("a found vendor's model has no price of the catalogue: %+v", got)
	}
	if n := listed(s); n < 50 || len(s.Models)-n != 10 || s.Lists("any") || !s.Lists("auto") || !s.Lists("sim") {
		t.Errorf("%d of %d models are listed", n, len(s.Models))
	}
	for name, want := range map[string]string{
		"gpt-4o": "openai", "claude-haiku-4-5": "anthropic", "claude-of-tomorrow": "anthropic", "llama3.2:3b": "ollama", "auto": "openai", "sim": "",
	} {
		if m, _ := s.Model(name); s.Owner(m) != want {
			t.Errorf("%s is owned by %q, want %q", name, s.Owner(m), want)
		}
	}
	if _, ok := s.Models["not a name"]; ok {
		t.Error("an invalid name is a model")
	}
}
