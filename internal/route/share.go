package route

import "sync"

// unit is capacity that several tasks came by together. One of them uses it; when all let go of it without that, it is
// given back.
type unit struct {
	mu      sync.Mutex
	holders int
	taken   bool
}

// hold is what one task has of a unit.
type hold struct {
	*unit
	let bool // go of it
}

// Shared makes capacity that several tasks may hold until one of them takes it. It is one's own first.
func (c Choice) Shared() *Choice {
	if c.hold == nil {
		c.hold = &hold{unit: &unit{holders: 1}}
	}
	return &c
}

// Share is the same capacity for one more task. It must be Shared, and its holder not have let go of it.
func (c Choice) Share() *Choice {
	c.hold.mu.Lock()
	defer c.hold.mu.Unlock()
	c.hold.holders++
	c.hold = &hold{unit: c.hold.unit}
	return &c
}

// Take makes shared capacity one's own. It reports false when another task has it, or all have let go of it.
func (c Choice) Take() (Choice, bool) {
	h := c.hold
	if c.hold = nil; h == nil {
		return c, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken || h.let {
		return Choice{}, false
	}
	h.taken = true
	return c, true
}

// letGo says whether the capacity is to be given back.
func (h *hold) letGo() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.let {
		return false
	}
	h.let = true
	h.holders--
	return h.holders == 0 && !h.taken
}
