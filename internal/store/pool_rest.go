package store

import (
	"maps"
	"time"
)

// LimitRests is how long single limits of a pool must not be used, by the names of the limits. A limit without a rest has
// no entry.
type LimitRests map[string]time.Duration

// PoolRest is the time until which a pool, and single limits of it, must not be used, in microseconds by the clock of the
// pool. Its rules are part of the contract, as those of Pool are.
type PoolRest struct {
	Until  int64            `json:"-"`
	Limits map[string]int64 `json:"limit_rests,omitempty"` // nil for none; rests that have ended may be among them
}

// Extend adds the rests that a draw reports and reports whether any is new. A rest is never shortened.
func (r *PoolRest) Extend(now time.Time, d PermitDraw) (changed bool) {
	if until := now.Add(d.Rest).UnixMicro(); d.Rest > 0 && until > r.Until {
		r.Until, changed = until, true
	}
	for limit, rest := range d.LimitRests {
		if until := now.Add(rest).UnixMicro(); rest > 0 && until > r.Limits[limit] {
			if r.Limits == nil {
				r.Limits = make(map[string]int64, len(d.LimitRests))
			}
			r.Limits[limit], changed = until, true
		}
	}
	if changed {
		maps.DeleteFunc(r.Limits, func(_ string, until int64) bool { return until <= now.UnixMicro() })
	}
	return changed
}

// Answer writes what is left of the rests into a grant.
func (r *PoolRest) Answer(now time.Time, g *PermitGrant) {
	left := func(until int64) time.Duration {
		return time.Duration(max(0, until-now.UnixMicro())) * time.Microsecond
	}
	g.Rest = left(r.Until)
	for limit, until := range r.Limits {
		if rest := left(until); rest > 0 {
			if g.LimitRests == nil {
				g.LimitRests = make(LimitRests, len(r.Limits))
			}
			g.LimitRests[limit] = rest
		}
	}
}
