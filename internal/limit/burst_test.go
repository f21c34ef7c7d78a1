package limit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/store"
)

// several are limiters of processes that share a bank.
func several(t *testing.T, n int) []*Limiter {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	pools := capacity.NewMemory(time.Now)
	var loops sync.WaitGroup
	limiters := make([]*Limiter, n)
	for p := range n {
		cfg := capacity.Config{Clock: time.Now}
		if n > 1 {
			cfg.Pools = pools.Process(fmt.Sprint(p))
		}
		tracker := capacity.New(cfg)
		limiters[p] = New(tracker, nil)
		loops.Go(func() { _ = tracker.Run(ctx) })
	}
	t.Cleanup(func() { stop(); loops.Wait() })
	return limiters
}

func keyOf(name string, l penstock.Limits) penstock.Principal {
	return penstock.Principal{Tenant: penstock.Tenant{ID: "search", Limits: l}, Key: name}
}

// A refused call passes when it comes back at its moment, or a little later, whatever others do meanwhile and whichever process
// it reaches. A place that nobody comes for is another's.
func TestPlacesAreKept(t *testing.T) {
	t.Parallel()
	limits := penstock.Limits{RequestsPerMinute: 60, Burst: 0.05, Wait: penstock.NoLimitWait}
	for _, processes := range []int{1, 3} {
		for _, late := range []time.Duration{0, 30 * time.Millisecond, store.PlaceGrace - 200*time.Millisecond} {
			t.Run(fmt.Sprintf("%d processes, %v late", processes, late), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					limiters := several(t, processes)
					var told []time.Duration
					for n := range 9 {
						_, err := admitAs(t, limiters[n%processes], keyOf("app", limits), store.TryFirst)
						if (err == nil) != (n < 3) {
							t.Fatalf("call %d: %v", n, err)
						}
						if err == nil {
							continue
						}
						if !strings.Contains(err.Message, "a place is kept for this key at ") {
							t.Fatalf("call %d: %v", n, err)
						}
						told = append(told, err.RetryAfter)
					}
					began := time.Now()
					for i, in := range told {
						time.Sleep(time.Until(began.Add(in + late)))
						for range 5 { // of another key of the tenant, and first tries of the same
							_, _ = admitAs(t, limiters[i%processes], keyOf("other", limits), store.TryFirst)
							_, _ = admitAs(t, limiters[i%processes], keyOf("app", limits), store.TryFirst)
						}
						patient := limits
						patient.Wait = penstock.WaitFor(1200 * time.Millisecond) // what was not used while it was late is capped by the burst
						if _, err := admitAs(t, limiters[(i+1)%processes], keyOf("app", patient), store.TryAgain); err != nil {
							t.Errorf("the call that was told %v: %v", in, err)
						}
					}
				})
			})
		}
	}
}

func admitAs(t *testing.T, b *Limiter, c penstock.Principal, try store.Try) (*capacity.LimitHold, *penstock.Error) {
	t.Helper()
	return admit(t, b, c, capacity.Use{Try: try})
}

// Places lapse: what is kept for callers who do not come is used by those who do.
func TestPlacesLapse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := penstock.Limits{RequestsPerMinute: 60, Burst: 0.05, Wait: penstock.NoLimitWait}
		b := alone()
		for range 20 {
			_, _ = admitAs(t, b, keyOf("gone", limits), store.TryFirst)
		}
		time.Sleep(25 * time.Second)
		for n := range 3 {
			if _, err := admitAs(t, b, keyOf("here", limits), store.TryFirst); err != nil {
				t.Errorf("call %d after all places have lapsed: %v", n, err)
			}
		}
	})
}

// A client that does not wait as it is told gains nothing by it: it takes no more than its part of what several keys share,
// and the calls of a patient one neither fail nor wait for long.
func TestHammeringGainsNothing(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 3} {
		for name, try := range map[string]store.Try{"that says nothing": store.TryUnknown, "that says that it retries": store.TryAgain, "that says that it is new": store.TryFirst} {
			t.Run(fmt.Sprintf("%s, %d processes", name, processes), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					limiters := several(t, processes)
					limits := penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}
					// The patient one was here before, and is not now.
					if _, err := admitAs(t, limiters[0], keyOf("patient", limits), store.TryFirst); err != nil {
						t.Fatal(err)
					}
					ctx, stop := context.WithCancel(t.Context())
					all, hammered := &meter{}, &meter{}
					var clients sync.WaitGroup
					for i := range 12 {
						clients.Go(func() {
							caller := keyOf("hammer", limits)
							for ctx.Err() == nil {
								if limitHold, err := limiters[i%processes].Admit(ctx, &caller, fast, capacity.Use{Try: try}); err == nil {
									all.add(1)
									hammered.add(1)
									limitHold.Leave()
								}
								time.Sleep(100 * time.Millisecond)
							}
						})
					}
					time.Sleep(10 * time.Second)
					out := &sdkRun{byKey: map[string]int{}}
					f := sdkFleet{answer: time.Millisecond}
					caller, random, began := keyOf("patient", limits), newRandom(), time.Now()
					for range 20 {
						f.call(ctx, limiters, &caller, out, random)
					}
					took := time.Since(began)
					stop()
					clients.Wait()
					_, passed := hammered.worst()
					t.Logf("20 patient calls took %v, the slowest %v; the others made %d", took, out.slowest, passed)
					if out.failed > 0 || out.slowest > 12*time.Second || took > 75*time.Second {
						t.Errorf("%d patient calls failed, the slowest took %v, all %v", out.failed, out.slowest, took)
					}
					for i := range out.times {
						all.times, all.used = append(all.times, out.times[i]), append(all.used, 1)
					}
					if most := all.inOrder(); most > 60 {
						t.Errorf("a minute saw %d calls", most)
					}
				})
			})
		}
	}
}

// Calls that wait for another one to end take turns by key, and by when they came inside a key.
func TestPermitsAreFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := alone()
		limits := penstock.Limits{Concurrency: 1}
		first, err := admitAs(t, b, keyOf("a", limits), store.TryUnknown)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var calls sync.WaitGroup
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
			calls.Go(func() {
				limitHold, err := admitAs(t, b, keyOf(name[:1], limits), store.TryUnknown)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				limitHold.Done(penstock.Usage{})
			})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		first.Done(penstock.Usage{})
		calls.Wait()
		if got := strings.Join(order, " "); got != "a1 b1 a2 b2 a3 c1" {
			t.Errorf("calls ran in the order %s", got)
		}
	})
}

// A call waits no longer than its limit says, ends when its caller leaves, and leaves nothing behind.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := alone()
		short := keyOf("app", penstock.Limits{Concurrency: 1, Wait: penstock.WaitFor(500 * time.Millisecond)})
		held, _ := admitAs(t, b, short, store.TryUnknown)
		began := time.Now()
		if _, err := admitAs(t, b, short, store.TryUnknown); err == nil || time.Since(began) != 500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := b.Admit(ctx, &short, fast, capacity.Use{})
			gone <- err
		}()
		synctest.Wait()
		if n := b.Waiting(); n != 1 {
			t.Errorf("%d calls wait", n)
		}
		leave()
		if err := <-gone; err == nil || b.Waiting() != 0 {
			t.Errorf("one that left: %v, %d wait", err, b.Waiting())
		}
		held.Done(penstock.Usage{})
		if _, err := admitAs(t, b, short, store.TryUnknown); err != nil {
			t.Errorf("after all have left: %v", err)
		}
	})
}

// Only so many calls of a tenant wait; those past it are refused at once, and those of other tenants wait all the same.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := alone()
		limits := penstock.Limits{Concurrency: 1}
		held, _ := admitAs(t, b, keyOf("app", limits), store.TryUnknown)
		ctx, stop := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		caller := keyOf("app", limits)
		for range MaxWaitingOfTenant {
			calls.Go(func() { _, _ = b.Admit(ctx, &caller, fast, capacity.Use{}) })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := admitAs(t, b, caller, store.TryUnknown); err == nil || time.Since(began) != 0 {
			t.Errorf("one too many: %v after %v", err, time.Since(began))
		}
		other := caller
		other.Tenant.ID = "other"
		if _, err := admitAs(t, b, other, store.TryUnknown); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		stop()
		calls.Wait()
		held.Leave()
	})
}

// Where a tenant and a key are both limited, a call is told the moment at which both let it in.
func TestTwoLimitsOneMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := alone()
		caller := keyOf("app", penstock.Limits{RequestsPerMinute: 60, Burst: 0.05, Wait: penstock.NoLimitWait})
		caller.Limits = penstock.Limits{RequestsPerMinute: 20, Burst: 0.05, Wait: penstock.NoLimitWait}
		var last time.Duration
		for n := range 5 {
			if _, err := admitAs(t, b, caller, store.TryFirst); err != nil {
				last = err.RetryAfter
			} else if n > 0 {
				t.Fatalf("call %d passed", n)
			}
		}
		for range 30 {
			_, _ = admitAs(t, b, keyOf("other", caller.Tenant.Limits), store.TryFirst)
		}
		time.Sleep(last)
		if _, err := admitAs(t, b, caller, store.TryAgain); err != nil {
			t.Errorf("after %v: %v", last, err)
		}
	})
}

// A call that runs as a job has its permit from the job: the process that accepted it counts it no longer, and one that starts
// anew, or another one, knows of it from the store.
func TestCallsThatRunAsJobsHavePermits(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]bool{"alone": true, "shared": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pools := capacity.NewMemory(time.Now)
				scope := store.CallScope{Tenant: "search"}
				ctx, stop := context.WithCancel(t.Context())
				var loops sync.WaitGroup
				open := func(process string) *Limiter {
					tracker := capacity.New(capacity.Config{Clock: time.Now, Pools: pools.Process(process), Alone: one})
					loops.Go(func() { _ = tracker.Run(ctx) })
					return New(tracker, nil)
				}
				first := open("a")
				caller := keyOf("app", penstock.Limits{Concurrency: 2})
				for n := 1; n <= 2; n++ {
					limitHold, err := admitAs(t, first, caller, store.TryUnknown)
					if err != nil {
						t.Fatalf("call %d: %v", n, err)
					}
					pools.Calls(scope, n) // its job is accepted
					limitHold.Entrust()
					limitHold.Leave()
				}
				if _, err := admitAs(t, first, caller, store.TryUnknown); err == nil {
					t.Error("a third call beside two that run as jobs")
				}
				second := open("b") // after the first was killed, where there is one process
				if _, err := admitAs(t, second, caller, store.TryUnknown); err == nil {
					t.Error("a third call, at another process")
				}
				pools.Calls(scope, 1)
				if _, err := admitAs(t, second, caller, store.TryUnknown); err != nil {
					t.Errorf("after one of the jobs has ended: %v", err)
				}
				stop()
				loops.Wait()
			})
		})
	}
}
