package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// dearAndCheap is a model with two targets, of which the first costs a hundred times as much.
const dearAndCheap = `
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets:
  dear: {provider: upstream, upstream_model: sim-small, price: {input: "100", output: "200"}}
  cheap: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}
models: {fast: {targets: [dear, cheap]}}
`

// A hard budget that is nearly used up leaves out the targets that it cannot pay for, and the call goes to another. Who was left out
// is told before and after.
func TestBudgetLeavesTargetsOut(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	s := serveOne(t, fmt.Sprintf(dearAndCheap, upstream), budgetOf(`{total_usd: "0.005", hard: true}`))
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

// A job whose hard budget has too little left for a target is reserved for the others and runs on them alone, with all of its
// items; what was left out is told by the job, and beforehand by a dry run. What no target can be paid for is refused.
func TestBudgetLeavesTargetsOutOfJobs(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	s := serveOne(t, fmt.Sprintf(dearAndCheap, upstream), budgetOf(`{total_usd: "0.015", hard: true}`))
	job := func(items, most int, rest string) string {
		inputs := strings.Repeat(`{"body":{"messages":[{"role":"user","content":"Hi"}]}},`, items)
		return fmt.Sprintf(`{"model":"fast","defaults":{"max_tokens":%d},"inputs":[%s]%s}`, most, strings.TrimSuffix(inputs, ","), rest)
	}
	type view struct {
		ID, Status string
		Admitted   bool
		Warnings   []string
		Target     string
		Resolved   struct{ Targets, Unpaid []string }
		Error      struct{ Code string }
	}
	tried := readAs[view](t, s.Do(post("/v1/jobs", job(3, 20, `,"dry_run":true`))))
	if !tried.Admitted || tried.Target != "cheap" || len(tried.Warnings) != 1 || !strings.Contains(tried.Warnings[0], "too little left for the targets dear") {
		t.Errorf("the dry run says %+v", tried)
	}
	a := s.Do(Call{Method: http.MethodPost, Path: "/v1/jobs", Body: job(3, 20, ""), Header: map[string]string{"Prefer": "wait=20"}})
	ran := readAs[view](t, a)
	if ran.Status != "succeeded" || !slices.Equal(ran.Resolved.Targets, []string{"cheap"}) || !slices.Equal(ran.Resolved.Unpaid, []string{"dear"}) {
		t.Errorf("the job is %s", a.Body)
	}
	if results := s.Do(get("/v1/jobs/" + ran.ID + "/results")).Body; strings.Count(results, `"target":"cheap"`) != 3 {
		t.Errorf("its results: %s", results)
	}
	// One item alone can be paid for on either.
	one := readAs[view](t, s.Do(Call{Method: http.MethodPost, Path: "/v1/jobs", Body: job(1, 20, ""), Header: map[string]string{"Prefer": "wait=20"}}))
	if len(one.Resolved.Targets) != 2 || one.Resolved.Unpaid != nil {
		t.Errorf("a job that can be paid for is resolved to %+v", one.Resolved)
	}
	if a := s.Do(post("/v1/jobs", job(100, 200, ""))); a.Status != http.StatusPaymentRequired {
		t.Errorf("what no target can be paid for: %d %s", a.Status, a.Body)
	}
}
