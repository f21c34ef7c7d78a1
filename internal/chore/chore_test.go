package chore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		broken := errors.New("broken")
		var failures []error
		Chore{
			Interval: time.Second,
			Round: func(context.Context) (bool, error) {
				at = append(at, time.Since(began))
				switch len(at) {
				case 1:
					return true, nil // more: the next is at once
				case 3:
					return true, broken // failed: later, whatever there is
				case 4:
					cancel()
					return true, ctx.Err() // nobody has to be told
				}
				return false, nil
			},
			Failed: func(_ context.Context, err error) { failures = append(failures, err) },
		}.Run(ctx)
		want := []time.Duration{0, 0, time.Second, 2 * time.Second}
		for i := range want {
			if len(at) != len(want) || at[i] != want[i] {
				t.Fatalf("rounds after %v, want %v", at, want)
			}
		}
		if len(failures) != 1 || !errors.Is(failures[0], broken) {
			t.Errorf("told of %v, want what broke", failures)
		}
	})
}
