package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The development server serves what tutorials of either SDK try: with no vendor found, the simulated upstream answers for every
// name, and for names of Claude in Anthropic's format.
func TestDevServesBothFormats(t *testing.T) {
	t.Parallel()
	s := Dev(t, t.TempDir())
	version := []string{"anthropic-version", "2023-06-01"}
	const (
		prefill = `{"model":"MODEL","max_tokens":20,"top_k":5,"messages":[{"role":"user","content":"Who?"},{"role":"assistant","content":"It is"}]}`
		chat    = `{"model":"MODEL","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}`
	)
	for _, tt := range []struct{ path, body, model, target string }{
		{"/v1/messages", prefill, "claude-sonnet-4-5", "sim-anthropic"},
		{"/v1/messages", chat, "claude-sonnet-4-5", "sim-anthropic"},
		{"/v1/messages/count_tokens", `{"model":"MODEL","messages":[{"role":"user","content":"Hi"}]}`, "claude-sonnet-4-5", "sim-anthropic"},
		{"/v1/chat/completions", chat, "gpt-4.1", "sim"},
		{"/v1/chat/completions", chat, "claude-sonnet-4-5", "sim-anthropic"},
	} {
		a := s.Do(post(tt.path, strings.Replace(tt.body, "MODEL", tt.model, 1), version...))
		if got := a.Header.Get("X-Penstock-Target"); a.Status != http.StatusOK || got != tt.target {
			t.Errorf("%s of %s: %d from %q, want it from %q: %s", tt.path, tt.model, a.Status, got, tt.target, a.Body)
		}
	}
	for _, name := range []string{"sim", "gpt-4.1", "claude-sonnet-4-5"} {
		if a := s.Do(get("/v1/models/" + name)); a.Status != http.StatusOK || !strings.Contains(a.Body, `"id":"`+name+`"`) {
			t.Errorf("model %s can be called, and is not found: %d %s", name, a.Status, a.Body)
		}
	}
	var list struct {
		Data []struct{ Embedding []float64 }
	}
	a := s.Do(post("/v1/embeddings", `{"model":"text-embedding-3-large","input":"Hi"}`))
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || len(list.Data) != 1 || len(list.Data[0].Embedding) != 3072 {
		t.Errorf("an embedding of text-embedding-3-large: %d %.200s", a.Status, a.Body)
	}
}
