package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// trial is the answer to a dry run.
type trial struct {
	Object    string
	Admitted  bool
	Items     int
	Target    string
	WaitingOn string `json:"waiting_on"`
	Warnings  []string
	Finish    time.Time `json:"estimated_finish_at"`
	Refusal   *struct {
		Code    string
		Message string
	}
	Estimate struct {
		Input  int64  `json:"input_tokens"`
		Output int64  `json:"output_tokens"`
		Cost   string `json:"cost_usd"`
	}
	AtMost struct {
		Tokens int64
		Cost   string `json:"cost_usd"`
	} `json:"at_most"`
}

// A dry run tells tokens, cost and when a job would be finished, and whether it would be accepted; it leaves nothing
// behind: no job, no key, nothing taken of budgets. It is a request like any other.
func TestDryRun(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2", per_request: "0.001", batch_discount: 50}}}
models: {fast: {targets: [sim]}}
`, startSim(t)), tenantWith(`budget: {total_usd: "1", hard: true}, limits: {requests_per_minute: 600, burst: 0.5, wait: 0s}`))
	try := func(body string, header ...string) (got trial) {
		t.Helper()
		a := s.Do(post("/v1/jobs", body, header...))
		if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != http.StatusOK || got.Object != "job.dry_run" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return got
	}
	const message = `{"max_tokens":100,"messages":[{"role":"user","content":"Why is the sky blue?"}]}`
	one := `{"model":"fast","dry_run":true,"input":` + message + `}`
	got := try(one, "Idempotency-Key", "trial")
	// "Why is the sky blue?" is six tokens and its frame four; $1 and $2 for a million, and $0.001 for the call.
	if !got.Admitted || got.Items != 1 || got.Target != "sim" || got.Estimate.Input != 10 || got.Estimate.Output != 100 || got.Estimate.Cost != "0.001210000" {
		t.Errorf("one input: %+v", got)
	}
	two := try(`{"model":"fast","lane":"bulk","dry_run":true,"inputs":[{"body":` + message + `},{"body":` + message + `}]}`)
	if two.Items != 2 || two.Estimate.Input != 20 || two.Estimate.Cost != "0.001210000" { // half of twice as much
		t.Errorf("two inputs in bulk: %+v", two)
	}

	real := strings.Replace(one, `"dry_run":true`, `"dry_run":false`, 1)
	accepted := s.Do(post("/v1/jobs", real, "Idempotency-Key", "trial", "Prefer", "wait=30"))
	if accepted.Status != http.StatusOK || accepted.Header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("the real one: %d %s %v", accepted.Status, accepted.Body, accepted.Header)
	}
	if list := s.Do(get("/v1/jobs")); strings.Count(list.Body, `"object":"job"`) != 1 {
		t.Errorf("the list shows other jobs than the one that was submitted: %s", list.Body)
	}
	Await(t, "the queue to know how long an item takes", func() error {
		if got := try(one); got.Finish.IsZero() || got.Finish.Before(time.Now().Add(-time.Minute)) || got.Finish.After(time.Now().Add(time.Minute)) {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})

	dear := try(`{"model":"fast","dry_run":true,"input":{"max_tokens":1000000,"messages":[]}}`)
	if dear.Admitted || dear.Refusal == nil || dear.Refusal.Code != "budget_exceeded" || !strings.Contains(dear.Refusal.Message, "$1") || !dear.Finish.IsZero() {
		t.Errorf("beyond the budget: %+v", dear)
	}
	if a := s.Do(post("/v1/jobs", `{"model":"nobody","dry_run":true,"input":"Hi"}`)); a.Status != http.StatusNotFound {
		t.Errorf("a model that is not there: %d %s", a.Status, a.Body)
	}
	const most = 1000
	for n := 0; ; n++ {
		if a := s.Do(post("/v1/jobs", one)); a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "" {
			break
		}
		if n == most {
			t.Fatalf("%d dry runs were not too many", most)
		}
	}
}

// A dry run over a file counts a sample of its lines, and says that the job would wait when the money does not last.
func TestDryRunOverFile(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}}
models: {fast: {targets: [sim]}}
`, startSim(t)), tenantWith(`budget: {total_usd: "1", hard: true}`))
	var lines strings.Builder
	const n = 10_000
	for i := range n {
		fmt.Fprintf(&lines, `{"custom_id":"%d","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"Why is the sky blue?"}]}}`+"\n", i)
	}
	sent, err := s.upload(strings.NewReader(lines.String()))
	var file struct{ ID string }
	if err := errors.Join(err, json.Unmarshal([]byte(sent.Body), &file)); err != nil {
		t.Fatal(err, sent.Body)
	}
	body := fmt.Sprintf(`{"model":"fast","dry_run":true,"input_file":%q,"defaults":{"max_tokens":10}}`, file.ID)
	a := s.Do(post("/v1/jobs", body))
	var got trial
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	// Ten tokens a line as above, give or take how the bytes of a sample stand for all.
	if !got.Admitted || got.Items != n || got.Estimate.Input < 95_000 || got.Estimate.Input > 105_000 || got.Estimate.Output != 10*n || got.WaitingOn != "" {
		t.Errorf("%+v", got)
	}
	a = s.Do(post("/v1/jobs", strings.Replace(body, `"max_tokens":10`, `"max_tokens":1000`, 1)))
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || !got.Admitted || got.WaitingOn != "budget" || len(got.Warnings) == 0 {
		t.Errorf("beyond the budget: %s", a.Body)
	}
	if list := s.Do(get("/v1/jobs")); strings.Contains(list.Body, `"object":"job"`) {
		t.Errorf("a job was made: %s", list.Body)
	}
}
