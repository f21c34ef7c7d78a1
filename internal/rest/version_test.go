package rest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/client"
	"penstock/internal/telemetry"
)

// A surface of two shapes: thing was renamed and amount was reshaped, in the newest version.
type (
	thing struct {
		Name   string  `json:"full_name"`
		Amount amount  `json:"amount"`
		Parts  []thing `json:"parts,omitzero"`
	}
	amount    struct{ Cents int }
	oldAmount struct {
		Dollars float64 `json:"dollars"`
	}
	things struct {
		Data []thing `json:"data"`
		Note string  `json:"note"`
	}
)

func testShapes() *Shapes {
	s := new(Shapes)
	Renamed[thing](s, Change{Version: Newest, Field: "name", Replacement: "full_name"})
	Reshaped(s, Change{Version: Newest, Field: "dollars", Replacement: "cents"}, func(a amount) oldAmount { return oldAmount{float64(a.Cents) / 100} })
	return s
}

type testExchange struct{ Call }

func (*testExchange) Authenticate() (penstock.Principal, error) { return penstock.Principal{}, nil }
func (*testExchange) Finish()                                   {}
func (*testExchange) Cause(err error) error                     { return err }
func (*testExchange) Close()                                    {}

func testServer(t *testing.T, routes ...Route) http.Handler {
	t.Helper()
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{
		Routes: routes, Shapes: testShapes(), Realm: "test", Begin: func() Exchange { return new(testExchange) }, Tracer: tracer,
		Metrics: telemetry.NewMetrics("test", "test"), Log: slog.New(slog.DiscardHandler), Clock: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

func get(h http.Handler, path, version string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if version != "" {
		r.Header.Set("penstock-version", version)
	}
	to := httptest.NewRecorder()
	h.ServeHTTP(to, r)
	return to
}

// TestVersionsOfAnAnswer serves one value in the shapes of both versions, wherever it is in an answer.
func TestVersionsOfAnAnswer(t *testing.T) {
	t.Parallel()
	value := things{Data: []thing{{Name: "a", Amount: amount{250}, Parts: []thing{{Name: "b"}}}}, Note: "n"}
	h := testServer(t, Route{Method: "GET", Path: "/v1/things", Open: true, Answers: []Answer{{Status: 200, Body: things{}}},
		Serve: func(c *Call) error { return c.JSON(http.StatusOK, value) }},
		Route{Method: "GET", Path: "/v1/plain", Open: true, Serve: func(c *Call) error { return c.JSON(http.StatusOK, 1) }})
	const older = `{"data":[{"name":"a","amount":{"dollars":2.5},"parts":[{"name":"b","amount":{"dollars":0}}]}],"note":"n"}`
	const newer = `{"data":[{"full_name":"a","amount":{"Cents":250},"parts":[{"full_name":"b","amount":{"Cents":0}}]}],"note":"n"}`
	for _, tt := range []struct{ asked, version, body, deprecation, sunset string }{
		{"", "2026-11-01", older, "@1796083200", "Wed, 01 Dec 2027 00:00:00 GMT"},
		{"2026-11-01", "2026-11-01", older, "@1796083200", "Wed, 01 Dec 2027 00:00:00 GMT"},
		{"2026-12-01", "2026-12-01", newer, "", ""},
	} {
		got := get(h, "/v1/things", tt.asked)
		head := got.Header()
		if strings.TrimSpace(got.Body.String()) != tt.body || head.Get("penstock-version") != tt.version {
			t.Errorf("version %q: %s in %s", tt.asked, got.Body, head.Get("penstock-version"))
		}
		if head.Get("Deprecation") != tt.deprecation || head.Get("Sunset") != tt.sunset || (head.Get("Link") != "") != (tt.deprecation != "") {
			t.Errorf("version %q: %v", tt.asked, head)
		}
		if plain := get(h, "/v1/plain", tt.asked).Header(); plain.Get("Deprecation") != "" {
			t.Errorf("version %q: an answer without a change is deprecated: %v", tt.asked, plain)
		}
	}
}

func TestUnknownVersion(t *testing.T) {
	t.Parallel()
	h := testServer(t, Route{Method: "GET", Path: "/v1/plain", Open: true, Serve: func(c *Call) error { return c.JSON(http.StatusOK, 1) }})
	got := get(h, "/v1/plain", "2025-01-01")
	if want := `There is no version \"2025-01-01\" of the API; the versions are 2026-11-01 and 2026-12-01. Without the header penstock-version, version 2026-11-01 is used.`; got.Code != 400 || !strings.Contains(got.Body.String(), want) ||
		!strings.Contains(got.Body.String(), `"param":"penstock-version"`) || got.Header().Get("penstock-version") != "" {
		t.Errorf("%d %s %v", got.Code, got.Body, got.Header())
	}
}

// TestDeprecatedRoute holds that a route which will go says so in every version, and is listed.
func TestDeprecatedRoute(t *testing.T) {
	t.Parallel()
	h := testServer(t,
		Route{Method: "GET", Path: "/v1/old", Open: true, Serve: func(c *Call) error { return c.JSON(http.StatusOK, 1) },
			Deprecated: &Deprecated{Since: date(2026, 12, 1), Sunset: date(2027, 6, 1), Replacement: "GET /v1/new", About: "It is slow."}},
		Route{Method: "GET", Path: "/v1/deprecations", Open: true, Serve: (*Call).ServeDeprecations})
	for _, version := range []string{"2026-11-01", "2026-12-01"} {
		if head := get(h, "/v1/old", version).Header(); head.Get("Deprecation") != "@1796083200" || head.Get("Sunset") != "Tue, 01 Jun 2027 00:00:00 GMT" {
			t.Errorf("%s: %v", version, head)
		}
	}
	if list := get(h, "/v1/deprecations", "").Body.String(); !strings.Contains(list, `"kind":"route","version":null,"method":"GET","path":"/v1/old"`) ||
		!strings.Contains(list, `"kind":"version","version":"2026-11-01"`) {
		t.Error(list)
	}
}

func TestRowsMustSayWhatTheAuditNotes(t *testing.T) {
	t.Parallel()
	serve := func(*Call) error { return nil }
	for name, rt := range map[string]Route{
		"a change without a word":  {Method: "POST", Path: "/x", Serve: serve},
		"a read with an action":    {Method: "GET", Path: "/x", Serve: serve, Audit: Audit{Action: "x.read"}},
		"an action and no action":  {Method: "PUT", Path: "/x", Serve: serve, Audit: Audit{Action: "x.set", None: "why"}},
		"a scope and a role":       {Method: "GET", Path: "/x", Serve: serve, Scope: penstock.ScopeInference, Roles: []penstock.Role{penstock.RoleAdmin}},
		"an open row with a scope": {Method: "GET", Path: "/x", Serve: serve, Scope: penstock.ScopeInference, Open: true},
		"no handler":               {Method: "GET", Path: "/x"},
	} {
		if _, err := New(Config{Routes: []Route{rt}}); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// The Go client asks for the newest version.
func TestClientIsUpToDate(t *testing.T) {
	t.Parallel()
	if client.APIVersion != Versions[Newest].Name {
		t.Errorf("the client asks for %s; the newest version is %s", client.APIVersion, Versions[Newest].Name)
	}
}
