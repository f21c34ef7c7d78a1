package work

import (
	"context"
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/fair"
	"penstock/internal/inflight"
	"penstock/internal/route"
	"penstock/internal/store"
)

// claim fills free slots with items until ctx ends.
func (p *Pool) claim(ctx context.Context, b *pool) {
	for {
		free := b.slots.Take(ctx, MaxClaim)
		if free == 0 {
			return
		}
		granted, more := p.claimOnce(ctx, b, free)
		b.slots.Give(free - len(granted))
		p.Metrics.SlotsInUse(p.slotsInUse())
		p.launch(granted)
		p.claimed()
		if len(granted) < free && !more && !p.awaitWork(ctx, b) {
			return
		}
	}
}

// looksPerDoubt is how many looks must find nothing before a doubt is over: a claim whose answer was
// lost may still be committed.
const looksPerDoubt = 4

// doubt makes the next looks search for items of a claim whose answer was lost.
func (p *Pool) doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubts = looksPerDoubt
}

// claimed ends a claim: its items are held by now.
func (p *Pool) claimed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claiming--
}

// granted is a claimed item with the call that was reserved for it.
type granted struct {
	*store.Claimed
	pool   *pool
	choice *route.Choice     // nil when none of its targets is configured any more
	memory *inflight.Account // of its answer, until it ends; nil before it has one
}

// claimOnce claims up to n items. It returns more when it claimed some and more may be ready. Errors are logged; the
// next claim tries again. A claim that began is not cancelled when the pool stops: the store may commit it anyway, and
// the pool must know its items.
//
// It reserves calls for the ready items before the claim, and releases the unused calls after it. The transaction in
// between gets plain numbers, so it waits for no lock of this process.
func (p *Pool) claimOnce(ctx context.Context, b *pool, n int) (all []*granted, more bool) {
	p.mu.Lock()
	p.claiming++
	p.mu.Unlock()
	if ctx.Err() != nil {
		return nil, false
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.LeaseTimeout)
	defer cancel()
	want := p.want(b, n)
	ready, more, err := p.ready(bounded, b, want)
	if err != nil {
		p.Log.ErrorContext(ctx, "reading which items are ready", "error", err)
		return nil, false
	}
	if len(ready) > 0 {
		all, err = p.claimReady(bounded, b, want, ready)
		b.counts.claimed(all, want)
		if err != nil {
			return nil, false
		}
	}
	b.charge(want.Lanes, all, n)
	items := 0
	for _, r := range ready {
		items += r.Items
	}
	return all, len(all) > 0 && (more || len(all) < items)
}

// want is what a slot pool with n free slots may claim.
func (p *Pool) want(b *pool, n int) store.Want {
	if p.Weights != nil {
		b.lanes.Weigh(p.Weights())
	}
	closed := p.Gate.Closed()
	want := store.Want{
		Lanes: slices.DeleteFunc(b.lanes.Order(), func(l penstock.Lane) bool { return slices.Contains(closed.Lanes, l) }), Limit: n,
		Models: b.models, ExceptModels: slices.Concat(b.except, closed.Models), ExceptTenants: closed.Tenants, AfterTenant: b.after,
	}
	if b.suspects {
		return want
	}
	want.LimitNotUrgent = p.notUrgent(b, n)
	if b.paced = want.LimitNotUrgent == 0; b.paced {
		// Only urgent items can start: reading the others would be useless.
		want.Lanes = slices.DeleteFunc(want.Lanes, func(l penstock.Lane) bool { return l != penstock.LaneRealtime })
	}
	return want
}

// claimReady reserves calls for ready items, claims as many items, and starts the bookkeeping of the claimed ones.
func (p *Pool) claimReady(ctx context.Context, b *pool, want store.Want, ready []store.Ready) ([]*granted, error) {
	calls := p.reserve(b, ready, want.Limit)
	if len(calls.choices) == 0 {
		return nil, nil
	}
	want.Reserved = calls.reserved
	claim := p.Store.ClaimSuspects
	if !b.suspects {
		claim = p.Store.ClaimItems
		want.Corrections, want.Expected = p.corrections()
	}
	began := p.Clock()
	claimed, err := claim(ctx, p.Lease.Current(), want)
	all := calls.match(b, claimed)
	if err != nil {
		if penstock.ErrorCode(err) != penstock.CodeConflict {
			p.Log.ErrorContext(ctx, "claiming items", "error", err)
			p.doubt()
		}
		return nil, err
	}
	if len(claimed) == 0 {
		return nil, nil
	}
	notUrgent := p.started(b, claimed)
	b.paced = b.paced || (notUrgent == want.LimitNotUrgent && notUrgent < want.Limit && !b.suspects)
	b.after = claimed[len(claimed)-1].Tenant
	p.Metrics.ClaimGroup(len(claimed), p.Clock().Sub(began))
	p.Jobs.Publish(jobsOf(claimed)...)
	return all, nil
}

// corrections returns the use beyond the estimates, and the expected use of items, for the next claim. If that claim fails,
// the corrections are lost, which costs some fairness and nothing else.
func (p *Pool) corrections() ([]store.Correction, fair.Expectations) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []store.Correction
	for a, tokens := range p.used {
		if tokens != 0 {
			all = append(all, store.Correction{Lane: a.lane, Tenant: a.tenant, Tokens: tokens})
		}
	}
	clear(p.used)
	return all, maps.Clone(p.expected)
}

// jobsOf are the jobs of claimed items, each once.
func jobsOf(claimed []*store.Claimed) []penstock.ID {
	ids := make([]penstock.ID, len(claimed))
	for i := range claimed {
		ids[i] = claimed[i].Job
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// awaitWork blocks until there may be work. It reports false when ctx has ended.
func (p *Pool) awaitWork(ctx context.Context, b *pool) bool {
	wait := p.PollInterval
	if b.paced {
		wait = min(wait, p.paceLeft(b))
	}
	poll := time.NewTimer(wait)
	defer poll.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-b.work:
	case <-b.freed:
	case <-poll.C:
	}
	return true
}
