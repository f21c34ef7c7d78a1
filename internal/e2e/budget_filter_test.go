package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A hard budget that is nearly used up leaves out the targets that it cannot pay for, and the call goes to another. Who was left out
// is told before and after.
func TestBudgetLeavesTargetsOut(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets:
  dear: {provider: upstream, upstream_model: sim-small, price: {input: "100", output: "200"}}
  cheap: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}
models: {fast: {targets: [dear, cheap]}}
`, upstream), budgetOf(`{total_usd: "0.005", hard: true}`))
	const call = `{"model":"fast","max_tokens":%d,"messages":[{"role":"user","content":"Hi"}]}`
	explained := s.Do(post("/v1/models/fast/explain?endpoint=/v1/chat/completions", fmt.Sprintf(call, 100)))
	if explained.Status != http.StatusOK || !strings.Contains(explained.Body, `"chosen":"cheap"`) ||
		!strings.Contains(explained.Body, `"excluded":"may cost $0.0`) || !strings.Contains(explained.Body, `budget has $0.005 left"`) {
		t.Errorf("explained: %d %s", explained.Status, explained.Body)
	}
	for _, stream := range []string{"", `,"stream":true}`} {
		body := fmt.Sprintf(call, 100)
		if stream != "" {
			body = strings.TrimSuffix(body, "}") + stream
		}
		a := s.Do(post("/v1/chat/completions", body))
		if a.Status != http.StatusOK || a.Header.Get("x-penstock-target") != "cheap" {
			t.Fatalf("%d from %q: %s", a.Status, a.Header.Get("x-penstock-target"), a.Body)
		}
		record := s.Do(Call{Method: "GET", Path: "/v1/requests/" + a.Header.Get("x-request-id")})
		if !strings.Contains(record.Body, "dear may cost more than was set aside") {
			t.Errorf("its record does not say why: %s", record.Body)
		}
	}
	if a := s.Do(post("/v1/chat/completions", fmt.Sprintf(call, 5_000))); a.Status != http.StatusPaymentRequired {
		t.Errorf("what no target can be paid for: %d %s", a.Status, a.Body)
	}
}
