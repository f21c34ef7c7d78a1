package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A stream whose caller left goes on upstream where its target says so, and is charged for what it really used; elsewhere
// it is closed at once, and what it used is a guess. In either case it is a call that its caller left.
func TestStreamOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	const tokens = 20
	upstream := startSim(t, "--tokens-per-second", "40")
	s := serveOne(t, fmt.Sprintf(`
providers: {openai: {kind: openai, base_url: %s/v1}, claude: {kind: anthropic, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}}
targets:
  drained: {provider: openai, upstream_model: sim-small, on_disconnect: drain, price: &price {input: "1", output: "2"}}
  drained-claude: {provider: claude, upstream_model: sim-small, on_disconnect: drain, price: *price}
  hasty: {provider: openai, upstream_model: sim-small, on_disconnect: drain, price: *price, timeouts: {drain: 1ms}}
  closed: {provider: openai, upstream_model: sim-small, price: *price}
models: {drained: {targets: [drained]}, claude: {targets: [drained-claude]}, hasty: {targets: [hasty]}, closed: {targets: [closed]}}
`, upstream))
	for _, tt := range []struct {
		model, path string
		known       bool
	}{{"drained", "/v1/chat/completions", true}, {"claude", "/v1/messages", true}, {"hasty", "/v1/chat/completions", false}, {"closed", "/v1/chat/completions", false}} {
		t.Run(tt.model, func(t *testing.T) {
			t.Parallel()
			body := fmt.Sprintf(`{"model":%q,"stream":true,"max_tokens":100,"messages":[{"role":"user","content":"Tell me [sim:tokens=%d]"}]}`, tt.model, tokens)
			id := leaveStream(t, s, tt.path, body)
			type record struct {
				Status     string
				StatusCode int `json:"status_code"`
				Usage      struct {
					OutputTokens int `json:"output_tokens"`
				}
				History []struct {
					UsageKnown bool `json:"usage_known"`
					Error      struct{ Kind string }
				}
			}
			var found record
			Await(t, "the record", func() error {
				a := s.Do(get("/v1/requests/" + id))
				if a.Status != http.StatusOK {
					return fmt.Errorf("%d %s", a.Status, a.Body)
				}
				found = readAs[record](t, a)
				return nil
			})
			if found.Status != "cancelled" || found.StatusCode != 499 || len(found.History) != 1 {
				t.Fatalf("it is recorded as %+v", found)
			}
			if exact := found.Usage.OutputTokens == tokens; found.History[0].UsageKnown != tt.known || exact != tt.known {
				t.Errorf("it used %+v, known: %v", found.Usage, found.History[0].UsageKnown)
			}
		})
	}
}

// leaveStream asks for a stream and leaves it after its first event. It returns the id of the call.
func leaveStream(t *testing.T, s *Server, path, body string) string {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+Key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %q: %v", resp.StatusCode, line, err)
	}
	return resp.Header.Get("x-request-id")
}
