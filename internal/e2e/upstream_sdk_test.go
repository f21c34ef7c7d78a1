package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// upstreamSDKDir holds the scripts that talk to the simulator by way of the SDKs of the vendors whose APIs it speaks.
const upstreamSDKDir = "upstreamsdk"

// The vendors' own SDKs drive the simulator. What passes here is what the adapters are tested against, so both ends are real.
func TestUpstreamSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	installPackages(t, upstreamSDKDir)
	sim := startSim(t)
	for _, script := range []string{"gemini", "bedrock"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "node", script+".mjs")
			cmd.Dir = upstreamSDKDir
			cmd.Env = append(cleanEnv(), "SIM_URL="+sim)
			var failed strings.Builder
			cmd.Stderr = &failed // warnings about Node's version as well
			if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "ok" {
				t.Fatalf("%v\n%s%s", err, out, failed.String())
			}
		})
	}
}

// The SDKs of OpenAI and Anthropic work on targets of Gemini and Bedrock. The script checks the answers; the records are checked here.
func TestSDKOnUpstreamDialects(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	t.Parallel()
	installSDK(t)
	s := newScene(t, stageUpstreamDialects(t))
	cmd := exec.CommandContext(t.Context(), "node", "upstreams.mjs")
	cmd.Dir = sdkDir
	s.printed(cmd)
	for _, tt := range []struct{ body, reason string }{
		{`{"model":"gemini","seed":7,"user":"u1","messages":[{"role":"user","content":"Hi again"}]}`, "translated to gemini:generateContent; dropped user"},
		{`{"model":"bedrock","seed":7,"messages":[{"role":"user","content":"Hi again"}]}`, "translated to bedrock:converse; dropped seed"},
		{`{"model":"mistral","seed":7,"user":"u1","messages":[{"role":"user","content":"Hi again"}]}`, "dropped user"},
	} {
		a := s.call(post("/v1/chat/completions", tt.body))
		record := s.call(get("/v1/requests/" + a.Header.Get("X-Request-Id")))
		if a.Status != 200 || !strings.Contains(string(record.Body), tt.reason) || !strings.Contains(string(record.Body), `"usage_known":true`) {
			t.Errorf("%s: %d %s\nrecord %s", tt.body, a.Status, a.Body, record.Body)
		}
	}
	// What one request uses is priced from the usage that the upstream reports.
	a := s.call(post("/v1/messages", `{"model":"bedrock","max_tokens":9,"messages":[{"role":"user","content":"Priced [sim:cached=2]"}]}`))
	record := s.call(get("/v1/requests/" + a.Header.Get("X-Request-Id")))
	if s.field(record, "usage.cached_input_tokens") != "2" || s.field(record, "usage.cost_usd") == "0.000000000" {
		t.Errorf("record %s", record.Body)
	}
}

// stageUpstreamDialects starts a server whose targets speak dialects that no caller speaks, and one of a preset.
func stageUpstreamDialects(t *testing.T) *staged {
	t.Helper()
	st := &staged{data: t.TempDir(), sim: startSim(t)}
	st.setSim(t, `{"first_token_latency":"0s","tokens_per_second":0,"output_tokens":4}`)
	address, metrics := FreeAddress(t), FreeAddress(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers:
  gemini: {kind: gemini, base_url: %[4]s/v1beta, api_key: "${E2E_UPSTREAM_KEY}"}
  bedrock: {kind: bedrock, base_url: "%[4]s", aws: {region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: "${E2E_UPSTREAM_KEY}", session_token: "${E2E_SESSION_TOKEN}"}}
  mistral: {kind: mistral, base_url: %[4]s/v1, api_key: "${E2E_UPSTREAM_KEY}"}
targets:
  gemini: {provider: gemini, upstream_model: gemini-sim, price: {input: "1", cached_input: "0.1", output: "2"}}
  bedrock: {provider: bedrock, upstream_model: "eu.anthropic.claude-sim-v1:0", price: {input: "1", cached_input: "0.1", output: "2"}}
  mistral: {provider: mistral, upstream_model: mistral-sim, price: {input: "1", output: "2"}}
models:
  gemini: {targets: [gemini]}
  bedrock: {targets: [bedrock]}
  mistral: {targets: [mistral]}
tenants:
  acme: {media_hosts: [any], keys: [{name: e2e, secret: "${E2E_KEY}"}]}
`, address, metrics, st.data, st.sim), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"E2E_KEY=" + Key, "E2E_UPSTREAM_KEY=sk-upstream", "E2E_SESSION_TOKEN=token-1"}
	st.Server = &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
	st.AwaitReady()
	st.metrics = "http://" + metrics
	st.contract = readContract(t, st.URL)
	t.Cleanup(func() { st.checkLog(t) })
	return st
}

// TestUpstreamSDKLockNamesNoRegistry holds that the lock file works with whatever registry npm is set up for.
func TestUpstreamSDKLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(upstreamSDKDir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"resolved"`, "http://", "https://"} {
		if strings.Contains(string(text), word) {
			t.Errorf("package-lock.json has %s: it names a registry; write it with npm install --omit-lockfile-registry-resolved", word)
		}
	}
}
