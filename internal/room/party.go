package room

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// Party is somebody whose calls are limited together: a tenant, a key, a tenant's calls for one model.
type Party struct {
	Name
	Holder string // the key whose call it is: those of a party that several keys share take turns
	Limits penstock.Limits
}

// Use is what a call is likely to take of its parties.
type Use struct {
	InputTokens     int64
	MaxOutputTokens int64 // the most that it can generate
	Choices         int64
	Silent          bool // it generates nothing
	Free            bool // it takes no tokens
	// Queued says that it is work for later: it takes no seat, and tokens per minute are not its concern.
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

// Stay is a call's room of all of its parties, until it is given back with Done, Leave or Release.
type Stay struct {
	book   *Book
	parts  []part
	over   bool
	waited time.Duration
}

// WaitedFor is how long the call waited for its turn.
func (s *Stay) WaitedFor() time.Duration {
	if s == nil {
		return 0
	}
	return s.waited
}

// part is a call's room of one party.
type part struct {
	room    *room
	charged amounts
	seated  bool
}

// Shortage is why a party has no room.
type Shortage struct {
	Party    int // which of them
	Resource string
	Limit    int64
	Burst    int64 // what may be used at once of a limit per minute
	Left     int64
	Wait     time.Duration // until there may be room; Forever where a call must end first
	Kept     bool          // room is kept for the call's key then
	// Retry is closed when it is worth asking again; nil where only time helps.
	Retry <-chan struct{}
	// Unknown says that it was not the limit that refused, but that the process does not know yet what is left of it;
	// Retry tells when it does.
	Unknown bool
	// Failed says that the bank could not be asked.
	Failed bool

	claim *claim
}

// Seats is the resource of a concurrency.
const Seats = "concurrency"

// party returns the room of a party, with its limits in force.
func (b *Book) party(p *Party, now time.Time) *room {
	r, made := b.find(p.Name)
	if made {
		r.window.limit = maxWindow
		r.rates[daily].shared = b.Bank != nil
	}
	if r.limits == p.Limits {
		return r
	}
	r.limits = p.Limits
	l := &r.limits
	r.seating.cap = l.Concurrency
	r.rates[requests].confine(l.RequestsPerMinute, l.Burst, now)
	r.rates[input].confine(l.InputTokensPerMinute, l.Burst, now)
	r.rates[output].confine(l.OutputTokensPerMinute, l.Burst, now)
	if m := &r.rates[daily]; m.perMinute != l.DailyTokens {
		m.pool.Terms, m.moreAt, m.dryUntil = store.Terms{Hold: l.DailyTokens, Daily: true}, time.Time{}, time.Time{}
		m.set(l.DailyTokens, now)
	}
	return r
}

// leastForPurses is the least burst of which processes withdraw something ahead: a unit for each of three, and half of it
// for the pool.
const leastForPurses = 6

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
	m.strict, m.claimed = true, m.shared && hold < leastForPurses
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

// Enter takes room of every party for a call, or of none. Where a party has none, or calls wait for it, the call may take
// a Turn.
func (b *Book) Enter(parties []Party, u Use) (*Stay, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	s := &Stay{book: b, parts: make([]part, len(parties))}
	for i := range parties {
		r := b.party(&parties[i], now)
		r.users.Saw(parties[i].Holder, now)
		s.parts[i].room, s.parts[i].seated = r, u.seated(r)
		if !b.open(r, u, now) {
			return nil, false
		}
	}
	s.sit(now)
	for i := range s.parts {
		s.parts[i].charge(b, s.parts[i].room.use(u))
	}
	return s, true
}

// seated says whether a call takes a seat of a party.
func (u *Use) seated(r *room) bool {
	return !u.Queued && !u.Dry && (!u.Permitted || r.name.Kind == KindModel)
}

// sit counts a call among those that run.
func (s *Stay) sit(now time.Time) {
	for i := range s.parts {
		r := s.parts[i].room
		r.askedAt = now
		if s.parts[i].seated {
			r.running++
			r.seating.peak = max(r.seating.peak, r.running)
		}
	}
}

// open says whether a party has room for a call at once, and nobody waits before it.
func (b *Book) open(r *room, u Use, now time.Time) bool {
	if u.seated(r) && r.seating.cap > 0 && (len(r.line) > 0 || !b.seatFree(r, now)) {
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

// use is what a call is likely to take of a party.
func (r *room) use(u Use) amounts {
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

// dayRefusal says why a party has none of its day left, nil when it has. It notes that somebody wants it.
func (b *Book) dayRefusal(r *room, u Use, now time.Time) *Shortage {
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
		if m.dryUntil.After(now) { // the last visit fell short, and the next one is not due yet
			f.Wait = m.dryUntil.Sub(now)
		} else {
			f.Retry, f.Unknown, f.Failed = b.visits, true, b.failed
		}
	}
	return f
}

// charge makes a party pay what a call takes, instead of what it paid for it so far.
func (p *part) charge(b *Book, call amounts) {
	for i := range p.room.rates {
		m := &p.room.rates[i]
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

// Leave gives the room back; what was taken for it counts as used. After another end, or on nil, it changes
// nothing.
func (s *Stay) Leave() {
	if s == nil {
		return
	}
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	if !s.over {
		s.leave()
	}
}

// Done is Leave where it is known what was used.
func (s *Stay) Done(u penstock.Usage) {
	if s == nil {
		return
	}
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	if s.over {
		return
	}
	s.leave()
	for i := range s.parts {
		s.parts[i].room.expects.learn(u)
		s.parts[i].charge(s.book, callOf(u.InputTokens, u.OutputTokens))
	}
}

// Release is Leave where nothing was used.
func (s *Stay) Release() {
	if s == nil {
		return
	}
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	if s.over {
		return
	}
	s.leave()
	for i := range s.parts {
		s.parts[i].charge(s.book, amounts{})
	}
}

func (s *Stay) leave() {
	s.over = true
	for i := range s.parts {
		if s.parts[i].seated {
			s.parts[i].room.running--
			s.book.wakeLine(s.parts[i].room)
		}
	}
}

// Spend books tokens that parties used elsewhere: those of jobs, which count for the day alone.
func (b *Book) Spend(parties []Party, u penstock.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	for i := range parties {
		if parties[i].Limits.DailyTokens == 0 {
			continue
		}
		r := b.party(&parties[i], now)
		r.askedAt = now
		r.rates[daily].spend(u.InputTokens + u.OutputTokens)
	}
	b.nudge()
}

// Standing is how a party stands with one of its limits.
type Standing struct {
	Kind     Kind // of party
	Resource string
	Limit    int64
	Daily    bool // the limit is per day, else per minute
	Left     int64
	Reset    time.Duration // until Left is as high as it gets
}

// AppendStandings adds how parties stand with all of their limits per time.
func (b *Book) AppendStandings(all []Standing, parties []Party) []Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	for i := range parties {
		r := b.party(&parties[i], now)
		for k := range r.rates {
			if m := &r.rates[k]; m.perMinute > 0 {
				p := m.estimate(now)
				all = append(all, Standing{
					Kind: parties[i].Kind, Resource: resourceNames[k], Limit: m.perMinute, Daily: p.Daily,
					Left: max(0, p.Units()), Reset: p.Until(p.Burst()),
				})
			}
		}
	}
	return all
}

// estimate is the pool as it would be if all purses were returned now: as far as this process knows.
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
		p.Overdraw(-m.purse)
	}
	return p
}
