package work

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/store"
)

// stopAll cancels all running items.
func (p *Pool) stopAll(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, stop := range p.held {
		stop(why)
	}
}

// watchHeld compares the items that this process holds according to the store with those that it runs. It ends items
// whose jobs were cancelled, and gives back items that this process does not know: the answer to their claim was lost.
func (p *Pool) watchHeld(ctx context.Context) {
	ticker := time.NewTicker(min(CancelInterval, p.LeaseTimeout/3))
	defer ticker.Stop()
	unknown := map[claim]store.Held{} // as of the look before
	var cancels <-chan struct{}
	if p.Cancels != nil {
		s := p.Cancels.SubscribeAll()
		defer s.Close()
		cancels = s.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-cancels:
			p.stopCancelled(ctx)
			continue
		case <-ticker.C:
		}
		unknown = p.look(ctx, unknown)
	}
}

// stopCancelled ends the cancelled items at once, between two looks. It does not count as a look: looks must be some
// time apart, or they would give back items of claims that are still under way.
func (p *Pool) stopCancelled(ctx context.Context) {
	if !p.worthALook() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	held, err := p.Store.HeldItems(ctx, p.Lease.Current())
	if err != nil {
		return // the next look logs the error if it persists
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range held {
		if stop, known := p.held[claim{h.Item, h.Fence}]; known && h.Cancelled {
			stop(errCancelled)
		}
	}
}

// look is one comparison. An item must be unknown at two looks in a row before it is given back: its
// claim may have been under way at the first.
func (p *Pool) look(ctx context.Context, before map[claim]store.Held) map[claim]store.Held {
	if !p.worthALook() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	held, err := p.Store.HeldItems(ctx, p.Lease.Current())
	if err != nil {
		if ctx.Err() == nil {
			p.Log.WarnContext(ctx, "looking for cancelled items", "error", err)
		}
		return nil
	}
	unknown := map[claim]store.Held{}
	var lost []store.Finish
	p.mu.Lock()
	for _, h := range held {
		c := claim{h.Item, h.Fence}
		stop, known := p.held[c]
		switch {
		case known && h.Cancelled:
			stop(errCancelled)
		case known || p.claiming > 0:
		default:
			unknown[c] = h
			if _, twice := before[c]; twice {
				lost = append(lost, store.Finish{Item: h.Item, Job: h.Job, Tenant: h.Tenant, Fence: h.Fence, Transition: penstock.TransitionRetry})
			}
		}
	}
	switch {
	case len(unknown) > 0:
		p.doubts = looksPerDoubt
	case p.doubts > 0 && p.claiming == 0:
		p.doubts--
	}
	p.mu.Unlock()
	p.giveBack(ctx, lost)
	return unknown
}

// worthALook spares an idle process the query.
func (p *Pool) worthALook() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.held) > 0 || p.doubts > 0
}

func (p *Pool) giveBack(ctx context.Context, lost []store.Finish) {
	if len(lost) == 0 {
		return
	}
	p.Log.WarnContext(ctx, "giving back items whose claim got lost", "items", len(lost))
	if _, err := p.Store.FinishItems(ctx, lost); err != nil {
		p.Log.ErrorContext(ctx, "giving back items", "error", err) // the next look finds them again
		return
	}
	p.Work.Notify()
}
