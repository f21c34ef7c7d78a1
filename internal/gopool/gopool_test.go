package gopool

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// call runs a task that is a function.
func call(fn func()) { fn() }

// More run at a time than are kept, each runs once, and none is left when the pool is dismissed, which
// synctest holds.
func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = maxIdle + 100
		c := New(call)
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
			c.Run(fns[:n/2])
			c.Run(fns[n/2:])
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
		c.Dismiss()
	})
}

// All functions of a call run at the same time, however many wait: none is kept behind another.
func TestPoolRunsAllAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 3 * InARow
		c := New(call)
		defer c.Dismiss()
		var running atomic.Int64
		hold := make(chan struct{})
		fns := make([]func(), n)
		for i := range fns {
			fns[i] = func() {
				running.Add(1)
				<-hold
			}
		}
		c.Run(fns)
		synctest.Wait()
		if running.Load() != n {
			t.Errorf("%d run at a time, want all %d", running.Load(), n)
		}
		close(hold)
		c.busy.Wait()
	})
}

// Functions that end without a wait share goroutines.
func TestPoolSharesGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 64 * InARow
		c := New(call)
		defer c.Dismiss()
		fns := make([]func(), n)
		for i := range fns {
			fns[i] = func() {}
		}
		c.Run(fns)
		c.busy.Wait()
		synctest.Wait()
		if len(c.idle) > n/InARow {
			t.Errorf("%d functions started %d goroutines", n, len(c.idle))
		}
	})
}
