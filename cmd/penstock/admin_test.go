package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"penstock/internal/directory"
)

// proving lets a fake prove that it knows the admin key of the tests, as a server does.
func proving(t *testing.T, next http.Handler) http.Handler {
	t.Helper()
	key, err := directory.LoadAdminKey(testAdminKey, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := &directory.Operators{Admin: key}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			next.ServeHTTP(w, r)
			return
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("the challenge carries the key")
		}
		w.Header().Set(directory.HeaderProof, server.Prove(r.Header.Get(directory.HeaderChallenge)))
	})
}

// Another program at the address of the admin API never sees the admin key: it may answer anything, or send the client
// elsewhere.
func TestAdminKeyIsNotSentToAnotherProgram(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a page":         func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>Prometheus</html>")) },
		"a health check": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"ok"}`)) },
		"an echo": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(directory.HeaderProof, r.Header.Get(directory.HeaderChallenge))
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"an internal error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		var leaked atomic.Bool
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || strings.Contains(r.URL.String(), testAdminKey) {
				leaked.Store(true)
			}
			answer(w, r)
		}))
		t.Cleanup(other.Close)
		d := newHarness(t)
		for _, command := range []string{"tenants list", "config reload", "top", "keys list", "budgets list --tenant x"} {
			got := d.run(append(strings.Fields(command), "--admin-url", other.URL)...)
			if got.code != exitError || !strings.Contains(got.stderr, "the admin key was not sent") || !strings.Contains(got.stderr, "--admin-url") || strings.Contains(got.stderr, testAdminKey) {
				t.Errorf("%s, %s: %+v", name, command, got)
			}
		}
		if leaked.Load() {
			t.Errorf("%s got the key", name)
		}
	}
}

// A server that proved itself cannot send the key on.
func TestAdminKeyFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with %q", r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(proving(t, http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect)))
	t.Cleanup(server.Close)
	if got := newHarness(t).run("tenants", "list", "--admin-url", server.URL); got.code != exitError || !strings.Contains(got.stderr, "307") {
		t.Errorf("%+v", got)
	}
}
