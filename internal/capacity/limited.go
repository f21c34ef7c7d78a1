package capacity

import (
	"slices"
	"time"

	"penstock/internal/provider"
	"penstock/internal/store"
)

// maxDayRest bounds how long a limit of a day rests at a time. An operator may have it raised meanwhile, and one call in vain
// finds that out.
const maxDayRest = time.Hour

// ratesByResource are the rates of the resources that upstreams limit.
var ratesByResource = map[provider.Resource]resource{
	provider.ResourceRequests: requests, provider.ResourceTokens: tokens, provider.ResourceInput: input, provider.ResourceOutput: output,
}

// limited learns from a call that the target refused for one of its limits. Only the limit that is named rests, and only if
// nothing is left of it that usual calls could use: a call that asks for more than is left must not take the target away from
// all others.
func (b *Tracker) limited(t *Reservation, now time.Time, res Result) {
	r, q := t.entry, res.Quota
	rest := max(res.RetryAfter, DefaultRest)
	r.throttles++
	if i, named := ratesByResource[q.Resource]; named {
		if left, told := q.Left(res.Limits); !q.Plenty && (!told || left < max(1, r.expects.call(0, 0)[i])) {
			b.restRate(r, i, now, min(rest, restBound(q)))
		}
		return
	}
	switch {
	case q.Resource == provider.ResourceConcurrency:
		r.window.crowded(now, t.began, r.running)
		if r.running == 0 {
			b.rest(r, now, DefaultRest) // somebody else uses it up
		}
	case q.Resource == provider.ResourceImages || q.Plenty: // others pass
	default:
		r.window.overran(now, t.began)
		for i := range r.rates {
			r.rates[i].lower(now, 0)
		}
		b.rest(r, now, rest)
	}
}

// restBound is how long a limit may rest at the most.
func restBound(q provider.Quota) time.Duration {
	switch {
	case q.Window >= maxDayRest:
		return maxDayRest
	case q.Window > 0:
		return max(q.Window, DefaultRest)
	}
	return MaxRest
}

// restRate leaves one limit of a target alone. Other processes hear of it as of a rest of that limit.
func (b *Tracker) restRate(r *entry, i resource, now time.Time, d time.Duration) {
	m := &r.rates[i]
	m.lower(now, 0)
	if until := now.Add(d); until.After(m.restUntil) {
		m.restUntil, r.restUpdates = until, true
		b.nudge()
	}
}

// restsLeft is how long a target still rests as a whole, and how long each of its limits does: what other processes are to hear.
func (r *entry) restsLeft(now time.Time) (rest time.Duration, limits store.LimitRests) {
	for i := range r.rates {
		if left := r.rates[i].restUntil.Sub(now); left > 0 {
			if limits == nil {
				limits = make(store.LimitRests)
			}
			limits[resourceNames[i]] = left
		}
	}
	return max(0, r.restUntil.Sub(now)), limits
}

// heardRests notes the rests that other processes told of, as they were at a time. Limits that another version knows and this
// one does not are left out.
func (r *entry) heardRests(at time.Time, g store.PermitGrant) {
	if until := at.Add(g.Rest); until.After(r.restUntil) {
		r.restUntil = until
	}
	for limit, rest := range g.LimitRests {
		i := slices.Index(resourceNames[:], limit)
		if until := at.Add(rest); i >= 0 && until.After(r.rates[i].restUntil) {
			r.rates[i].restUntil = until
		}
	}
}

// restLeft is how long a target, or one of its limits, still rests.
func (r *entry) restLeft(now time.Time) time.Duration {
	until := r.restUntil
	for i := range r.rates {
		if m := &r.rates[i]; m.restUntil.After(until) {
			until = m.restUntil
		}
	}
	return max(0, until.Sub(now))
}
