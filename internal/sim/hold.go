package sim

import (
	"context"
	"fmt"
	"sync"
)

// MaxHolds bounds the names that requests wait on; a request with one more is answered with 400.
const MaxHolds = 1000

const maxHoldName = 64

// holds keeps requests waiting for somebody to let them go, by name: where a latency would only make it likely that one
// thing happens before another, a hold makes it so.
type holds struct {
	mu    sync.Mutex
	named map[string]chan struct{} // closed once released
}

// find returns the channel of a name. It fails with a *failure for a name that is none, and when there are too many.
func (h *holds) find(name string) (chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.named[name] != nil {
		return h.named[name], nil
	}
	if name == "" || len(name) > maxHoldName || len(h.named) >= MaxHolds {
		return nil, invalid("", fmt.Sprintf("a hold has a name of at most %d bytes, and there are at most %d", maxHoldName, MaxHolds))
	}
	h.named[name] = make(chan struct{})
	return h.named[name], nil
}

func (h *holds) release(name string) error {
	held, err := h.find(name)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	open(held)
	return nil
}

// reset releases everyone who waits and forgets all names.
func (h *holds) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, held := range h.named {
		open(held)
	}
	h.named = map[string]chan struct{}{}
}

// open needs holds.mu.
func open(held chan struct{}) {
	select {
	case <-held:
	default:
		close(held)
	}
}

// await returns nil once a name is released. It fails with a *failure when there are too many names, with errClientLeft,
// or with errClosed when done is closed.
func (h *holds) await(ctx context.Context, name string, done <-chan struct{}) error {
	if name == "" {
		return nil
	}
	held, err := h.find(name)
	if err != nil {
		return err
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return errClientLeft
	case <-done:
		return errClosed
	}
}
