package work

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/capacity"
	"penstock/internal/lease"
	"penstock/internal/queue"
	"penstock/internal/route"
	"penstock/internal/store"
)

// fakeGate has a number of places, and things that it keeps closed.
type fakeGate struct {
	mu     sync.Mutex
	places int
	closed Closed
}

func (g *fakeGate) Closed() Closed {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *fakeGate) Reserve(store.Candidate) (Grant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.places--
	return Grant{}, g.places >= 0
}

func (g *fakeGate) set(edit func(*fakeGate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	edit(g)
}

func TestClaimsNeverExceedRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{places: 2}
		q := newQueue(items(5)...)
		r := newPoolOf(t, Config{Slots: 10}, Deps{Store: q, Runner: &runner{run: takes(time.Hour)}, Gate: gate}).begin()
		pass(time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 2, penstock.StatusQueued: 3})
		gate.set(func(g *fakeGate) { g.places = 1 })
		r.Bell.Ring()
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 3, penstock.StatusQueued: 2})
	})
}

func TestClosedThingsAreLeftAlone(t *testing.T) {
	t.Parallel()
	lane, model, tenant, free := item("lane"), item("model"), item("tenant"), item("free")
	lane.Lane, model.Model, tenant.Tenant = penstock.LaneBulk, "slow", "noisy"
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{places: 100, closed: Closed{
			Lanes: []penstock.Lane{penstock.LaneBulk}, Models: []string{"slow"}, Tenants: []penstock.TenantID{"noisy"},
		}}
		q := newQueue(lane, model, tenant, free)
		r := newPoolOf(t, Config{Slots: 10}, Deps{Store: q, Runner: &runner{run: takes(time.Second)}, Gate: gate}).begin()
		pass(5 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1, penstock.StatusQueued: 3})
		gate.set(func(g *fakeGate) { g.closed = Closed{} })
		pass(5 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 4})
	})
}

// A slot pool's models run there and nowhere else, so that a slow one leaves the other slots alone.
func TestSlotPoolsSetSlotsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := items(6)
		for i := range list[:4] {
			list[i].Model = "slow"
		}
		var mu sync.Mutex
		var running []string
		run := func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
			mu.Lock()
			running = append(running, task.Model)
			mu.Unlock()
			return takes(time.Hour)(ctx, task, sink)
		}
		r := newPoolOf(t, Config{Slots: 3, SlotPools: []SlotPool{{Models: []string{"slow"}, Slots: 2}}}, Deps{Store: newQueue(list...), Runner: &runner{run: run}}).begin()
		pass(time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 4, penstock.StatusQueued: 2})
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(running)
		if want := []string{"fast", "fast", "slow", "slow"}; !slices.Equal(running, want) {
			t.Errorf("running are %v, want %v", running, want)
		}
	})
}

// Items that can share a call need the room of one.
func TestItemsShareRoom(t *testing.T) {
	t.Parallel()
	book := capacity.New(capacity.Config{Clock: time.Now})
	router := route.New(book)
	target := penstock.Target{Name: "t", Concurrency: 2}
	gate := gateFunc(func(store.Candidate) (Grant, bool) {
		choice, ok := router.TryChoose(route.Query{Candidates: []*penstock.Target{&target}})
		return Grant{Choice: &choice, Places: 3}, ok
	})
	p, err := New(Config{Slots: 10, LeaseTimeout: time.Second, PollInterval: time.Second},
		Deps{Lease: new(lease.Membership), Gate: gate, Bell: queue.NewBell(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	r := newReservations(p, p.pools[0])
	reserve := func(id penstock.ID, e penstock.Endpoint) bool {
		return r.reserve(store.Candidate{Item: id, Tenant: "a", Model: "m", Lane: penstock.LaneRealtime, Endpoint: e})
	}
	for _, id := range []penstock.ID{"1", "2", "3"} {
		if !reserve(id, penstock.EndpointEmbeddings) {
			t.Fatalf("item %s found no room", id)
		}
	}
	if !reserve("4", penstock.EndpointChat) || reserve("5", penstock.EndpointEmbeddings) {
		t.Error("two calls fit in: that of the three, and another one")
	}
	r.release()
	for range 2 {
		if _, ok := router.TryChoose(route.Query{Candidates: []*penstock.Target{&target}}); !ok {
			t.Error("what was shared was not given back")
		}
	}
}

// gateFunc is a gate that keeps nothing closed.
type gateFunc func(store.Candidate) (Grant, bool)

func (gateFunc) Closed() Closed                            { return Closed{} }
func (f gateFunc) Reserve(c store.Candidate) (Grant, bool) { return f(c) }
