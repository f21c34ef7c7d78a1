package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Limits and budgets that an operator sets at one process hold at another within a second, those of a tenant, a key
// and a model; they can be tried, are compared with what was read, and are in the audit.
func TestAllowancesAcrossProcesses(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	here, there := c.api, c.join("api")
	at := operators{here.admin}
	at.makeTenant(t, "search")
	k := at.makeKey(t, "search", "app")
	call := post(chatPath, `{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}`)
	within := func(what string, want int, says string) {
		t.Helper()
		began := time.Now()
		for {
			a := there.endpoint.Do(k.as(call))
			if took := time.Since(began); a.Status == want && strings.Contains(a.Body, says) {
				t.Logf("%s: %v", what, took)
				return
			} else if took > time.Second {
				t.Fatalf("%s: after %v it answers %d %s", what, took, a.Status, a.Body)
			}
			<-time.After(pollKeys)
		}
	}
	patch := func(path, body string, header ...string) Answer {
		a := post(path, body, header...)
		a.Method = http.MethodPatch
		return at.Do(a)
	}
	tenant, key := "/admin/v1/tenants/search", "/admin/v1/keys/"+k.ID
	within("made", http.StatusOK, "")
	for _, tt := range []struct{ what, path, on, off, says string }{
		{"a tenant's limit", tenant, `{"limits":{"requests_per_minute":1,"burst":0.5}}`, `{"limits":{}}`, "Tenant search is at its limit: 1 requests a minute, 1 at once"},
		{"a model's limit", tenant, `{"limits":{"models":{"fast":{"requests_per_minute":1,"burst":0.5}}}}`, `{"limits":{}}`, "Tenant search with model fast is at its limit"},
		{"a key's limit", key, `{"limits":{"requests_per_minute":1,"burst":0.5}}`, `{"limits":{}}`, "Key app of tenant search is at its limit"},
		{"a tenant's budget", tenant, `{"budget":{"total_usd":"0.000000001","hard":true}}`, `{"budget":{}}`, "The budget is $0.000000001"},
		{"a model's budget", tenant, `{"model_budgets":{"fast":{"daily_usd":"0.000000001","hard":true}}}`, `{"model_budgets":{}}`, "The daily budget for model fast"},
		{"a key's budget", key, `{"budget":{"monthly_usd":"0.000000001","hard":true}}`, `{"budget":{}}`, "The monthly budget of key app"},
	} {
		if a := patch(tt.path+"?dry_run=true", tt.on); a.Status != http.StatusOK || !strings.Contains(a.Body, `"dry_run":true`) {
			t.Fatalf("%s, tried: %d %s", tt.what, a.Status, a.Body)
		}
		on := patch(tt.path, tt.on)
		if on.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", tt.what, on.Status, on.Body)
		}
		status := http.StatusTooManyRequests
		if strings.Contains(tt.on, "usd") {
			status = http.StatusPaymentRequired
		}
		within(tt.what, status, tt.says)
		if a := patch(tt.path, tt.off, "If-Match", `"v1"`); a.Status != http.StatusPreconditionFailed {
			t.Errorf("%s, off if it were another: %d %s", tt.what, a.Status, a.Body)
		}
		if a := patch(tt.path, tt.off, "If-Match", on.Header.Get("ETag")); a.Status != http.StatusOK {
			t.Fatalf("%s, off: %d %s", tt.what, a.Status, a.Body)
		}
		within(tt.what+", off", http.StatusOK, "")
	}
	audit := at.Do(get("/admin/v1/audit?tenant=search&limit=100")).Body
	if n := strings.Count(audit, `"action":"tenant.change"`) + strings.Count(audit, `"action":"key.change"`); n != 12 {
		t.Errorf("the audit has %d changes, want 12: %s", n, audit)
	}
}

// receiver keeps what webhooks tell it.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	heard []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // what is cut off is told again
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heard = append(r.heard, string(body))
	}))
	t.Cleanup(r.Close)
	return r
}

// told is how many messages came, and the last of them.
func (r *receiver) told() (n int, last string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.heard) > 0 {
		last = r.heard[len(r.heard)-1]
	}
	return len(r.heard), last
}

// A soft budget that two processes use up together is told of by one message, in a header to callers, and not again
// in the same period.
func TestSoftBudgetIsToldOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "webhooks: {plain_http: true, allow: [127.0.0.1]}")
	here, there := c.api, c.join("api")
	at := operators{here.admin}
	at.makeTenant(t, "search")
	k := at.makeKey(t, "search", "app", "inference", "jobs:write", "jobs:read", "webhooks")
	hook := newReceiver(t)
	made := here.endpoint.Do(k.as(post("/v1/webhooks", fmt.Sprintf(`{"url":%q,"events":["budget.soft_exceeded"]}`, hook.URL))))
	var endpoint struct{ ID string }
	if err := json.Unmarshal([]byte(made.Body), &endpoint); err != nil || made.Status != http.StatusCreated {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	a := post("/admin/v1/tenants/search", `{"budget":{"daily_usd":"0.0001"}}`)
	a.Method = http.MethodPatch
	if a := at.Do(a); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	call := post(chatPath, `{"model":"fast","max_tokens":20,"messages":[{"role":"user","content":"Hi [sim:tokens=20]"}]}`)
	spend := func() {
		var crowd sync.WaitGroup
		for i := range 40 {
			endpoint := here.endpoint
			if i%2 == 0 {
				endpoint = there.endpoint
			}
			crowd.Go(func() {
				if a, err := endpoint.Try(t.Context(), k.as(Call{Method: call.Method, Path: call.Path, Body: call.Body})); err != nil || a.Status != http.StatusOK {
					t.Errorf("%d %s %v", a.Status, a.Body, err)
				}
			})
		}
		crowd.Wait()
	}
	Await(t, "the key to be known everywhere", func() error {
		if a := there.endpoint.Do(k.as(get("/v1/jobs"))); a.Status != http.StatusOK {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	spend()
	Await(t, "the message", func() error {
		if n, _ := hook.told(); n == 0 {
			return fmt.Errorf("nothing was told")
		}
		return nil
	})
	Await(t, "the header at both", func() error {
		for _, s := range []*Server{here.endpoint, there.endpoint} {
			if a := s.Do(k.as(call)); !strings.Contains(a.Header.Get("x-penstock-budget-warning"), "the daily budget is $0.0001") {
				return fmt.Errorf("%d %v", a.Status, a.Header)
			}
		}
		return nil
	})
	spend()
	Await(t, "everything to be booked", func() error {
		budgets := at.Do(get("/admin/v1/budgets?tenant=search")).Body
		if strings.Contains(budgets, `"exceeded_at":null`) || !strings.Contains(budgets, `"held_usd":"0.0000`) {
			return fmt.Errorf("%s", budgets)
		}
		return nil
	})
	deliveries := here.endpoint.Do(k.as(get("/v1/webhooks/" + endpoint.ID + "/deliveries"))).Body
	n, body := hook.told()
	if n != 1 || strings.Count(deliveries, `"type":"budget.soft_exceeded"`) != 1 || !strings.Contains(body, `"limit_usd":"0.000100000"`) || !strings.Contains(body, `"period":"daily"`) {
		t.Errorf("told %d times: %s; deliveries %s", n, body, deliveries)
	}
}

// What jobs use counts for the day of the key that submitted them.
func TestKeysDaySeesJobs(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "0", output: "0"}}}
models: {fast: {targets: [sim]}}
`, startSim(t)), func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.Replace(string(text), "{name: e2e,", "{name: e2e, limits: {daily_tokens: 5},", 1)), 0o600)
	})
	if a := s.Do(post("/v1/jobs", `{"model":"fast","input":"Hi [sim:tokens=9]"}`, "Prefer", "wait=30")); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a := s.Do(post(chatPath, `{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`))
	if a.Status != http.StatusTooManyRequests || !strings.Contains(a.Body, "Key e2e of tenant acme is at its limit: 5 tokens a day") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
