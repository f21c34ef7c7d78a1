package work

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/provider"
	"penstock/internal/store"
)

// fails is a run whose upstream refuses with an error.
func fails(err error) func(context.Context, attempt.Task, attempt.Sink) attempt.Outcome {
	return func(_ context.Context, task attempt.Task, _ attempt.Sink) attempt.Outcome {
		return attempt.Outcome{Attempts: []penstock.Attempt{{Subject: task.Subject}}, Target: "a", StatusCode: 418, Err: err}
	}
}

func TestEndByKind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind    provider.Kind
		again   bool // while attempts are left
		counted int
		code    penstock.Code // when none is left
	}{
		{provider.KindRateLimited, true, 0, ""},
		{provider.KindOverloaded, true, 1, penstock.CodeOverloaded},
		{provider.KindSpendCap, false, 1, penstock.CodeUpstreamError},
		{provider.KindAuth, false, 1, penstock.CodeUpstreamError},
		{provider.KindModelNotFound, false, 1, penstock.CodeUpstreamError},
		{provider.KindRejected, false, 1, penstock.CodeUpstreamRejected},
		{provider.KindContextTooLong, false, 1, penstock.CodeContextTooLong},
		{provider.KindContentBlocked, false, 1, penstock.CodeContentBlocked},
		{provider.KindServer, true, 1, penstock.CodeUpstreamError},
		{provider.KindFinal, false, 1, penstock.CodeUpstreamError},
		{provider.KindConnect, true, 1, penstock.CodeUpstreamError},
		{provider.KindNetwork, true, 1, penstock.CodeUpstreamError},
		{provider.KindTimeout, true, 1, penstock.CodeUpstreamTimeout},
		{provider.KindTruncated, true, 1, penstock.CodeUpstreamError},
		{provider.KindMalformed, true, 1, penstock.CodeUpstreamError},
		{provider.KindCancelled, false, 1, penstock.CodeCancelled},
		{provider.KindInternal, true, 1, penstock.CodeInternal},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			t.Parallel()
			r := newPool(t, 1, newQueue(), fails(&provider.Error{Kind: tt.kind, Message: "it broke"}))
			fresh, last := item("1"), item("1")
			last.Tries, last.Attempts = 3, 3 // of four

			f := r.attempt(t.Context(), &granted{Claimed: &fresh})
			if again := f.Transition == penstock.TransitionRetry; again != tt.again || f.Counted != tt.counted || f.ErrorKind != string(tt.kind) {
				t.Errorf("first attempt: %+v; want again %v, counted %d", f, tt.again, tt.counted)
			}
			f = r.attempt(t.Context(), &granted{Claimed: &last})
			if tt.code == "" {
				if f.Transition != penstock.TransitionRetry || f.Error != nil {
					t.Errorf("last attempt: %+v; want another, it does not count", f)
				}
				return
			}
			if f.Transition != penstock.TransitionFail || f.Error == nil || f.Error.Code != tt.code || f.Error.Message != (&provider.Error{Kind: tt.kind, Message: "it broke"}).Public() {
				t.Errorf("last attempt: %+v, error %+v; want a failure with %s", f, f.Error, tt.code)
			}
			if f.Target != "a" || f.StatusCode != 418 || len(f.Attempts) != 1 {
				t.Errorf("last attempt: %+v lacks what was tried", f)
			}
		})
	}
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	r := newPool(t, 1, newQueue(), fails(&provider.Error{Kind: provider.KindServer, RetryAfter: 7 * time.Second}))
	for range 100 {
		if f := r.attempt(t.Context(), &granted{Claimed: new(item("1"))}); f.RetryIn < 7*time.Second || f.RetryIn >= 8*time.Second {
			t.Fatalf("waits %v; want 7s and up to one more", f.RetryIn)
		}
	}
}

func TestNoCapacityIsNotTheItemsFault(t *testing.T) {
	t.Parallel()
	busy := &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: 5 * time.Second, Message: "Busy."}
	r := newPool(t, 1, newQueue(), fails(busy))
	worn := item("1")
	worn.Tries, worn.Attempts = 30, 3
	f := r.attempt(t.Context(), &granted{Claimed: &worn})
	if f.Transition != penstock.TransitionRetry || f.Counted != 0 || f.RetryIn < 5*time.Second {
		t.Errorf("end %+v; want a retry that does not count, after 5s at least", f)
	}
}

// An item that its budget cannot pay for fails at once.
func TestWhatIsTooDearFails(t *testing.T) {
	t.Parallel()
	r := newPool(t, 1, newQueue(), func(context.Context, attempt.Task, attempt.Sink) attempt.Outcome {
		return attempt.Outcome{Err: penstock.Errorf(penstock.CodeBudgetExceeded, "too dear")}
	})
	f := r.attempt(t.Context(), &granted{Claimed: new(item("1"))})
	if f.Transition != penstock.TransitionFail || f.Error == nil || f.Error.Code != penstock.CodeBudgetExceeded {
		t.Errorf("%+v, %+v; want it to fail", f, f.Error)
	}
}

func TestNoTargetIsTriedAgainAndThenFails(t *testing.T) {
	t.Parallel()
	gone := penstock.Errorf(penstock.CodeNoTargetAvailable, "No target of this model is configured any more.")
	r := newPool(t, 1, newQueue(), fails(gone))
	if f := r.attempt(t.Context(), &granted{Claimed: new(item("1"))}); f.Transition != penstock.TransitionRetry || f.Counted != 1 {
		t.Errorf("end %+v; want a retry: a reload may bring the target back", f)
	}
	last := item("1")
	last.Attempts = 3
	if f := r.attempt(t.Context(), &granted{Claimed: &last}); f.Transition != penstock.TransitionFail || f.Error.Message != gone.Message {
		t.Errorf("end %+v", f)
	}
}

func TestNoTargetKeepsItsCode(t *testing.T) {
	t.Parallel()
	r := newPool(t, 1, newQueue(), fails(penstock.Errorf(penstock.CodeNoTargetAvailable, "No target.")))
	last := item("1")
	last.Attempts = 3
	if f := r.attempt(t.Context(), &granted{Claimed: &last}); f.Error == nil || f.Error.Code != penstock.CodeNoTargetAvailable {
		t.Errorf("error %+v, want no_target_available", f.Error)
	}
}

func TestBodyThatCannotBeReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]penstock.Transition{0: penstock.TransitionRetry, 3: penstock.TransitionFail} {
		away := item("1")
		away.Body, away.BodyErr, away.Attempts = nil, errAway, attempts
		if f := newPool(t, 1, newQueue(), takes(0)).attempt(t.Context(), &granted{Claimed: &away}); f.Transition != want || f.Counted != 1 {
			t.Errorf("after %d attempts: %+v, want %s", attempts, f, want)
		}
	}
}

// While the blobs are unavailable, an item waits, for days if necessary, and loses no attempt.
func TestBodyThatIsAwayCostsNoAttempt(t *testing.T) {
	t.Parallel()
	last := item("1")
	last.Body, last.BodyErr, last.Attempts = nil, fmt.Errorf("reading: %w", penstock.ErrUnreachable), last.MaxAttempts-1
	f := newPool(t, 1, newQueue(), takes(0)).attempt(t.Context(), &granted{Claimed: &last})
	if f.Transition != penstock.TransitionRetry || f.Counted != 0 || f.RetryIn < heldWait || f.RetryIn > 2*heldWait {
		t.Errorf("it ends with %+v, want a wait that counts for nothing", f)
	}
}

func TestBodyThatIsGoneFailsTheItem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := item("1")
		broken.Body, broken.BodyErr = nil, penstock.Errorf(penstock.CodeGone, "The input is gone.")
		r := start(t, 1, newQueue(broken), takes(time.Hour))
		synctest.Wait()
		f := r.queue.end(t, "1")
		if f.Transition != penstock.TransitionFail || f.Error.Code != penstock.CodeInternal || f.Counted != 1 || len(f.Attempts) != 0 {
			t.Errorf("end %+v, error %+v; want internal", f, f.Error)
		}
		if len(r.runner.seen()) != 0 {
			t.Error("it ran without its body")
		}
	})
}

// Reading a body ends with the claim's context, which shutdown ends. It does not count against the item.
func TestBodyReadThatShutdownCutOff(t *testing.T) {
	t.Parallel()
	cut := item("1")
	cut.Body, cut.BodyErr = nil, context.Canceled
	r := newPool(t, 1, newQueue(), takes(0))
	if f := r.attempt(t.Context(), &granted{Claimed: &cut}); f.Transition != penstock.TransitionRetry {
		t.Errorf("transition %s, want retry", f.Transition)
	}
}

// timed is an item with little time.
func timed(itemTimeout, timeLeft time.Duration) store.Claimed {
	c := item("1")
	c.ItemTimeout, c.TimeLeft = itemTimeout, timeLeft
	return c
}

func TestTimeoutsAreDistinguished(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		item       store.Claimed
		after      time.Duration
		transition penstock.Transition
		kind       string
		code       penstock.Code
		counted    int
	}{
		{"deadline", timed(time.Hour, 2*time.Second), 2 * time.Second, penstock.TransitionExpire, "timeout", penstock.CodeDeadlineExceeded, 1},
		{"deadline before it began", timed(time.Hour, -time.Second), 0, penstock.TransitionExpire, "timeout", penstock.CodeDeadlineExceeded, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newPool(t, 1, newQueue(), takes(24*time.Hour))
				began := time.Now()
				f := r.attempt(t.Context(), &granted{Claimed: new(tt.item)})
				if took := time.Since(began); took != tt.after {
					t.Errorf("ended after %v, want %v", took, tt.after)
				}
				if f.Transition != tt.transition || f.ErrorKind != tt.kind || f.Counted != tt.counted || f.Forfeit != 1000 {
					t.Errorf("end %+v", f)
				}
				if tt.code != "" && (f.Error == nil || f.Error.Code != tt.code) {
					t.Errorf("error %+v, want %s", f.Error, tt.code)
				}
			})
		})
	}
}

// The item's timeout bounds one attempt, so that another target can be tried after it.
func TestItemTimeoutIsThatOfAnAttempt(t *testing.T) {
	t.Parallel()
	var got attempt.Task
	r := newPool(t, 1, newQueue(), func(_ context.Context, task attempt.Task, _ attempt.Sink) attempt.Outcome {
		got = task
		return attempt.Outcome{}
	})
	r.attempt(t.Context(), &granted{Claimed: new(timed(7*time.Second, time.Hour))})
	if got.Timeout != 7*time.Second {
		t.Errorf("an attempt may take %v, want 7s", got.Timeout)
	}
}

// A deadline is watched exactly where it may pass during a run: of the item's targets, each for its timeout.
func TestDeadlineIsWatchedWhereItMayPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		timeout, timeLeft time.Duration
		targets           int
		watched           bool
	}{
		{"hours behind a run", time.Minute, 24 * time.Hour, 2, false},
		{"within a run", time.Minute, 2 * time.Minute, 2, true},
		{"within a run over many targets", 10 * time.Minute, time.Hour, 8, true},
		{"no bound of a run", 0, 24 * time.Hour, 1, true},
		{"passed", time.Minute, -time.Second, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var watched bool
			r := newPool(t, 1, newQueue(), func(ctx context.Context, _ attempt.Task, _ attempt.Sink) attempt.Outcome {
				_, watched = ctx.Deadline()
				return attempt.Outcome{}
			})
			c := timed(tt.timeout, tt.timeLeft)
			c.Resolved.Targets = make([]string, tt.targets)
			r.attempt(context.WithoutCancel(t.Context()), &granted{Claimed: &c})
			if watched != tt.watched {
				t.Errorf("watched: %v, want %v", watched, tt.watched)
			}
		})
	}
}

// A deadline that passes while an item waits for capacity expires it; it is not retried.
func TestTimeoutsWhileWaitingForCapacity(t *testing.T) {
	t.Parallel()
	waits := func(ctx context.Context, _ attempt.Task, _ attempt.Sink) attempt.Outcome {
		<-ctx.Done()
		return attempt.Outcome{Err: &penstock.Error{Code: penstock.CodeOverloaded, Err: ctx.Err()}}
	}
	synctest.Test(t, func(t *testing.T) {
		r := newPool(t, 1, newQueue(), waits)
		if f := r.attempt(t.Context(), &granted{Claimed: new(timed(time.Hour, time.Second))}); f.Transition != penstock.TransitionExpire {
			t.Errorf("deadline: %+v", f)
		}
	})
}

// An answer that is complete counts, whatever else happened meanwhile.
func TestSuccessBeatsEveryCause(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{errCancelled, errShutdown, errLeaseLost} {
		ctx, stop := context.WithCancelCause(t.Context())
		r := newPool(t, 1, newQueue(), func(_ context.Context, task attempt.Task, sink attempt.Sink) attempt.Outcome {
			stop(cause)
			return takes(0)(context.WithoutCancel(ctx), task, sink)
		})
		if f := r.attempt(ctx, &granted{Claimed: new(item("1"))}); f.Transition != penstock.TransitionSucceed {
			t.Errorf("%v: %+v", cause, f)
		}
	}
}

func TestEndByCause(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]penstock.Transition{
		errCancelled: penstock.TransitionCancel, errShutdown: penstock.TransitionRetry, errLeaseLost: penstock.TransitionRetry,
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(cause)
		r := newPool(t, 1, newQueue(), takes(time.Hour))
		last := item("1")
		last.Attempts = 3
		counted := 0 // an interrupted try is not the item's fault; a cancelled one is its last
		if want == penstock.TransitionCancel {
			counted = 1
		}
		if f := r.attempt(ctx, &granted{Claimed: &last}); f.Transition != want || f.Counted != counted || f.RetryIn != 0 {
			t.Errorf("%v: %+v, want %s", cause, f, want)
		}
	}
}

// Fallback makes several attempts under one claim. Each of them is one try on one target.
func TestEveryAttemptCounts(t *testing.T) {
	t.Parallel()
	r := newPool(t, 1, newQueue(), func(context.Context, attempt.Task, attempt.Sink) attempt.Outcome {
		kind := string(provider.KindServer)
		return attempt.Outcome{
			Attempts: []penstock.Attempt{{ErrorKind: kind}, {ErrorKind: string(provider.KindRateLimited)}, {ErrorKind: kind}},
			Err:      &provider.Error{Kind: provider.KindServer},
		}
	})
	if f := r.attempt(t.Context(), &granted{Claimed: new(item("1"))}); f.Counted != 2 {
		t.Errorf("counted %d, want 2: one of three was rate-limited", f.Counted)
	}
}
