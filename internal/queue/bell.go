package queue

import "sync"

// Bell wakes those in this process who wait for work. Rings that a listener has not heard yet are one
// ring: a ring says "look", not "there is one item".
type Bell struct {
	mu        sync.Mutex
	listeners []chan struct{}
}

// NewBell returns a silent bell.
func NewBell() *Bell { return new(Bell) }

// Listen returns what is received from when the bell was rung. It is for one reader, and for good.
func (b *Bell) Listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan struct{}, 1)
	b.listeners = append(b.listeners, c)
	return c
}

// Ring wakes all listeners, or lets them look again as soon as they come back.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
