package capacity

import (
	"slices"
	"time"
)

const (
	// forgetAfter is how long nobody must have asked for a limit scope until it is forgotten, and sweepEvery how often
	// that is looked at. There are as many as keys, and most of them rest most of the time.
	forgetAfter = 10 * time.Minute
	sweepEvery  = time.Minute
)

// calm takes those off the busy list that nothing is due for, so that the loop does not look at everybody who
// ever called; and forgets limit scopes that nobody asks for any more.
func (b *Tracker) calm(now time.Time) {
	b.busy = slices.DeleteFunc(b.busy, func(r *entry) bool {
		r.busy = !r.calm(now)
		return !r.busy
	})
	if now.Sub(b.sweptAt) < sweepEvery {
		return
	}
	b.sweptAt = now
	for name, r := range b.entries {
		if r.scope() && now.Sub(r.askedAt) >= forgetAfter && r.calm(now) && r.whole(now) {
			delete(b.entries, name)
		}
	}
}

// calm says that nothing is to be returned, asked for or told.
func (r *entry) calm(now time.Time) bool {
	if !r.idle(now) || r.running > 0 || r.restUpdates || r.permits.granted > 0 || (r.permits.cap > 0 && r.permits.wanted > 0) || len(r.line) > 0 {
		return false
	}
	for i := range r.rates {
		if m := &r.rates[i]; m.told || m.allowance != 0 || m.waiting > 0 {
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
