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

// countingUpstream refuses its first calls, and says what it thinks of sending them again.
type countingUpstream struct {
	*httptest.Server
	calls atomic.Int64
}

func refuseFirst(t *testing.T, calls int64, header http.Header) *countingUpstream {
	t.Helper()
	u := &countingUpstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is asked makes no difference
		w.Header().Set("Content-Type", "application/json")
		if u.calls.Add(1) <= calls {
			for name := range header {
				w.Header().Set(name, header.Get(name))
			}
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":{"message":"It broke.","type":"server_error"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(u.Close)
	return u
}

// An upstream that calls a request in vain sees it once, whatever becomes of it elsewhere and however often.
func TestNobodyIsAskedAgainInVain(t *testing.T) {
	t.Parallel()
	const always = 1 << 30
	vain := http.Header{"X-Should-Retry": {"false"}}
	for _, tt := range []struct {
		name   string
		second int64 // calls that the other target refuses; -1 for no other target
		job    bool
		told   string
	}{
		{"a call", -1, false, `"retryable":false`},
		{"a call that another target answers", 0, false, `"content":"Hi"`},
		{"a call that another target may answer later", always, false, `"retryable":true`},
		{"a job", -1, true, `"status":"failed"`},
		{"a job that another target serves at last", 2, true, `"status":"succeeded"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first, targets := refuseFirst(t, always, vain), "[first]"
			config := fmt.Sprintf("providers:\n  first: {kind: openai, base_url: %s/v1}\n", first.URL)
			if tt.second >= 0 {
				second := refuseFirst(t, tt.second, nil)
				targets = "[first, second]"
				config += fmt.Sprintf("  second: {kind: openai, base_url: %s/v1}\n", second.URL)
			}
			config += "targets:\n  first: {provider: first, upstream_model: m}\n"
			if tt.second >= 0 {
				config += "  second: {provider: second, upstream_model: m}\n"
			}
			s := serveOne(t, config+"models: {fast: {targets: "+targets+"}}\n")
			ask := post("/v1/chat/completions", `{"model":"fast","messages":[]}`)
			if tt.job {
				ask = post("/v1/jobs", `{"model":"fast","input":"Hi"}`, "Prefer", "wait=60")
			}
			a := s.Do(ask)
			if !strings.Contains(a.Body, tt.told) || (a.Header.Get("x-should-retry") == "false") != strings.Contains(a.Body, `"retryable":false`) {
				t.Errorf("%d %s, x-should-retry %q; want %s", a.Status, a.Body, a.Header.Get("x-should-retry"), tt.told)
			}
			if n := first.calls.Load(); n != 1 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}
