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

// town is a company as large as they get: callers with six limits and three hard budgets each, all of whom called
// before.
type town struct {
	*Service
	budgets *budget.Reserver
	secrets []string
	order   RequestOrder
}

func newTown(t testing.TB, tenants, keys int) *town {
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
	town := &town{order: RequestOrder{Model: "fast", Inference: dialect.Inference{Object: body.Object{Text: make([]byte, 1024)}, MaxOutputTokens: 100}}}
	limits := config.RateLimits{RequestsPerMinute: 1_000_000_000, InputTokensPerMinute: 1_000_000_000, DailyTokens: 1_000_000_000, Concurrency: 1000}
	for i := range tenants {
		t := config.TenantConfig{Limits: config.TenantLimits{RateLimits: limits}, Budget: config.Budget{Monthly: "1000000", Daily: "100000", Hard: true}}
		for k := range keys {
			secret := fmt.Sprintf("psk_bench_%x", sha256.Sum256(fmt.Append(nil, i, k)))
			town.secrets = append(town.secrets, secret)
			t.Keys = append(t.Keys, config.KeyConfig{Name: fmt.Sprintf("key-%d", k), Secret: config.NewSecret(secret), Limits: limits, Budget: config.Budget{Total: "50000", Hard: true}})
		}
		file.Tenants[fmt.Sprintf("tenant-%d", i)] = t
	}
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	live := config.NewLive(snapshot)
	town.Service = New(Deps{
		Config: live, Callers: directory.New(directory.Deps{Config: live, Clock: time.Now}), Controls: control.New(control.Deps{}),
		Limits: limit.New(capacity.New(capacity.Config{Clock: time.Now}), nil), Clock: time.Now,
	})
	lease := store.Lease{Process: "bench", Epoch: 1}
	town.budgets = budget.New(budget.Deps{Store: treasury{}, Lease: func() store.Lease { return lease }, Clock: time.Now})
	for _, secret := range town.secrets {
		town.call(t, secret)
	}
	return town
}

// call does all that admission does for a synchronous call: it finds out who calls and what the model's name means,
// sees that limits have room and sets money aside; tells how the caller stands; and settles.
func (town *town) call(t testing.TB, secret string) {
	caller, err := town.Authenticate(secret)
	if err != nil {
		t.Fatal(err)
	}
	a, err := town.Request(t.Context(), caller, town.order)
	if err != nil {
		t.Fatal(err)
	}
	names := penstock.ModelNames{Asked: town.order.Model, Answers: a.Model.Name}
	money, err := town.budgets.Reserve(t.Context(), budget.Demand{Caller: caller, Model: names, Most: a.Bound})
	if err != nil || !money.Hard || len(money.Funding.Budgets) != 3 {
		t.Fatal(money, err)
	}
	var few [limit.MaxLimitStates]capacity.LimitState
	if n := len(town.AppendLimitStates(few[:0], &caller, town.order.Model)); n != 6 {
		t.Fatalf("the caller is told of %d limits", n)
	}
	a.LimitHold.Done(penstock.Usage{InputTokens: 256, OutputTokens: 50})
	money.Settle(a.Bound / 2)
}

// nth are the secrets in no order that memory likes.
func (town *town) nth(n int) string { return town.secrets[n*7919%len(town.secrets)] }

// BenchmarkAdmit is what admission costs a synchronous call, with as many tenants and keys as a large company has.
// What counts is cpu-ns/op: all that the process used, collecting garbage included.
func BenchmarkAdmit(b *testing.B) {
	town := newTown(b, 10_000, 5)
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		n, before := 0, cpuTime(b)
		for b.Loop() {
			town.call(b, town.nth(n))
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
				town.call(b, town.nth(int(n.Add(1))))
			}
		})
		b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
	})
}

// Garbage is most of what admission can cost: what it leaves behind is bounded. It is the caller's stay and reservation, with
// what they hold, and what it could cost on fewer targets.
func TestAdmissionLeavesLittleBehind(t *testing.T) {
	town := newTown(t, 3, 2)
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		town.call(t, town.nth(n))
		n++
	}); got > 5 {
		t.Errorf("admission of a call makes %v allocations", got)
	}
}

// treasury has money for everybody: enough that one visit lasts.
type treasury struct{ store.Budgets }

func (treasury) Hold(_ context.Context, _ penstock.TenantID, o store.BudgetDraw) ([]store.BudgetGrant, error) {
	grants := make([]store.BudgetGrant, len(o.Wants))
	for i, w := range o.Wants {
		grants[i] = store.BudgetGrant{Amount: w.Want, Balance: store.Balance{Limit: w.Account.Limit, Hard: true}}
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
