package capacity

import (
	"context"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// A call that waits for a limit which is removed meanwhile passes, and leaves nothing behind: neither a claim that the next refresh
// makes for it, nor a call that counts as waiting for ever.
func TestLimitThatIsRemovedWhileACallWaits(t *testing.T) {
	t.Parallel()
	for _, refreshed := range []bool{false, true} {
		c := newClock()
		b := New(Config{Clock: c.Now, Pools: NewMemory(c.Now).Process("one")})
		scope := LimitScope{Name: Name{Kind: KindTenant, Tenant: "search"}, Holder: "key", Limits: penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}}
		for range 4 { // three pass, the last one waits
			turn := b.NewTurn([]LimitScope{scope}, Use{})
			for range 2 {
				if hold, short := b.Queue(turn); hold == nil && short.Unknown {
					c.Advance(refreshSpacing)
					refresh(t, b)
				}
			}
		}
		waits := b.NewTurn([]LimitScope{scope}, Use{})
		if hold, short := b.Queue(waits); hold != nil || !short.Unknown {
			t.Fatalf("a call of an empty pool: %+v", short)
		}
		if refreshed {
			c.Advance(refreshSpacing)
			refresh(t, b)
			if _, short := b.Queue(waits); short == nil || short.Wait <= 0 {
				t.Fatalf("after the visit: %+v", short)
			}
		}
		m := &b.entries[scope.Name].rates[requests]
		before := m.waiting
		scope.Limits = penstock.Limits{Concurrency: 1000}
		b.scope(&scope, c.now)
		b.entries[scope.Name].permits.granted, b.entries[scope.Name].permits.until = 1000, c.now.Add(time.Hour)
		if hold, short := b.Queue(waits); hold == nil {
			t.Fatalf("without the limit: %+v", short)
		}
		if m.waiting != before-1 || len(m.asks) != 0 {
			t.Errorf("visited %t: %d calls wait, %d before, and %d are asked for", refreshed, m.waiting, before, len(m.asks))
		}
	}
}

// A caller who leaves before the next withdrawal takes neither units nor a place.
func TestCallerWhoLeavesClaimsNothing(t *testing.T) {
	t.Parallel()
	c := newClock()
	pools := &countingBank{Pools: NewMemory(c.Now).Process("one")}
	b := New(Config{Clock: c.Now, Pools: pools})
	scope := LimitScope{Name: Name{Kind: KindTenant, Tenant: "search"}, Holder: "key", Limits: penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}}
	turn := b.NewTurn([]LimitScope{scope}, Use{})
	if hold, short := b.Queue(turn); hold != nil || !short.Unknown {
		t.Fatalf("before the first visit: %+v", short)
	}
	turn.Leave()
	refresh(t, b)
	if m := &b.entries[scope.Name].rates[requests]; pools.claims != 0 || m.waiting != 0 || m.allowance != 0 {
		t.Errorf("%d claims were made, %d calls wait, the local allowance holds %d", pools.claims, m.waiting, m.allowance)
	}
}

// A call that waits for a permit of a concurrency which is removed meanwhile passes, and no permit is promised to it afterwards: that would be
// lost once there is a concurrency again.
func TestConcurrencyThatIsRemovedWhileACallWaits(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	scope := LimitScope{Name: Name{Kind: KindTenant, Tenant: "search"}, Holder: "key",
		Limits: penstock.Limits{Concurrency: 1, RequestsPerMinute: 6000, Burst: 0.5, Wait: penstock.LimitWait(2 * time.Second)}}
	runs, ok := b.Admit([]LimitScope{scope}, Use{})
	if !ok {
		t.Fatal("no permit")
	}
	waits := b.NewTurn([]LimitScope{scope}, Use{})
	if hold, short := b.Queue(waits); hold != nil || short.Resource != Permits {
		t.Fatalf("%+v", short)
	}
	limits := scope.Limits
	scope.Limits.Concurrency = 0
	b.scope(&scope, c.now)
	second, short := b.Queue(waits)
	if second == nil {
		t.Fatalf("without the concurrency: %+v", short)
	}
	runs.Leave()
	second.Leave()
	scope.Limits = limits
	if _, ok := b.Admit([]LimitScope{scope}, Use{}); !ok {
		r := b.entries[scope.Name]
		t.Errorf("no call has the permit, and it is not free: %d promised, %d in line", r.promised, len(r.line))
	}
}

// countingBank counts what is claimed.
type countingBank struct {
	Pools
	claims int
}

func (b *countingBank) Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error) {
	for _, d := range w.Rates {
		b.claims += len(d.Claims)
	}
	return b.Pools.Withdraw(ctx, w)
}
