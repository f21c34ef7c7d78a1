package route

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/provider"
)

// upstream allows so much in any minute, wherever that begins: the strictest form of a limit per minute.
type upstream struct {
	perMinute int64
	cost      func(outputTokens int64) int64
	latency   time.Duration

	mu       sync.Mutex
	used     []use // in the last minute
	inWindow int64
	total    int64
	refused  int
}

type use struct {
	at time.Time
	n  int64
}

// call answers, or refuses as a provider does.
func (u *upstream) call(outputTokens int64) capacity.Result {
	u.mu.Lock()
	now := time.Now()
	for len(u.used) > 0 && now.Sub(u.used[0].at) >= time.Minute {
		u.inWindow -= u.used[0].n
		u.used = u.used[1:]
	}
	n := u.cost(outputTokens)
	if u.inWindow+n > u.perMinute {
		u.refused++
		u.mu.Unlock()
		return capacity.Result{Kind: provider.KindRateLimited, RetryAfter: time.Second}
	}
	u.used = append(u.used, use{now, n})
	u.inWindow += n
	u.total += n
	u.mu.Unlock()
	time.Sleep(u.latency)
	return capacity.Result{
		Usage: penstock.Usage{InputTokens: 10, OutputTokens: outputTokens}, UsageKnown: true, Took: u.latency,
	}
}

// fleet is some processes that have more work than their one target allows.
type fleet struct {
	processes int
	target    penstock.Target
	upstream  *upstream
}

// run keeps every process busy for a while: items that are claimed without waiting, and calls that wait.
func (f fleet) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	pools := capacity.NewMemory(time.Now)
	var group sync.WaitGroup
	for p := range f.processes {
		cfg := capacity.Config{Clock: time.Now}
		if f.processes > 1 {
			cfg.Pools = pools.Process(fmt.Sprint(p))
		}
		tracker := capacity.New(cfg)
		router := New(tracker)
		group.Go(func() { _ = tracker.Run(ctx) })
		group.Go(func() { f.claim(ctx, router, rand.New(rand.NewPCG(1, uint64(p)))) })
		for i := range 4 {
			group.Go(func() { f.wait(ctx, router, rand.New(rand.NewPCG(2, uint64(p*100+i)))) })
		}
	}
	group.Wait()
}

// claim takes all free capacity, and waits until there is more.
func (f fleet) claim(ctx context.Context, r *Router, random *rand.Rand) {
	freed := r.Freed().SubscribeAll()
	defer freed.Close()
	var calls sync.WaitGroup
	defer calls.Wait()
	for ctx.Err() == nil {
		c, ok := reserveOne(r, Query{Candidates: inOrder(f.target), Lane: penstock.LaneBulk, InputTokens: 10, MaxOutputTokens: 4096})
		if !ok {
			select {
			case <-freed.C:
			case <-ctx.Done():
			}
			continue
		}
		n := 20 + random.Int64N(180)
		calls.Go(func() { c.Done(f.upstream.call(n)) })
	}
}

// wait makes one call after the other, as a synchronous caller does.
func (f fleet) wait(ctx context.Context, r *Router, random *rand.Rand) {
	for ctx.Err() == nil {
		q := Query{Candidates: inOrder(f.target), Lane: penstock.LaneRealtime, Wait: time.Minute, InputTokens: 10}
		c, err := r.Choose(ctx, q)
		if err != nil {
			return
		}
		c.Done(f.upstream.call(20 + random.Int64N(180)))
	}
}

// At least 97 % of a limit is used, and it is almost never exceeded.
func TestFleetUsesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	const minutes = 3
	perRequest := func(int64) int64 { return 1 }
	perToken := func(outputTokens int64) int64 { return outputTokens }
	for _, tt := range []struct {
		name   string
		target penstock.Target
		limit  int64
		cost   func(int64) int64
	}{
		{"requests", penstock.Target{Name: "a", RequestsPerMinute: 1800}, 1800, perRequest},
		{"few requests", penstock.Target{Name: "a", RequestsPerMinute: 120}, 120, perRequest},
		{"output tokens", penstock.Target{Name: "a", OutputTokensPerMinute: 200_000}, 200_000, perToken},
	} {
		for _, processes := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, processes), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					u := &upstream{perMinute: tt.limit, cost: tt.cost, latency: 700 * time.Millisecond}
					fleet{processes: processes, target: tt.target, upstream: u}.run(t, minutes*time.Minute)
					used := float64(u.total) / float64(minutes*tt.limit)
					t.Logf("used %.1f %%, %d refusals", 100*used, u.refused)
					if used < 0.97 || u.refused > 2*minutes {
						t.Errorf("used %.1f %% with %d refusals, want 97 %% and at most %d", 100*used, u.refused, 2*minutes)
					}
				})
			})
		}
	}
}

// Processes that share a cap on concurrency use all of it, and no more.
func TestFleetSharesItsPermits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most, total := 0, 0, 0
		pools := capacity.NewMemory(time.Now)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		target := inOrder(penstock.Target{Name: "a", Concurrency: 12})
		var group sync.WaitGroup
		for p := range 3 {
			tracker := capacity.New(capacity.Config{Clock: time.Now, Pools: pools.Process(fmt.Sprint(p))})
			router := New(tracker)
			group.Go(func() { _ = tracker.Run(ctx) })
			for range 20 {
				group.Go(func() {
					for ctx.Err() == nil {
						c, err := router.Choose(ctx, Query{Candidates: target, Wait: time.Minute})
						if err != nil {
							return
						}
						mu.Lock()
						running++
						most = max(most, running)
						total++
						mu.Unlock()
						time.Sleep(time.Second)
						mu.Lock()
						running--
						mu.Unlock()
						c.Done(capacity.Result{Took: time.Second})
					}
				})
			}
		}
		group.Wait()
		if most != 12 || total < 12*60*97/100 {
			t.Errorf("%d calls ran at a time, %d in all; want 12 and close to %d", most, total, 12*60)
		}
	})
}
