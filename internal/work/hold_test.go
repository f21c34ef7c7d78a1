package work

import (
	"context"
	"slices"
	"testing"
	"time"

	"penstock"
	"penstock/internal/attempt"
)

// An item whose targets are all held back waits, and loses no attempt by it.
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
	c := granted{Claimed: item("1")}
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
