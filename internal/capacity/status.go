package capacity

import (
	"maps"
	"slices"
	"time"

	"penstock"
)

// Status is the state of a target, for metrics and the admin API.
type Status struct {
	Target    string
	Limit     int // calls that may run at a time here, now
	Running   int
	Pace      float64       // recent calls per second of this process
	Rest      time.Duration // how long it still rests
	Throttles int64         // refusals so far because of limits or load
	Rates     []RateStatus  // of the limits that are known

	// Blocked is why no call is made now, "" when one may be. A full target, or one at its limit, counts as blocked only if
	// it refused a call or the limit rests: a process that has not used a limit for a while holds no allowance of it.
	Blocked Reason

	Breaker        Breaker
	Opened         int64 // how often the breaker opened
	RetriesRefused int64 // calls that were not made because the retry budget was used up
}

// RateStatus is one limit per minute.
type RateStatus struct {
	Resource       string // requests, input_tokens, output_tokens, tokens
	PerMinute      int64
	Learned        bool  // from headers, where the configuration has none
	Used           int64 // estimate of this process's use per minute, at the recent pace
	LocalAllowance int64 // what this process can spend at once; below zero, its debt
}

// Status returns the state of every target that was used, by name.
func (b *Tracker) Status() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	var all []Status
	for _, r := range b.sorted() {
		pace := r.health.pace(now)
		s := Status{
			Target: r.name.Of, Limit: b.limit(r, now), Running: r.running, Pace: pace, Rest: r.restLeft(now), Throttles: r.throttles,
			Blocked: b.blocked(r, now), Breaker: r.health.breaker(now), Opened: r.health.opened, RetriesRefused: r.health.refused,
		}
		usual := r.expects.call(0, 0)
		for i := range r.rates {
			if m := &r.rates[i]; m.perMinute > 0 {
				used := int64(pace * 60 * float64(usual[i]))
				s.Rates = append(s.Rates, RateStatus{resourceNames[i], m.perMinute, !m.configured, used, m.level(now)})
			}
		}
		all = append(all, s)
	}
	return all
}

// blocked is why no call is made. A target counts as broken until enough probes succeeded.
func (b *Tracker) blocked(r *entry, now time.Time) Reason {
	reason := b.look(r, now).Reason
	switch {
	case r.health.open:
		return Broken
	case reason == Resting || r.refused || (reason == Limited && r.restLeft(now) > 0):
		return reason
	}
	return ""
}

// sorted are all entries, by name.
func (b *Tracker) sorted() []*entry {
	return slices.SortedFunc(maps.Values(b.entries), func(r, o *entry) int { return r.name.compare(o.name) })
}

// level is the number of units that can be spent at once.
func (m *rate) level(now time.Time) int64 {
	if m.shared {
		return m.allowance
	}
	m.pool.Refill(now)
	return m.pool.Units()
}

// Headroom is the part of a target that is free, from 0 to 1: of its permits, or of the limit that is nearest to
// its end.
func (b *Tracker) Headroom(t *penstock.Target) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	r := b.of(t, now)
	part := func(free, all int64) float64 { return max(0, min(1, float64(free)/float64(max(1, all)))) }
	limit := int64(b.limit(r, now))
	least := part(limit-int64(r.running), limit)
	for i := range r.rates {
		m := &r.rates[i]
		switch {
		case m.perMinute == 0:
		case m.shared:
			least = min(least, part(m.allowance, m.aim))
		default:
			least = min(least, part(m.level(now), m.pool.Burst()))
		}
	}
	return least
}

// UsualOutput is the average length of a target's answers in tokens; a guess before the first answer.
func (b *Tracker) UsualOutput(t *penstock.Target) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.of(t, b.Clock()).expects.output)
}
