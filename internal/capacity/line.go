package capacity

import (
	"slices"
	"time"

	"penstock/internal/store"
)

// permitFree says whether the concurrency of a limit scope lets a call begin.
func (b *Tracker) permitFree(r *entry, now time.Time) bool {
	return !b.uncounted(r) && r.running+r.promised < b.limit(r, now)
}

// uncounted says that the calls that run as jobs, from before the start of this process, have not been counted yet.
func (b *Tracker) uncounted(r *entry) bool {
	return b.Alone && b.Pools != nil && r.permits.cap > 0 && r.permits.refreshed.IsZero()
}

// permits checks whether every limit scope has a permit for the call. If one has none, the call waits in its line.
func (t *Turn) permits(now time.Time) *Shortage {
	b := t.tracker
	for i, r := range t.entries {
		if r.permits.cap == 0 || !t.use.permitted(r) || (t.line == r && t.promise) {
			continue
		}
		if b.permitFree(r, now) && (len(r.line) == 0 || r.line[0] == t) {
			if t.line == r {
				t.dropPermit()
			}
			continue
		}
		r.askedAt, r.permits.unmet = now, true
		f := &Shortage{Scope: i, Resource: Permits, Limit: int64(r.permits.cap), Wait: Forever}
		known := r.permits.dry && now.Sub(r.permits.refreshed) < permitRefresh
		switch {
		case b.uncounted(r) || (b.shared() && r.running < r.permits.cap && !known && len(r.line) == 0):
			f.Retry, f.Unknown, f.Failed = b.refreshes, true, b.failed
		case t.waitLeft(i, now) > 0:
			t.joinLine(r)
			f.Retry = t.ready
		}
		return f
	}
	return nil
}

// wishPermits makes the next refresh ask for permits where none is free.
func (t *Turn) wishPermits(now time.Time) {
	for _, r := range t.entries {
		if t.use.permitted(r) && r.permits.cap > 0 && !t.tracker.permitFree(r, now) {
			r.permits.unmet = true
		}
	}
}

// joinLine puts the call at the end of a line, unless it is in that line.
func (t *Turn) joinLine(r *entry) {
	if t.line == r {
		return
	}
	t.dropPermit()
	t.line, t.ready = r, make(chan struct{})
	r.line = append(r.line, t)
}

// dropPermit takes the call out of the line, and passes on a permit that was assigned to it.
func (t *Turn) dropPermit() {
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
	t.tracker.wakeLine(r)
}

// wakeLine assigns free permits to waiting calls: keys take turns, and the calls of one key are served in order.
func (b *Tracker) wakeLine(r *entry) {
	if len(r.line) == 0 {
		return
	}
	now := b.Clock()
	for len(r.line) > 0 && b.permitFree(r, now) {
		n := max(0, slices.IndexFunc(r.line, func(t *Turn) bool { return t.holder(r) != r.served }))
		t := r.line[n]
		r.line = slices.Delete(r.line, n, n+1)
		r.served = t.holder(r)
		r.promised++
		t.promise = true
		close(t.ready)
	}
}

// holder is the key of a call under a limit scope.
func (t *Turn) holder(r *entry) string { return t.scopes[slices.Index(t.entries, r)].Holder }

// callScope selects the calls that run as jobs and take permits of the entry.
func (r *entry) callScope() (c store.CallScope) {
	if r.permits.cap == 0 {
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

// countDue is when to count the calls that run as jobs, without other processes: once at first, and while calls wait for
// one of them to end.
func (r *entry) countDue(now time.Time) (time.Time, bool) {
	switch {
	case !r.scope() || r.permits.cap == 0:
		return time.Time{}, false
	case r.permits.refreshed.IsZero():
		return now, true
	}
	return r.permits.refreshed.Add(drySpell), r.calls > 0 && (len(r.line) > 0 || r.permits.unmet)
}

// Entrust leaves the permits of a call to the job that it runs as: the store counts them until the job ends. The units
// of other limits count as used.
func (s *LimitHold) Entrust() {
	if s == nil {
		return
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if s.over {
		return
	}
	for i := range s.parts {
		if r := s.parts[i].entry; s.parts[i].permitted && r.permits.cap > 0 && s.tracker.Pools != nil {
			r.calls++
			r.entrusted++
			r.permits.granted = max(0, r.permits.granted-1)
		}
	}
	s.leave()
}

// counted stores the store's count of calls that run as jobs, and adds those that began after the store counted.
func (r *entry) counted(g store.PermitGrant) {
	r.calls = g.Calls + r.entrusted
	r.permits.granted = max(0, r.permits.granted-r.entrusted)
}
