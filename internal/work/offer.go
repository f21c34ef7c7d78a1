package work

import (
	"slices"

	"penstock"
	"penstock/internal/store"
)

// Offer takes slots and reserves calls for all items of a job that is about to be accepted, or for none, and returns the
// targets of the calls. If taken is not nil, the caller calls it once: with the items that the store claimed for the lease, or
// with the error of the submit.
func (p *Pool) Offer(items []store.Candidate) (lease store.Lease, targets []string, taken func([]*store.Claimed, error)) {
	if len(items) == 0 || len(items) > store.MaxOffer || !p.Lease.Held() {
		return lease, nil, nil
	}
	b := p.poolOf(items[0].Model)
	if b == nil || p.closed(items[0]) || !b.slots.TakeAll(len(items)) {
		return lease, nil, nil
	}
	if items[0].Lane == penstock.LaneRealtime || p.notUrgent(b, len(items)) == len(items) {
		o := offer{pool: b, items: items, reservedCalls: p.reserve(b, []store.Ready{readyOf(items)}, len(items))}
		if o.assign() && p.beginOffer() {
			return p.Lease.Current(), o.targets(), func(claimed []*store.Claimed, err error) { p.takeUp(o, claimed, err) }
		}
		o.match(b, nil)
	}
	b.slots.Give(len(items))
	return lease, nil, nil
}

// readyOf counts the items of a job by model.
func readyOf(items []store.Candidate) store.Ready {
	r := store.Ready{Model: items[0].Model, Endpoint: items[0].Endpoint, Items: len(items)}
	for _, c := range items {
		r.Estimate += c.Estimate
		r.InputBytes += c.InputBytes
	}
	r.Estimate, r.InputBytes = r.Estimate/int64(len(items)), r.InputBytes/int64(len(items))
	return r
}

// poolOf is the slot pool in which the items of a model run.
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

// closed says that an item must not be claimed now.
func (p *Pool) closed(c store.Candidate) bool {
	closed := p.Gate.Closed()
	return slices.Contains(closed.Lanes, c.Lane) || slices.Contains(closed.Models, c.Model) || slices.Contains(closed.Tenants, c.Tenant)
}

// beginOffer records that the store may soon assign items that the pool does not hold yet. It fails when the pool does not run.
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

// offer holds the slots and calls that were taken for a job's items.
type offer struct {
	*reservedCalls
	pool  *pool
	items []store.Candidate
	calls []store.Call // of the items, in their order
}

// assign gives every item a call, as a claim would. It reports false when there are too few.
func (o *offer) assign() bool {
	calls := store.NewCalls(store.Want{Reserved: o.reserved})
	for _, c := range o.items {
		call, _, ok := calls.Take(c)
		if !ok {
			return false
		}
		o.calls = append(o.calls, call)
	}
	return true
}

// targets are the targets of the items' reserved calls.
func (o *offer) targets() []string {
	all := make([]string, len(o.calls))
	for i, call := range o.calls {
		all[i] = call.Target
	}
	return all
}

// takeUp starts the items that the store claimed for the lease, and releases the slots and calls of the rest.
func (p *Pool) takeUp(o offer, claimed []*store.Claimed, err error) {
	defer p.offers.Done()
	p.mu.Lock()
	for _, c := range claimed {
		c.Charged = p.expected.Of(c.Model, c.Estimate)
		if at := slices.IndexFunc(o.items, func(i store.Candidate) bool { return i.Item == c.Item }); at >= 0 {
			c.Call = o.calls[at]
		}
	}
	p.mu.Unlock()
	p.started(o.pool, claimed)
	p.launch(o.match(o.pool, claimed))
	o.pool.slots.Give(len(o.items) - len(claimed))
	if err != nil {
		p.doubt()
	}
	p.claimed()
	if len(claimed) > 0 {
		p.Jobs.Publish(claimed[0].Job)
	}
}

// stopOffers refuses new offers and waits for the open ones.
func (p *Pool) stopOffers() {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.offers.Wait()
}
