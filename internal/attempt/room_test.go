package attempt

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/room"
	"penstock/internal/route"
)

func concurrency(n int) func(*config.TargetConfig) {
	return func(c *config.TargetConfig) { c.Limits.Concurrency = n }
}

// occupy takes all room of a target with a concurrency of 1.
func (r rig) occupy(name string) {
	r.t.Helper()
	if _, err := r.Router.Choose(r.t.Context(), route.Query{Candidates: []penstock.Target{{Name: name, Concurrency: 1}}}); err != nil {
		r.t.Fatal(err)
	}
}

func TestTotalTimeoutFallsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": {hang: true}, "ub": {chunks: []string{"ok"}, meta: told}},
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
		r := newRig(t, upstream{"ua": {hang: true}, "ub": {chunks: []string{"ok"}, meta: told}})
		impatient := task("a", "b")
		impatient.Timeout = 2 * time.Second
		began := time.Now()
		out := r.Run(t.Context(), impatient, &sink{})
		if took := time.Since(began); out.Err != nil || out.Target != "b" || took != 2*time.Second {
			t.Errorf("after %v: %+v; want b's answer after 2s", took, out)
		}
	})
}

func TestTotalTimeoutCoversTheReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, upstream{"ua": {chunks: []string{"x", "y"}, meta: untold}},
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
			r := newRig(t, upstream{"ua": {hang: true}, "ub": {chunks: []string{"no"}, meta: told}})
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

func TestRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": fails(provider.KindServer), "ub": {chunks: []string{"ok"}, meta: told}},
		editTarget("a", concurrency(1)), editTarget("b", concurrency(1)))
	for i := range 3 {
		if out := r.Run(t.Context(), task("a", "b"), &sink{}); out.Err != nil || len(out.Attempts) != 2 {
			t.Fatalf("run %d: %+v; want both targets tried", i+1, out)
		}
	}
}

// The room of the first target is free again before the next one is waited for.
func TestRoomIsGivenBackBeforeFallback(t *testing.T) {
	t.Parallel()
	r := newRig(t, upstream{"ua": fails(provider.KindServer)}, editTarget("a", concurrency(1)))
	r.Providers = upstream{"ua": fails(provider.KindServer), "ub": {chunks: []string{"ok"}, meta: told, during: func() {
		c, err := r.Router.Choose(t.Context(), route.Query{Candidates: []penstock.Target{{Name: "a", Concurrency: 1}}})
		if err != nil {
			t.Errorf("while b is called, a has no room: %v", err)
			return
		}
		c.Release()
	}}}
	if out := r.Run(t.Context(), task("a", "b"), &sink{}); out.Err != nil {
		t.Errorf("outcome %+v", out)
	}
}

func TestNoRoomInTime(t *testing.T) {
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

func TestTargetsThatHaveNoRoomRest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		kind       provider.Kind
		retryAfter time.Duration
		rest       time.Duration
	}{
		{"limited, says when", provider.KindRateLimited, 5 * time.Second, 5 * time.Second},
		{"limited, does not say", provider.KindRateLimited, 0, room.DefaultRest},
		{"limited, says too little", provider.KindRateLimited, time.Millisecond, room.DefaultRest},
		{"limited for a day", provider.KindRateLimited, 24 * time.Hour, room.MaxRest},
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
	r := newRig(t, upstream{"ua": fails(provider.KindServer), "ub": {chunks: []string{"x"}, meta: told}},
		editTarget("b", concurrency(4)))
	const runs = 200
	var mu sync.Mutex
	var wg sync.WaitGroup
	ids := map[penstock.ID]bool{}
	for range runs {
		wg.Go(func() {
			patient := task("a", "b")
			patient.Wait = time.Minute
			out := r.Run(t.Context(), patient, &sink{})
			if out.Err != nil || len(out.Attempts) != 2 {
				t.Errorf("outcome %+v", out)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, a := range out.Attempts {
				ids[a.ID] = true
			}
		})
	}
	wg.Wait()
	if len(ids) != 2*runs {
		t.Errorf("%d different attempt ids, want %d", len(ids), 2*runs)
	}
}
