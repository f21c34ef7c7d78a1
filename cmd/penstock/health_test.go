package main

import (
	"encoding/pem"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	if got := d.run("health"); got.code != exitError || !strings.HasSuffix(got.stderr, "connection refused; set --admin-url or PENSTOCK_ADMIN_URL to the admin_listen of a server\n") {
		t.Errorf("no server: exit code %d, stderr: %s", got.code, got.stderr)
	}
}

// health trusts the authorities of --ca, as all other commands do.
func TestHealthOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // a refused handshake is expected
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newHarness(t)
	check(t, d.run("health", "--url", server.URL, "--ca", authority), typed{stdout: "ok\n"})
	if got := d.run("health", "--url", server.URL); got.code != exitError || !strings.Contains(got.stderr, "--ca or PENSTOCK_CA") {
		t.Errorf("without --ca: %+v", got)
	}
}
