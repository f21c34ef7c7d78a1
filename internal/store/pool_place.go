package store

import (
	"math"
	"slices"
	"time"
)

const (
	// PlaceGrace is how long a place is kept after its moment. A pool of the default burst takes about as long to fill, so
	// a place that is not used costs the others nothing.
	PlaceGrace = 3 * time.Second
	// PlaceHorizon is how far ahead places are kept. SDKs heed a Retry-After of less than a minute.
	PlaceHorizon = 55 * time.Second
	// MaxPlaces bounds the places of a pool. MaxPlacesOfHolder bounds the places of one holder of a shared pool, and the
	// places that are kept for retries of refused calls.
	MaxPlaces         = 256
	MaxPlacesOfHolder = 128
)

// Kept is the state of a pool beside its level.
type Kept struct {
	Places []Place `json:"places,omitempty"` // by moment
	Users  Holders `json:"users,omitzero"`
}

// Keeps reports whether a pool keeps places.
func (p *Pool) Keeps() bool { return p.Kept != nil && len(p.Places) > 0 }

// Place is a part of an allowance that is kept for a holder: a call of the holder finds it from its moment on, and for
// PlaceGrace. A place is not withdrawn until its call arrives. So a pool that keeps places holds its limit in every
// minute, as a pool without places does.
type Place struct {
	Holder string `json:"holder"`
	At     int64  `json:"at"` // its moment, in microseconds by the clock of the pool; unique for a holder
	Units  int64  `json:"units"`
	Waited bool   `json:"waited,omitempty"` // a call waits for it, and no other call may use it
}

// Try says whether a call is its caller's first try, as far as the caller reports it.
type Try int8

// The tries.
const (
	TryUnknown Try = iota
	TryFirst       // it was not refused before: it takes no place that is kept for another call
	TryAgain       // it was refused before: it gets no second place
)

// Claim asks for units for one call, now or at a moment that is kept for it.
type Claim struct {
	Holder string
	Units  int64
	Weight int64         // units that a place keeps for it: Units, or less where Units is a rough estimate
	Place  int64         // the place that the call was given before, 0 for none
	Wait   time.Duration // how long the call would wait: no other call may use a place within that time
	Try    Try
	Later  time.Duration // the call cannot be made before
	Look   bool          // nothing is taken or kept
}

// ClaimGrant answers a Claim.
type ClaimGrant struct {
	Granted bool          // the units are withdrawn
	In      time.Duration // otherwise: until there are units for the call
	Place   int64         // and the place that is kept for it then, 0 for none
}

// Claim answers a claim. A call without a place gets units only if every kept place still finds its units. So a refused
// call finds its units at its moment, however many other calls arrive.
func (p *Pool) Claim(now time.Time, c Claim) ClaimGrant {
	if p.Kept == nil {
		p.Kept = new(Kept)
	}
	p.Refill(now)
	p.lapse(now)
	if !c.Look {
		p.Users.Saw(c.Holder, now)
	}
	t := now.UnixMicro()
	n := p.placeFor(t, c)
	if p.serves(t, n, c) {
		if !c.Look {
			if n >= 0 {
				p.Places = slices.Delete(p.Places, n, n+1)
			}
			p.Overdraw(c.Units)
		}
		return ClaimGrant{Granted: true}
	}
	if n >= 0 && p.Places[n].At >= t+c.Later.Microseconds()-PlaceGrace.Microseconds()/2 {
		return p.await(t, n, c)
	}
	if c.Look {
		return ClaimGrant{In: p.in(t, p.earliest(t, c))}
	}
	if n >= 0 { // it is too early for the call
		p.Places = slices.Delete(p.Places, n, n+1)
	}
	return p.keep(t, c)
}

// serves reports whether a claim gets its units now.
func (p *Pool) serves(t int64, n int, c Claim) bool {
	switch {
	case c.Later > 0 || p.Level < PartsPerUnit:
		return false
	case n >= 0 && p.Places[n].At <= t:
		return true
	}
	return len(p.Places) == 0 || p.slack(t) >= float64(c.Weight)*float64(PartsPerUnit)
}

// placeFor is the place that a claim may use, now or when its moment comes; -1 for none.
func (p *Pool) placeFor(t int64, c Claim) int {
	if c.Place != 0 {
		return p.PlaceOf(c)
	}
	first, count := -1, 0
	for i, k := range p.Places {
		if k.Holder != c.Holder {
			continue
		}
		count++
		if first < 0 && !k.Waited {
			first = i
		}
	}
	switch {
	case first < 0 || (c.Try != TryFirst && p.Places[first].At <= t):
	case c.Try != TryAgain && count < MaxPlacesOfHolder:
		return -1
	}
	return first
}

// PlaceOf is the index of the place that a claim was given before, -1 if it has none, or none any more.
func (p *Pool) PlaceOf(c Claim) int {
	if !p.Keeps() {
		return -1
	}
	return slices.IndexFunc(p.Places, func(k Place) bool { return k.At == c.Place && k.Holder == c.Holder })
}

// await answers with an existing place, and reserves it for the call if the call waits for it.
func (p *Pool) await(t int64, n int, c Claim) ClaimGrant {
	g := ClaimGrant{Place: p.Places[n].At, In: max(p.in(t, p.Places[n].At), p.Until(1))}
	if !c.Look {
		p.Places[n].Waited = g.In <= c.Wait
	}
	return g
}

// keep adds a place for a call, if its moment is near enough and the pool does not have too many.
func (p *Pool) keep(t int64, c Claim) ClaimGrant {
	at := p.earliest(t, c)
	g := ClaimGrant{In: p.in(t, at)}
	if len(p.Places) >= MaxPlaces || g.In > PlaceHorizon || p.fills(t, c.Holder) {
		return g
	}
	place := Place{Holder: c.Holder, At: at, Units: c.Weight, Waited: g.In <= c.Wait}
	n, _ := slices.BinarySearchFunc(p.Places, at+1, func(k Place, at int64) int { return int(k.At - at) })
	p.Places = slices.Insert(p.Places, n, place)
	g.Place = at
	return g
}

// fills reports whether a holder has the most places that it may have in a shared pool. Waiting calls can reach that
// bound, because none of them uses the place of another.
func (p *Pool) fills(t int64, holder string) bool {
	if len(p.Places) < MaxPlacesOfHolder || len(p.Users.Names(time.UnixMicro(t))) < 2 {
		return false
	}
	count := 0
	for _, k := range p.Places {
		if k.Holder == holder {
			count++
		}
	}
	return count >= MaxPlacesOfHolder
}

func (p *Pool) in(t, at int64) time.Duration {
	return max(0, time.Duration(min(at-t, math.MaxInt64/1000))*time.Microsecond)
}

// lapse removes places whose calls did not arrive in time.
func (p *Pool) lapse(now time.Time) {
	if !p.Keeps() {
		return
	}
	late := now.Add(-PlaceGrace).UnixMicro()
	n := 0
	for n < len(p.Places) && p.Places[n].At < late {
		n++
	}
	p.Places = slices.Delete(p.Places, 0, n)
}

// levelAt is the level at a moment if nothing is withdrawn before, in parts. It is a float because the parts of many
// places together may not fit into 64 bits.
func (p *Pool) levelAt(t, at int64) float64 {
	return float64(p.Level) + float64(max(0, at-t))*float64(p.perMicro())
}

// slack is how many parts can be withdrawn at once so that each place finds a unit at its moment.
func (p *Pool) slack(t int64) float64 {
	least, before := math.Inf(1), 0.0
	for _, k := range p.Places {
		least = min(least, p.levelAt(t, k.At)-before-float64(PartsPerUnit))
		before += float64(k.Units) * float64(PartsPerUnit)
	}
	return least
}

// earliest is the first moment at which units can be kept for a call so that all places still find theirs.
func (p *Pool) earliest(t int64, c Claim) int64 {
	from := max(t+c.Later.Microseconds(), p.turn(time.UnixMicro(t), c))
	units := float64(c.Units) * float64(PartsPerUnit)
	n := len(p.Places)
	after := make([]float64, n+1) // what may be withdrawn before each place and those after it
	after[n] = math.Inf(1)
	sums := make([]float64, n+1) // what the places before each take
	for i, k := range p.Places {
		sums[i+1] = sums[i] + float64(k.Units)*float64(PartsPerUnit)
	}
	for i := n - 1; i >= 0; i-- {
		after[i] = min(after[i+1], p.levelAt(t, p.Places[i].At)-sums[i]-float64(PartsPerUnit))
	}
	at := from
	for i := 0; ; i++ { // between the places i-1 and i
		if i > 0 {
			at = max(at, p.Places[i-1].At+1)
		}
		if missing := sums[i] + float64(PartsPerUnit) - p.levelAt(t, at); missing > 0 {
			at += int64(min(math.Ceil(missing/float64(p.perMicro())), float64(math.MaxInt64/4)))
		}
		if i == n || (at < p.Places[i].At && after[i] >= units) {
			return at
		}
	}
}

// turn is the earliest moment of a holder's next place, so that others find places before it. Where several holders share a
// pool, each gets an equal share of the units to come. While a holder that uses the pool has no place, one more share is left
// free.
func (p *Pool) turn(now time.Time, c Claim) int64 {
	users := len(p.Users.Names(now))
	if users < 2 {
		return 0
	}
	var last *Place
	shares := 1 // the holder's own
	for i := range p.Places {
		k := &p.Places[i]
		if k.Holder == c.Holder {
			last = k
		} else if !slices.ContainsFunc(p.Places[:i], func(o Place) bool { return o.Holder == k.Holder }) {
			shares++
		}
	}
	if last == nil {
		return 0
	}
	if shares < users {
		shares++
	}
	return last.At + int64(min(float64(shares)*float64(last.Units)*float64(PartsPerUnit)/float64(p.perMicro()), float64(PlaceHorizon.Microseconds())))
}
