package capacity

import (
	"time"

	"penstock/internal/provider"
	"penstock/internal/store"
)

// resource is what a target may limit per minute.
type resource int

const (
	requests resource = iota
	input             // tokens
	output            // tokens
	tokens            // input and output together, as some upstreams count; known from their headers alone
	daily             // tokens, input and output together, of a day; of limit scopes alone
	resources
)

var resourceNames = [resources]string{"requests", "input_tokens", "output_tokens", "tokens", "daily_tokens"}

// amounts is a number for each resource: what a call takes, or took.
type amounts [resources]int64

// callOf is what one call with so many tokens takes.
func callOf(inputTokens, outputTokens int64) amounts {
	all := inputTokens + outputTokens
	return amounts{requests: 1, input: inputTokens, output: outputTokens, tokens: all, daily: all}
}

const (
	// lead is how much of its demand a process withdraws ahead.
	lead = 200 * time.Millisecond
	// drySpell is how long a process leaves a pool alone that had less than was wanted.
	drySpell = 100 * time.Millisecond
)

// rate is one limit per minute of a target, as this process sees it.
type rate struct {
	perMinute  int64 // 0: none is known
	configured bool
	shared     bool  // with other processes
	strict     bool  // it is a limit scope's, per minute: no minute may see it passed
	claimed    bool  // nothing is withdrawn ahead: each call claims its units
	waiting    int32 // calls that claim units, or have a place and wait for its moment

	// Alone, the pool itself is spent from and lends. Shared, local allowance is what was withdrawn and not spent;
	// below zero it is owed.
	pool      store.Pool
	allowance int64

	mostAim   int64     // what the local allowance may hold at the most; 0 for a full pool's worth
	aim       int64     // what the local allowance should hold
	spent     int64     // since the last refresh
	unmet     bool      // somebody was refused since the last refresh
	wanted    int64     // and so much together, of those who wait for the next one
	dryUntil  time.Time // no refresh is worth it before
	moreAt    time.Time // when the pool, as it said, has more
	left      int64     // what the pool had at the last refresh
	leftAt    time.Time
	restUntil time.Time // the upstream refused a call for this limit
	told      bool      // an upstream said how many are left, since the last refresh,
	remaining int64     // and how many
	asks      []*claim  // what the next refresh asks for, for calls that wait
}

// configure puts a limit of the configuration in force. Without one, what was learned stays.
func (m *rate) configure(perMinute int64, now time.Time) {
	if perMinute > 0 || m.configured {
		m.set(perMinute, now)
	}
	m.configured = perMinute > 0
}

func (m *rate) set(perMinute int64, now time.Time) {
	if perMinute == m.perMinute {
		return
	}
	if perMinute == 0 {
		*m = rate{shared: m.shared, restUntil: m.restUntil, waiting: m.waiting, asks: m.asks}
		return
	}
	m.perMinute = min(perMinute, store.MaxPerMinute)
	m.pool.PerMinute = m.perMinute
	m.pool.Refill(now)
}

// ready says whether the next call may spend, and if not, when.
func (m *rate) ready(now time.Time) (bool, time.Duration) {
	switch {
	case m.restUntil.After(now):
		return false, m.restUntil.Sub(now)
	case m.perMinute == 0:
		return true, 0
	case m.shared && m.allowance > 0:
		return true, 0
	case m.shared && m.moreAt.After(now):
		return false, m.moreAt.Sub(now)
	case m.shared:
		return false, Forever
	}
	m.pool.Refill(now)
	wait := m.pool.Until(1)
	return wait == 0, wait
}

// spend takes units whether they are there or not; a negative number puts them back.
func (m *rate) spend(n int64) {
	switch {
	case m.perMinute == 0:
	case m.shared:
		m.allowance -= n
		m.spent += n
	default:
		m.pool.Overdraw(n)
	}
}

// low says that the local allowance should be filled.
func (m *rate) low() bool { return m.shared && m.perMinute > 0 && m.allowance <= m.aim/2 && !m.claimed }

// learn takes an upstream's word. A limit counts when the configuration has none.
func (m *rate) learn(now time.Time, a provider.Allowance) {
	if a.Limit > 0 && !m.configured {
		m.set(a.Limit, now)
	}
	// Some upstreams say that nothing is left, always and of limits that they do not have.
	if a.HasRemaining && a.Limit > 0 && (a.Remaining > 0 || a.Reset > 0) {
		m.lower(now, a.Remaining)
	}
}

// lower believes that no more than so many units are left.
func (m *rate) lower(now time.Time, remaining int64) {
	if m.perMinute == 0 {
		return
	}
	m.pool.Refill(now)
	m.pool.Lower(remaining)
	m.allowance = min(m.allowance, remaining)
	if remaining < m.pool.Burst() && (!m.told || remaining < m.remaining) {
		m.told, m.remaining = true, remaining
	}
}

// draw is what to ask of the pool; false for nothing. What it returns is no longer in the local allowance.
func (m *rate) draw(pool string, v refreshTime) (store.RateDraw, bool) {
	if m.perMinute == 0 || !m.shared {
		return store.RateDraw{}, false
	}
	m.aimFor(v)
	d := store.RateDraw{Pool: pool, Terms: m.pool.Terms, PerMinute: m.perMinute, Lower: m.told, Remaining: m.remaining}
	if surplus := m.allowance - m.aim; (v.idle && surplus > 0) || surplus > m.most() {
		d.Return = surplus
		m.allowance -= surplus
	}
	if m.strict {
		m.drawStrictly(&d)
	}
	if m.allowance <= m.aim/2 && !v.now.Before(m.dryUntil) && !(m.strict && (m.claimed || m.waiting > 0)) {
		d.Want = m.aim - m.allowance
	}
	m.spent, m.wanted, m.unmet, m.told = 0, 0, false, false
	return d, d.Want > 0 || d.Return > 0 || d.Lower || d.Owed > 0 || len(d.Claims) > 0
}

// drawStrictly adds the claims of calls. Debts go to the pool, and so do withdrawn units while calls wait: both count for
// the next call in any process.
func (m *rate) drawStrictly(d *store.RateDraw) {
	switch {
	case m.allowance < 0:
		d.Owed, m.allowance = -m.allowance, 0
	case m.allowance > 0 && (m.waiting > 0 || m.claimed):
		d.Return += m.allowance
		m.allowance = 0
	}
	for _, c := range m.asks {
		d.Claims = append(d.Claims, c.Claim)
	}
}

// aimFor follows the demand: at once when it grows, by halves when it falls.
func (m *rate) aimFor(v refreshTime) {
	if v.idle || m.claimed {
		m.aim = 0
		return
	}
	aim := max(1, m.spent*int64(lead)/int64(max(v.since, lead/10)), m.aim/2, m.wanted)
	if m.unmet {
		aim = max(aim, 2*m.aim)
	}
	m.aim = min(aim, m.most())
}

// most is what the local allowance may hold.
func (m *rate) most() int64 {
	if m.mostAim > 0 {
		return m.mostAim
	}
	return m.pool.Burst()
}

// receive puts a grant into the local allowance.
func (m *rate) receive(now time.Time, wanted int64, g store.RateGrant) {
	m.allowance += g.Units
	m.left, m.leftAt = g.Left, now
	if g.Units < wanted {
		m.dryUntil, m.moreAt = now.Add(max(drySpell, min(g.Next, time.Second))), now.Add(g.Next)
	}
}

// due is when the pool is to be asked, if at all.
func (m *rate) due(r *entry, now time.Time) (time.Time, bool) {
	switch {
	case m.perMinute == 0 || !m.shared:
		return time.Time{}, false
	case m.told || len(m.asks) > 0:
		return now, true
	case m.claimed || (m.strict && m.waiting > 0):
		return now, m.allowance != 0
	case r.idle(now):
		return m.dryUntil, m.allowance != 0
	case m.low():
		return m.dryUntil, true
	}
	return r.askedAt.Add(idleAfter), true
}
