package rest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"penstock/internal/telemetry"
)

// A wildcard of several segments in the middle of a path is told apart from what follows it.
func TestWildcardsInTheMiddle(t *testing.T) {
	t.Parallel()
	says := func(word string) func(*Call) error {
		return func(c *Call) error {
			return c.JSON(http.StatusOK, word+" "+strings.Join([]string{c.R.PathValue("name"), c.R.PathValue("version")}, "|"))
		}
	}
	rows := []Route{
		{Method: "GET", Path: "/v1/prompts", Open: true, Serve: says("list")},
		{Method: "GET", Path: "/v1/prompts/{name...}", Open: true, Serve: says("read")},
		{Method: "GET", Path: "/v1/prompts/{name...}/versions", Open: true, Serve: says("versions")},
		{Method: "GET", Path: "/v1/prompts/{name...}/versions/{version}", Open: true, Serve: says("version")},
		{Method: "PUT", Path: "/v1/prompts/{name...}/draft", Open: true, Audit: Audit{None: "a test"}, Serve: says("draft")},
		{Method: "GET", Path: "/v1/models/{name...}", Open: true, Serve: says("model")},
	}
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(Config{Routes: rows, Begin: func() Exchange { return new(testExchange) }, Tracer: tracer, Metrics: telemetry.NewMetrics("test", ""), Log: slog.New(slog.DiscardHandler), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	handler := server.Handler()
	for request, want := range map[string]string{
		"GET /v1/prompts":                         `"list |"`,
		"GET /v1/prompts/answer":                  `"read answer|"`,
		"GET /v1/prompts/support/answer":          `"read support/answer|"`,
		"GET /v1/prompts/support%2Fanswer":        `"read support/answer|"`,
		"GET /v1/prompts/a/b/versions":            `"versions a/b|"`,
		"GET /v1/prompts/a%2Fb/versions/7":        `"version a/b|7"`,
		"GET /v1/prompts/versions":                `"read versions|"`, // the service refuses the name
		"PUT /v1/prompts/a/b/draft":               `"draft a/b|"`,
		"PUT /v1/prompts/a/b":                     "There is no endpoint PUT /v1/prompts/a/b; GET /v1/prompts/{name...} exists.",
		"GET /v1/models/org/large":                `"model org/large|"`,
		"POST /v1/prompts/support/answer/unknown": "There is no endpoint POST",
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s, want %s", request, w.Body, want)
		}
	}
}
