package capacity

import (
	"time"

	"penstock/internal/provider"
	"penstock/internal/store"
)

// resource is something that a target limits per minute.
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

// amounts is a number for each resource: the use of a call.
type amounts [resources]int64

// callOf is the use of one call with so many tokens.
func callOf(inputTokens, outputTokens int64) amounts {
	all := inputTokens + outputTokens
	return amounts{requests: 1, input: inputTokens, output: outputTokens, tokens: all, daily: all}
}

const (
	// lead is how much of its demand a process withdraws in advance.
	lead = 200 * time.Millisecond
	// drySpell is how long a process waits before it asks a pool again that had less than it wanted.
	drySpell = 100 * time.Millisecond
)

// rate is the state of one limit per minute of a target in this process.
type rate struct {
	perMinute  int64 // 0: none is known
	configured bool
	shared     bool  // with other processes
	strict     bool  // it is a limit scope's, per minute: no minute may exceed it
	claimed    bool  // nothing is withdrawn in advance: each call claims its units
	waiting    int32 // calls that claim units, or that have a place and wait for its time

	// Without other processes, calls spend from the pool itself, which lends. Otherwise the allowance is what was withdrawn
	// and not spent; below zero it is a debt.
	pool      store.Pool
	allowance int64

	mostAim   int64     // the most that the local allowance may hold; 0 for a full pool
	aim       int64     // the size that the local allowance should have
	spent     int64     // since the last refresh
	unmet     bool      // a call was refused since the last refresh
	wanted    int64     // the sum of units that waiting calls want from the next refresh
	dryUntil  time.Time // no refresh is useful before
	moreAt    time.Time // when the pool will have more
	left      int64     // what the pool had at the last refresh
	leftAt    time.Time
	restUntil time.Time // the upstream refused a call for this limit
	reported  bool      // an upstream reported how many are left since the last refresh,
	remaining int64     // and how many
	asks      []*claim  // claims of waiting calls, for the next refresh
}

// configure applies a limit of the configuration. Without one, the learned limit remains.
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

// ready says whether the next call may spend, and if not, how long it must wait.
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

// spend takes units, into debt if necessary; a negative number returns them.
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

// learn takes over the limit that an upstream reports. It counts when the configuration has none.
func (m *rate) learn(now time.Time, a provider.Allowance) {
	if a.Limit > 0 && !m.configured {
		m.set(a.Limit, now)
	}
	// Some upstreams always report that nothing is left of limits that they do not have.
	if a.HasRemaining && a.Limit > 0 && (a.Remaining > 0 || a.Reset > 0) {
		m.lower(now, a.Remaining)
	}
}

// lower lowers the estimate of the units that are left.
func (m *rate) lower(now time.Time, remaining int64) {
	if m.perMinute == 0 {
		return
	}
	m.pool.Refill(now)
	m.pool.Lower(remaining)
	m.allowance = min(m.allowance, remaining)
	if remaining < m.pool.Burst() && (!m.reported || remaining < m.remaining) {
		m.reported, m.remaining = true, remaining
	}
}

// draw is the request to the pool; false for none. Units that it returns are no longer in the local allowance.
func (m *rate) draw(pool string, v refreshTime) (store.RateDraw, bool) {
	if m.perMinute == 0 || !m.shared {
		return store.RateDraw{}, false
	}
	m.aimFor(v)
	d := store.RateDraw{Pool: pool, Terms: m.pool.Terms, PerMinute: m.perMinute, Lower: m.reported, Remaining: m.remaining}
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
	m.spent, m.wanted, m.unmet, m.reported = 0, 0, false, false
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

// aimFor adapts the aim to the demand: at once when it grows, by halves when it falls.
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

// most is the most that the local allowance may hold.
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

// due is when the next draw is due, if at all.
func (m *rate) due(r *entry, now time.Time) (time.Time, bool) {
	switch {
	case m.perMinute == 0 || !m.shared:
		return time.Time{}, false
	case m.reported || len(m.asks) > 0:
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
