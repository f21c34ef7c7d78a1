package limit

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

// queue lets a call wait for its turn, if that comes soon.
func (b *Limiter) queue(ctx context.Context, all []capacity.LimitScope, u capacity.Use, asked string) (*capacity.LimitHold, error) {
	turn, began := b.tracker.NewTurn(all, u), time.Now()
	tenant, waits := all[0].Tenant, false
	defer func() {
		if waits {
			b.leave(tenant)
		}
	}()
	for {
		limitHold, short := b.tracker.Queue(turn)
		if short == nil {
			if b.metrics != nil && waits {
				b.metrics.LimitWaited(string(tenant), limitHold.WaitedFor())
			}
			return limitHold, nil
		}
		scope := &all[short.Scope]
		left := scope.Limits.Wait.Duration() - time.Since(began)
		if short.Unknown {
			left = max(left, MaxWait-time.Since(began))
		}
		if short.Failed {
			turn.Leave()
			return nil, unknown(nil)
		}
		if pointless(short, left) || (!waits && !b.join(tenant)) {
			turn.Leave()
			if short.Unknown { // so many want it that there is nothing left for this one
				short.Wait = MaxWait
			}
			return nil, b.refuse(asked, scope.Name, short)
		}
		waits = true
		if err := await(ctx, short, left); err != nil {
			turn.Leave()
			return nil, unknown(err)
		}
	}
}

// pointless reports that a call would not pass within the time that it has left.
func pointless(s *capacity.Shortage, left time.Duration) bool {
	if s.Retry != nil {
		return left <= 0
	}
	return s.Burst == 0 || s.Wait > left // a day is too long to wait for, even its last second
}

// await waits until it is worth asking again, or the time that is left is over.
func await(ctx context.Context, s *capacity.Shortage, left time.Duration) error {
	timer := time.NewTimer(min(s.Wait, left))
	if s.Retry != nil {
		timer.Reset(left)
	}
	defer timer.Stop()
	select {
	case <-s.Retry:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// join counts a call among those that wait, unless they are too many.
func (b *Limiter) join(tenant penstock.TenantID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting >= MaxWaiting || b.ofTenant[tenant] >= MaxWaitingOfTenant {
		return false
	}
	b.waiting++
	b.ofTenant[tenant]++
	return true
}

func (b *Limiter) leave(tenant penstock.TenantID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
	if b.ofTenant[tenant]--; b.ofTenant[tenant] == 0 {
		delete(b.ofTenant, tenant)
	}
}

// Waiting is how many calls wait for their turn.
func (b *Limiter) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting
}
