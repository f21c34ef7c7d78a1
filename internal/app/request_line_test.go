package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Requests are shown with their status, duration and id, and never wait for the terminal.
func TestRequestLines(t *testing.T) {
	t.Parallel()
	out, in := io.Pipe()
	lines := newRequestLines(in)
	go func() { _ = lines.run(t.Context()) }()
	handler := lines.watch(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Penstock-Target", "mini")
		w.Header().Set("X-Request-Id", "req_1")
		w.WriteHeader(http.StatusTeapot)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("a stream cannot be flushed: %v", err)
		}
	}))
	call := func(path string) {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
	}
	call("/healthz")
	for range 2 * maxLines { // nobody reads: the rest is dropped
		call("/v1/chat/completions")
	}
	call("/v1/%1b%5b2J")
	buffer := make([]byte, 200)
	n, err := out.Read(buffer)
	line := string(buffer[:n])
	if err != nil || !strings.Contains(line, "POST   /v1/chat/completions  418  ") || !strings.HasSuffix(line, "  mini  req_1\n") {
		t.Errorf("%v: %q", err, line)
	}
	out.Close()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/%1b%5b2J", nil)
	if line := lineOf(request, &seenResponse{ResponseWriter: httptest.NewRecorder(), status: 200}, time.Now()); strings.ContainsRune(line, '\x1b') {
		t.Errorf("a path controls the terminal: %q", line)
	}
}
