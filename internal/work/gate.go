package work

import (
	"time"

	"penstock"
	"penstock/internal/route"
	"penstock/internal/store"
)

// Gate says what may be claimed now. No item is claimed that would only wait: for a target's room, or for
// an operator who paused what it needs.
type Gate interface {
	// Closed is what must be left alone for now.
	Closed() Closed
	// Reserve takes room for an item at one of its targets. It returns no choice and true for an item
	// that does not need any, because no target of its model is known any more.
	Reserve(store.Candidate) (*route.Choice, bool)
}

// Closed is what claims leave alone.
type Closed struct {
	Lanes   []penstock.Lane
	Models  []string
	Tenants []penstock.TenantID
}

// open is the gate of a pool that nobody restricts: every item finds its room once it runs.
type open struct{}

func (open) Closed() Closed                                { return Closed{} }
func (open) Reserve(store.Candidate) (*route.Choice, bool) { return nil, true }

// reservations is the room that a claim takes while it picks items. The store may ask for the same item
// again, and may not take it in the end.
type reservations struct {
	*Pool
	bay     *bay
	choices map[penstock.ID]*route.Choice
}

func (r reservations) reserve(c store.Candidate) bool {
	if _, ok := r.choices[c.Item]; ok {
		return true
	}
	urgent := c.Lane == penstock.LaneRealtime
	if !urgent && r.paceLeft(r.bay) > 0 {
		r.bay.held = true
		return false
	}
	choice, ok := r.Gate.Reserve(c)
	if !ok {
		return false
	}
	r.choices[c.Item] = choice
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.Clock(); urgent {
		r.bay.pace.Urgent(now)
	} else {
		r.bay.pace.Take(now)
	}
	return true
}

// paceLeft is how long until an item that is not urgent may start in a bay.
func (p *Pool) paceLeft(b *bay) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.pace.Next(p.Clock())
}

// release gives back what was reserved and is still here.
func (r reservations) release() {
	for _, choice := range r.choices {
		if choice != nil {
			choice.Release()
		}
	}
}
