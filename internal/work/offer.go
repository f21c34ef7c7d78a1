package work

import (
	"slices"

	"penstock/internal/store"
)

// MaxOffer is how many items a job may have that starts as it is accepted. Larger ones gain nothing by it.
const MaxOffer = 4

// Offer takes slots and room for the items of a job that is about to be accepted, all or none. If it could, taken is to be
// called once with those of them that the store gave to the lease, or with why it cannot be known.
func (p *Pool) Offer(items []store.Candidate) (lease store.Lease, taken func([]*store.Claimed, error), ok bool) {
	if len(items) == 0 || len(items) > MaxOffer || !p.Lease.Held() {
		return lease, nil, false
	}
	b := p.poolOf(items[0].Model)
	if b == nil || p.closed(items[0]) || !b.trySlots(len(items)) {
		return lease, nil, false
	}
	room := newReservations(p, b)
	if !slices.ContainsFunc(items, func(c store.Candidate) bool { return !room.reserve(c) }) && p.beginOffer() {
		for i := range items {
			items[i].Target = room.target(items[i].Item)
		}
		lease = p.Lease.Current()
		return lease, func(claimed []*store.Claimed, err error) { p.takeUp(offer{room, items}, claimed, err) }, true
	}
	room.release()
	b.giveSlots(len(items))
	return lease, nil, false
}

// poolOf is where the items of a model run.
func (p *Pool) poolOf(model string) *pool {
	for _, b := range p.pools {
		if b.suspects {
			continue
		}
		if slices.Contains(b.models, model) || (b.models == nil && !slices.Contains(b.except, model)) {
			return b
		}
	}
	return nil
}

// closed says that an item must be left alone for now.
func (p *Pool) closed(c store.Candidate) bool {
	closed := p.Gate.Closed()
	return slices.Contains(closed.Lanes, c.Lane) || slices.Contains(closed.Models, c.Model) || slices.Contains(closed.Tenants, c.Tenant)
}

// trySlots takes slots if there are so many.
func (b *pool) trySlots(n int) bool {
	for taken := range n {
		select {
		case b.slots <- struct{}{}:
		default:
			b.giveSlots(taken)
			return false
		}
	}
	return true
}

// beginOffer says that the store may soon know more than is held here. It fails when the pool does not work.
func (p *Pool) beginOffer() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.launch == nil || p.closing {
		return false
	}
	p.claiming++
	p.offers.Add(1)
	return true
}

// offer is what was taken for a job's items.
type offer struct {
	reservations
	items []store.Candidate
}

// takeUp starts what was given to the lease, and gives back what was taken for the rest.
func (p *Pool) takeUp(o offer, claimed []*store.Claimed, err error) {
	defer p.offers.Done()
	all := make([]*granted, len(claimed))
	for i, c := range claimed {
		c.Charged = p.charge(store.Candidate{Model: c.Model, Estimate: c.Estimate})
		all[i] = &granted{Claimed: c, pool: o.pool, choice: o.choices[c.Item]}
		delete(o.choices, c.Item)
	}
	p.launch(all)
	o.release()
	o.pool.giveSlots(len(o.items) - len(claimed))
	if err != nil {
		p.doubt()
	}
	p.claimed()
	if len(claimed) > 0 {
		p.Announce.Announce(claimed[0].Job)
	}
}

// stopOffers waits until nothing more can be taken up.
func (p *Pool) stopOffers() {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.offers.Wait()
}
