package work

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/isolate"
	"penstock/internal/provider"
	"penstock/internal/store"
)

// isolated runs suspects as a test says, and keeps how many ran at a time.
type isolated struct {
	answer func(ctx context.Context, s isolate.Suspect) isolate.Answered

	mu            sync.Mutex
	running, most int
}

func (i *isolated) Answer(ctx context.Context, s isolate.Suspect) isolate.Answered {
	i.mu.Lock()
	i.running++
	i.most = max(i.most, i.running)
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.running--
	}()
	return i.answer(ctx, s)
}

// suspect is an item that lost workers, as ClaimSuspects gives it out.
func suspect(id penstock.ID) store.Claimed {
	c := item(id)
	c.Body, c.MaxAttempts = nil, 1
	c.Tries, c.Spent.Crashes = store.SuspectCrashes, store.SuspectCrashes
	c.Sealed = &store.Sealed{Input: []byte("sealed")}
	return c
}

func newSuspects(t *testing.T, cfg Config, q *fakeQueue, i *isolated) *rig {
	t.Helper()
	return newPoolOf(t, cfg, Deps{Store: q, Runner: &runner{run: takes(time.Second)}, Isolated: i})
}

func outcomeOf(err error) *attempt.Outcome {
	return &attempt.Outcome{Attempts: []penstock.Attempt{{Isolated: true}}, Err: err, Target: "a", Counted: 1}
}

func TestEndsOfSuspects(t *testing.T) {
	t.Parallel()
	died := isolate.Answered{Outcome: &attempt.Outcome{Attempts: []penstock.Attempt{{ErrorKind: penstock.AttemptDied}}, Forfeit: 1000,
		Err: &provider.Error{Kind: provider.KindInternal}}, Died: true}
	for _, tt := range []struct {
		name       string
		answered   isolate.Answered
		cause      error
		transition penstock.Transition
		died       bool
		counted    int
		code       penstock.Code
	}{
		{"an answer", isolate.Answered{Outcome: outcomeOf(nil), Result: []byte("sealed answer")}, nil, penstock.TransitionSucceed, false, 1, ""},
		{"a death", died, nil, penstock.TransitionRetry, true, 0, ""},
		{"a failure", isolate.Answered{Outcome: outcomeOf(&provider.Error{Kind: provider.KindServer})}, nil, penstock.TransitionFail, false, 1, penstock.CodeUpstreamError},
		{"no child", isolate.Answered{Outcome: &attempt.Outcome{Err: &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: 5 * time.Second}}}, nil,
			penstock.TransitionRetry, false, 0, ""},
		{"a cancel", isolate.Answered{Outcome: outcomeOf(&provider.Error{Kind: provider.KindCancelled})}, errCancelled, penstock.TransitionCancel, false, 1, penstock.CodeCancelled},
		{"a deadline", isolate.Answered{Outcome: outcomeOf(&provider.Error{Kind: provider.KindTimeout})}, errDeadline, penstock.TransitionExpire, false, 1, penstock.CodeDeadlineExceeded},
		{"a shutdown", isolate.Answered{Outcome: outcomeOf(&provider.Error{Kind: provider.KindCancelled})}, errShutdown, penstock.TransitionRetry, false, 0, ""},
		{"an input that is gone", isolate.Answered{Outcome: &attempt.Outcome{Err: penstock.Errorf(penstock.CodeGone, "gone")}}, nil, penstock.TransitionFail, false, 1, penstock.CodeInternal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancelCause(t.Context())
			if tt.cause != nil {
				stop(tt.cause)
			}
			defer stop(nil)
			i := &isolated{answer: func(_ context.Context, s isolate.Suspect) isolate.Answered {
				if string(s.Sealed.Input) != "sealed" || s.Task.Body != nil || s.Task.Bound != 1000 {
					t.Errorf("it was given %+v, task %+v", s, s.Task)
				}
				return tt.answered
			}}
			r := newSuspects(t, Config{Slots: 1, Suspects: 1}, newQueue(), i)
			f := r.attempt(ctx, &granted{Claimed: new(suspect("1"))})
			if f.Transition != tt.transition || f.ChildDied != tt.died || f.Counted != tt.counted {
				t.Errorf("it ends with %+v", f)
			}
			if (f.Error == nil) != (tt.code == "") || f.Error != nil && f.Error.Code != tt.code {
				t.Errorf("it fails with %+v, want %q", f.Error, tt.code)
			}
			if tt.transition == penstock.TransitionSucceed && (string(f.Result) != "sealed answer" || !f.Sealed) {
				t.Errorf("its result is %q, sealed: %v", f.Result, f.Sealed)
			}
			if tt.name == "no child" && f.RetryIn < 5*time.Second {
				t.Errorf("it is tried again in %v", f.RetryIn)
			}
		})
	}
}

// Suspects run beside others, a few at a time, and neither takes slots from the other.
func TestSuspectsHaveSlotsOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(items(20)...)
		for n := range 6 {
			q.add(suspect(penstock.ID("suspect" + string(rune('0'+n)))))
		}
		i := &isolated{answer: func(context.Context, isolate.Suspect) isolate.Answered {
			time.Sleep(time.Second)
			return isolate.Answered{Outcome: outcomeOf(nil)}
		}}
		r := newSuspects(t, Config{Slots: 20, Suspects: 2}, q, i).begin()
		synctest.Wait()
		if r.InUse() != 20 || r.Suspects() != 2 {
			t.Errorf("%d items and %d suspects run, want 20 and 2", r.InUse(), r.Suspects())
		}
		pass(time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 22, penstock.StatusRunning: 2, penstock.StatusQueued: 2})
		pass(2 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusSucceeded: 26})
		if i.most != 2 || len(r.runner.seen()) != 20 {
			t.Errorf("%d suspects ran at a time; %d items ran among others", i.most, len(r.runner.seen()))
		}
	})
}

// A pool that runs no suspects leaves them alone.
func TestSuspectsWaitForAPoolThatRunsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(suspect("1"))
		r := start(t, 4, q, takes(0))
		pass(10 * time.Second)
		r.wantStatuses(map[penstock.Status]int{penstock.StatusQueued: 1})
	})
}
