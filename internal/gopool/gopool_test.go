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
			fns := make([]func(), n)
			for i := range fns {
				fns[i] = func() {
					<-hold
					ran.Add(1)
				}
			}
			c.run(fns[:n/2])
			c.run(fns[n/2:])
			synctest.Wait() // all of them run
			close(hold)
			c.busy.Wait()
			synctest.Wait()
			if idle := len(c.idle); idle != maxIdle {
				t.Errorf("%d are idle, want %d kept", idle, maxIdle)
			}
		}
		if ran.Load() != 3*n {
			t.Errorf("ran %d, want %d", ran.Load(), 3*n)
		}
		c.dismiss()
	})
}

// All functions of a call run at the same time, however many wait: none is kept behind another.
func TestGoroutinePoolRunsAllAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 3 * runsInARow
		c := newGoroutinePool()
		defer c.dismiss()
		var running atomic.Int64
		hold := make(chan struct{})
		fns := make([]func(), n)
		for i := range fns {
			fns[i] = func() {
				running.Add(1)
				<-hold
			}
		}
		c.run(fns)
		synctest.Wait()
		if running.Load() != n {
			t.Errorf("%d run at a time, want all %d", running.Load(), n)
		}
		close(hold)
		c.busy.Wait()
	})
}

// Functions that end without a wait share goroutines.
func TestGoroutinePoolSharesGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 64 * runsInARow
		c := newGoroutinePool()
		defer c.dismiss()
		fns := make([]func(), n)
		for i := range fns {
			fns[i] = func() {}
		}
		c.run(fns)
		c.busy.Wait()
		synctest.Wait()
		if len(c.idle) > n/runsInARow {
			t.Errorf("%d functions started %d goroutines", n, len(c.idle))
		}
	})
}
