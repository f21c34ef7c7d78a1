package capacity

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// LimitScope is somebody whose calls are limited together: a tenant, a key, a tenant's calls for one model.
type LimitScope struct {
	Name
	Holder string // the key whose call it is: those of a limit scope that several keys share take turns
	Limits penstock.Limits
}

// Use is what a call is likely to take of its limit scopes.
type Use struct {
	InputTokens     int64
	MaxOutputTokens int64 // the most that it can generate
	Choices         int64
	Silent          bool // it generates nothing
	Free            bool // it takes no tokens
	// Queued says that it is work for later: it takes no permit, and tokens per minute are not its concern.
	Queued bool
	// Dry says that it only asks what would be: it is a request, and no tokens are its concern.
	Dry bool
	// Later says that what it uses counts for the day when it has run: see Spend.
	Later bool
	// Try says which try of its caller it is, as far as the caller tells.
	Try store.Try
	// Permit says that it asks for its places at a time alone: its body was not read yet, so nothing else is known of it.
	Permit bool
	// Permitted says that its tenant and its key gave it a place before.
	Permitted bool
}

// concerns says whether a limit on a resource is one for the call.
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

// LimitHold is a call's capacity of all of its limit scopes, until it is given back with Done, Leave or Release.
type LimitHold struct {
	tracker *Tracker
	parts   []part
	over    bool
	waited  time.Duration
}

// WaitedFor is how long the call waited for its turn.
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
	Burst    int64 // what may be used at once of a limit per minute
	Left     int64
	Wait     time.Duration // until there may be capacity; Forever where a call must end first
	Kept     bool          // entry is kept for the call's key then
	// Retry is closed when it is worth asking again; nil where only time helps.
	Retry <-chan struct{}
	// Unknown says that it was not the limit that refused, but that the process does not know yet what is left of it;
	// Retry tells when it does.
	Unknown bool
	// Failed says that the shared pools could not be asked.
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

// leastForAllowances is the least burst of which processes withdraw something ahead: a unit for each of three, and half of it
// for the pool.
const leastForAllowances = 6

// confine puts a limit in force that no minute may see passed: what may be used at once and what flows in
// during a minute are the limit together. Where processes share it, the pool has half of what may be used at
// once, and processes withdraw little ahead: those units were withdrawn before and are spent later. Where that leaves less than
// a unit for each process, nothing is withdrawn ahead: each call is claimed from the pool.
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
			m.pool.Refill(now) // for the time in which the old one held
		}
		m.pool.Terms, m.mostAim, m.configured = terms, most, true
		m.perMinute, m.moreAt, m.dryUntil = 0, time.Time{}, time.Time{} // what is known is that of another limit
		m.set(perMinute, now)
	}
}

// Admit takes capacity of every limit scope for a call, or of none. Where a limit scope has none, or calls wait for it, the call may take
// a Turn.
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
	s.sit(now)
	for i := range s.parts {
		s.parts[i].charge(b, s.parts[i].entry.use(u))
	}
	return s, true
}

// permitted says whether a call takes a permit of a limit scope.
func (u *Use) permitted(r *entry) bool {
	return !u.Queued && !u.Dry && (!u.Permitted || r.name.Kind == KindModel)
}

// sit counts a call among those that run.
func (s *LimitHold) sit(now time.Time) {
	for i := range s.parts {
		r := s.parts[i].entry
		r.askedAt = now
		if s.parts[i].permitted {
			r.running++
			r.permits.peak = max(r.permits.peak, r.running)
		}
	}
}

// open says whether a limit scope has capacity for a call at once, and nobody waits before it.
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

// worse orders refusals: what asking again may change is not told while a limit refuses, and of limits the one
// that takes longest is.
func (f *Shortage) worse(than *Shortage) bool {
	switch {
	case than == nil:
		return true
	case f.Unknown != than.Unknown:
		return than.Unknown
	}
	return f.Wait > than.Wait
}

// use is what a call is likely to take of a limit scope.
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

// dayRefusal says why a limit scope has none of its day left, nil when it has. It notes that somebody wants it.
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

// charge makes a limit scope pay what a call takes, instead of what it paid for it so far.
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

// Leave gives the capacity back; what was taken for it counts as used. After another end, or on nil, it changes
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

// Done is Leave where it is known what was used.
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

// Release is Leave where nothing was used.
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

// Spend books tokens that limit scopes used elsewhere: those of jobs, which count for the day alone.
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

// LimitState is how a limit scope stands with one of its limits.
type LimitState struct {
	Kind     Kind // of limit scope
	Resource string
	Limit    int64
	Daily    bool // the limit is per day, else per minute
	Left     int64
	Reset    time.Duration // until Left is as high as it gets
}

// AppendLimitStates adds how limit scopes stand with all of their limits per time.
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

// estimate is the pool as it would be if all local allowances were returned now: as far as this process knows.
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
