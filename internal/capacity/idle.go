package capacity

import (
	"slices"
	"time"
)

const (
	// forgetAfter is how long a limit scope must be idle before it is removed, and sweepEvery the interval of that check.
	// There are as many scopes as keys, and most of them are idle most of the time.
	forgetAfter = 10 * time.Minute
	sweepEvery  = time.Minute
)

// dropIdle takes entries that need no refresh off the busy list, so that the loop does not look at every key that ever
// called; and removes limit scopes that have been idle for long.
func (b *Tracker) dropIdle(now time.Time) {
	b.busy = slices.DeleteFunc(b.busy, func(r *entry) bool {
		r.busy = !r.settled(now)
		return !r.busy
	})
	if now.Sub(b.sweptAt) < sweepEvery {
		return
	}
	b.sweptAt = now
	for name, r := range b.entries {
		if r.scope() && now.Sub(r.askedAt) >= forgetAfter && r.settled(now) && r.whole(now) {
			delete(b.entries, name)
		}
	}
}

// settled says that the entry has nothing to return, to withdraw or to report.
func (r *entry) settled(now time.Time) bool {
	if !r.idle(now) || r.running > 0 || r.restUpdates || r.permits.granted > 0 || (r.permits.cap > 0 && r.permits.wanted > 0) || len(r.line) > 0 {
		return false
	}
	for i := range r.rates {
		if m := &r.rates[i]; m.reported || m.allowance != 0 || m.waiting > 0 {
			return false
		}
	}
	return true
}

// whole says that all of its own pools are full, so that a new entry would be the same.
func (r *entry) whole(now time.Time) bool {
	for i := range r.rates {
		if m := &r.rates[i]; m.perMinute > 0 && !m.shared {
			m.pool.Refill(now)
			if m.pool.Units() < m.pool.Burst() || m.pool.Keeps() {
				return false
			}
		}
	}
	return true
}
