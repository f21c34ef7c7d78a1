package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// A hard budget refuses with 402, through every endpoint; a soft one warns; an answer that is kept costs neither.
func TestBudgetOverHTTP(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	const answer = `{"model":"fast","max_tokens":%d,"messages":[{"role":"user","content":"Hi"}]}`
	for _, tt := range []struct {
		name, budget string
		refused      bool
	}{
		{"hard", `{total_usd: "0.01", hard: true}`, true},
		{"soft", `{total_usd: "0.01"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}}
models: {fast: {targets: [sim], cache: {ttl: 10m}}}
`, upstream), budgetOf(tt.budget))
			small, large := fmt.Sprintf(answer, 100), fmt.Sprintf(answer, 100_000)
			if a := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: small}); a.Status != http.StatusOK || a.Header.Get("x-penstock-budget-warning") != "" {
				t.Fatalf("a call within the budget: %d %s %v", a.Status, a.Body, a.Header)
			}
			// What is asked of the upstream for the sake of showing an answer while it arrives is nothing that the caller pays for.
			shown := s.Do(post("/v1/jobs", `{"model":"fast","stream":true,"input":`+small+`}`, "Prefer", "wait=30"))
			if shown.Status != http.StatusOK || !strings.Contains(shown.Body, `"status":"succeeded"`) {
				t.Errorf("a job within the budget that is shown: %d %s", shown.Status, shown.Body)
			}
			for _, path := range []string{"/v1/chat/completions", "/v1/jobs"} {
				body := large
				if path == "/v1/jobs" {
					body = `{"model":"fast","input":` + large + `}`
				}
				a := s.Do(Call{Method: "POST", Path: path, Body: body})
				warned := strings.Contains(a.Header.Get("x-penstock-budget-warning"), "the budget is $0.01")
				switch {
				case tt.refused && (a.Status != http.StatusPaymentRequired || !strings.Contains(a.Body, "budget_exceeded") || a.Header.Get("x-should-retry") != "false"):
					t.Errorf("%s beyond a hard budget: %d %s", path, a.Status, a.Body)
				case !tt.refused && (a.Status >= http.StatusBadRequest || !warned):
					t.Errorf("%s beyond a soft budget: %d %s %v", path, a.Status, a.Body, a.Header)
				}
			}
			if a := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: small}); a.Status != http.StatusOK || a.Header.Get("x-penstock-cache") != "hit" {
				t.Errorf("an answer that is kept: %d %s", a.Status, a.Header.Get("x-penstock-cache"))
			}
		})
	}
}

// budgetOf gives the tenant of a configuration a budget.
func budgetOf(budget string) func(path string) error { return tenantWith("budget: " + budget) }

// tenantWith gives the tenant of a configuration further settings.
func tenantWith(settings string) func(path string) error {
	return func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.Replace(string(text), "tenants: {acme: {", "tenants: {acme: {"+settings+", ", 1)), 0o600)
	}
}
