package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The admin port of a development server moves if another program has it, says so, and commands find it.
func TestDevAdminPortMovesInTheOpen(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", "127.0.0.1:9090"); err == nil { // otherwise another program has it already
		t.Cleanup(func() { l.Close() })
	}
	d := newHarness(t)
	delete(d.env, "PENSTOCK_ADMIN_KEY")
	delete(d.env, "PENSTOCK_API_KEY")
	d.env["PENSTOCK_LISTEN"], d.env["OLLAMA_HOST"] = "127.0.0.1:0", "127.0.0.1:1"
	dev := d.starts("dev")
	var greeting strings.Builder
	for !strings.Contains(greeting.String(), "Another program listens on") {
		line := dev.line()
		greeting.WriteString(line + "\n")
		if name, url, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == "API" {
			d.env["PENSTOCK_URL"] = strings.TrimSpace(url)
		}
	}
	if !strings.Contains(greeting.String(), "Another program listens on 127.0.0.1:9090, so the admin API is on http://127.0.0.1:") {
		t.Errorf("it says %s", &greeting)
	}
	for _, want := range []string{"/v1/models (2)", "/openapi.json", "docs/tutorial/first-hour.md", "/metrics"} {
		if !strings.Contains(greeting.String(), want) {
			t.Errorf("the greeting has no %s:\n%s", want, &greeting)
		}
	}
	if got := d.ok("tenants", "list"); !strings.Contains(got, "demo") {
		t.Errorf("commands do not find the admin API: %s", got)
	}
	if got := d.ok("models", "list"); !strings.Contains(got, "sim") {
		t.Errorf("models: %s", got)
	}
	for line := ""; !strings.Contains(line, "GET    /v1/models  200"); {
		line = dev.line() // a line for the request
	}
	if code, stderr := dev.result(); code != exitOK {
		t.Errorf("stopped with %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(d.env["PENSTOCK_DATA"], "admin-url")); !os.IsNotExist(err) {
		t.Errorf("the address is left behind: %v", err)
	}
}
