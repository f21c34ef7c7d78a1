package room

import (
	"time"

	"penstock/internal/provider"
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
func (b *Book) limited(t *Ticket, now time.Time, res Result) {
	r, q := t.room, res.Quota
	rest := max(res.RetryAfter, DefaultRest)
	r.throttles++
	if i, named := ratesByResource[q.Resource]; named {
		if left, told := res.Limits.Left(q.Resource); !q.Plenty && (!told || left < max(1, r.expects.call(0, 0)[i])) {
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

// restRate leaves one limit of a target alone. Other processes hear of it as of a rest of the target: hardly a call needs
// nothing of a limit.
func (b *Book) restRate(r *room, i resource, now time.Time, d time.Duration) {
	m := &r.rates[i]
	m.lower(now, 0)
	if until := now.Add(d); until.After(m.restUntil) {
		m.restUntil, r.restNews = until, true
		b.nudge()
	}
}

// restLeft is how long a target, or one of its limits, still rests.
func (r *room) restLeft(now time.Time) time.Duration {
	until := r.restUntil
	for i := range r.rates {
		if m := &r.rates[i]; m.restUntil.After(until) {
			until = m.restUntil
		}
	}
	return max(0, until.Sub(now))
}
