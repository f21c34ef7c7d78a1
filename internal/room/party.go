package room

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// Party is somebody whose calls are limited together: a tenant, a key, a tenant's calls for one model.
type Party struct {
	Name
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
	// Permit says that it asks for its places at a time alone: its body was not read yet, so nothing else is known of it.
	Permit bool
	// Permitted says that its tenant and its key gave it a place before.
	Permitted bool
}

// seats says whether a call takes a place at a time of a party of some kind.
func (u *Use) seats(k Kind) bool {
	return !u.Queued && !u.Dry && (!u.Permitted || k == KindModel)
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
	book  *Book
	parts []part
	over  bool
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
	Left     int64
	Wait     time.Duration // until there may be room; Forever where a call must end first
	// Retry is closed when it is worth asking again: it was not the limit that refused, but that the process
	// has withdrawn nothing of it yet. Nil when the limit refused.
	Retry <-chan struct{}
	// Failed says that the bank could not be asked.
	Failed bool
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

// confine puts a limit in force that no minute may see passed: what may be used at once and what flows in
// during a minute are the limit together. Where processes share it, the pool has half of what may be used at
// once, and the purses are kept small: what is in them was withdrawn before and is spent later.
func (m *rate) confine(perMinute int64, burst float64, now time.Time) {
	if perMinute == 0 {
		m.set(0, now)
		return
	}
	hold := max(1, int64(burst*float64(perMinute)))
	terms := store.Terms{Hold: hold, Fill: max(1, int64(60*float64(perMinute)*(1-burst)))}
	most := int64(0)
	if m.shared {
		terms.Hold, most = max(1, hold/2), max(1, hold/6)
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

// Enter takes room of every party for a call, or of none, and then says which one refused.
func (b *Book) Enter(parties []Party, u Use) (*Stay, *Shortage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	s := &Stay{book: b, parts: make([]part, len(parties))}
	var worst *Shortage
	for i := range parties {
		s.parts[i].room = b.party(&parties[i], now)
		if f := b.refusal(s.parts[i].room, u, now); f != nil && f.worse(worst) {
			f.Party, worst = i, f
		}
	}
	if worst != nil {
		b.nudge()
		return nil, worst
	}
	for i := range s.parts {
		r := s.parts[i].room
		r.askedAt = now
		if s.parts[i].seated = u.seats(r.name.Kind); s.parts[i].seated {
			r.running++
			r.seating.peak = max(r.seating.peak, r.running)
		}
		s.parts[i].charge(b, r.use(u))
	}
	return s, nil
}

// worse orders refusals: what asking again may change is not told while a limit refuses, and of limits the one
// that takes longest is.
func (f *Shortage) worse(than *Shortage) bool {
	switch {
	case than == nil:
		return true
	case (f.Retry == nil) != (than.Retry == nil):
		return f.Retry == nil
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

// refusal says why a party has no room for a call, nil when it has. It notes that somebody wants it.
func (b *Book) refusal(r *room, u Use, now time.Time) *Shortage {
	if limit := b.limit(r, now); u.seats(r.name.Kind) && r.seating.cap > 0 && r.running >= limit {
		r.askedAt, r.seating.unmet = now, true
		f := &Shortage{Resource: Seats, Limit: int64(r.seating.cap), Wait: Forever}
		if known := r.seating.dry && now.Sub(r.seating.visited) < seatRefresh; b.shared() && r.running < r.seating.cap && !known {
			f.Retry, f.Failed = b.visits, b.failed
		}
		return f
	}
	want := r.use(u)
	var worst *Shortage
	for i := range r.rates {
		m := &r.rates[i]
		if m.perMinute == 0 || !u.concerns(resource(i)) {
			continue
		}
		ready, wait := m.ready(now)
		if ready {
			continue
		}
		r.askedAt, m.unmet = now, true
		m.wanted += max(1, want[i])
		f := &Shortage{Resource: resourceNames[i], Limit: m.perMinute, Left: max(0, m.level(now)), Wait: wait}
		switch {
		case !m.shared:
		case wait != Forever:
			f.Wait = max(wait, m.repaid())
		case m.dryUntil.After(now): // the last visit fell short, and the next one is not due yet
			f.Wait = max(m.dryUntil.Sub(now), m.repaid())
		default:
			f.Retry, f.Failed = b.visits, b.failed
		}
		if f.worse(worst) {
			worst = f
		}
	}
	return worst
}

// repaid is how long it takes at the least until a debt is repaid.
func (m *rate) repaid() time.Duration {
	if m.purse >= 0 || m.pool.Daily {
		return 0
	}
	owed := store.Pool{Terms: store.Terms{Hold: store.MaxPerMinute, Fill: m.pool.Fill}, PerMinute: m.perMinute}
	owed.Overdraw(-m.purse)
	return owed.Until(1)
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
