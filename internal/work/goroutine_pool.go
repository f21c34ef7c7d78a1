package work

import (
	"sync"
	"sync/atomic"
)

// maxIdle is how many goroutines are kept for items to come.
const maxIdle = 512

// goroutinePool runs items on goroutines that it keeps: the stack of a new one would have to grow to what an attempt
// needs, for every item again. It is safe for concurrent use.
type goroutinePool struct {
	next chan func()
	idle atomic.Int64
	busy sync.WaitGroup // what runs
}

func newGoroutinePool() *goroutinePool { return &goroutinePool{next: make(chan func())} }

// run runs fn beside its caller.
func (c *goroutinePool) run(fn func()) {
	c.busy.Add(1)
	select {
	case c.next <- fn:
	default: // nobody is idle
		go c.member(fn)
	}
}

// member runs fn, and what follows until too many are idle or the goroutine pool is dismissed.
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

// await is what to run next, nil for nothing.
func (c *goroutinePool) await() func() {
	defer c.idle.Add(-1)
	if c.idle.Add(1) > maxIdle {
		return nil
	}
	return <-c.next
}

// dismiss lets those go that are idle, and the others once they are. Nothing may be run after it.
func (c *goroutinePool) dismiss() { close(c.next) }
