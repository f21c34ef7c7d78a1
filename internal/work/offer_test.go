package work

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
)

// offered is what the items of a job look like to a pool before the job is accepted.
func offered(items ...store.Claimed) []store.Candidate {
	all := make([]store.Candidate, len(items))
	for i, c := range items {
		all[i] = store.Candidate{Item: c.Item, Tenant: c.Tenant, Model: c.Model, Lane: c.Lane}
	}
	return all
}

func TestOfferStartsWhatWasTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		r := start(t, 2, q, takes(time.Hour))
		synctest.Wait()
		one := item("1")
		lease, _, taken := r.Offer(offered(one))
		if taken == nil || lease != r.Lease.Current() {
			t.Fatalf("offered under %+v", lease)
		}
		taken([]*store.Claimed{new(q.give(one, lease))}, nil)
		pass(time.Second)
		if len(r.runner.seen()) != 1 || r.InUse() != 1 {
			t.Errorf("%d items run in %d slots", len(r.runner.seen()), r.InUse())
		}
		if _, _, taken := r.Offer(offered(item("2"), item("3"))); taken != nil {
			t.Error("two items were offered the last slot")
		}
		if r.InUse() != 1 {
			t.Error("an offer that was not made keeps slots")
		}
	})
}

func TestOfferIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(100)
		q := newQueue()
		r := newPoolOf(t, Config{Slots: 4}, Deps{Store: q, Runner: &runner{run: takes(time.Hour)}, Gate: gate}).begin()
		synctest.Wait()
		_, targets, taken := r.Offer(offered(item("1"), item("2")))
		if taken == nil || r.InUse() != 2 || gate.free() != 98 || !slices.Equal(targets, []string{"t", "t"}) {
			t.Fatalf("offered %v, %d slots in use, %d calls free", targets, r.InUse(), gate.free())
		}
		taken(nil, errors.New("the submit failed"))
		if r.InUse() != 0 || gate.free() != 100 {
			t.Errorf("%d slots are in use by nothing, %d calls are free", r.InUse(), gate.free())
		}
		gate.set(func(g *fakeGate) { g.places = 1 })
		if _, _, taken := r.Offer(offered(item("1"), item("2"))); taken != nil || r.InUse() != 0 {
			t.Error("more was offered than there is capacity for")
		}
		gate.set(func(g *fakeGate) { g.places, g.closed = 100, Closed{Tenants: []penstock.TenantID{"search"}} })
		if _, _, taken := r.Offer(offered(item("1"))); taken != nil {
			t.Error("a tenant that is paused was made an offer")
		}
	})
}

func TestStopWaitsForOffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		r := start(t, 2, q, takes(time.Second))
		synctest.Wait()
		one := item("1")
		lease, _, taken := r.Offer(offered(one))
		stopped := make(chan error, 1)
		go func() { stopped <- r.stop() }()
		pass(time.Second)
		if _, _, taken := r.Offer(offered(item("2"))); taken != nil {
			t.Error("a pool that stops makes offers")
		}
		taken([]*store.Claimed{new(q.give(one, lease))}, nil)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1})
	})
}
