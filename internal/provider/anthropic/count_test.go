package anthropic

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"penstock"
	"penstock/internal/provider"
)

// counter answers as it is reported, and keeps the last call.
type counter struct {
	status int
	body   string
	path   string
	asked  string
	header http.Header
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.path, c.asked, c.header = r.URL.Path, string(body), r.Header
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(c.status)
	fmt.Fprint(w, c.body)
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		kind   provider.Kind // "" for a good answer
	}{
		{"a count", 200, `{"input_tokens":14}`, ""},
		{"a count of nothing", 200, `{"input_tokens":0}`, ""},
		{"no count", 200, `{}`, provider.KindMalformed},
		{"a negative count", 200, `{"input_tokens":-1}`, provider.KindMalformed},
		{"an error in place of it", 200, errorBody("overloaded_error", "Overloaded"), provider.KindOverloaded},
		{"an error", 429, errorBody("rate_limit_error", "Slow down"), provider.KindRateLimited},
		{"a server that does not count", 404, `{"detail":"Not Found"}`, provider.KindRejected},
		{"a server that is broken", 500, `{}`, provider.KindServer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := &counter{status: tt.status, body: tt.body}
			server := httptest.NewServer(up)
			t.Cleanup(server.Close)
			p := newProvider(t, Config{BaseURL: server.URL, APIKey: "sk-ours"})
			answer, err := p.Call(t.Context(), provider.Call{
				Endpoint: penstock.EndpointCountTokens, UpstreamModel: "claude", Body: []byte(`{"model":"m","messages":[]}`),
			})
			if up.path != "/v1/messages/count_tokens" || up.asked != `{"model":"claude","messages":[]}` || up.header.Get("X-Api-Key") != "sk-ours" {
				t.Errorf("asked %s with %s", up.path, up.asked)
			}
			if tt.kind != "" {
				if got := provider.AsError(err).Kind; err == nil || got != tt.kind {
					t.Errorf("%v, want %s", err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Close()
			chunk, err := answer.Next()
			if meta := answer.Meta(); err != nil || string(chunk.Wire) != tt.body || !meta.UsageKnown || meta.Usage != (penstock.Usage{}) {
				t.Errorf("%s, %v, %+v", chunk.Wire, err, meta)
			}
		})
	}
}
