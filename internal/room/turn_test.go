package room

import (
	"context"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// A call that waits for a limit which is removed meanwhile passes, and leaves nothing behind: neither a claim that the next visit
// makes for it, nor a call that counts as waiting for ever.
func TestLimitThatIsRemovedWhileACallWaits(t *testing.T) {
	t.Parallel()
	for _, visited := range []bool{false, true} {
		c := newClock()
		b := New(Config{Clock: c.Now, Bank: NewMemory(c.Now).Process("one")})
		party := Party{Name: Name{Kind: KindTenant, Tenant: "search"}, Holder: "key", Limits: penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}}
		for range 4 { // three pass, the last one waits
			turn := b.NewTurn([]Party{party}, Use{})
			for range 2 {
				if stay, short := b.Queue(turn); stay == nil && short.Unknown {
					c.Advance(visitSpacing)
					visit(t, b)
				}
			}
		}
		waits := b.NewTurn([]Party{party}, Use{})
		if stay, short := b.Queue(waits); stay != nil || !short.Unknown {
			t.Fatalf("a call of an empty pool: %+v", short)
		}
		if visited {
			c.Advance(visitSpacing)
			visit(t, b)
			if _, short := b.Queue(waits); short == nil || short.Wait <= 0 {
				t.Fatalf("after the visit: %+v", short)
			}
		}
		m := &b.rooms[party.Name].rates[requests]
		before := m.waiting
		party.Limits = penstock.Limits{Concurrency: 1000}
		b.party(&party, c.now)
		b.rooms[party.Name].seating.granted, b.rooms[party.Name].seating.until = 1000, c.now.Add(time.Hour)
		if stay, short := b.Queue(waits); stay == nil {
			t.Fatalf("without the limit: %+v", short)
		}
		if m.waiting != before-1 || len(m.asks) != 0 {
			t.Errorf("visited %t: %d calls wait, %d before, and %d are asked for", visited, m.waiting, before, len(m.asks))
		}
	}
}

// A caller who leaves before the bank was asked takes neither units nor a place.
func TestCallerWhoLeavesClaimsNothing(t *testing.T) {
	t.Parallel()
	c := newClock()
	bank := &countingBank{Bank: NewMemory(c.Now).Process("one")}
	b := New(Config{Clock: c.Now, Bank: bank})
	party := Party{Name: Name{Kind: KindTenant, Tenant: "search"}, Holder: "key", Limits: penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}}
	turn := b.NewTurn([]Party{party}, Use{})
	if stay, short := b.Queue(turn); stay != nil || !short.Unknown {
		t.Fatalf("before the first visit: %+v", short)
	}
	turn.Leave()
	visit(t, b)
	if m := &b.rooms[party.Name].rates[requests]; bank.claims != 0 || m.waiting != 0 || m.purse != 0 {
		t.Errorf("%d claims were made, %d calls wait, the purse holds %d", bank.claims, m.waiting, m.purse)
	}
}

// A call that waits for a seat of a concurrency which is removed meanwhile passes, and no seat is promised to it afterwards: that would be
// lost once there is a concurrency again.
func TestConcurrencyThatIsRemovedWhileACallWaits(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := New(Config{Clock: c.Now})
	party := Party{Name: Name{Kind: KindTenant, Tenant: "search"}, Holder: "key",
		Limits: penstock.Limits{Concurrency: 1, RequestsPerMinute: 6000, Burst: 0.5, Wait: penstock.LimitWait(2 * time.Second)}}
	runs, ok := b.Enter([]Party{party}, Use{})
	if !ok {
		t.Fatal("no seat")
	}
	waits := b.NewTurn([]Party{party}, Use{})
	if stay, short := b.Queue(waits); stay != nil || short.Resource != Seats {
		t.Fatalf("%+v", short)
	}
	limits := party.Limits
	party.Limits.Concurrency = 0
	b.party(&party, c.now)
	second, short := b.Queue(waits)
	if second == nil {
		t.Fatalf("without the concurrency: %+v", short)
	}
	runs.Leave()
	second.Leave()
	party.Limits = limits
	if _, ok := b.Enter([]Party{party}, Use{}); !ok {
		r := b.rooms[party.Name]
		t.Errorf("nobody has the seat, and it is not free: %d promised, %d in line", r.promised, len(r.line))
	}
}

// countingBank counts what is claimed.
type countingBank struct {
	Bank
	claims int
}

func (b *countingBank) Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error) {
	for _, d := range w.Rates {
		b.claims += len(d.Claims)
	}
	return b.Bank.Withdraw(ctx, w)
}
