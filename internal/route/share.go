package route

import "sync"

// unit is capacity that several tasks hold together. One of them uses it; when all release it unused, it is
// returned.
type unit struct {
	mu      sync.Mutex
	holders int
	taken   bool
}

// hold is one task's hold on a unit.
type hold struct {
	*unit
	released bool
}

// Shared makes the capacity of one task sharable: several tasks may hold it until one of them takes it.
func (c Choice) Shared() *Choice {
	if c.hold == nil {
		c.hold = &hold{unit: &unit{holders: 1}}
	}
	return &c
}

// Share is the same capacity for one more task. The choice must be Shared and not released.
func (c Choice) Share() *Choice {
	c.hold.mu.Lock()
	defer c.hold.mu.Unlock()
	c.hold.holders++
	c.hold = &hold{unit: c.hold.unit}
	return &c
}

// Take takes shared capacity for one task. It returns false when another task has taken it, or all have released it.
func (c Choice) Take() (Choice, bool) {
	h := c.hold
	if c.hold = nil; h == nil {
		return c, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken || h.released {
		return Choice{}, false
	}
	h.taken = true
	return c, true
}

// release releases the hold, and says whether the capacity is to be returned.
func (h *hold) release() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return false
	}
	h.released = true
	h.holders--
	return h.holders == 0 && !h.taken
}
