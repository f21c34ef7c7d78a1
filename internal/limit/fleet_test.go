package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

// meter keeps when calls were let in, and how much they used.
type meter struct {
	mu    sync.Mutex
	times []time.Time
	used  []int64
}

func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times, m.used = append(m.times, time.Now()), append(m.used, n)
}

// worst is the most that any minute saw, wherever it begins.
func (m *meter) worst() (most, total int64) {
	var inWindow int64
	first := 0
	for i, at := range m.times {
		total += m.used[i]
		inWindow += m.used[i]
		for at.Sub(m.times[first]) >= time.Minute {
			inWindow -= m.used[first]
			first++
		}
		most = max(most, inWindow)
	}
	return most, total
}

// fleet is clients of one key over several processes.
type fleet struct {
	processes int
	clients   func(process int) int
	limits    penstock.Limits
	tokens    int64         // that a call uses, input and output each
	pause     time.Duration // that clients make between calls, 0 for none
}

func (f fleet) run(t *testing.T, d time.Duration) *meter {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	pools, m := capacity.NewMemory(time.Now), &meter{}
	caller := penstock.Principal{Tenant: penstock.Tenant{ID: "search"}, Key: "app", Limits: f.limits}
	var group sync.WaitGroup
	for p := range f.processes {
		cfg := capacity.Config{Clock: time.Now}
		if f.processes > 1 {
			cfg.Pools = pools.Process(fmt.Sprint(p))
		}
		tracker := capacity.New(cfg)
		limiter := New(tracker, nil)
		group.Go(func() { _ = tracker.Run(ctx) })
		for i := range f.clients(p) {
			random := rand.New(rand.NewPCG(uint64(p), uint64(i)))
			group.Go(func() { f.call(ctx, limiter, &caller, m, random) })
		}
	}
	group.Wait()
	return m
}

// call makes one call after the other, and waits as long as it is told to.
func (f fleet) call(ctx context.Context, b *Limiter, caller *penstock.Principal, m *meter, random *rand.Rand) {
	for ctx.Err() == nil {
		limitHold, err := b.Admit(ctx, caller, fast, capacity.Use{InputTokens: f.tokens})
		wait := 10*time.Millisecond + time.Duration(random.Int64N(int64(10*time.Millisecond))) + f.pause
		if err != nil {
			wait = max(30*time.Millisecond, penstock.AsError(err).RetryAfter)
		} else {
			m.add(max(1, f.tokens))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		limitHold.Done(penstock.Usage{InputTokens: f.tokens, OutputTokens: f.tokens})
	}
}

func even(int) int      { return 22 }
func skewed(p int) int  { return [...]int{61, 2, 1}[p] }
func lonely(int) int    { return 64 }
func perSecond(int) int { return 1 }

// Clients of one key over several processes never get more than the limit in any minute, wherever it begins, and
// at least 97 % of it when they want it all.
func TestFleetKeepsItsLimit(t *testing.T) {
	t.Parallel()
	requests := penstock.Limits{RequestsPerMinute: 6000, Burst: 0.01}
	input := penstock.Limits{InputTokensPerMinute: 600_000, Burst: 0.01}
	output := penstock.Limits{OutputTokensPerMinute: 600_000, Burst: 0.01}
	for _, tt := range []struct {
		name string
		fleet
		limit int64
		slack int64 // calls that processes may be ahead by: each lends to one
	}{
		{"requests, one process", fleet{1, lonely, requests, 0, 0}, 6000, 0},
		{"requests, even", fleet{3, even, requests, 0, 0}, 6000, 0},
		{"requests, skewed", fleet{3, skewed, requests, 0, 0}, 6000, 0},
		{"input tokens, even", fleet{3, even, input, 100, 0}, 600_000, 3 * 100},
		{"input tokens, skewed", fleet{3, skewed, input, 100, 0}, 600_000, 3 * 100},
		{"output tokens, even", fleet{3, even, output, 100, 0}, 600_000, 3 * 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const minutes = 2
				most, total := tt.run(t, minutes*time.Minute).worst()
				used := float64(total) / float64(tt.limit*minutes)
				t.Logf("at most %d of %d in any minute, %.2f %% used", most, tt.limit, 100*used)
				if most > tt.limit+tt.slack {
					t.Errorf("a minute saw %d, the limit is %d", most, tt.limit)
				}
				if used < 0.97 {
					t.Errorf("%.2f %% of the limit were used, want 97 %%", 100*used)
				}
			})
		})
	}
}

// A caller far below a limit is never refused, and never waits for long: also the first call of a process
// that holds none of it.
func TestQuietCallersAreNotRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := fleet{3, perSecond, penstock.Limits{RequestsPerMinute: 600, Burst: 0.05}, 0, 1500 * time.Millisecond}
		m := f.run(t, time.Minute)
		if n := len(m.times); n < 3*38 {
			t.Errorf("%d calls were made, want one for each process every 1.5 s", n)
		}
	})
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// inOrder is the most calls that any minute saw, of calls that were not noted in order.
func (m *meter) inOrder() int64 {
	slices.SortFunc(m.times, time.Time.Compare)
	most, _ := m.worst()
	return most
}
