package sim

import (
	"container/list"
	"context"
	"sync"
)

// gate lets a bounded number of requests run and a bounded number wait, first come first served.
type gate struct {
	mu       sync.Mutex
	slots    int // 0: no bound
	maxQueue int
	used     int
	queue    list.List // of chan struct{}, closed when its request has a slot
}

// start takes a slot, which leave gives back. It fails with a *failure when the queue is full, with
// errClientLeft, or with errClosed when done is closed.
func (g *gate) start(ctx context.Context, done <-chan struct{}) error {
	g.mu.Lock()
	if g.free() {
		g.used++
		g.mu.Unlock()
		return nil
	}
	if g.queue.Len() >= g.maxQueue {
		g.mu.Unlock()
		return overloaded()
	}
	admitted := make(chan struct{})
	place := g.queue.PushBack(admitted)
	g.mu.Unlock()

	var err error
	select {
	case <-admitted:
		return nil
	case <-ctx.Done():
		err = errClientLeft
	case <-done:
		err = errClosed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-admitted: // the slot came in the same moment: pass it on
		g.used--
		g.admit()
	default:
		g.queue.Remove(place)
	}
	return err
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used--
	g.admit()
}

func (g *gate) resize(slots, maxQueue int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots, g.maxQueue = slots, maxQueue
	g.admit()
}

func (g *gate) free() bool { return g.slots == 0 || g.used < g.slots }

func (g *gate) admit() {
	for g.free() && g.queue.Len() > 0 {
		g.used++
		close(g.queue.Remove(g.queue.Front()).(chan struct{}))
	}
}
