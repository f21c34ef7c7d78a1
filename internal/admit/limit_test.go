package admit

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"penstock"
	"penstock/internal/budget"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/limit"
	"penstock/internal/room"
	"penstock/internal/store"
)

// limited gives a rig a book of limits and its caller some.
func limited(t *testing.T, l penstock.Limits) *rig {
	t.Helper()
	r := newRig(t)
	r.Limits = limit.New(room.New(room.Config{Clock: r.Clock}), nil)
	l.Burst = 0.05
	r.caller.Tenant.Limits = l
	return r
}

// A submit is one request, whatever is in it; a synchronous call is one and its tokens.
func TestSubmitsCountAsRequests(t *testing.T) {
	t.Parallel()
	r := limited(t, penstock.Limits{RequestsPerMinute: 60, InputTokensPerMinute: 20})
	r.admit(order())
	big := order()
	big.Inferences = []Inference{{Body: []byte(`{"messages":["` + strings.Repeat("x", 4000) + `"]}`)}}
	r.admit(big)
	if _, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: big.Inferences[0]}); err != nil {
		t.Fatalf("jobs took tokens of calls: %v", err)
	}
	before := len(r.store.got)
	_, err := r.Job(t.Context(), r.caller, order())
	if e := penstock.AsError(err); e.Code != penstock.CodeRateLimited || !strings.Contains(e.Message, "60 requests/min") || e.RetryAfter == 0 {
		t.Errorf("a fourth: %v", err)
	}
	if len(r.store.got) != before {
		t.Error("a refused job was written")
	}
}

// A call that runs as a job, so as not to run twice, is held to the same limits as one that does not.
func TestKeyedCallsAreCalls(t *testing.T) {
	t.Parallel()
	r := limited(t, penstock.Limits{InputTokensPerMinute: 20})
	o := order()
	o.Scope, o.Lane = penstock.ScopeInference, penstock.LaneRealtime
	r.admit(o)
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeRateLimited {
		t.Errorf("a second: %v", err)
	}
}

func TestFreeCallsTakeNoTokens(t *testing.T) {
	t.Parallel()
	r := limited(t, penstock.Limits{InputTokensPerMinute: 20, RequestsPerMinute: 1000})
	for range 20 {
		a, err := r.Request(t.Context(), r.caller, RequestOrder{Model: "fast", Inference: Inference{Body: make([]byte, 400)}, Free: true})
		if err != nil || a.Bound != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
}

// BenchmarkAdmit is what admission costs a synchronous call, with as many tenants and keys as a large company has:
// to find out who calls, what the name of the model means, that six limits have room, and to set money aside in three
// hard budgets.
func BenchmarkAdmit(b *testing.B) {
	const tenants, keys = 10_000, 5
	file := config.File{
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI}},
		Targets: map[string]config.TargetConfig{
			"main":  {Provider: "up", UpstreamModel: "m", Price: config.Price{Input: "1", Output: "2"}},
			"spare": {Provider: "up", UpstreamModel: "n", Price: config.Price{Input: "2", Output: "4"}},
		},
		Models:  map[string]config.ModelConfig{"fast": {Targets: []string{"main", "spare"}}},
		Tenants: make(map[string]config.TenantConfig, tenants),
	}
	limits := config.RateLimits{RequestsPerMinute: 1_000_000_000, InputTokensPerMinute: 1_000_000_000, DailyTokens: 1_000_000_000, Concurrency: 1000}
	var secrets []string
	for i := range tenants {
		t := config.TenantConfig{Limits: config.TenantLimits{RateLimits: limits}, Budget: config.Budget{Monthly: "1000000", Daily: "100000", Hard: true}}
		for k := range keys {
			secrets = append(secrets, fmt.Sprintf("psk_bench_%08d_%d", i, k))
			t.Keys = append(t.Keys, config.KeyConfig{Name: fmt.Sprintf("key-%d", k), Secret: config.NewSecret(secrets[len(secrets)-1]), Limits: limits, Budget: config.Budget{Total: "50000", Hard: true}})
		}
		file.Tenants[fmt.Sprintf("tenant-%d", i)] = t
	}
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		b.Fatal(err)
	}
	live := config.NewLive(snapshot)
	s := New(Deps{
		Config: live, Callers: directory.New(directory.Deps{Config: live, Clock: time.Now}), Controls: holds{}, Limits: limit.New(room.New(room.Config{Clock: time.Now}), nil), Clock: time.Now,
	})
	lease := store.Lease{Process: "bench", Epoch: 1}
	budgets := budget.New(budget.Deps{Store: treasury{}, Lease: func() store.Lease { return lease }, Clock: time.Now})
	order := RequestOrder{Model: "fast", Inference: Inference{Body: make([]byte, 1024), MaxOutputTokens: 100}}
	used := penstock.Usage{InputTokens: 256, OutputTokens: 50}
	call := func(secret string) {
		caller, err := s.Authenticate(secret)
		if err != nil {
			b.Fatal(err)
		}
		a, err := s.Request(b.Context(), caller, order)
		if err != nil {
			b.Fatal(err)
		}
		money, err := budgets.Reserve(b.Context(), budget.Demand{Caller: caller, Model: penstock.ModelNames{Asked: order.Model, Answers: order.Model}, Most: a.Bound})
		if err != nil || !money.Hard || len(money.Holding.Budgets) != 3 {
			b.Fatal(money, err)
		}
		s.Standings(&caller, order.Model)
		a.Stay.Done(used)
		money.Settle(a.Bound / 2)
	}
	for _, secret := range secrets {
		call(secret)
	}
	b.ReportAllocs()
	n, before := 0, cpuTime(b)
	for b.Loop() {
		call(secrets[n%len(secrets)])
		n += 7919 // not in the order that they were made in
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// treasury has money for everybody: enough that one visit lasts.
type treasury struct{ store.Budgets }

func (treasury) Hold(_ context.Context, _ penstock.TenantID, o store.HoldOrder) ([]store.HoldGrant, error) {
	grants := make([]store.HoldGrant, len(o.Wants))
	for i, w := range o.Wants {
		grants[i] = store.HoldGrant{Amount: w.Want, Balance: store.Balance{Limit: w.Account.Limit, Hard: true}}
	}
	return grants, nil
}

// cpuTime is what the process has used of the processor, collecting garbage included. Unlike the time that
// passes it does not depend on who else uses the machine.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
