package admit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/budget"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/control"
	"penstock/internal/dialect"
	"penstock/internal/directory"
	"penstock/internal/limit"
	"penstock/internal/store"
)

// company is a company of the largest size: callers with six limits and three hard budgets each, all of whom called
// before.
type company struct {
	*Service
	budgets *budget.Reserver
	secrets []string
	order   RequestOrder
}

func newCompany(t testing.TB, tenants, keys int) *company {
	t.Helper()
	file := config.File{
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI}},
		Targets: map[string]config.TargetConfig{
			"main":  {Provider: "up", UpstreamModel: "m", Price: config.Price{Input: "1", Output: "2"}},
			"spare": {Provider: "up", UpstreamModel: "n", Price: config.Price{Input: "2", Output: "4"}},
		},
		Models:  map[string]config.ModelConfig{"fast": {Targets: []string{"main", "spare"}}},
		Tenants: make(map[string]config.TenantConfig, tenants),
	}
	company := &company{order: RequestOrder{Model: "fast", Inference: dialect.Inference{Object: body.Object{Text: make([]byte, 1024)}, MaxOutputTokens: 100}}}
	limits := config.RateLimits{RequestsPerMinute: 1_000_000_000, InputTokensPerMinute: 1_000_000_000, DailyTokens: 1_000_000_000, Concurrency: 1000}
	for i := range tenants {
		t := config.TenantConfig{Limits: config.TenantLimits{RateLimits: limits}, Budget: config.Budget{Monthly: "1000000", Daily: "100000", Hard: true}}
		for k := range keys {
			secret := fmt.Sprintf("psk_bench_%x", sha256.Sum256(fmt.Append(nil, i, k)))
			company.secrets = append(company.secrets, secret)
			t.Keys = append(t.Keys, config.KeyConfig{Name: fmt.Sprintf("key-%d", k), Secret: config.NewSecret(secret), Limits: limits, Budget: config.Budget{Total: "50000", Hard: true}})
		}
		file.Tenants[fmt.Sprintf("tenant-%d", i)] = t
	}
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	live := config.NewLive(snapshot)
	company.Service = New(Deps{
		Config: live, Principals: directory.New(directory.Deps{Config: live, Clock: time.Now}), Controls: control.New(control.Deps{}),
		Limits: limit.New(capacity.New(capacity.Config{Clock: time.Now}), nil), Clock: time.Now,
	})
	lease := store.Lease{Process: "bench", Epoch: 1}
	company.budgets = budget.New(budget.Deps{Store: treasury{}, Lease: func() store.Lease { return lease }, Clock: time.Now})
	for _, secret := range company.secrets {
		company.call(t, secret)
	}
	return company
}

// call runs the whole admission of a synchronous call: it authenticates the caller, resolves the model,
// checks the limits and reserves money; reads the state of the limits; and settles.
func (company *company) call(t testing.TB, secret string) {
	caller, err := company.Authenticate(secret)
	if err != nil {
		t.Fatal(err)
	}
	a, err := company.Request(t.Context(), caller, company.order)
	if err != nil {
		t.Fatal(err)
	}
	names := penstock.ModelNames{Asked: company.order.Model, Answers: a.Model.Name}
	money, err := company.budgets.Reserve(t.Context(), budget.Demand{Principal: caller, Model: names, Most: a.Bound})
	if err != nil || !money.Hard || len(money.Funding.Budgets) != 3 {
		t.Fatal(money, err)
	}
	var few [limit.MaxLimitStates]capacity.LimitState
	if n := len(company.AppendLimitStates(few[:0], &caller, company.order.Model)); n != 6 {
		t.Fatalf("the caller gets %d limits", n)
	}
	a.LimitHold.Done(penstock.Usage{InputTokens: 256, OutputTokens: 50})
	money.Settle(a.Bound / 2)
}

// nth are the secrets in an order that no CPU cache predicts.
func (company *company) nth(n int) string { return company.secrets[n*7919%len(company.secrets)] }

// BenchmarkAdmit measures the admission of a synchronous call, with the tenants and keys of a large company. The result is
// cpu-ns/op: the processor time of the whole process, garbage collection included.
func BenchmarkAdmit(b *testing.B) {
	company := newCompany(b, 10_000, 5)
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		n, before := 0, cpuTime(b)
		for b.Loop() {
			company.call(b, company.nth(n))
			n++
		}
		b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
	})
	b.Run("many", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		var n atomic.Int64
		before := cpuTime(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				company.call(b, company.nth(int(n.Add(1))))
			}
		})
		b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
	})
}

// Garbage is the largest cost of admission, so the allocations are bounded: the caller's limit hold and reservation, with
// their contents, and the function that computes the bounds on fewer targets.
func TestAdmissionLeavesLittleBehind(t *testing.T) {
	company := newCompany(t, 3, 2)
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		company.call(t, company.nth(n))
		n++
	}); got > 5 {
		t.Errorf("admission of a call makes %v allocations", got)
	}
}

// treasury grants every withdrawal, so that one lasts.
type treasury struct{ store.Budgets }

func (treasury) Hold(_ context.Context, _ penstock.TenantID, o store.BudgetDraw) ([]store.BudgetGrant, error) {
	grants := make([]store.BudgetGrant, len(o.Wants))
	for i, w := range o.Wants {
		grants[i] = store.BudgetGrant{Amount: w.Want, Balance: store.Balance{Limit: w.Account.Limit, Hard: true}}
	}
	return grants, nil
}

// cpuTime is the processor time of the process, garbage collection included. Unlike wall time, it does not depend on
// other processes.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
