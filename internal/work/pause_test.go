package work

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/provider"
)

// An item whose targets are all paused waits, and loses no attempt.
func TestAnItemWithoutAnOpenTargetWaits(t *testing.T) {
	t.Parallel()
	var targets []string // that were offered
	r := newPool(t, 1, newQueue(), func(_ context.Context, task attempt.Task, _ attempt.Sink) attempt.Outcome {
		targets = task.Targets
		return attempt.Outcome{}
	})
	r.Open = func(targets []string) []string {
		return slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return t != "c" })
	}
	c := &granted{Claimed: new(item("1"))}
	c.Resolved.Targets = []string{"a", "b"}
	if f := r.attempt(t.Context(), c); f.Transition != penstock.TransitionRetry || f.Counted != 0 || f.RetryIn < heldWait || f.RetryIn > 2*heldWait+time.Minute {
		t.Errorf("it ends with %+v, want a wait that counts for nothing", f)
	}
	if targets != nil {
		t.Errorf("%v were called", targets)
	}
	c.Resolved.Targets = []string{"a", "c"}
	if f := r.attempt(t.Context(), c); f.Transition != penstock.TransitionSucceed || !slices.Equal(targets, []string{"c"}) {
		t.Errorf("it ends with %+v on %v, want success on c", f, targets)
	}
}

// sameHistory is a history that is the same for every item.
type sameHistory struct {
	tried []penstock.Attempt
	err   error
	asked int
}

func (h *sameHistory) Attempts(_ context.Context, tenant penstock.TenantID, subject penstock.ID) ([]penstock.Attempt, error) {
	h.asked++
	if tenant != "search" || subject != "1" {
		return nil, errors.New("that is another item")
	}
	return h.tried, h.err
}

// A target that refused an item for good is not called for it again, in any claim.
func TestATargetIsNotAskedAgainInVain(t *testing.T) {
	t.Parallel()
	failed := func(target string, kind provider.Kind) penstock.Attempt {
		return penstock.Attempt{Target: target, ErrorKind: string(kind)}
	}
	for _, tt := range []struct {
		name  string
		tries int
		tried []penstock.Attempt
		err   error
		want  []string
	}{
		{"nothing was tried", 0, []penstock.Attempt{failed("a", provider.KindFinal)}, nil, []string{"a", "b"}},
		{"in vain", 2, []penstock.Attempt{failed("a", provider.KindFinal), failed("b", provider.KindServer)}, nil, []string{"b"}},
		{"too long", 2, []penstock.Attempt{failed("b", provider.KindContextTooLong), failed("a", provider.KindServer)}, nil, []string{"a"}},
		{"for the moment", 1, []penstock.Attempt{failed("a", provider.KindOverloaded), failed("b", provider.KindAuth)}, nil, []string{"a", "b"}},
		{"unknown", 1, nil, errors.New("the database is unavailable"), []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var targets []string
			r := newPool(t, 1, newQueue(), func(_ context.Context, task attempt.Task, _ attempt.Sink) attempt.Outcome {
				targets = task.Targets
				return attempt.Outcome{}
			})
			h := &sameHistory{tried: tt.tried, err: tt.err}
			r.History = h
			c := &granted{Claimed: new(item("1"))}
			c.Tries = tt.tries
			if r.attempt(t.Context(), c); !slices.Equal(targets, tt.want) {
				t.Errorf("%v were offered, want %v", targets, tt.want)
			}
			if h.asked != min(tt.tries, 1) {
				t.Errorf("its history was asked for %d times", h.asked)
			}
			if !slices.Equal(c.Resolved.Targets, []string{"a", "b"}) {
				t.Errorf("the item's own targets are %v by now", c.Resolved.Targets)
			}
		})
	}
}
