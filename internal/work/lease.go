package work

import (
	"context"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// acquireRetry is how long a start waits before it asks for the lease again.
const acquireRetry = 200 * time.Millisecond

// beginPatience is how long a start asks for its lease before it gives up, and the process with it.
const beginPatience = 30 * time.Second

// begin takes the first epoch of the process lease. However short a lease is, a database that is busy, or starting too,
// is waited for.
func (p *Pool) begin(ctx context.Context) error {
	began := p.Clock()
	for {
		err := p.acquire(ctx)
		if err == nil || ctx.Err() != nil || p.Clock().Sub(began) >= beginPatience {
			return err
		}
		p.Log.WarnContext(ctx, "still waiting for the process lease", "error", err)
	}
}

// acquire takes a new epoch of the process lease.
func (p *Pool) acquire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	l, err := p.Store.AcquireLease(ctx, p.Process, p.LeaseTimeout)
	for err != nil {
		// A database that is just starting, or lost a connection, is no reason to give up at once.
		pause := time.NewTimer(acquireRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("acquiring the process lease: %w", err)
		}
		l, err = p.Store.AcquireLease(ctx, p.Process, p.LeaseTimeout)
	}
	p.lease.Store(&l)
	p.leased.Store(true)
	p.Log.InfoContext(ctx, "worker holds its lease", "process", l.Process, "epoch", l.Epoch)
	return nil
}

// Lease is the lease that the process holds, or held last; the zero Lease before the first.
func (p *Pool) Lease() store.Lease {
	if l := p.lease.Load(); l != nil {
		return *l
	}
	return store.Lease{}
}

// Leased reports whether the pool holds its lease: without it nothing is claimed.
func (p *Pool) Leased() bool { return p.leased.Load() }

func (p *Pool) release(ctx context.Context) error {
	p.leased.Store(false)
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	if err := p.Store.ReleaseLease(ctx, *p.lease.Load()); err != nil {
		return fmt.Errorf("releasing the process lease: %w", err)
	}
	return nil
}

// keepLease is the heartbeat: it renews the lease of the whole process, however many items run. A
// lease that is lost, or could not be renewed for as long as it lasts, is acquired anew; whatever ran
// under the old one cannot be recorded any more and is stopped.
func (p *Pool) keepLease(ctx context.Context) {
	every := p.LeaseTimeout / 3
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	renewed, lost := p.Clock(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := p.Clock()
		renew := p.renew
		if lost {
			renew = p.acquire
		}
		err := renew(ctx)
		switch {
		case err == nil:
			renewed, lost = began, false
		case ctx.Err() != nil:
			return
		case lost:
			p.Log.ErrorContext(ctx, "taking a new lease", "error", err)
		case penstock.ErrorCode(err) == penstock.CodeConflict || p.Clock().Sub(renewed) >= p.LeaseTimeout:
			lost = true
			p.leased.Store(false)
			p.Metrics.LeaseLost()
			p.Log.ErrorContext(ctx, "lost the process lease; stopping what ran under it", "error", err)
			p.stopAll(errLeaseLost)
			ticker.Reset(every)
			if err := p.acquire(ctx); err == nil {
				renewed, lost = p.Clock(), false
			}
		default:
			p.Log.WarnContext(ctx, "renewing the process lease", "error", err)
		}
	}
}

func (p *Pool) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout/3)
	defer cancel()
	renewal := store.Renewal{TTL: p.LeaseTimeout}
	if p.Calls != nil {
		renewal.Calls = p.Calls()
	}
	if p.State != nil {
		renewal.State = p.State()
	}
	return p.Store.RenewLease(ctx, *p.lease.Load(), renewal)
}

// stopAll ends whatever runs.
func (p *Pool) stopAll(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, stop := range p.held {
		stop(why)
	}
}

// watchHeld compares what the store says that this process holds with what it does hold. It ends items
// whose jobs were cancelled, and gives back items that nobody here knows of: the answer to their claim
// was lost on the way.
func (p *Pool) watchHeld(ctx context.Context) {
	ticker := time.NewTicker(min(CancelInterval, p.LeaseTimeout/3))
	defer ticker.Stop()
	unknown := map[claim]store.Held{} // as of the look before
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Cancels:
			p.stopCancelled(ctx)
			continue
		case <-ticker.C:
		}
		unknown = p.look(ctx, unknown)
	}
}

// stopCancelled ends the items that shall stop, out of turn. It is no look: looks must be some time apart,
// or they would doubt too much and too briefly.
func (p *Pool) stopCancelled(ctx context.Context) {
	if !p.worthALook() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	held, err := p.Store.HeldItems(ctx, *p.lease.Load())
	if err != nil {
		return // the next look says what is wrong, if it still is
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
	held, err := p.Store.HeldItems(ctx, *p.lease.Load())
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

// worthALook spares an idle process the question.
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
	p.Bell.Ring()
}
