package work

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/queue"
)

// The current weights decide which lane is next, also when they change while the pool runs.
func TestClaimFollowsTheWeights(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		var weights atomic.Pointer[queue.LaneWeights]
		weights.Store(&queue.LaneWeights{penstock.LaneRealtime: 1, penstock.LaneStandard: 1, penstock.LaneBulk: 100})
		r := newPoolOf(t, Config{Slots: 3}, Deps{
			Store: q, Runner: &runner{run: takes(time.Millisecond)}, Weights: func() queue.LaneWeights { return *weights.Load() },
		}).begin()
		serve := func(id string) []penstock.Lane {
			for _, lane := range penstock.Lanes {
				c := item(penstock.ID(id + string(lane)))
				c.Lane, c.Estimate = lane, 1000
				q.add(c)
			}
			pass(2 * pollInterval)
			q.mu.Lock()
			defer q.mu.Unlock()
			return slices.Clone(q.lanes[len(q.lanes)-1])
		}
		if order := serve("a"); order[0] != penstock.LaneBulk {
			t.Errorf("bulk outweighs all, but the order is %v", order)
		}
		weights.Store(&queue.LaneWeights{penstock.LaneRealtime: 1000, penstock.LaneStandard: 1, penstock.LaneBulk: 1})
		for range 3 {
			serve(time.Now().String())
		}
		if order := serve("z"); slices.Index(order, penstock.LaneRealtime) > slices.Index(order, penstock.LaneStandard) {
			t.Errorf("realtime outweighs standard by now, but the order is %v", order)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}
