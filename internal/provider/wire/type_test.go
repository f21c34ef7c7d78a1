package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"penstock/internal/provider"
)

// Whatever content type an upstream sends, callers get the type for JSON or for events, or an error.
func TestTypesOfAnswersArePinned(t *testing.T) {
	t.Parallel()
	const events = "data: a\n\ndata: [DONE]\n\n"
	for _, tt := range []struct {
		name, said, body string
		stream           bool
		want             string // "" for an error
	}{
		{"JSON", "application/json", "Hi", false, "application/json"},
		{"JSON with parameters", "application/json; charset=latin1; boundary=x", "Hi", false, "application/json"},
		{"a page", "text/html", "<script>alert(1)</script>", false, "application/json"}, // the words of this test are no JSON
		{"no type", "", "Hi", false, "application/json"},
		{"a picture", "image/svg+xml", "Hi", false, "application/json"},
		{"two types", "text/html, application/json", "Hi", false, "application/json"},
		{"events", "text/event-stream; charset=utf-8", events, true, typeEvents},
		{"events unasked", "text/event-stream", events, false, ""},
		{"events called a page", "text/html", events, true, typeEvents},
		{"a page for a stream", "text/html", "<h1>Hi</h1>", true, ""},
		{"JSON for a stream", "application/problem+json", "Hi", true, "application/json"},
		{"nonsense", "a/b/c;;;", events, true, typeEvents},
		{"gibberish", "text/html", "gibberish", false, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{tt.said}
			io.WriteString(w, tt.body)
		}))
		call := plainCall()
		if tt.stream {
			call = streamCall()
		}
		answer, err := newClient(t, Config{BaseURL: server.URL}).Call(t.Context(), call, request(call))
		switch {
		case tt.want == "" && provider.AsError(err).Kind != provider.KindMalformed:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case err == nil:
			if got := answer.Meta().ContentType; got != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
			answer.Close()
		}
		server.Close()
	}
}
