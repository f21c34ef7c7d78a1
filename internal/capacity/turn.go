package capacity

import (
	"slices"
	"time"

	"penstock/internal/store"
)

// Turn is a call that waits for capacity of its limit scopes, or gets the time at which there will be some. It holds nothing
// while it waits: a limit per minute reserves its units for a later time, and it gets a permit only when one is free.
//
// Only one goroutine may use a Turn. The caller leaves it, unless Queue returned a limit hold.
type Turn struct {
	tracker *Tracker
	scopes  []LimitScope
	use     Use
	began   time.Time
	entries []*entry
	claims  []*claim
	line    *entry // in whose line it waits for a permit, or whose permit is assigned to it
	promise bool
	ready   chan struct{} // closed when a permit is assigned
}

// claim is a turn's claim on one limit per minute.
type claim struct {
	store.Claim
	scope int
	of    resource
	rate  *rate
	state claimState
	at    time.Time // when its units will be available, by the clock of the process
	left  bool      // the turn is over
}

type claimState int8

const (
	claimIdle    claimState = iota
	claimAsked              // the next refresh answers
	claimGranted            // its units are withdrawn
	claimPlaced             // its units will be available later
)

// NewTurn returns a turn for a call that was not admitted at once.
func (b *Tracker) NewTurn(scopes []LimitScope, u Use) *Turn {
	return &Turn{tracker: b, scopes: slices.Clone(scopes), use: u, began: b.Clock(), ready: make(chan struct{})}
}

// Queue takes capacity of every limit scope or of none. If it takes none, it returns the worst shortage and when to ask again.
func (b *Tracker) Queue(t *Turn) (*LimitHold, *Shortage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	t.bind(now)
	short := t.day(now)
	if short == nil {
		short = t.units(now)
	}
	switch {
	case short == nil:
		if short = t.permits(now); short != nil && !short.Unknown {
			t.giveBack()
		}
	case short.Unknown:
		t.wishPermits(now) // one refresh may bring all that is needed
	}
	if short != nil {
		b.nudge()
		return nil, short
	}
	return t.take(now), nil
}

// bind finds the entries of the limit scopes, with their limits in force, and what limits the call per minute.
func (t *Turn) bind(now time.Time) {
	if t.entries != nil {
		return
	}
	t.entries = make([]*entry, len(t.scopes))
	for i := range t.scopes {
		p := &t.scopes[i]
		r := t.tracker.scope(p, now)
		t.entries[i], r.askedAt = r, now
		want := r.use(t.use)
		for k := range r.rates {
			if m := &r.rates[k]; m.strict && m.perMinute > 0 && t.use.concerns(resource(k)) {
				if !m.shared {
					m.pool.See(r.users.Names(now), now)
				}
				t.claims = append(t.claims, &claim{
					Claim: store.Claim{Holder: p.Holder, Units: want[k], Weight: r.weight(want, resource(k)), Try: t.use.Try}, scope: i, of: resource(k), rate: m,
				})
			}
		}
	}
}

// weight is the number of units that a place takes for a call. Before the first call has ended, the tokens are a guess, and
// places based on it would lie much too late.
func (r *entry) weight(want amounts, of resource) int64 {
	if of != requests && r.expects.calls <= 1 {
		return min(want[of], 1)
	}
	return want[of]
}

// waitLeft is how long the call may still wait under the limits of a limit scope.
func (t *Turn) waitLeft(scope int, now time.Time) time.Duration {
	return max(0, t.scopes[scope].Limits.Wait.Duration()-now.Sub(t.began))
}

func (t *Turn) day(now time.Time) (worst *Shortage) {
	for i, r := range t.entries {
		if f := t.tracker.dayRefusal(r, t.use, now); f != nil && f.worse(worst) {
			f.Scope, worst = i, f
		}
	}
	return worst
}

// units checks whether every limit per minute has units for the call. If one has none, all of them keep a place for it at
// the time of the latest.
func (t *Turn) units(now time.Time) (worst *Shortage) {
	for _, c := range t.claims {
		r := t.entries[c.scope]
		r.askedAt = now
		if f := t.look(c, now); f != nil && f.worse(worst) {
			worst = f
		}
	}
	if worst == nil || worst.Unknown {
		return worst
	}
	t.dropPermit()
	const rounds = 3 // each round moves the time to the latest place, after which another limit may have only a later one
	for range rounds {
		latest := t.keep(worst.Wait, now)
		if latest <= worst.Wait+store.PlaceGrace/2 {
			break
		}
		worst.Wait = latest
	}
	if !worst.claim.rate.shared {
		worst.Wait = max(worst.Wait, worst.claim.at.Sub(now))
	}
	worst.Kept = worst.claim.Place != 0
	return worst
}

// look returns why there are no units for a claim, nil when there are.
func (t *Turn) look(c *claim, now time.Time) *Shortage {
	m := c.rate
	if m.perMinute == 0 {
		return nil // the limit was removed meanwhile
	}
	f := &Shortage{Scope: c.scope, Resource: resourceNames[c.of], Limit: m.perMinute, Burst: m.burst(), Left: max(0, m.level(now)), claim: c}
	if !m.shared {
		ask := c.Claim
		ask.Look, ask.Later = true, 0
		g := m.pool.Claim(now, ask)
		if g.Granted {
			return nil
		}
		f.Wait = g.In
		return f
	}
	switch {
	case c.state == claimGranted || (c.state == claimIdle && m.allowance > 0 && m.waiting == 0):
		return nil
	case c.state == claimPlaced && c.at.After(now):
		f.Wait = c.at.Sub(now)
		return f
	case c.state != claimAsked:
		t.ask(c, 0, now)
	}
	f.Retry, f.Unknown, f.Failed = t.tracker.refreshes, true, t.tracker.failed
	return f
}

// keep makes every limit keep a place for the call after some time, and returns when all places are reached.
func (t *Turn) keep(in time.Duration, now time.Time) (latest time.Duration) {
	latest = in
	for _, c := range t.claims {
		switch m := c.rate; {
		case m.perMinute == 0:
		case !m.shared:
			t.ask(c, in, now)
			latest = max(latest, c.at.Sub(now))
		case c.state == claimGranted:
			m.spend(-c.Units)
			t.ask(c, in, now)
		case c.state == claimPlaced && c.at.Sub(now) < in-store.PlaceGrace/2:
			t.ask(c, in, now)
		}
	}
	return latest
}

// ask claims units, at once or by the next refresh, for a call that cannot be made before some time has passed.
func (t *Turn) ask(c *claim, later time.Duration, now time.Time) {
	m := c.rate
	c.Later, c.Wait = later, t.waitLeft(c.scope, now)
	if later > c.Wait {
		c.Wait = 0 // the call is refused, and the next call of its key takes the place
	}
	if !m.shared {
		c.answer(m.pool.Claim(now, c.Claim), now)
		return
	}
	if c.state == claimIdle {
		m.waiting++
	}
	c.state = claimAsked
	m.asks = append(m.asks, c)
}

// answer stores the answer of the pool.
func (c *claim) answer(g store.ClaimGrant, now time.Time) {
	c.Place, c.at, c.state = g.Place, now.Add(g.In), claimPlaced
	if !g.Granted {
		return
	}
	c.state = claimGranted
	if c.left { // the call does not wait for it any more
		c.rate.spend(-c.Units)
	}
}

// giveBack returns the units that were withdrawn for the call.
func (t *Turn) giveBack() {
	for _, c := range t.claims {
		if c.rate.shared && c.state == claimGranted {
			c.rate.spend(-c.Units)
			c.rate.waiting--
			c.state = claimIdle
		}
	}
}

// take takes the capacity that was found.
func (t *Turn) take(now time.Time) *LimitHold {
	b := t.tracker
	s := &LimitHold{tracker: b, parts: make([]part, len(t.entries)), waited: now.Sub(t.began)}
	for i, r := range t.entries {
		s.parts[i].entry, s.parts[i].permitted = r, t.use.permitted(r)
		if t.line == r && t.promise {
			r.promised--
			t.line, t.promise = nil, false
		}
	}
	t.dropPermit() // the concurrency in whose line it waited was removed
	s.startCall(now)
	for _, c := range t.claims {
		m := c.rate
		switch {
		case m.perMinute == 0: // removed while the call waited for it
			m.drop(c)
		case !m.shared:
			c.Later = 0
			m.pool.Claim(now, c.Claim) // as was looked at
			s.parts[c.scope].charged[c.of] = c.Units
		case c.state == claimGranted:
			m.spent += c.Units
			m.waiting--
			c.state = claimIdle
			s.parts[c.scope].charged[c.of] = c.Units
		}
	}
	for i := range s.parts {
		s.parts[i].charge(b, s.parts[i].entry.use(t.use))
	}
	return s
}

// Leave ends a turn that got no limit hold. Its key keeps the places that were kept for it.
func (t *Turn) Leave() {
	b := t.tracker
	b.mu.Lock()
	defer b.mu.Unlock()
	t.dropPermit()
	t.giveBack()
	for _, c := range t.claims {
		m := c.rate
		m.drop(c)
		if n := m.pool.PlaceOf(c.Claim); n >= 0 {
			m.pool.Places[n].Waited = false
		}
	}
	b.nudge()
}

// drop ends a claim whose call does not wait any more. A claim that was not sent yet is not sent; one that was sent is
// returned when it is granted.
func (m *rate) drop(c *claim) {
	if m.shared && c.state != claimIdle {
		m.waiting--
	}
	c.left = true
	m.asks = slices.DeleteFunc(m.asks, func(o *claim) bool { return o == c })
}

// burst is the number of units that may be used at once.
func (m *rate) burst() int64 {
	if m.shared && !m.claimed {
		return m.pool.Burst() * 2
	}
	return m.pool.Burst()
}
