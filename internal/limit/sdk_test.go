package limit

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
	"penstock/internal/store"
)

// sdkRetries is how often the SDKs of OpenAI and Anthropic try a call again by default.
const sdkRetries = 2

// sdkPause is how long they wait before the next try: as long as they are told if that is less than a minute, and
// otherwise half a second, doubled each time up to 8 s, less a quarter at random.
func sdkPause(told time.Duration, retry int, random *rand.Rand) time.Duration {
	if told = told.Round(0); told > 0 && told < time.Minute {
		return (told + time.Millisecond - 1).Truncate(time.Millisecond) // retry-after-ms
	}
	backoff := min(500*time.Millisecond<<retry, 8*time.Second)
	return time.Duration(float64(backoff) * (1 - random.Float64()/4))
}

// sdkFleet is programs that each make calls one after the other by an SDK with its defaults.
type sdkFleet struct {
	processes int // of Penstock; each try reaches any of them
	callers   int
	calls     int // of each caller
	keys      int // that the callers have, in turn
	limits    penstock.Limits
	tenant    bool          // whose limits they are, else each key's
	answer    time.Duration // how long a call takes at the most
	plain     bool          // callers do not tell which try it is
}

// sdkRun is what became of it.
type sdkRun struct {
	meter
	failed, retried int
	took            time.Duration
	byKey           map[string]int
	slowest         time.Duration // call, all of its tries
}

func (f sdkFleet) run(t *testing.T) *sdkRun {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	pools, out := capacity.NewMemory(time.Now), &sdkRun{byKey: map[string]int{}}
	var limiters []*Limiter
	var loops, callers sync.WaitGroup
	for p := range f.processes {
		cfg := capacity.Config{Clock: time.Now}
		if f.processes > 1 {
			cfg.Pools = pools.Process(fmt.Sprint(p))
		}
		tracker := capacity.New(cfg)
		limiters = append(limiters, New(tracker, nil))
		loops.Go(func() { _ = tracker.Run(ctx) })
	}
	began := time.Now()
	for i := range f.callers {
		caller := penstock.Principal{Tenant: penstock.Tenant{ID: "search"}, Key: fmt.Sprintf("key-%d", i%max(1, f.keys))}
		if f.tenant {
			caller.Tenant.Limits = f.limits
		} else {
			caller.Limits = f.limits
		}
		random := rand.New(rand.NewPCG(1, uint64(i)))
		callers.Go(func() {
			for range f.calls {
				f.call(ctx, limiters, &caller, out, random)
			}
		})
	}
	callers.Wait()
	out.took = time.Since(began)
	stop()
	loops.Wait()
	return out
}

// call makes one call, with its retries.
func (f sdkFleet) call(ctx context.Context, limiters []*Limiter, caller *penstock.Principal, out *sdkRun, random *rand.Rand) {
	began := time.Now()
	for try := 0; ; try++ {
		use := capacity.Use{Try: store.TryFirst}
		if try > 0 {
			use.Try = store.TryAgain
		}
		if f.plain {
			use.Try = store.TryUnknown
		}
		time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond)))) // the way there
		limitHold, err := limiters[random.IntN(len(limiters))].Admit(ctx, caller, fast, use)
		if err == nil {
			out.add(1)
			time.Sleep(time.Duration(random.Int64N(int64(f.answer))))
			limitHold.Done(penstock.Usage{})
		}
		out.mu.Lock()
		if err == nil {
			out.byKey[caller.Key]++
		} else if try == sdkRetries {
			out.failed++
		} else {
			out.retried++
		}
		out.slowest = max(out.slowest, time.Since(began))
		out.mu.Unlock()
		if err == nil || try == sdkRetries {
			return
		}
		time.Sleep(sdkPause(penstock.AsError(err).RetryAfter, try, random))
	}
}

// Programs that use an SDK with its defaults never fail for a limit per minute, however many call at once, and use all of it.
func TestBurstsDoNotFail(t *testing.T) {
	t.Parallel()
	usual := penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}
	for _, tt := range []struct {
		name string
		sdkFleet
		within time.Duration
	}{
		{"20 callers", sdkFleet{1, 20, 10, 1, usual, false, 20 * time.Millisecond, false}, 210 * time.Second},
		{"20 callers whose calls take as long as a unit", sdkFleet{1, 20, 10, 1, usual, false, 2 * time.Second, false}, 212 * time.Second},
		{"20 callers over three processes", sdkFleet{3, 20, 10, 1, usual, false, 20 * time.Millisecond, false}, 212 * time.Second},
		{"20 callers of one of several keys", sdkFleet{1, 20, 10, 1, usual, true, 20 * time.Millisecond, false}, 210 * time.Second},
		{"20 callers of four keys", sdkFleet{1, 20, 10, 4, usual, true, 20 * time.Millisecond, false}, 240 * time.Second},
		{"20 callers of four keys over three processes", sdkFleet{3, 20, 10, 4, usual, true, 20 * time.Millisecond, false}, 240 * time.Second},
		{"20 calls at once", sdkFleet{1, 20, 1, 1, usual, false, time.Second, false}, 30 * time.Second},
		{"20 calls at once that do not tell their try", sdkFleet{1, 20, 1, 1, usual, false, time.Second, true}, 30 * time.Second},
		{"8 callers at 20 a minute, one at once", sdkFleet{1, 8, 5, 1, penstock.Limits{RequestsPerMinute: 20, Burst: 0.05}, false, 20 * time.Millisecond, false}, 130 * time.Second},
		{"8 callers at 20 a minute over three processes", sdkFleet{3, 8, 5, 1, penstock.Limits{RequestsPerMinute: 20, Burst: 0.05}, false, 20 * time.Millisecond, false}, 135 * time.Second},
		{"a loop at 600 a minute", sdkFleet{1, 1, 300, 1, penstock.Limits{RequestsPerMinute: 600, Burst: 0.05}, false, time.Millisecond, false}, 40 * time.Second},
		{"a loop at 600 a minute over three processes", sdkFleet{3, 1, 300, 1, penstock.Limits{RequestsPerMinute: 600, Burst: 0.05}, false, time.Millisecond, false}, 60 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				out := tt.run(t)
				most, total := out.worst()
				t.Logf("%d calls in %v, at most %d in any minute, %d tries again, the slowest call took %v, by key %v", total, out.took, most, out.retried, out.slowest, out.byKey)
				if want := int64(tt.callers * tt.calls); out.failed > 0 || total != want {
					t.Errorf("%d calls failed, %d of %d were made", out.failed, total, want)
				}
				if most > tt.limits.RequestsPerMinute {
					t.Errorf("a minute saw %d calls", most)
				}
				if out.took > tt.within {
					t.Errorf("it took %v, want %v", out.took, tt.within)
				}
				if tt.callers == 1 && out.retried > 0 {
					t.Errorf("a loop was refused %d times", out.retried)
				}
			})
		})
	}
}
