package capacity

import (
	"slices"
	"time"

	"penstock/internal/provider"
	"penstock/internal/store"
)

// maxDayRest bounds how long a daily limit rests at a time. The vendor may have raised it meanwhile; one refused call per
// rest is the cost of finding out.
const maxDayRest = time.Hour

// ratesByResource are the rates of the resources that upstreams limit.
var ratesByResource = map[provider.Resource]resource{
	provider.ResourceRequests: requests, provider.ResourceTokens: tokens, provider.ResourceInput: input, provider.ResourceOutput: output,
}

// limited learns from a call that the target refused for one of its limits. Only the limit that the refusal names rests, and
// only if it has too little left for an average call: a call that asks for more than is left must not stop all others.
func (b *Tracker) limited(t *Reservation, now time.Time, res Result) {
	r, q := t.entry, res.Quota
	rest := max(res.RetryAfter, DefaultRest)
	r.throttles++
	if i, named := ratesByResource[q.Resource]; named {
		if left, known := q.Left(res.Limits); !q.Plenty && (!known || left < max(1, r.expects.call(0, 0)[i])) {
			b.restRate(r, i, now, min(rest, restBound(q)))
		}
		return
	}
	switch {
	case q.Resource == provider.ResourceConcurrency:
		r.window.overConcurrent(now, t.began, r.running)
		if r.running == 0 {
			b.rest(r, now, DefaultRest) // other users of the upstream account use it up
		}
	case q.Resource == provider.ResourceImages || q.Plenty: // other calls can pass
	default:
		r.window.overran(now, t.began)
		for i := range r.rates {
			r.rates[i].lower(now, 0)
		}
		b.rest(r, now, rest)
	}
}

// restBound is the longest rest of a limit.
func restBound(q provider.Quota) time.Duration {
	switch {
	case q.Window >= maxDayRest:
		return maxDayRest
	case q.Window > 0:
		return max(q.Window, DefaultRest)
	}
	return MaxRest
}

// restRate makes one limit of a target rest. The next refresh reports the rest to other processes.
func (b *Tracker) restRate(r *entry, i resource, now time.Time, d time.Duration) {
	m := &r.rates[i]
	m.lower(now, 0)
	if until := now.Add(d); until.After(m.restUntil) {
		m.restUntil, r.restUpdates = until, true
		b.nudge()
	}
}

// restsLeft is how long a target still rests as a whole, and how long each of its limits does, as reported to other processes.
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

// receiveRests applies the rests that other processes reported, as of a time. It ignores limits that only another version
// knows.
func (r *entry) receiveRests(at time.Time, g store.PermitGrant) {
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
