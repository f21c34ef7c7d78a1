package capacity

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// LimitScope is a set of calls that are limited together: those of a tenant, of a key, or of a tenant for one model.
type LimitScope struct {
	Name
	Holder string // the key of the call: the keys that share a limit scope take turns
	Limits penstock.Limits
}

// Use is the estimated use of a call.
type Use struct {
	InputTokens     int64
	MaxOutputTokens int64 // the most that it can generate
	Choices         int64
	Silent          bool // it generates nothing
	Free            bool // it takes no tokens
	// Queued says that it is a submit: it takes no permit, and limits of tokens per minute do not apply to it.
	Queued bool
	// Dry says that it is a dry run: it counts as a request, and limits of tokens do not apply to it.
	Dry bool
	// Later says that its use counts against daily limits after it ran: see Spend.
	Later bool
	// Try says which try of its caller it is, if the caller says so.
	Try store.Try
	// Permit says that it asks for its concurrency permits only: its body was not read yet, so its use is unknown.
	Permit bool
	// Permitted says that it already has the permits of its tenant and its key.
	Permitted bool
}

// concerns says whether a limit on a resource applies to the call.
func (u *Use) concerns(r resource) bool {
	if u.Permit {
		return false
	}
	switch r {
	case requests:
		return true
	case daily:
		return !u.Dry
	}
	return !u.Dry && !u.Queued
}

// LimitHold is a call's capacity of all of its limit scopes, until Done, Leave or Release returns it.
type LimitHold struct {
	tracker *Tracker
	parts   []part
	over    bool
	waited  time.Duration
}

// WaitedFor is how long the call waited for capacity.
func (s *LimitHold) WaitedFor() time.Duration {
	if s == nil {
		return 0
	}
	return s.waited
}

// part is a call's capacity of one limit scope.
type part struct {
	entry     *entry
	charged   amounts
	permitted bool
}

// Shortage is why a limit scope has no capacity.
type Shortage struct {
	Scope    int // the index of the scope
	Resource string
	Limit    int64
	Burst    int64 // the units of a limit per minute that may be used at once
	Left     int64
	Wait     time.Duration // until there may be capacity; Forever where a call must end first
	Kept     bool          // a place is kept for the call's key then
	// Retry is closed when asking again is useful; nil where only waiting helps.
	Retry <-chan struct{}
	// Unknown says that the limit did not refuse: the process does not know yet what is left of it. Retry is closed when
	// it does.
	Unknown bool
	// Failed says that the shared pools could not be reached.
	Failed bool

	claim *claim
}

// Permits is the resource of a concurrency.
const Permits = "concurrency"

// scope returns the entry of a limit scope, with its limits in force.
func (b *Tracker) scope(p *LimitScope, now time.Time) *entry {
	r, made := b.find(p.Name)
	if made {
		r.window.limit = maxWindow
		r.rates[daily].shared = b.Pools != nil
	}
	if r.limits == p.Limits {
		return r
	}
	r.limits = p.Limits
	l := &r.limits
	r.permits.cap = l.Concurrency
	r.rates[requests].confine(l.RequestsPerMinute, l.Burst, now)
	r.rates[input].confine(l.InputTokensPerMinute, l.Burst, now)
	r.rates[output].confine(l.OutputTokensPerMinute, l.Burst, now)
	if m := &r.rates[daily]; m.perMinute != l.DailyTokens {
		m.pool.Terms, m.moreAt, m.dryUntil = store.Terms{Hold: l.DailyTokens, Daily: true}, time.Time{}, time.Time{}
		m.set(l.DailyTokens, now)
	}
	return r
}

// leastForAllowances is the least burst of which processes withdraw units in advance: one unit for each of three processes,
// and half of the burst for the pool.
const leastForAllowances = 6

// confine applies a limit that no minute may exceed: the burst and the refill of a minute together are the limit. If
// processes share it, the pool has half of the burst, and processes withdraw few units in advance, because those are spent
// later than they were withdrawn. If that leaves less than one unit for each process, nothing is withdrawn in advance: each
// call claims its units from the pool.
func (m *rate) confine(perMinute int64, burst float64, now time.Time) {
	if perMinute == 0 {
		m.set(0, now)
		return
	}
	hold := max(1, int64(burst*float64(perMinute)))
	terms := store.Terms{Hold: hold, Fill: max(1, int64(60*float64(perMinute)*(1-burst)))}
	most := int64(0)
	m.strict, m.claimed = true, m.shared && hold < leastForAllowances
	if m.shared && !m.claimed {
		terms.Hold, most = hold/2, hold/6
	}
	if perMinute != m.perMinute || terms != m.pool.Terms {
		if m.perMinute > 0 {
			m.pool.Refill(now) // for the time in which the old limit applied
		}
		m.pool.Terms, m.mostAim, m.configured = terms, most, true
		m.perMinute, m.moreAt, m.dryUntil = 0, time.Time{}, time.Time{} // the known state is that of another limit
		m.set(perMinute, now)
	}
}

// Admit takes capacity of every limit scope for a call, or of none. If a limit scope has none, or other calls wait for it, the
// call may take a Turn.
func (b *Tracker) Admit(scopes []LimitScope, u Use) (*LimitHold, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	s := &LimitHold{tracker: b, parts: make([]part, len(scopes))}
	for i := range scopes {
		r := b.scope(&scopes[i], now)
		r.users.Saw(scopes[i].Holder, now)
		s.parts[i].entry, s.parts[i].permitted = r, u.permitted(r)
		if !b.open(r, u, now) {
			return nil, false
		}
	}
	s.startCall(now)
	for i := range s.parts {
		s.parts[i].charge(b, s.parts[i].entry.use(u))
	}
	return s, true
}

// permitted says whether a call takes a permit of a limit scope.
func (u *Use) permitted(r *entry) bool {
	return !u.Queued && !u.Dry && (!u.Permitted || r.name.Kind == KindModel)
}

// startCall counts a running call.
func (s *LimitHold) startCall(now time.Time) {
	for i := range s.parts {
		r := s.parts[i].entry
		r.askedAt = now
		if s.parts[i].permitted {
			r.running++
			r.permits.peak = max(r.permits.peak, r.running)
		}
	}
}

// open says whether a limit scope has capacity for a call at once, and no other call waits before it.
func (b *Tracker) open(r *entry, u Use, now time.Time) bool {
	if u.permitted(r) && r.permits.cap > 0 && (len(r.line) > 0 || !b.permitFree(r, now)) {
		return false
	}
	for i := range r.rates {
		m := &r.rates[i]
		if m.perMinute == 0 || !u.concerns(resource(i)) {
			continue
		}
		if ready, _ := m.ready(now); !ready || m.waiting > 0 {
			return false
		}
		if m.pool.Keeps() && !m.pool.Claim(now, store.Claim{Units: r.use(u)[i], Weight: r.use(u)[i], Try: store.TryFirst, Look: true}).Granted {
			return false
		}
	}
	return true
}

// worse orders shortages: a refusal by a limit is worse than an unknown state, and of limits the one with the longest
// wait is the worst.
func (f *Shortage) worse(than *Shortage) bool {
	switch {
	case than == nil:
		return true
	case f.Unknown != than.Unknown:
		return than.Unknown
	}
	return f.Wait > than.Wait
}

// use is the estimated use of a call under a limit scope.
func (r *entry) use(u Use) amounts {
	if u.Permit {
		return amounts{}
	}
	if u.Free || u.Dry {
		return callOf(0, 0)
	}
	call := r.expects.call(u.InputTokens, u.MaxOutputTokens)
	out := call[output] * max(1, u.Choices)
	if u.Silent {
		out = 0
	}
	used := callOf(call[input], out)
	if u.Later {
		used[daily] = 0
	}
	return used
}

// dayRefusal returns why a limit scope has nothing left of its daily limit, nil when it has. It records that a call wants it.
func (b *Tracker) dayRefusal(r *entry, u Use, now time.Time) *Shortage {
	m := &r.rates[daily]
	if m.perMinute == 0 || !u.concerns(daily) {
		return nil
	}
	ready, wait := m.ready(now)
	if ready {
		return nil
	}
	r.askedAt, m.unmet = now, true
	m.wanted += max(1, r.use(u)[daily])
	f := &Shortage{Resource: resourceNames[daily], Limit: m.perMinute, Left: max(0, m.level(now)), Wait: wait}
	if m.shared && wait == Forever {
		if m.dryUntil.After(now) { // the last refresh fell short, and the next one is not due yet
			f.Wait = m.dryUntil.Sub(now)
		} else {
			f.Retry, f.Unknown, f.Failed = b.refreshes, true, b.failed
		}
	}
	return f
}

// charge charges a limit scope for a call, and refunds what it was charged for the call before.
func (p *part) charge(b *Tracker, call amounts) {
	for i := range p.entry.rates {
		m := &p.entry.rates[i]
		if m.perMinute == 0 {
			continue
		}
		m.spend(call[i] - p.charged[i])
		p.charged[i] = call[i]
		if m.low() {
			b.nudge()
		}
	}
}

// Leave returns the capacity; the units that were taken count as used. After another end, or on nil, it changes
// nothing.
func (s *LimitHold) Leave() {
	if s == nil {
		return
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if !s.over {
		s.leave()
	}
}

// Done is Leave with the actual use.
func (s *LimitHold) Done(u penstock.Usage) {
	if s == nil {
		return
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if s.over {
		return
	}
	s.leave()
	for i := range s.parts {
		s.parts[i].entry.expects.learn(u)
		s.parts[i].charge(s.tracker, callOf(u.InputTokens, u.OutputTokens))
	}
}

// Release is Leave for a call that used nothing.
func (s *LimitHold) Release() {
	if s == nil {
		return
	}
	s.tracker.mu.Lock()
	defer s.tracker.mu.Unlock()
	if s.over {
		return
	}
	s.leave()
	for i := range s.parts {
		s.parts[i].charge(s.tracker, amounts{})
	}
}

func (s *LimitHold) leave() {
	s.over = true
	for i := range s.parts {
		if s.parts[i].permitted {
			s.parts[i].entry.running--
			s.tracker.wakeLine(s.parts[i].entry)
		}
	}
}

// Spend counts tokens of jobs, which count against daily limits only.
func (b *Tracker) Spend(scopes []LimitScope, u penstock.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	for i := range scopes {
		if scopes[i].Limits.DailyTokens == 0 {
			continue
		}
		r := b.scope(&scopes[i], now)
		r.askedAt = now
		r.rates[daily].spend(u.InputTokens + u.OutputTokens)
	}
	b.nudge()
}

// LimitState is the state of one limit of a limit scope.
type LimitState struct {
	Kind     Kind // of limit scope
	Resource string
	Limit    int64
	Daily    bool // the limit is per day, else per minute
	Left     int64
	Reset    time.Duration // until Left has its highest value
}

// AppendLimitStates appends the states of all limits per minute and per day of limit scopes.
func (b *Tracker) AppendLimitStates(all []LimitState, scopes []LimitScope) []LimitState {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	for i := range scopes {
		r := b.scope(&scopes[i], now)
		for k := range r.rates {
			if m := &r.rates[k]; m.perMinute > 0 {
				p := m.estimate(now)
				all = append(all, LimitState{
					Kind: scopes[i].Kind, Resource: resourceNames[k], Limit: m.perMinute, Daily: p.Daily,
					Left: max(0, p.Units()), Reset: p.Until(p.Burst()),
				})
			}
		}
	}
	return all
}

// estimate is the pool as it would be if all local allowances were returned now, as far as this process knows.
func (m *rate) estimate(now time.Time) store.Pool {
	p := m.pool
	if m.shared {
		p.Level, p.At = p.Burst()*store.PartsPerUnit, now
		if !m.leftAt.IsZero() {
			p.Level, p.At = 0, m.leftAt
			p.Overdraw(-m.left)
		}
	}
	p.Refill(now)
	if m.shared {
		p.Overdraw(-m.allowance)
	}
	return p
}
