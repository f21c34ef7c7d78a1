package work

import (
	"sync"
	"sync/atomic"
)

// maxIdle is how many goroutines are kept for items to come.
const maxIdle = 512

// goroutinePool runs items on reused goroutines: the stack of a new one would have to grow to the size that an attempt
// needs, for every item again. It is safe for concurrent use.
type goroutinePool struct {
	next chan func()
	idle atomic.Int64
	busy sync.WaitGroup // what runs
}

func newGoroutinePool() *goroutinePool { return &goroutinePool{next: make(chan func())} }

// run runs fn concurrently with its caller.
func (c *goroutinePool) run(fn func()) {
	c.busy.Add(1)
	select {
	case c.next <- fn:
	default: // no goroutine is idle
		go c.member(fn)
	}
}

// member runs fn, and then further functions until too many goroutines are idle or the pool is dismissed.
func (c *goroutinePool) member(fn func()) {
	for {
		fn()
		c.busy.Done()
		fn = c.await()
		if fn == nil {
			return
		}
	}
}

// await returns the next function, nil when the goroutine should end.
func (c *goroutinePool) await() func() {
	defer c.idle.Add(-1)
	if c.idle.Add(1) > maxIdle {
		return nil
	}
	return <-c.next
}

// dismiss ends the idle goroutines, and the others when they are idle. run may not be called after it.
func (c *goroutinePool) dismiss() { close(c.next) }
