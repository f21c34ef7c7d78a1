package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a health check sent a key")
		}
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"status":"unready"}`))
			return
		}
		_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
	}))
	t.Cleanup(server.Close)
	d := newHarness(t)
	d.env["PENSTOCK_ADMIN_URL"] = server.URL
	check(t, d.run("health"), typed{stdout: `{"status":"ok"}` + "\n"})
	if got := d.run("health", "--ready"); got.code != exitError || !strings.Contains(got.stderr, `/readyz answers 503 Service Unavailable: {"status":"unready"}`) {
		t.Errorf("an unready server: exit code %d, stderr: %s", got.code, got.stderr)
	}
	server.Close()
	if got := d.run("health"); got.code != exitError || !strings.Contains(got.stderr, "connection refused") {
		t.Errorf("no server: exit code %d, stderr: %s", got.code, got.stderr)
	}
}
