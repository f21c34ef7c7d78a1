package store

import (
	"cmp"
	"slices"
	"time"

	"penstock"
)

// Withdrawal is what a process asks of several pools in one transaction. The caller names the pools; a new pool is full.
type Withdrawal struct {
	Rates   []RateDraw
	Permits []PermitDraw
}

// RateDraw asks for units of an allowance per minute.
type RateDraw struct {
	Pool string
	Terms
	PerMinute int64 // the allowance, from 1 to MaxPerMinute; the latest draw decides
	Want      int64 // units to withdraw
	Return    int64 // units that were withdrawn before and will not be used
	Owed      int64 // units that were used beyond what was withdrawn
	// Claims are for single calls. They come before what is withdrawn ahead.
	Claims []Claim
	Users  []string // the holders that claim, and the holders that used units which were withdrawn ahead
	// Lower says that an upstream reported how many units are left, in Remaining.
	Lower     bool
	Remaining int64
}

// RateGrant is the answer to a RateDraw.
type RateGrant struct {
	Units int64         // withdrawn for good
	Left  int64         // what the pool has then; below zero, what is owed
	Next  time.Duration // when Units fell short of what was wanted: until there is more
	// Claims answers those of the draw, in their order.
	Claims []ClaimGrant
}

// PermitDraw asks for a part of what may run at a time, and reports a rest.
type PermitDraw struct {
	Pool string
	Cap  int // permits of all processes together; 0 for no cap, and then no permits are given
	Hold int // permits that the process keeps: no less than it uses, no more than it was granted
	Want int // permits it could use
	// Rest is how long no process shall use the pool, from now; 0 for none. LimitRests is the same for single limits of the
	// pool; nil for none.
	Rest       time.Duration
	LimitRests LimitRests
	// Calls selects the calls that run as jobs and take permits; the zero value selects none. The job of such a call holds
	// the permit until the job ends, even if the process that accepted the call ends before.
	Calls CallScope
}

// CallScope are synchronous calls that run as jobs: all of a tenant's, or those of a key, or those for a model.
type CallScope struct {
	Tenant penstock.TenantID
	Key    string // "" for any
	Model  string // "" for any; the name that was asked for, or of the model that answers
}

// PermitGrant is the answer to a PermitDraw.
type PermitGrant struct {
	Permits int // what the process may use; those it held are among them, unless its lease was lost
	Share   int // the number that it should go down to, so that other processes get their shares
	// For is how long the permits last without another withdrawal: as long as the lease.
	For  time.Duration
	Rest time.Duration // how long the pool shall not be used, as a process reported
	// LimitRests is how long single limits of the pool shall not be used, as a process reported; nil for none.
	LimitRests LimitRests
	// Calls is how many calls of the draw's scope run as jobs. Their permits belong to no process.
	Calls int
}

// Allotment answers a Withdrawal, in its order.
type Allotment struct {
	Rates   []RateGrant
	Permits []PermitGrant
}

// Pool is an allowance per minute that processes share: a token bucket. Its arithmetic is part of the
// contract, so that every engine, and a forecast without an engine, counts in the same way. It has no clock.
//
// It is filled at 59/60 of the allowance and holds 1/60 of it, and one unit, when full. So no minute,
// wherever it begins, sees more than the allowance and that unit withdrawn, and a withdrawal that is a second
// late loses nothing.
type Pool struct {
	Terms
	PerMinute int64     // the allowance, at least 1, at most MaxPerMinute
	Level     int64     // available parts of units, PartsPerUnit for each unit
	At        time.Time // when Level was computed
	*Kept               // nil for nothing
}

const (
	// MaxPerMinute is the largest allowance. It keeps the arithmetic of pools within 64 bits.
	MaxPerMinute = 1_000_000_000

	// PartsPerUnit makes the growth of a pool in one microsecond a whole number, so that nothing is lost
	// however often a pool is refilled.
	PartsPerUnit = int64(time.Minute/time.Microsecond) * 60
	partsFilled  = 59 // of 60

	// maxClockSkew is how far a pool's time may lie ahead of the caller's. A transaction that waited for
	// the row is late by the length of that wait; a clock that was set back is off by more.
	maxClockSkew = time.Minute
	day          = 24 * time.Hour

	// maxDebt bounds what a pool can be overdrawn by, in units.
	maxDebt = MaxPerMinute
)

// Terms are how a pool fills, if not by the default that Pool describes. All draws on a pool give the same terms.
type Terms struct {
	Hold  int64 // units that it holds when full; 0 for the usual
	Fill  int64 // with Hold: by how many sixtieths of a unit it grows in a minute
	Daily bool  // it is full again at midnight UTC, and does not grow in between; PerMinute is per day then
}

// full is what a pool holds at the most, in parts.
func (p *Pool) full() int64 {
	if p.Hold > 0 {
		return p.Hold * PartsPerUnit
	}
	return PartsPerUnit + p.PerMinute*(PartsPerUnit/60)
}

// perMicro is by how many parts a pool grows in a microsecond.
func (p *Pool) perMicro() int64 {
	if p.Hold > 0 {
		return max(1, p.Fill)
	}
	return p.PerMinute * partsFilled
}

// Burst is how many whole units a full pool holds.
func (p *Pool) Burst() int64 { return p.full() / PartsPerUnit }

// Refill brings the level up to date.
func (p *Pool) Refill(now time.Time) {
	full := p.full()
	elapsed := now.Sub(p.At)
	switch {
	case p.Daily:
		if p.At.Before(now.UTC().Truncate(day)) {
			p.Level = full
		}
		p.At = now
	case elapsed < -maxClockSkew:
		p.At = now
	case elapsed > 0:
		perMicro := p.perMicro()
		// Compared as times: the product may not fit.
		if micros := elapsed.Microseconds(); micros > (full-p.Level)/perMicro {
			p.Level, p.At = full, now
		} else {
			p.Level += micros * perMicro
			p.At = p.At.Add(time.Duration(micros) * time.Microsecond)
		}
	}
	p.Level = min(p.Level, full)
}

// Serve answers a draw.
func (p *Pool) Serve(now time.Time, d RateDraw) RateGrant {
	p.Refill(now)
	p.Return(d.Return)
	if d.Lower {
		p.Lower(d.Remaining)
	}
	p.Overdraw(max(0, d.Owed))
	p.See(d.Users, now)
	var g RateGrant
	for _, c := range d.Claims {
		g.Claims = append(g.Claims, p.Claim(now, c))
	}
	p.lapse(now)
	g.Units = p.Withdraw(p.free(now, d.Want))
	if g.Units < d.Want {
		g.Next = p.next(now)
	}
	g.Left = p.Units()
	return g
}

// next is how long it takes until a unit is available that no place keeps.
func (p *Pool) next(now time.Time) time.Duration {
	wait := p.Until(1)
	if p.Keeps() {
		t := now.UnixMicro()
		wait = max(wait, p.in(t, p.earliest(t, Claim{Units: 1})))
	}
	return wait
}

// free is how many of the wanted units are available and kept by no place.
func (p *Pool) free(now time.Time, want int64) int64 {
	if !p.Keeps() {
		return want
	}
	return min(want, int64(max(0, p.slack(now.UnixMicro()))/float64(PartsPerUnit)))
}

// Withdraw takes up to want units and returns how many it took.
func (p *Pool) Withdraw(want int64) int64 {
	n := max(0, min(want, p.Units()))
	p.Level -= n * PartsPerUnit
	return n
}

// Units is how many whole units are there; below zero, how many are owed.
func (p *Pool) Units() int64 {
	units := p.Level / PartsPerUnit
	if p.Level < 0 && p.Level%PartsPerUnit != 0 {
		units-- // an owed part makes a whole unit unavailable
	}
	return units
}

// Overdraw takes n units whether they are available or not; a negative n puts them back. The pool refills
// from the debt.
func (p *Pool) Overdraw(n int64) {
	n = max(-maxDebt, min(n, maxDebt))
	p.Level = max(-maxDebt*PartsPerUnit, min(p.Level-n*PartsPerUnit, p.full()))
}

// Return puts back what was withdrawn and not used. What does not fit is lost.
func (p *Pool) Return(n int64) {
	p.Overdraw(-max(0, n))
}

// Lower sets the level to the units that an upstream reports as left. It never raises the level.
func (p *Pool) Lower(remaining int64) {
	if remaining < p.Burst() {
		p.Level = min(p.Level, max(remaining, 0)*PartsPerUnit)
	}
}

// Until is how long it takes until n units are there, or the pool is full.
func (p *Pool) Until(n int64) time.Duration {
	missing := min(n, p.Burst())*PartsPerUnit - p.Level
	if missing <= 0 {
		return 0
	}
	if p.Daily {
		return p.At.UTC().Truncate(day).Add(day).Sub(p.At)
	}
	perMicro := p.perMicro()
	return time.Duration((missing+perMicro-1)/perMicro) * time.Microsecond
}

// PermitHolding is the permits of a pool that one live process holds and wants.
type PermitHolding struct {
	Process string
	Permits int
	Want    int
}

// AllotPermits decides how many permits a process gets. It gets no permit that another process holds: a process
// with more than its share gives permits up at its next withdrawal.
func AllotPermits(process string, d PermitDraw, others []PermitHolding) PermitGrant {
	all := append(slices.Clone(others), PermitHolding{Process: process, Want: d.Want})
	slices.SortFunc(all, func(a, b PermitHolding) int { return cmp.Compare(a.Process, b.Process) })
	wants := make([]int, len(all))
	free, own := d.Cap, 0
	for i, h := range all {
		wants[i] = h.Want
		free -= h.Permits
		if h.Process == process {
			own = i
		}
	}
	share := SharePermits(d.Cap, wants)[own]
	return PermitGrant{Permits: max(0, min(max(d.Hold, share), free)), Share: share}
}

// SharePermits divides permits among processes by water-filling: no process gets more than it wants, permits that
// one does not want are shared by the others, and the indivisible remainder goes to the first ones.
func SharePermits(permits int, wants []int) []int {
	shares := make([]int, len(wants))
	left := max(permits, 0)
	for left > 0 {
		unsatisfied := 0
		for i, want := range wants {
			if shares[i] < want {
				unsatisfied++
			}
		}
		if unsatisfied == 0 {
			break
		}
		each := max(left/unsatisfied, 1)
		for i, want := range wants {
			more := max(0, min(each, want-shares[i], left))
			shares[i] += more
			left -= more
		}
	}
	return shares
}
