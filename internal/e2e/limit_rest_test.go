package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A refusal that one process got rests the limit that it names in another process, and not the target; a refusal that names none rests
// the target.
func TestProcessesRestTheNamedLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, refusal, reason string }{
		{"a limit", "Rate limit reached for sim-small in organization org-1 on tokens per min (TPM): Limit 30000, Used 30000, Requested 10.", "is at its rate limit"},
		{"no limit", "Slow down.", "rests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				calls.Add(1)
				w.Header().Set("Content-Type", "application/json")
				if strings.Contains(string(body), "too fast") {
					w.Header().Set("Retry-After", "50")
					w.WriteHeader(http.StatusTooManyRequests)
					_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"rate_limit","code":"rate_limit_exceeded"}}`, tt.refusal)
					return
				}
				_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
					`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
			}))
			t.Cleanup(u.Close)
			servers := limitTest{processes: 2, limits: "{}"}.serve(t, u.URL)
			chat := func(text string) Call {
				return post("/v1/chat/completions", fmt.Sprintf(`{"model":"fast","messages":[{"role":"user","content":%q}]}`, text))
			}
			say := func(s *Server, text string, want int) {
				t.Helper()
				if a := s.Do(chat(text)); a.Status != want {
					t.Fatalf("%q: %d %s, want %d", text, a.Status, a.Body, want)
				}
			}
			say(servers[1], "Hi", http.StatusOK)
			say(servers[0], "too fast", http.StatusServiceUnavailable)
			for _, s := range servers {
				Await(t, "a process to leave the target alone", func() error {
					s.Do(chat("Hi")) // a process that makes no calls need not know
					a := s.Do(post("/v1/models/fast/explain", `{}`))
					if !strings.Contains(a.Body, tt.reason) {
						return fmt.Errorf("it explains %d %s", a.Status, a.Body)
					}
					return nil
				})
			}
			before := calls.Load()
			for _, s := range servers {
				say(s, "Hi", http.StatusServiceUnavailable)
			}
			if n := calls.Load() - before; n != 0 {
				t.Errorf("%d calls were made while it rests", n)
			}
		})
	}
}
