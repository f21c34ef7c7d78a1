package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHardBudgetPaysForBoundedPrices holds what a hard budget pays for, by every way in: a document, whose tokens the context of the
// target bounds; a feature that a target has a surcharge for, all of which is charged; and nothing whose price the request leaves
// open, which is refused by its name. A tenant without a hard budget is not affected.
func TestHardBudgetPaysForBoundedPrices(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			env := append(engine.env(t), "E2E_KEY="+Key, "FREE_KEY="+Key+"free")
			path := filepath.Join(t.TempDir(), "penstock.yaml")
			address := FreeAddress(t)
			if err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
providers: {up: {kind: openai, base_url: %s/v1}}
targets:
  plain: {provider: up, upstream_model: sim-small, context_tokens: 30000, price: {input: "1", output: "2"}}
  priority:
    provider: up
    upstream_model: sim-small
    context_tokens: 30000
    price: {input: "1", output: "2"}
    surcharges: {"service_tier:priority": {factor: 2}, web_search: {per_use: "0.01", max_uses: 2}}
models: {fast: {targets: [plain, priority]}}
tenants:
  acme: {budget: {total_usd: "10", hard: true}, keys: [{name: e2e, secret: "${E2E_KEY}"}]}
  free: {keys: [{name: e2e, secret: "${FREE_KEY}"}]}
`, address, FreeAddress(t), t.TempDir(), upstream), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
			s.AwaitReady()
			hardBudgetCalls(t, s)
			if code := s.Stop(); code != 0 {
				t.Fatalf("stopped with %d", code)
			}
			verify := Start(t, env, "ledger", "verify", "--config", path)
			if verify.Exit() != 0 || !strings.Contains(verify.Output(), ": 0 problems.") {
				t.Errorf("ledger verify: %s", verify.Output())
			}
		})
	}
}

// hardBudgetBodies are bodies and the path and name that they are refused by, "" for those that pass; and the target that runs them.
var hardBudgetBodies = []struct{ body, path, name, target string }{
	{`{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}]}]}`, "", "", "plain"},
	{`{"model":"fast","max_tokens":5,"service_tier":"priority","messages":[{"role":"user","content":"Hi"}]}`, "", "", "priority"},
	{`{"model":"fast","max_tokens":5,"web_search_options":{},"messages":[{"role":"user","content":"Hi"}]}`, "", "", "priority"},
	{`{"model":"fast","max_tokens":5,"service_tier":"scale","messages":[{"role":"user","content":"Hi"}]}`, "service_tier", "service_tier:scale", ""},
	{`{"model":"fast","max_tokens":5,"plugins":[{"id":"web"}],"messages":[{"role":"user","content":"Hi"}]}`, "plugins", "plugins", ""},
	{`{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]}`, "messages[0].content[0].file.file_id", "file_id", ""},
	{`{"model":"fast","max_tokens":5,"tools":[{"type":"code_interpreter"}],"messages":[{"role":"user","content":"Hi"}]}`, "tools[0].type", "code_interpreter", ""},
}

func hardBudgetCalls(t *testing.T, s *Server) {
	t.Helper()
	Await(t, "a process that may hold money", func() error {
		if a := s.Do(post(chatPath, `{"model":"fast","max_tokens":5,"messages":[]}`)); a.Status == http.StatusServiceUnavailable {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	for _, tt := range hardBudgetBodies {
		call := s.Do(post(chatPath, tt.body))
		job := s.Do(post("/v1/jobs", `{"model":"fast","input":`+tt.body+`}`, "Prefer", "wait=30"))
		free := s.Do(Call{Method: "POST", Path: chatPath, Body: tt.body, Header: map[string]string{"Authorization": "Bearer " + Key + "free"}})
		if free.Status == http.StatusPaymentRequired {
			t.Errorf("without a hard budget: %s", free.Body)
		}
		if tt.path == "" {
			if call.Status != http.StatusOK || call.Header.Get("x-penstock-target") != tt.target {
				t.Errorf("%s: %d by %q, %s", tt.body, call.Status, call.Header.Get("x-penstock-target"), call.Body)
			}
			if !strings.Contains(job.Body, `"status":"succeeded"`) || !strings.Contains(job.Body, `"target":"`+tt.target+`"`) {
				t.Errorf("as a job: %s", job.Body)
			}
			continue
		}
		for _, a := range []Answer{call, job} {
			if a.Status != http.StatusPaymentRequired || !strings.Contains(a.Body, `"param":"`+tt.path+`"`) || !strings.Contains(a.Body, tt.name) || !strings.Contains(a.Body, "surcharges") {
				t.Errorf("%s: %d %s", tt.body, a.Status, a.Body)
			}
		}
	}
	// The surcharge is charged: twice the price of the tokens, and all uses of the search.
	for body, least := range map[string]string{hardBudgetBodies[1].body: "0.0000", hardBudgetBodies[2].body: "0.02"} {
		a := s.Do(post(chatPath, body))
		record := s.Do(get("/v1/requests/" + a.Header.Get("x-request-id")))
		if !strings.Contains(record.Body, `"cost_usd":"`+least) {
			t.Errorf("%s: %s", body, record.Body)
		}
	}
}
