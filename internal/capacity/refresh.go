package capacity

import (
	"context"
	"fmt"
	"time"

	"penstock/internal/store"
)

const (
	// refreshSpacing keeps refreshes apart, and refreshRetry those after one that failed.
	refreshSpacing = 20 * time.Millisecond
	refreshRetry   = 500 * time.Millisecond
	// idleAfter is how long a target must be without calls before its allowances and permits are returned.
	idleAfter = time.Second
	// farewell bounds the last refresh, in which a process that stops returns its allowances and permits.
	farewell = time.Second
)

// refreshTime is the time of a refresh, for one entry.
type refreshTime struct {
	now   time.Time
	since time.Duration // the refresh before
	idle  bool
}

// idle says that no call wants the target. A refused call wants it until there is capacity again.
func (r *entry) idle(now time.Time) bool { return !r.refused && now.Sub(r.askedAt) >= idleAfter }

// Run refreshes local allowances and permits from the shared pools when they are due, and notifies when capacity is back, until ctx ends. Then
// it returns what it has left.
func (b *Tracker) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := b.Next()
		if wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return b.leave(context.WithoutCancel(ctx))
			case <-b.kick:
			case <-timer.C:
			}
			continue
		}
		if err := b.Refresh(ctx); err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "refreshing shared limits", "error", err)
		}
	}
}

// Next is how long until a refresh is due; Forever when none is.
func (b *Tracker) Next() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, next := b.Clock(), Forever
	b.dropIdle(now)
	for _, r := range b.busy {
		if r.refused {
			next = min(next, b.look(r, now).Wait)
		}
	}
	if at, ok := b.due(now); ok {
		next = min(next, max(0, at.Sub(now)))
	}
	return next
}

// due is when the next withdrawal is due, if at all.
func (b *Tracker) due(now time.Time) (at time.Time, any bool) {
	if b.Pools == nil {
		return at, false
	}
	consider := func(when time.Time, wanted bool) {
		if wanted && (!any || when.Before(at)) {
			at, any = when, true
		}
	}
	for _, r := range b.busy {
		for i := range r.rates {
			consider(r.rates[i].due(r, now))
		}
		if b.Alone {
			consider(r.countDue(now))
			continue
		}
		consider(now, r.restUpdates)
		consider(r.permits.due(r, now))
		if !r.scope() && !r.idle(now) { // another process may have reported a rest of the target
			consider(r.permits.refreshed.Add(permitRefresh), true)
		}
	}
	spacing := refreshSpacing
	if b.failed {
		spacing = refreshRetry
	}
	if earliest := b.refreshedAt.Add(spacing); at.Before(earliest) {
		at = earliest
	}
	return at, any
}

// Refresh withdraws from the shared pools if that is due, and notifies when capacity is back. Only one refresh may run at
// a time.
func (b *Tracker) Refresh(ctx context.Context) error {
	var err error
	if p, ok := b.plan(); ok {
		var a store.Allotment
		a, err = b.Pools.Withdraw(ctx, p.withdrawal)
		if err != nil {
			err = fmt.Errorf("withdrawing from shared pools: %w", err)
		}
		b.receive(p, a, err)
	}
	b.notify()
	return err
}

// plan is a refresh to be made: the withdrawal, and the entries that it is for.
type plan struct {
	at         time.Time
	withdrawal store.Withdrawal
	rates      []*rate // in the order of the withdrawal
	claims     [][]*claim
	permits    []*entry
}

func (b *Tracker) plan() (plan, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := plan{at: b.Clock()}
	if at, ok := b.due(p.at); !ok || at.After(p.at) {
		return p, false
	}
	since := p.at.Sub(b.refreshedAt)
	b.refreshedAt = p.at
	for _, r := range b.busy {
		v := refreshTime{p.at, since, r.idle(p.at)}
		for i := range r.rates {
			if d, ok := r.rates[i].draw(r.name.pool(resourceNames[i]), v); ok {
				if r.rates[i].strict {
					d.Users = r.users.Names(p.at)
				}
				p.withdrawal.Rates = append(p.withdrawal.Rates, d)
				p.rates, p.claims = append(p.rates, &r.rates[i]), append(p.claims, r.rates[i].asks)
				r.rates[i].asks = nil
			}
		}
		if b.Alone {
			if at, due := r.countDue(p.at); due && !at.After(p.at) {
				r.entrusted, r.permits.unmet = 0, false
				p.withdrawal.Permits = append(p.withdrawal.Permits, store.PermitDraw{Pool: r.name.pool("permits"), Calls: r.callScope()})
				p.permits = append(p.permits, r)
			}
			continue
		}
		if !r.wantsPermitRefresh(p.at) {
			continue
		}
		r.permits.unmet = r.permits.unmet || len(r.line) > 0
		d := r.permits.draw(r.name.pool("permits"), r.running+r.promised, r.window.size())
		d.Calls, r.entrusted = r.callScope(), 0
		if r.restUpdates {
			d.Rest, d.LimitRests = r.restsLeft(p.at)
		}
		r.restUpdates = false
		p.withdrawal.Permits = append(p.withdrawal.Permits, d)
		p.permits = append(p.permits, r)
	}
	return p, len(p.rates)+len(p.permits) > 0
}

// wantsPermitRefresh says whether a refresh includes the permits and rests of the entry.
func (r *entry) wantsPermitRefresh(now time.Time) bool {
	at, due := r.permits.due(r, now)
	return r.restUpdates || (due && !at.After(now)) || (!r.scope() && !r.idle(now) && now.Sub(r.permits.refreshed) >= permitRefresh)
}

// receive books the answer to a refresh. After a failure nothing was granted, and the units to be returned are
// lost: the pools may have them already.
func (b *Tracker) receive(p plan, a store.Allotment, failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.refreshes)
	b.refreshes = make(chan struct{})
	if b.failed = failure != nil; b.failed {
		for i, r := range p.permits {
			d := &p.withdrawal.Permits[i]
			r.restUpdates = r.restUpdates || d.Rest > 0 || len(d.LimitRests) > 0
		}
		for i, m := range p.rates {
			m.missed(p.withdrawal.Rates[i], p.claims[i])
		}
		return
	}
	now := b.Clock()
	for i, m := range p.rates {
		m.receive(now, p.withdrawal.Rates[i].Want, a.Rates[i])
		for k, c := range p.claims[i] {
			c.answer(a.Rates[i].Claims[k], now)
		}
	}
	for i, r := range p.permits {
		r.permits.receive(p.at, p.withdrawal.Permits[i], a.Permits[i])
		r.counted(a.Permits[i])
		b.wakeLine(r)
		r.receiveRests(p.at, a.Permits[i])
	}
}

// missed books a refresh that failed: what is owed is still owed, and what was claimed may be claimed again.
func (m *rate) missed(d store.RateDraw, claims []*claim) {
	m.allowance -= d.Owed
	for _, c := range claims {
		c.state = claimIdle
		if !c.left {
			m.waiting--
		}
	}
}

// leave returns what a process that stops has not used, and gives up its permits.
func (b *Tracker) leave(ctx context.Context) error {
	if b.Pools == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	b.mu.Lock()
	var w store.Withdrawal
	for _, r := range b.busy {
		for i := range r.rates {
			if m := &r.rates[i]; m.perMinute > 0 && m.allowance > 0 {
				w.Rates = append(w.Rates, store.RateDraw{
					Pool: r.name.pool(resourceNames[i]), Terms: m.pool.Terms, PerMinute: m.perMinute, Return: m.allowance,
				})
				m.allowance = 0
			}
		}
		if s := &r.permits; b.shared() && s.cap > 0 && s.granted > 0 {
			s.granted = min(s.granted, r.running)
			w.Permits = append(w.Permits, store.PermitDraw{Pool: r.name.pool("permits"), Cap: s.cap, Hold: s.granted})
		}
	}
	b.mu.Unlock()
	if len(w.Rates)+len(w.Permits) == 0 {
		return nil
	}
	if _, err := b.Pools.Withdraw(ctx, w); err != nil {
		b.Log.WarnContext(ctx, "returning local allowances", "error", err) // it is lost, which costs a second's worth
	}
	return nil
}
