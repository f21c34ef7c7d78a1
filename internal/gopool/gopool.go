// Package gopool runs many short tasks on few goroutines.
//
// It owns the goroutines: how many there are, and which of them takes the next task. It does not own the tasks, and bounds them in no way: all
// tasks that wait run at the same time.
package gopool

import (
	"runtime"
	"sync"
)

const (
	// maxIdle is how many goroutines are kept for tasks to come.
	maxIdle = 512
	// InARow is how many tasks a goroutine runs before it leaves the rest to the next one. Tasks that do not wait would otherwise keep a
	// processor from other goroutines.
	InARow = 16
)

// Pool runs tasks, all at the same time. A task that waits has a goroutine of its own; tasks that end without a wait share one.
//
// It keeps this rule: while tasks are queued, a goroutine was woken that has not taken a task yet. The scheduler runs that
// goroutine as soon as the others wait. So a goroutine that ends a task may take the next one, which spares most switches
// between goroutines and most wake-ups. Goroutines are reused: the stack of a new one would have to grow to the size that a
// task needs. The one that became idle last is woken first, because its stack is in the processor's cache.
//
// It is safe for concurrent use.
type Pool[T any] struct {
	do   func(T)        // runs a task
	busy sync.WaitGroup // tasks that are queued or run

	mu        sync.Mutex
	queue     []T
	woken     bool            // a goroutine was woken and has not looked at the queue yet
	idle      []chan struct{} // wakes an idle goroutine, in the order in which they became idle
	dismissed bool
}

// New returns a pool that runs its tasks by do.
func New[T any](do func(T)) *Pool[T] { return &Pool[T]{do: do} }

// Busy are the tasks that are queued or run.
func (p *Pool[T]) Busy() *sync.WaitGroup { return &p.busy }

// Run runs tasks concurrently with each other and with the caller, who does not use the slice any more.
func (p *Pool[T]) Run(tasks []T) {
	if len(tasks) == 0 {
		return
	}
	p.busy.Add(len(tasks))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.queue = tasks
	} else {
		p.queue = append(p.queue, tasks...)
	}
	p.wake()
}

// wake wakes a goroutine, or starts one, unless one is on its way. The lock is held.
func (p *Pool[T]) wake() {
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

// member runs tasks until too many goroutines are idle or the pool is dismissed.
func (p *Pool[T]) member() {
	work := make(chan struct{}, 1)
	for {
		runtime.Gosched() // those that were ready before it run first
		p.arrive()
		for range InARow {
			task, ok := p.take()
			if !ok {
				break
			}
			p.do(task)
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
func (p *Pool[T]) arrive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.woken = false
}

// take returns the next task, if one is queued. It wakes a goroutine for the one after it.
func (p *Pool[T]) take() (task T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return task, false
	}
	var none T
	task, p.queue[0] = p.queue[0], none
	if p.queue = p.queue[1:]; len(p.queue) > 0 {
		p.wake()
	}
	return task, true
}

// rest makes a goroutine idle. It reports false when the goroutine should end.
func (p *Pool[T]) rest(work chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dismissed || len(p.idle) >= maxIdle {
		return false
	}
	p.idle = append(p.idle, work)
	return true
}

// Dismiss ends the idle goroutines, and the others when they are idle. Run may not be called after it.
func (p *Pool[T]) Dismiss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dismissed = true
	for _, work := range p.idle {
		close(work)
	}
	p.idle = nil
}
