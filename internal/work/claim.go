package work

import (
	"context"
	"slices"
	"time"

	"penstock"
	"penstock/internal/inflight"
	"penstock/internal/route"
	"penstock/internal/store"
)

// claim fills free slots with items until ctx ends.
func (p *Pool) claim(ctx context.Context, b *pool) {
	for {
		free := b.takeSlots(ctx)
		if free == 0 {
			return
		}
		granted := p.claimOnce(ctx, b, free)
		b.giveSlots(free - len(granted))
		p.Metrics.SlotsInUse(p.slotsInUse())
		p.launch(granted)
		p.claimed()
		if len(granted) < free && !p.awaitWork(ctx, b) {
			return
		}
	}
}

// looksPerDoubt is how many looks must find nothing before a doubt is over: a commit whose answer was
// lost may still be on its way.
const looksPerDoubt = 4

// doubt makes the next looks find out what a claim whose answer was lost has taken.
func (p *Pool) doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubts = looksPerDoubt
}

// claimed says that whatever was claimed is held by now.
func (p *Pool) claimed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claiming--
}

// granted is a claimed item with the room that was taken for it.
type granted struct {
	*store.Claimed
	pool   *pool
	choice *route.Choice     // nil when no target of it is known any more
	memory *inflight.Account // of its answer, until it is recorded; nil before it has one
}

// claimOnce claims up to n items. Errors are logged; the next look tries again. A claim that began is
// not given up when the pool stops: it may happen all the same, and its items must be known here.
func (p *Pool) claimOnce(ctx context.Context, b *pool, n int) []*granted {
	p.mu.Lock()
	p.claiming++
	p.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	began := p.Clock()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.LeaseTimeout)
	defer cancel()
	if p.Weights != nil {
		b.lanes.Weigh(p.Weights())
	}
	closed := p.Gate.Closed()
	lanes := slices.DeleteFunc(b.lanes.Order(), func(l penstock.Lane) bool { return slices.Contains(closed.Lanes, l) })
	room := newReservations(p, b)
	claim := p.Store.ClaimItems
	if b.suspects {
		claim = p.Store.ClaimSuspects
	} else if b.held = p.paceLeft(b) > 0; b.held {
		// Nothing but urgent items can start: to look at all others would be in vain.
		lanes = slices.DeleteFunc(lanes, func(l penstock.Lane) bool { return l != penstock.LaneRealtime })
	}
	want := store.Want{
		Lanes: lanes, Limit: n, Room: room.reserve, Charge: p.charge, Target: room.target, AfterTenant: b.after,
		Models: b.models, ExceptModels: slices.Concat(b.except, closed.Models), ExceptTenants: closed.Tenants,
	}
	if !b.suspects {
		want.Corrections = p.corrections()
	}
	claimed, err := claim(bounded, p.Lease.Current(), want)
	all := make([]*granted, len(claimed))
	for i, c := range claimed {
		all[i] = &granted{Claimed: c, pool: b, choice: room.choices[c.Item]}
		delete(room.choices, c.Item)
	}
	room.release()
	if err != nil {
		if penstock.ErrorCode(err) != penstock.CodeConflict {
			p.Log.ErrorContext(ctx, "claiming items", "error", err)
			p.doubt()
		}
		return nil
	}
	b.charge(lanes, claimed, n)
	if len(claimed) > 0 {
		b.after = claimed[len(claimed)-1].Tenant
		p.Metrics.ClaimGroup(len(claimed), p.Clock().Sub(began))
		p.Announce.Announce(jobsOf(claimed)...)
	}
	return all
}

// corrections hands over what was used beyond its estimate. If the claim that carries them fails they
// are lost, which costs some fairness and nothing else.
func (p *Pool) corrections() []store.Correction {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []store.Correction
	for a, tokens := range p.used {
		if tokens != 0 {
			all = append(all, store.Correction{Lane: a.lane, Tenant: a.tenant, Tokens: tokens})
		}
	}
	clear(p.used)
	return all
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
	if b.held {
		wait = min(wait, p.paceLeft(b))
	}
	poll := time.NewTimer(wait)
	defer poll.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-b.rung:
	case <-poll.C:
	}
	return true
}
