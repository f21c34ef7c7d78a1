package work

import (
	"runtime"
	"sync"
)

const (
	// maxIdle is how many goroutines are kept for items to come.
	maxIdle = 512
	// runsInARow is how many items a goroutine runs before it leaves the rest to the next one. Items that do not wait would
	// otherwise keep a processor from the goroutines that write the next claims and results.
	runsInARow = 16
)

// goroutinePool runs items, all at the same time. An item that waits for its upstream has a goroutine of its own; items
// that end without a wait share one.
//
// It keeps this rule: while items are queued, a goroutine was woken that has not taken an item yet. The scheduler runs that
// goroutine as soon as the others wait. So a goroutine that ends an item may take the next one, which spares most switches
// between goroutines and most wake-ups. Goroutines are reused: the stack of a new one would have to grow to the size that an
// attempt needs. The one that became idle last is woken first, because its stack is in the processor's cache.
//
// It is safe for concurrent use.
type goroutinePool struct {
	busy sync.WaitGroup // items that are queued or run

	mu        sync.Mutex
	queue     []func()
	woken     bool            // a goroutine was woken and has not looked at the queue yet
	idle      []chan struct{} // wakes an idle goroutine, in the order in which they became idle
	dismissed bool
}

func newGoroutinePool() *goroutinePool { return &goroutinePool{} }

// run runs functions concurrently with each other and with the caller, who does not use the slice any more.
func (p *goroutinePool) run(fns []func()) {
	if len(fns) == 0 {
		return
	}
	p.busy.Add(len(fns))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.queue = fns
	} else {
		p.queue = append(p.queue, fns...)
	}
	p.wake()
}

// wake wakes a goroutine, or starts one, unless one is on its way. The lock is held.
func (p *goroutinePool) wake() {
	if p.woken {
		return
	}
	p.woken = true
	last := len(p.idle) - 1
	if last < 0 {
		go p.member()
		return
	}
	p.idle[last] <- struct{}{} // never blocks: the goroutine is woken once for each time it becomes idle
	p.idle = p.idle[:last]
}

// member runs functions until too many goroutines are idle or the pool is dismissed.
func (p *goroutinePool) member() {
	work := make(chan struct{}, 1)
	for {
		runtime.Gosched() // those that were ready before it, such as the writers of claims and results, run first
		p.arrive()
		for range runsInARow {
			fn := p.take()
			if fn == nil {
				break
			}
			fn()
			p.busy.Done()
		}
		if !p.rest(work) {
			return
		}
		if _, ok := <-work; !ok {
			return
		}
	}
}

// arrive ends the way of a goroutine that was woken.
func (p *goroutinePool) arrive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = false
}

// take returns the next function, nil when none is queued. It wakes a goroutine for the one after it.
func (p *goroutinePool) take() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return nil
	}
	fn := p.queue[0]
	p.queue[0] = nil
	if p.queue = p.queue[1:]; len(p.queue) > 0 {
		p.wake()
	}
	return fn
}

// rest makes a goroutine idle. It reports false when the goroutine should end.
func (p *goroutinePool) rest(work chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dismissed || len(p.idle) >= maxIdle {
		return false
	}
	p.idle = append(p.idle, work)
	return true
}

// dismiss ends the idle goroutines, and the others when they are idle. run may not be called after it.
func (p *goroutinePool) dismiss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dismissed = true
	for _, work := range p.idle {
		close(work)
	}
	p.idle = nil
}
