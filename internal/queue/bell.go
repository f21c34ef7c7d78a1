package queue

import "sync"

// Bell wakes those who wait for work, here and in other processes. Rings that a listener has not heard yet
// are one ring: a ring says "look", not "there is one item".
type Bell struct {
	beyond func()

	mu        sync.Mutex
	listeners []chan struct{}
}

// NewBell returns a silent bell that only this process hears.
func NewBell() *Bell { return &Bell{beyond: func() {}} }

// Beyond names who tells other processes that the bell was rung here. It is called before the first ring.
func (b *Bell) Beyond(tell func()) { b.beyond = tell }

// Listen returns what is received from when the bell was rung. It is for one reader, and for good.
func (b *Bell) Listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan struct{}, 1)
	b.listeners = append(b.listeners, c)
	return c
}

// Ring wakes all listeners, or lets them look again as soon as they come back, and tells other processes.
func (b *Bell) Ring() {
	b.RingHere()
	b.beyond()
}

// RingHere wakes the listeners of this process alone.
func (b *Bell) RingHere() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
