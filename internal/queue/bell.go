package queue

// Bell wakes whoever waits for work in this process. Rings that nobody has heard yet are one ring:
// a ring says "look", not "there is one item".
type Bell struct{ c chan struct{} }

// NewBell returns a silent bell.
func NewBell() *Bell { return &Bell{c: make(chan struct{}, 1)} }

// Ring wakes one waiter, or the next one that comes.
func (b *Bell) Ring() {
	select {
	case b.c <- struct{}{}:
	default:
	}
}

// Rung is received from when the bell was rung.
func (b *Bell) Rung() <-chan struct{} { return b.c }
