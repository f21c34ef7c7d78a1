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
	"penstock/internal/route"
	"penstock/internal/store"
)

// fakeGate has one target with a number of calls, and things that it keeps closed.
type fakeGate struct {
	router *route.Router
	shared int // embeddings that share a call

	mu     sync.Mutex
	places int
	closed Closed
}

func newGate(places int) *fakeGate {
	return &fakeGate{router: route.New(capacity.New(capacity.Config{Clock: time.Now})), places: places}
}

func (g *fakeGate) Closed() Closed {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *fakeGate) Reserve(ready []store.Ready, n int) []Reservation {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []Reservation
	for _, r := range ready {
		choices := g.router.Reserve(route.Query{Candidates: []*penstock.Target{{Name: "t", Concurrency: g.places}}}, min(r.Items, n))
		all = append(all, Reservation{store.Reserved{Model: r.Model, Target: "t", Calls: len(choices), SharedInputs: g.shared, SharedTokens: 1 << 20}, choices})
	}
	return all
}

// free is how many more calls can be reserved.
func (g *fakeGate) free() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.router.Reserve(route.Query{Candidates: []*penstock.Target{{Name: "t", Concurrency: g.places}}}, 1000)
	for _, c := range all {
		c.Return()
	}
	return len(all)
}

func (g *fakeGate) set(edit func(*fakeGate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	edit(g)
}

func TestClaimsNeverExceedCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(2)
		q := newQueue(items(5)...)
		r := newPoolOf(t, Config{Slots: 10}, Deps{Store: q, Runner: &runner{run: takes(time.Hour)}, Gate: gate}).begin()
		pass(time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 2, penstock.StatusQueued: 3})
		gate.set(func(g *fakeGate) { g.places = 3 })
		r.Work.Notify()
		synctest.Wait()
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 3, penstock.StatusQueued: 2})
	})
}

func TestClosedThingsAreLeftAlone(t *testing.T) {
	t.Parallel()
	lane, model, tenant, free := item("lane"), item("model"), item("tenant"), item("free")
	lane.Lane, model.Model, tenant.Tenant = penstock.LaneBulk, "slow", "noisy"
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(100)
		gate.closed = Closed{
			Lanes: []penstock.Lane{penstock.LaneBulk}, Models: []string{"slow"}, Tenants: []penstock.TenantID{"noisy"},
		}
		q := newQueue(lane, model, tenant, free)
		r := newPoolOf(t, Config{Slots: 10}, Deps{Store: q, Runner: &runner{run: takes(time.Second)}, Gate: gate}).begin()
		pass(5 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 1, penstock.StatusQueued: 3})
		gate.set(func(g *fakeGate) { g.closed = Closed{} })
		pass(5 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 4})
	})
}

// A slot pool's models run there and nowhere else, so that a slow model does not take other slots.
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

// Models that share a target share its capacity, and unused calls are returned: neither too many items run, nor is anything
// left reserved.
func TestClaimsOfSeveralModelsShareATarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, list := newGate(7), items(40)
		for i := range list {
			list[i].Model = []string{"a", "b", "c"}[i%3]
		}
		run := func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
			out := takes(time.Second)(ctx, task, sink)
			task.Choice.Done(capacity.Result{})
			return out
		}
		r := newPoolOf(t, Config{Slots: 5, SlotPools: []SlotPool{{Models: []string{"a"}, Slots: 4}}}, Deps{Store: newQueue(list...), Runner: &runner{run: run}, Gate: gate}).begin()
		for range 60 {
			pass(pollInterval / 4)
			running := r.queue.statuses()[penstock.StatusRunning]
			if free := gate.free(); running > 7 || free != 7-running {
				t.Fatalf("%d items run and %d of 7 calls are free", running, free)
			}
			r.Work.Notify()
		}
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 40})
	})
}

// Items that can share a call need the capacity of one.
func TestItemsShareACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, list := newGate(2), items(8)
		gate.shared = 3
		for i := range list {
			if i < 7 {
				list[i].ClaimedJob = new(*list[i].ClaimedJob)
				list[i].Endpoint = penstock.EndpointEmbeddings
			}
		}
		var mu sync.Mutex
		made := 0
		run := func(ctx context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
			if c, ok := task.Choice.Take(); ok {
				mu.Lock()
				made++
				mu.Unlock()
				defer c.Done(capacity.Result{})
			}
			return takes(time.Second)(ctx, task, sink)
		}
		r := newPoolOf(t, Config{Slots: 10}, Deps{Store: newQueue(list...), Runner: &runner{run: run}, Gate: gate}).begin()
		pass(pollInterval / 2)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusRunning: 6, penstock.StatusQueued: 2})
		if made != 2 || gate.free() != 0 {
			t.Errorf("%d calls are made and %d are free, want 2 of 2", made, gate.free())
		}
		pass(5 * pollInterval)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 8})
		if made != 4 || gate.free() != 2 {
			t.Errorf("%d calls were made and %d are free, want 4 calls, all given back", made, gate.free())
		}
	})
}
