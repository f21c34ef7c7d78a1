package room

import (
	"context"
	"fmt"
	"time"

	"penstock/internal/store"
)

const (
	// visitSpacing keeps visits apart, and visitRetry those after one that failed.
	visitSpacing = 20 * time.Millisecond
	visitRetry   = 500 * time.Millisecond
	// idleAfter is how long nobody must have asked for a target until what it has is returned.
	idleAfter = time.Second
	// farewell bounds the last visit, in which a process that stops returns what it has.
	farewell = time.Second
)

// visitTime is when a visit takes place, seen from one room.
type visitTime struct {
	now   time.Time
	since time.Duration // the visit before
	idle  bool
}

// idle says that nobody wants the target: whoever was refused does, until there is room again.
func (r *room) idle(now time.Time) bool { return !r.refused && now.Sub(r.askedAt) >= idleAfter }

// Run visits the bank whenever purses and seats want it, and tells when room is back, until ctx ends. Then
// it returns what is left.
func (b *Book) Run(ctx context.Context) error {
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
		if err := b.Visit(ctx); err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "asking for room", "error", err)
		}
	}
}

// Next is how long until a visit is due; Forever when nothing is known of.
func (b *Book) Next() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, next := b.Clock(), Forever
	b.calm(now)
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

// due is when the bank is to be visited, if at all.
func (b *Book) due(now time.Time) (at time.Time, any bool) {
	if b.Bank == nil {
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
		consider(now, r.restNews)
		consider(r.seating.due(r, now))
		if !r.party() && !r.idle(now) { // others may have heard that the target wants a rest
			consider(r.seating.visited.Add(seatRefresh), true)
		}
	}
	spacing := visitSpacing
	if b.failed {
		spacing = visitRetry
	}
	if earliest := b.visitedAt.Add(spacing); at.Before(earliest) {
		at = earliest
	}
	return at, any
}

// Visit asks the bank for what is wanted, if that is due, and tells when room is back. Only one visit may
// be under way at a time.
func (b *Book) Visit(ctx context.Context) error {
	var err error
	if p, ok := b.plan(); ok {
		var a store.Allotment
		a, err = b.Bank.Withdraw(ctx, p.withdrawal)
		if err != nil {
			err = fmt.Errorf("withdrawing room: %w", err)
		}
		b.receive(p, a, err)
	}
	b.notify()
	return err
}

// plan is a visit that is about to be made: what to ask, and for whom.
type plan struct {
	at         time.Time
	withdrawal store.Withdrawal
	rates      []*rate // in the order of the withdrawal
	claims     [][]*claim
	seats      []*room
}

func (b *Book) plan() (plan, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := plan{at: b.Clock()}
	if at, ok := b.due(p.at); !ok || at.After(p.at) {
		return p, false
	}
	since := p.at.Sub(b.visitedAt)
	b.visitedAt = p.at
	for _, r := range b.busy {
		v := visitTime{p.at, since, r.idle(p.at)}
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
				r.entrusted, r.seating.unmet = 0, false
				p.withdrawal.Seats = append(p.withdrawal.Seats, store.SeatDraw{Pool: r.name.pool("seats"), Calls: r.callScope()})
				p.seats = append(p.seats, r)
			}
			continue
		}
		if !r.wantsSeatVisit(p.at) {
			continue
		}
		r.seating.unmet = r.seating.unmet || len(r.line) > 0
		d := r.seating.draw(r.name.pool("seats"), r.running+r.promised, r.window.size())
		d.Calls, r.entrusted = r.callScope(), 0
		if r.restNews {
			d.Rest, d.LimitRests = r.restsLeft(p.at)
		}
		r.restNews = false
		p.withdrawal.Seats = append(p.withdrawal.Seats, d)
		p.seats = append(p.seats, r)
	}
	return p, len(p.rates)+len(p.seats) > 0
}

// wantsSeatVisit says whether there is anything to ask about seats and rests.
func (r *room) wantsSeatVisit(now time.Time) bool {
	at, due := r.seating.due(r, now)
	return r.restNews || (due && !at.After(now)) || (!r.party() && !r.idle(now) && now.Sub(r.seating.visited) >= seatRefresh)
}

// receive books the answer to a visit. Without one nothing was granted, and what was to be returned is
// lost: it may have been taken back.
func (b *Book) receive(p plan, a store.Allotment, failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.visits)
	b.visits = make(chan struct{})
	if b.failed = failure != nil; b.failed {
		for i, r := range p.seats {
			d := &p.withdrawal.Seats[i]
			r.restNews = r.restNews || d.Rest > 0 || len(d.LimitRests) > 0
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
	for i, r := range p.seats {
		r.seating.receive(p.at, p.withdrawal.Seats[i], a.Seats[i])
		r.counted(a.Seats[i])
		b.wakeLine(r)
		r.heardRests(p.at, a.Seats[i])
	}
}

// missed books a visit that failed: what is owed is still owed, and what was claimed may be claimed again.
func (m *rate) missed(d store.RateDraw, claims []*claim) {
	m.purse -= d.Owed
	for _, c := range claims {
		c.state = claimIdle
		if !c.left {
			m.waiting--
		}
	}
}

// leave returns what a process that stops has not used, and gives up its seats.
func (b *Book) leave(ctx context.Context) error {
	if b.Bank == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	b.mu.Lock()
	var w store.Withdrawal
	for _, r := range b.busy {
		for i := range r.rates {
			if m := &r.rates[i]; m.perMinute > 0 && m.purse > 0 {
				w.Rates = append(w.Rates, store.RateDraw{
					Pool: r.name.pool(resourceNames[i]), Terms: m.pool.Terms, PerMinute: m.perMinute, Return: m.purse,
				})
				m.purse = 0
			}
		}
		if s := &r.seating; b.shared() && s.cap > 0 && s.granted > 0 {
			s.granted = min(s.granted, r.running)
			w.Seats = append(w.Seats, store.SeatDraw{Pool: r.name.pool("seats"), Cap: s.cap, Hold: s.granted})
		}
	}
	b.mu.Unlock()
	if len(w.Rates)+len(w.Seats) == 0 {
		return nil
	}
	if _, err := b.Bank.Withdraw(ctx, w); err != nil {
		b.Log.WarnContext(ctx, "returning room", "error", err) // it is lost, which costs a second's worth
	}
	return nil
}
