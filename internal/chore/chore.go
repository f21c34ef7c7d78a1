// Package chore runs periodic work until its context ends.
//
// It decides when the next round starts: at once while there is more to do, and later if there is nothing to do or a
// round failed. The next round finds the failed work again.
package chore

import (
	"context"
	"time"
)

// Chore is work in rounds.
type Chore struct {
	Interval time.Duration // between rounds that leave nothing to do, and after one that failed
	// Round does some of it, and reports whether there is more.
	Round func(ctx context.Context) (more bool, err error)
	// Failed is told of a round's error, unless the end of ctx explains it.
	Failed func(ctx context.Context, err error)
}

// Run does rounds until ctx ends.
func (c Chore) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		more, err := c.Round(ctx)
		if err != nil && ctx.Err() == nil {
			c.Failed(ctx, err)
		}
		if more && err == nil {
			timer.Reset(0)
		} else {
			timer.Reset(c.Interval)
		}
	}
}
