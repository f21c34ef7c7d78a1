package work

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// More run at a time than are kept, each runs once, and none is left when the goroutine pool is dismissed, which
// synctest holds.
func TestGoroutinePool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = maxIdle + 100
		c := newGoroutinePool()
		var ran atomic.Int64
		for range 3 {
			hold := make(chan struct{})
			for range n {
				c.run(func() {
					<-hold
					ran.Add(1)
				})
			}
			close(hold)
			c.busy.Wait()
			synctest.Wait()
			if idle := c.idle.Load(); idle != maxIdle {
				t.Errorf("%d are idle, want %d kept", idle, maxIdle)
			}
		}
		if ran.Load() != 3*n {
			t.Errorf("ran %d, want %d", ran.Load(), 3*n)
		}
		c.dismiss()
	})
}
