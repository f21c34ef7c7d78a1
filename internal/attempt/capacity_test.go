package attempt

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/route"
)

func concurrency(n int) func(*config.TargetConfig) {
	return func(c *config.TargetConfig) { c.Limits.Concurrency = n }
}

// occupy takes all capacity of a target with a concurrency of 1.
func (r rig) occupy(name string) {
	r.t.Helper()
	if _, err := r.Router.Choose(r.t.Context(), route.Query{Candidates: []*penstock.Target{{Name: name, Concurrency: 1}}}); err != nil {
		r.t.Fatal(err)
	}
}

func TestTotalTimeoutFallsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": {hang: true}, "ub": {chunks: []string{"ok"}, meta: knownUsage}},
			editTarget("a", func(c *config.TargetConfig) { c.Timeouts.Total = 3 * time.Second }))
		began := time.Now()
		out := r.Run(t.Context(), task("a", "b"), &sink{})
		if took := time.Since(began); out.Err != nil || took != 3*time.Second {
			t.Fatalf("after %v: %+v; want b's answer after 3s", took, out)
		}
		first := out.Attempts[0]
		if first.ErrorKind != "timeout" || first.FinishedAt.Sub(first.StartedAt) != 3*time.Second || out.Forfeit != bound {
			t.Errorf("attempt %+v, forfeit %v", first, out.Forfeit)
		}
	})
}

// The caller's own timeout is that of one attempt: after it, another target is tried.
func TestTaskTimeoutFallsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": {hang: true}, "ub": {chunks: []string{"ok"}, meta: knownUsage}})
		short := task("a", "b")
		short.Timeout = 2 * time.Second
		began := time.Now()
		out := r.Run(t.Context(), short, &sink{})
		if took := time.Since(began); out.Err != nil || out.Target != "b" || took != 2*time.Second {
			t.Errorf("after %v: %+v; want b's answer after 2s", took, out)
		}
	})
}

func TestTotalTimeoutCoversTheReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": {chunks: []string{"x", "y"}, meta: unknownUsage}},
			editTarget("a", func(c *config.TargetConfig) { c.Timeouts.Total = time.Second }))
		out := r.Run(t.Context(), task("a"), &slowSink{pause: 2 * time.Second})
		if kindOf(t, out) != provider.KindTimeout || !out.Begun {
			t.Errorf("outcome %+v; want the total timeout to end the reading", out)
		}
	})
}

// slowSink takes its time over each chunk.
type slowSink struct{ pause time.Duration }

func (*slowSink) Begin(string, provider.Meta) error { return nil }
func (s *slowSink) Chunk(provider.Chunk) error      { time.Sleep(s.pause); return nil }

func TestEndOfTheContextStopsFallback(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]provider.Kind{"cancel": provider.KindCancelled, "deadline": provider.KindTimeout} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, upstream{"ua": {hang: true}, "ub": {chunks: []string{"no"}, meta: knownUsage}})
			ctx, cancel := context.WithCancel(t.Context())
			if name == "deadline" {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			}
			defer cancel()
			time.AfterFunc(2*time.Second, cancel)
			out := r.Run(ctx, task("a", "b"), &sink{})
			if kindOf(t, out) != want || len(out.Attempts) != 1 || out.Forfeit != bound {
				t.Errorf("%s: outcome %+v, want %s and no fallback", name, out, want)
			}
		})
	}
}

func TestEndedContextCallsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": {hang: true}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := r.Run(ctx, task("a"), &sink{}); out.Err == nil || len(out.Attempts) != 0 || out.Forfeit != 0 {
		t.Errorf("outcome %+v; want an error, no attempt and no money spent", out)
	}
}

func TestCapacityIsGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": fails(provider.KindServer), "ub": {chunks: []string{"ok"}, meta: knownUsage}},
		editTarget("a", concurrency(1)), editTarget("b", concurrency(1)))
	for i := range 3 {
		if out := r.Run(t.Context(), task("a", "b"), &sink{}); out.Err != nil || len(out.Attempts) != 2 {
			t.Fatalf("run %d: %+v; want both targets tried", i+1, out)
		}
	}
}

// The capacity of the first target is free again before the next one is waited for.
func TestCapacityIsGivenBackBeforeFallback(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": fails(provider.KindServer)}, editTarget("a", concurrency(1)))
	r.Providers = upstream{"ua": fails(provider.KindServer), "ub": {chunks: []string{"ok"}, meta: knownUsage, during: func() {
		c, err := r.Router.Choose(t.Context(), route.Query{Candidates: []*penstock.Target{{Name: "a", Concurrency: 1}}})
		if err != nil {
			t.Errorf("while b is called, a has no capacity: %v", err)
			return
		}
		c.Release()
	}}}
	if out := r.Run(t.Context(), task("a", "b"), &sink{}); out.Err != nil {
		t.Errorf("outcome %+v", out)
	}
}

func TestNoCapacityInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": {chunks: []string{"no"}}}, editTarget("a", concurrency(1)))
		r.occupy("a")
		waiting := task("a")
		waiting.Wait = 2 * time.Second
		began := time.Now()
		out := r.Run(t.Context(), waiting, &sink{})
		if took := time.Since(began); penstock.ErrorCode(out.Err) != penstock.CodeOverloaded || len(out.Attempts) != 0 || took != waiting.Wait {
			t.Errorf("after %v: %+v; want overloaded after 2s and no attempt", took, out)
		}
	})
}

func TestFailureIsNotHiddenByAFullFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": fails(provider.KindServer)}, editTarget("b", concurrency(1)))
		r.occupy("b")
		waiting := task("a", "b")
		waiting.Wait = time.Second
		out := r.Run(t.Context(), waiting, &sink{})
		if e, ok := errors.AsType[*provider.Error](out.Err); !ok || e.Kind != provider.KindServer || len(out.Attempts) != 1 {
			t.Errorf("error is %v after %d attempts; want a's server_error: an upstream was called", out.Err, len(out.Attempts))
		}
	})
}

func TestTargetsWithoutCapacityRest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		kind       provider.Kind
		retryAfter time.Duration
		rest       time.Duration
	}{
		{"limited, says when", provider.KindRateLimited, 5 * time.Second, 5 * time.Second},
		{"limited, does not say", provider.KindRateLimited, 0, capacity.DefaultRest},
		{"limited, says too little", provider.KindRateLimited, time.Millisecond, capacity.DefaultRest},
		{"limited for a day", provider.KindRateLimited, 24 * time.Hour, capacity.MaxRest},
		{"overloaded, says when", provider.KindOverloaded, 5 * time.Second, 5 * time.Second},
		{"overloaded, does not say", provider.KindOverloaded, 0, 0},
		{"broken", provider.KindServer, 5 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, upstream{"ua": {err: &provider.Error{Kind: tt.kind, RetryAfter: tt.retryAfter}}})
				r.Run(t.Context(), task("a"), &sink{})
				out := r.Run(t.Context(), task("a"), &sink{})
				if tt.rest == 0 {
					if len(out.Attempts) != 1 {
						t.Errorf("a rests: %v", out.Err)
					}
					return
				}
				if e := penstock.AsError(out.Err); e.Code != penstock.CodeOverloaded || e.RetryAfter != tt.rest || len(out.Attempts) != 0 {
					t.Errorf("outcome %+v; want a to rest for %v", out, tt.rest)
				}
				time.Sleep(tt.rest)
				if out := r.Run(t.Context(), task("a"), &sink{}); len(out.Attempts) != 1 {
					t.Errorf("a still rests after %v: %v", tt.rest, out.Err)
				}
			})
		})
	}
}

func TestRunnersAreSafeTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": fails(provider.KindServer), "ub": {chunks: []string{"x"}, meta: knownUsage}},
		editTarget("b", concurrency(4)))
	const runs = 200
	var mu sync.Mutex
	var wg sync.WaitGroup
	ids, all := map[penstock.ID]bool{}, 0
	for range runs {
		wg.Go(func() {
			waiting := task("a", "b")
			waiting.Wait = time.Minute
			out := r.Run(t.Context(), waiting, &sink{})
			if out.Err != nil || out.Target != "b" {
				t.Errorf("outcome %+v", out)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, a := range out.Attempts {
				ids[a.ID] = true
				all++
			}
		})
	}
	wg.Wait()
	if len(ids) != all || all < runs {
		t.Errorf("%d different ids of %d attempts in %d runs", len(ids), all, runs)
	}
}

// Capacity that was taken beforehand is used by the first attempt, and given back whatever happens.
func TestChoiceMadeBeforehand(t *testing.T) {
	t.Parallel()
	choose := func(r rig) *route.Choice {
		c, ok := reserveOne(r.Router, route.Query{Candidates: []*penstock.Target{r.Config.Current().Targets["b"]}})
		if !ok {
			t.Fatal("b has no capacity")
		}
		return &c
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx     context.Context
		targets []string
		tries   int
	}{
		"used":            {t.Context(), []string{"a", "b"}, 1},
		"nobody wants it": {cancelled, []string{"a", "b"}, 0},
		"nothing is left": {t.Context(), []string{"gone"}, 0},
	} {
		r := newRig(t, upstream{"ua": {chunks: []string{"no"}}, "ub": {chunks: []string{"ok"}, meta: knownUsage}}, editTarget("b", concurrency(1)))
		held := task(tt.targets...)
		held.Choice = choose(r)
		out := r.Run(tt.ctx, held, &sink{})
		if len(out.Attempts) != tt.tries || (tt.tries > 0 && out.Target != "b") {
			t.Errorf("%s: outcome %+v, want %d attempts on b", name, out, tt.tries)
		}
		choose(r).Release() // there is capacity again
	}
}

// A failed first attempt on capacity taken beforehand falls back as any other does.
func TestChoiceMadeBeforehandFallsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: knownUsage}, "ub": fails(provider.KindServer)})
	c, _ := reserveOne(r.Router, route.Query{Candidates: []*penstock.Target{r.Config.Current().Targets["b"]}})
	held := task("a", "b")
	held.Choice = &c
	if out := r.Run(t.Context(), held, &sink{}); out.Err != nil || len(out.Attempts) != 2 || out.Target != "a" {
		t.Errorf("outcome %+v, want b and then a", out)
	}
}

// A tenant in a hurry takes no capacity away from the others; a target that is too slow for itself does.
func TestTimeoutsOfCallersSayNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		timeout time.Duration
		shrinks bool
	}{"the caller's": {time.Second, false}, "the target's": {time.Hour, true}} {
		synctest.Test(t, func(t *testing.T) {
			tracker := capacity.New(capacity.Config{Clock: time.Now})
			r := newRig(t, upstream{"ua": {hang: true}}, editTarget("a", func(c *config.TargetConfig) { c.Timeouts.Total = time.Minute }))
			r.Router = route.New(tracker)
			hurried := task("a")
			hurried.Timeout = tt.timeout
			before := len(tracker.Status())
			r.Run(t.Context(), hurried, &sink{})
			s := tracker.Status()
			if before != 0 || len(s) != 1 || (s[0].Throttles > 0) != tt.shrinks {
				t.Errorf("%s timeout: %+v", name, s)
			}
		})
	}
}

// What an answer used and says of limits reaches the capacity of its target.
func TestAnswersAreSettled(t *testing.T) {
	t.Parallel()
	tracker := capacity.New(capacity.Config{Clock: time.Now})
	answer := knownUsage
	answer.Limits = provider.RateLimits{Requests: provider.Allowance{Limit: 6000}}
	r := newRig(t, upstream{"ua": {chunks: []string{"ok"}, meta: answer}},
		editTarget("a", func(c *config.TargetConfig) { c.Limits.OutputTokensPerMinute = 60 }))
	r.Router = route.New(tracker)
	r.Run(t.Context(), task("a"), &sink{})
	rates := tracker.Status()[0].Rates
	if len(rates) != 2 || rates[0].PerMinute != 6000 || !rates[0].Learned || rates[1].LocalAllowance > -17 {
		t.Errorf("rates %+v; want a learned limit, and 20 tokens spent of 2", rates)
	}
}

// Capacity is held until the answer has been passed on to its end, also capacity that was taken beforehand, and not given back as
// unused.
func TestCapacityIsHeldUntilTheEnd(t *testing.T) {
	t.Parallel()
	for _, beforehand := range []bool{true, false} {
		r := newRig(t, upstream{"ua": {chunks: []string{"Hello", " you"}, meta: knownUsage}}, editTarget("a", concurrency(1)))
		query := route.Query{Candidates: []*penstock.Target{r.Config.Current().Targets["a"]}}
		asked := task("a")
		if beforehand {
			choice, err := r.Router.Choose(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			asked.Choice = choice
		}
		run := r.Begin(t.Context(), &asked, &sink{})
		if other, err := r.Router.Choose(t.Context(), query); err == nil {
			other.Release()
			t.Errorf("beforehand %t: there is capacity while the answer goes on", beforehand)
		}
		if out := run.Finish(t.Context()); out.Err != nil {
			t.Fatal(out.Err)
		}
		again, err := r.Router.Choose(t.Context(), query)
		if err != nil {
			t.Fatalf("beforehand %t: there is no capacity after the answer: %v", beforehand, err)
		}
		again.Release()
	}
}

// reserveOne reserves one call at a target.
func reserveOne(r *route.Router, q route.Query) (route.Choice, bool) {
	if all := r.Reserve(q, 1); len(all) == 1 {
		return *all[0], true
	}
	return route.Choice{}, false
}
