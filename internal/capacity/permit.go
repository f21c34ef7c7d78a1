package capacity

import (
	"time"

	"penstock/internal/store"
)

// permitRefresh is how often a process that uses permits updates its share of them.
const permitRefresh = time.Second

// permits is this process's part of a concurrency that processes share.
type permits struct {
	cap       int // of the target, configured; 0 for none
	granted   int
	share     int       // the number that it should shrink to
	until     time.Time // when the grant ends, if it is not renewed
	peak      int       // the most calls that ran at a time since the last refresh
	unmet     bool      // a call was refused a permit since the last refresh
	dry       bool      // the last refresh gave less than was wanted
	wanted    int       // at the last refresh: reserved for this process until the next one
	refreshed time.Time
}

// usable is how many permits may be used now.
func (s *permits) usable(now time.Time) int {
	if !s.until.After(now) {
		return 0
	}
	return min(s.granted, s.cap)
}

// draw is the request to the pool. The process stops using the permits that the draw returns at once: other processes
// may get them.
func (s *permits) draw(pool string, running, window int) store.PermitDraw {
	d := store.PermitDraw{Pool: pool, Cap: s.cap}
	if s.cap == 0 {
		return d
	}
	d.Want = s.peak
	if s.unmet {
		// Twice the running calls, and at least the default slots of a worker: a process that asked for all permits at once
		// would take them from other processes.
		d.Want = min(s.cap, max(running, min(window, max(firstWindow, 2*running))))
	}
	d.Hold = min(s.granted, max(running, min(s.share, d.Want)))
	s.granted, s.wanted = d.Hold, d.Want
	s.peak, s.unmet = running, false
	return d
}

// receive stores a grant that was requested at a time.
func (s *permits) receive(asked time.Time, d store.PermitDraw, g store.PermitGrant) {
	s.granted, s.share = g.Permits, g.Share
	s.until, s.refreshed = asked.Add(g.For), asked
	s.dry = g.Permits < d.Want
}

// due is when the next draw is due, if at all.
func (s *permits) due(r *entry, now time.Time) (time.Time, bool) {
	fresh := s.refreshed.Add(max(drySpell, min(permitRefresh, s.until.Sub(s.refreshed)/3)))
	switch {
	case s.cap == 0:
		return time.Time{}, false
	case s.unmet && !s.dry:
		return now, true
	case s.unmet || len(r.line) > 0:
		return s.refreshed.Add(drySpell), true
	case r.idle(now):
		return now, s.granted > r.running || s.wanted > r.running
	}
	return fresh, true
}
