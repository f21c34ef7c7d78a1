package room

import (
	"slices"
	"time"

	"penstock/internal/store"
)

// seatFree says whether a call may begin as far as the concurrency of a party goes.
func (b *Book) seatFree(r *room, now time.Time) bool {
	return !b.uncounted(r) && r.running+r.promised < b.limit(r, now)
}

// uncounted says that nobody has counted yet how many calls run as jobs: those of the process before.
func (b *Book) uncounted(r *room) bool {
	return b.Alone && b.Bank != nil && r.seating.cap > 0 && r.seating.visited.IsZero()
}

// seats sees whether every party has a seat for the call. Where one has none, the call waits in its line.
func (t *Turn) seats(now time.Time) *Shortage {
	b := t.book
	for i, r := range t.rooms {
		if r.seating.cap == 0 || !t.use.seated(r) || (t.line == r && t.promise) {
			continue
		}
		if b.seatFree(r, now) && (len(r.line) == 0 || r.line[0] == t) {
			if t.line == r {
				t.dropSeat()
			}
			continue
		}
		r.askedAt, r.seating.unmet = now, true
		f := &Shortage{Party: i, Resource: Seats, Limit: int64(r.seating.cap), Wait: Forever}
		known := r.seating.dry && now.Sub(r.seating.visited) < seatRefresh
		switch {
		case b.uncounted(r) || (b.shared() && r.running < r.seating.cap && !known && len(r.line) == 0):
			f.Retry, f.Unknown, f.Failed = b.visits, true, b.failed
		case t.patience(i, now) > 0:
			t.stand(r)
			f.Retry = t.ready
		}
		return f
	}
	return nil
}

// wishSeats has the next visit ask for seats where there are none.
func (t *Turn) wishSeats(now time.Time) {
	for _, r := range t.rooms {
		if t.use.seated(r) && r.seating.cap > 0 && !t.book.seatFree(r, now) {
			r.seating.unmet = true
		}
	}
}

// stand puts the call at the end of a line, unless it stands there.
func (t *Turn) stand(r *room) {
	if t.line == r {
		return
	}
	t.dropSeat()
	t.line, t.ready = r, make(chan struct{})
	r.line = append(r.line, t)
}

// dropSeat takes the call out of the line, and passes on a seat that was promised to it.
func (t *Turn) dropSeat() {
	r := t.line
	if r == nil {
		return
	}
	t.line = nil
	if !t.promise {
		r.line = slices.DeleteFunc(r.line, func(o *Turn) bool { return o == t })
		return
	}
	t.promise = false
	r.promised--
	t.book.wakeLine(r)
}

// wakeLine promises free seats to calls that wait for them: keys take turns, and inside a key who came first is first.
func (b *Book) wakeLine(r *room) {
	if len(r.line) == 0 {
		return
	}
	now := b.Clock()
	for len(r.line) > 0 && b.seatFree(r, now) {
		n := max(0, slices.IndexFunc(r.line, func(t *Turn) bool { return t.holder(r) != r.served }))
		t := r.line[n]
		r.line = slices.Delete(r.line, n, n+1)
		r.served = t.holder(r)
		r.promised++
		t.promise = true
		close(t.ready)
	}
}

// holder is the key of a call, as a party knows it.
func (t *Turn) holder(r *room) string { return t.parties[slices.Index(t.rooms, r)].Holder }

// callScope are the calls that run as jobs and take seats of the room.
func (r *room) callScope() (c store.CallScope) {
	if r.seating.cap == 0 {
		return c
	}
	switch r.name.Kind {
	case KindTenant:
		c.Tenant = r.name.Tenant
	case KindKey:
		c.Tenant, c.Key = r.name.Tenant, r.name.Of
	case KindModel:
		c.Tenant, c.Model = r.name.Tenant, r.name.Of
	}
	return c
}

// countDue is when to count how many calls run as jobs, where there are no other processes: once at first, and while
// somebody waits for one of them to end.
func (r *room) countDue(now time.Time) (time.Time, bool) {
	switch {
	case !r.party() || r.seating.cap == 0:
		return time.Time{}, false
	case r.seating.visited.IsZero():
		return now, true
	}
	return r.seating.visited.Add(drySpell), r.calls > 0 && (len(r.line) > 0 || r.seating.unmet)
}

// Entrust leaves the seats of a call to the job that it runs as: they are taken until the job ends, by what the store
// says. What was taken of other limits counts as used.
func (s *Stay) Entrust() {
	if s == nil {
		return
	}
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	if s.over {
		return
	}
	for i := range s.parts {
		if r := s.parts[i].room; s.parts[i].seated && r.seating.cap > 0 && s.book.Bank != nil {
			r.calls++
			r.entrusted++
			r.seating.granted = max(0, r.seating.granted-1)
		}
	}
	s.leave()
}

// counted takes the store's count of calls that run as jobs, and adds those that came since it was asked.
func (r *room) counted(g store.SeatGrant) {
	r.calls = g.Calls + r.entrusted
	r.seating.granted = max(0, r.seating.granted-r.entrusted)
}
