package capacity

import (
	"slices"
	"time"

	"penstock/internal/store"
)

// permitFree says whether a call may begin as far as the concurrency of a limit scope goes.
func (b *Tracker) permitFree(r *entry, now time.Time) bool {
	return !b.uncounted(r) && r.running+r.promised < b.limit(r, now)
}

// uncounted says that nobody has counted yet how many calls run as jobs: those of the process before.
func (b *Tracker) uncounted(r *entry) bool {
	return b.Alone && b.Pools != nil && r.permits.cap > 0 && r.permits.refreshed.IsZero()
}

// permits sees whether every limit scope has a permit for the call. Where one has none, the call waits in its line.
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
		case t.patience(i, now) > 0:
			t.stand(r)
			f.Retry = t.ready
		}
		return f
	}
	return nil
}

// wishPermits has the next refresh ask for permits where there are none.
func (t *Turn) wishPermits(now time.Time) {
	for _, r := range t.entries {
		if t.use.permitted(r) && r.permits.cap > 0 && !t.tracker.permitFree(r, now) {
			r.permits.unmet = true
		}
	}
}

// stand puts the call at the end of a line, unless it stands there.
func (t *Turn) stand(r *entry) {
	if t.line == r {
		return
	}
	t.dropPermit()
	t.line, t.ready = r, make(chan struct{})
	r.line = append(r.line, t)
}

// dropPermit takes the call out of the line, and passes on a permit that was promised to it.
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

// wakeLine promises free permits to calls that wait for them: keys take turns, and inside a key who came first is first.
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

// holder is the key of a call, as a limit scope knows it.
func (t *Turn) holder(r *entry) string { return t.scopes[slices.Index(t.entries, r)].Holder }

// callScope are the calls that run as jobs and take permits of the entry.
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

// countDue is when to count how many calls run as jobs, where there are no other processes: once at first, and while
// somebody waits for one of them to end.
func (r *entry) countDue(now time.Time) (time.Time, bool) {
	switch {
	case !r.scope() || r.permits.cap == 0:
		return time.Time{}, false
	case r.permits.refreshed.IsZero():
		return now, true
	}
	return r.permits.refreshed.Add(drySpell), r.calls > 0 && (len(r.line) > 0 || r.permits.unmet)
}

// Entrust leaves the permits of a call to the job that it runs as: they are taken until the job ends, by what the store
// says. What was taken of other limits counts as used.
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

// counted takes the store's count of calls that run as jobs, and adds those that came since it was asked.
func (r *entry) counted(g store.PermitGrant) {
	r.calls = g.Calls + r.entrusted
	r.permits.granted = max(0, r.permits.granted-r.entrusted)
}
