package work

import (
	"context"
	"fmt"
	"time"

	"penstock"
)

// acquire takes a new epoch of the process lease.
func (p *Pool) acquire(ctx context.Context) error {
	l, err := p.Store.AcquireLease(ctx, p.Process, p.LeaseTimeout)
	if err != nil {
		return fmt.Errorf("acquiring the process lease: %w", err)
	}
	p.lease.Store(&l)
	p.Log.InfoContext(ctx, "worker holds its lease", "process", l.Process, "epoch", l.Epoch)
	return nil
}

func (p *Pool) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.LeaseTimeout)
	defer cancel()
	if err := p.Store.ReleaseLease(ctx, *p.lease.Load()); err != nil {
		return fmt.Errorf("releasing the process lease: %w", err)
	}
	return nil
}

// beat is the one heartbeat of the process: it renews the lease and carries cancels to running
// items, however many there are.
func (p *Pool) beat(ctx context.Context) {
	renewed := p.Clock()
	renewEvery := p.LeaseTimeout / 3
	ticker := time.NewTicker(min(CancelInterval, renewEvery))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if p.Clock().Sub(renewed) >= renewEvery {
			renewed = p.renew(ctx, renewed)
		}
		p.stopCancelled(ctx)
	}
}

// renew extends the lease and returns when that was last done. A lease that is lost, or could not be
// renewed for as long as it lasts, is acquired anew: whatever runs under the old one cannot be
// recorded any more and is stopped.
func (p *Pool) renew(ctx context.Context, renewed time.Time) time.Time {
	began := p.Clock()
	err := p.Store.RenewLease(ctx, *p.lease.Load(), p.LeaseTimeout)
	switch {
	case err == nil:
		return began
	case ctx.Err() != nil:
		return renewed
	case penstock.ErrorCode(err) != penstock.CodeConflict && began.Sub(renewed) < p.LeaseTimeout:
		p.Log.WarnContext(ctx, "renewing the process lease", "error", err)
		return renewed
	}
	p.Metrics.LeaseLost()
	p.Log.ErrorContext(ctx, "lost the process lease; stopping what ran under it", "error", err)
	p.stopAll()
	if err := p.acquire(ctx); err != nil {
		p.Log.ErrorContext(ctx, "taking a new lease", "error", err)
		return renewed
	}
	return p.Clock()
}

// stopCancelled ends running items whose jobs were cancelled.
func (p *Pool) stopCancelled(ctx context.Context) {
	if p.idle() {
		return
	}
	ids, err := p.Store.CancelledItems(ctx, *p.lease.Load())
	if err != nil {
		if ctx.Err() == nil {
			p.Log.WarnContext(ctx, "looking for cancelled items", "error", err)
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if stop, ok := p.running[id]; ok {
			stop(errCancelled)
		}
	}
}

func (p *Pool) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running) == 0
}

func (p *Pool) stopAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, stop := range p.running {
		stop(errLeaseLost)
	}
}
