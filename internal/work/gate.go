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
	Reserve(store.Candidate) (Grant, bool)
}

// Grant is the room of an item.
type Grant struct {
	Choice *route.Choice // nil when it needs none
	Places int           // items of the same tenant, model and endpoint that can share it; below 2 for none
}

// company is what items have in common that can share room.
type company struct {
	lane     penstock.Lane
	tenant   penstock.TenantID
	model    string
	endpoint penstock.Endpoint
}

// share is room that more items can share.
type share struct {
	choice *route.Choice
	left   int
}

// Closed is what claims leave alone.
type Closed struct {
	Lanes   []penstock.Lane
	Models  []string
	Tenants []penstock.TenantID
}

// open is the gate of a pool that nobody restricts: every item finds its room once it runs.
type open struct{}

func (open) Closed() Closed                        { return Closed{} }
func (open) Reserve(store.Candidate) (Grant, bool) { return Grant{}, true }

// reservations is the room that a claim takes while it picks items. The store may ask for the same item
// again, and may not take it in the end.
type reservations struct {
	*Pool
	pool    *pool
	choices map[penstock.ID]*route.Choice
	shares  map[company]*share
}

func newReservations(p *Pool, b *pool) reservations {
	return reservations{Pool: p, pool: b, choices: make(map[penstock.ID]*route.Choice), shares: make(map[company]*share)}
}

// grant finds room for an item: what others of its kind have left, or more of it.
func (r reservations) grant(c store.Candidate) (*route.Choice, bool) {
	of := company{c.Lane, c.Tenant, c.Model, c.Endpoint}
	if shared := r.shares[of]; shared != nil && shared.left > 0 {
		shared.left--
		return shared.choice.Share(), true
	}
	g, ok := r.Gate.Reserve(c)
	if ok && g.Choice != nil && g.Places > 1 {
		g.Choice = g.Choice.Shared()
		r.shares[of] = &share{g.Choice, g.Places - 1}
	}
	return g.Choice, ok
}

func (r reservations) reserve(c store.Candidate) bool {
	if _, ok := r.choices[c.Item]; ok {
		return true
	}
	if r.pool.suspects {
		return r.reserveAlone(c)
	}
	urgent, now := c.Lane == penstock.LaneRealtime, r.Clock()
	if !urgent && r.paceLeftAt(r.pool, now) > 0 {
		r.pool.held = true
		return false
	}
	choice, ok := r.grant(c)
	if !ok {
		return false
	}
	r.choices[c.Item] = choice
	r.mu.Lock()
	defer r.mu.Unlock()
	if urgent {
		r.pool.pace.Urgent(now)
	} else {
		r.pool.pace.Take(now)
	}
	return true
}

// reserveAlone takes room for a suspect, which shares no call with others and has its own number of slots to pace it.
func (r reservations) reserveAlone(c store.Candidate) bool {
	g, ok := r.Gate.Reserve(c)
	if ok {
		r.choices[c.Item] = g.Choice
	}
	return ok
}

// target is where room was taken for an item, "" for nowhere.
func (r reservations) target(item penstock.ID) string {
	if choice := r.choices[item]; choice != nil {
		return choice.Target.Name
	}
	return ""
}

// paceLeft is how long until an item that is not urgent may start in a slot pool.
func (p *Pool) paceLeft(b *pool) time.Duration { return p.paceLeftAt(b, p.Clock()) }

func (p *Pool) paceLeftAt(b *pool, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.pace.Next(now)
}

// release gives back what was reserved and is still here.
func (r reservations) release() {
	for _, choice := range r.choices {
		if choice != nil {
			choice.Release()
		}
	}
}
