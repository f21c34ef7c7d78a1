package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guarded is a server with several tenants, before an upstream of the test's own.
type guarded struct {
	*Server
	admin  *Server
	env    []string
	config string
}

// guardedKey is the key of a tenant of a guarded server's file.
func guardedKey(tenant string) string {
	sum := sha256.Sum256([]byte("the key of " + tenant))
	return "psk_" + base64.RawURLEncoding.EncodeToString(sum[:24])
}

// guardedTenants are those that a file may name.
var guardedTenants = []string{"limited", "open", "good", "one", "two", "acme"}

// guardedTenant is the entry of a tenant in the file, with further members of it.
func guardedTenant(id, members string) string {
	return fmt.Sprintf("  %s: {%s keys: [{name: app, secret: \"${KEY_%[1]s}\"}]}\n", id, members)
}

// startGuarded starts a server; settings are further lines of its file, with the tenants among them.
func startGuarded(t *testing.T, upstream http.HandlerFunc, settings string, env ...string) *guarded {
	t.Helper()
	return joinGuarded(t, serveUpstream(t, upstream), t.TempDir(), settings, env...)
}

// joinGuarded is startGuarded on a data directory, and perhaps a database, that other processes use too.
func joinGuarded(t *testing.T, upstream, data, settings string, env ...string) *guarded {
	t.Helper()
	address, admin := FreeAddress(t), FreeAddress(t)
	g := &guarded{env: append([]string{"PENSTOCK_ADMIN_KEY=" + AdminKey}, env...), config: filepath.Join(t.TempDir(), "penstock.yaml")}
	for _, id := range guardedTenants {
		g.env = append(g.env, "KEY_"+id+"="+guardedKey(id))
	}
	text := fmt.Sprintf(`
listen: %s
admin_listen: %s
data: %s
providers:
  openai: {kind: openai, base_url: %s/v1}
  claude: {kind: anthropic, base_url: %[4]s/v1, api_key: "${KEY_open}"}
targets:
  chats: {provider: openai, upstream_model: up, price: {input: "1", output: "1"}, limits: {concurrency: 1000}}
  claude: {provider: claude, upstream_model: up, price: {input: "1", output: "1"}, limits: {concurrency: 1000}}
models:
  chats: {targets: [chats]}
  claude: {targets: [claude]}
%s`, address, admin, data, upstream, settings)
	if err := os.WriteFile(g.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Start(t, g.env, "serve", "--config", g.config)
	g.Server, g.admin = &Server{Process: p, URL: "http://" + address}, &Server{Process: p, URL: "http://" + admin}
	g.AwaitReady()
	return g
}

// verifyLedger ends the server and audits its ledger.
func (g *guarded) verifyLedger() {
	g.t.Helper()
	g.Kill()
	if verify := Start(g.t, g.env, "ledger", "verify", "--config", g.config); verify.Exit() != 0 {
		g.t.Errorf("ledger verify:\n%s", verify.Output())
	}
}

// peak is the most memory that was ever resident, in bytes.
func (p *Process) peak() (most int64) {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if _, err := fmt.Sscanf(value, "%d kB", &most); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	return most << 10
}

// as makes a call with a key.
func as(secret string, c Call) Call {
	if c.Header == nil {
		c.Header = map[string]string{}
	}
	c.Header["Authorization"] = "Bearer " + secret
	return c
}
