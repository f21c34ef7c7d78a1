package capacity

import (
	"time"

	"penstock"
	"penstock/internal/provider"
)

// Ask is a call that needs capacity. Tokens are estimates; 0 means the average of the target's calls.
type Ask struct {
	Target          *penstock.Target
	InputTokens     int64
	MaxOutputTokens int64 // the most that it can generate
	Retry           bool  // it retries a failed call
	// Tenant is the tenant of a synchronous call, "" for the item of a job: the queue shares capacity between those.
	Tenant penstock.TenantID
}

// Reservation is a unit of a target's capacity, until Done or Release returns it.
type Reservation struct {
	tracker   *Tracker
	entry     *entry
	charged   amounts
	began     time.Time
	retry     bool
	probe     int64 // its number if it is a probe of the breaker, else 0
	tenantUse *tenantUse
	input     int64 // its estimate
	over      bool
}

// Probe says that the call is a probe of the breaker.
func (t *Reservation) Probe() bool { return t.probe != 0 }

// Take takes capacity for a call if the target has some.
func (b *Tracker) Take(a Ask) (*Reservation, bool) {
	t := new(Reservation)
	if !b.TakeInto(t, a) {
		return nil, false
	}
	return t, true
}

// TakeInto is Take for a caller who has a place for the reservation. The place is not changed if there is no capacity.
func (b *Tracker) TakeInto(t *Reservation, a Ask) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	r := b.of(a.Target, now)
	tenantUse := r.saw(now, a.Tenant)
	if b.look(r, now).Reason != "" || b.tenantFull(r, now, a) {
		return false
	}
	if r.idle(now) {
		b.nudge() // other processes may have reported a rest of it
	}
	r.askedAt = now
	r.running++
	r.permits.peak = max(r.permits.peak, r.running)
	*t = Reservation{tracker: b, entry: r, began: now, retry: a.Retry, probe: r.health.began(now, a), tenantUse: tenantUse, input: a.InputTokens}
	if tenantUse != nil {
		tenantUse.running++
	}
	if tenantUse.oversized(now, a.InputTokens) {
		t.charge(callOf(0, 0))
		return true
	}
	t.charge(r.expects.call(r.fresh.estimate(a.InputTokens), a.MaxOutputTokens))
	return true
}

// CountsInput reports whether the target limits the tokens of inputs.
func (t *Reservation) CountsInput() bool {
	t.tracker.mu.Lock()
	defer t.tracker.mu.Unlock()
	return t.entry.rates[input].perMinute > 0 || t.entry.rates[tokens].perMinute > 0
}

// Amend corrects the estimates of a call that was not known in full when its capacity was taken.
func (t *Reservation) Amend(inputTokens, maxOutputTokens int64) {
	t.tracker.mu.Lock()
	defer t.tracker.mu.Unlock()
	if !t.over {
		t.charge(t.entry.expects.call(t.entry.fresh.estimate(inputTokens), maxOutputTokens))
	}
}

// charge charges the local allowances for a call, and refunds what they were charged for it before.
func (t *Reservation) charge(call amounts) {
	for i := range t.entry.rates {
		m := &t.entry.rates[i]
		if m.perMinute == 0 {
			continue
		}
		m.spend(call[i] - t.charged[i])
		t.charged[i] = call[i]
		if m.low() {
			t.tracker.nudge()
		}
	}
}

// Release returns capacity that was not used. After Done it changes nothing.
func (t *Reservation) Release() {
	t.tracker.mu.Lock()
	defer t.tracker.mu.Unlock()
	if !t.over {
		t.leave()
		t.entry.health.undone(t)
		t.charge(amounts{})
	}
}

func (t *Reservation) leave() {
	t.over = true
	t.entry.running--
	if t.tenantUse != nil {
		t.tenantUse.running--
	}
}

// Result is the outcome of a call.
type Result struct {
	// Kind is the kind of the upstream's failure, "" after a success. A call that Penstock itself ended too early
	// to show anything about the target is KindCancelled.
	Kind       provider.Kind
	RetryAfter time.Duration
	Quota      provider.Quota // the limit that a refusal names
	Limits     provider.RateLimits
	Usage      penstock.Usage
	UsageKnown bool
	Calls      int64         // requests that were sent on the reservation, one after another; 0 for one
	Took       time.Duration // from sending the call to the end of its answer; 0 if the time is not typical of calls
	FirstToken time.Duration // from sending the call to the first of its answer, 0 when there was none
}

// ResultOf is the outcome of a call with an answer or a failure, without its times.
func ResultOf(meta *provider.Meta, failure *provider.Error) Result {
	res := Result{Usage: meta.Usage, UsageKnown: meta.UsageKnown, Limits: meta.Limits}
	if failure != nil {
		res.Kind, res.RetryAfter, res.Quota = failure.Kind, failure.RetryAfter, failure.Quota
		if failure.Limits != (provider.RateLimits{}) {
			res.Limits = failure.Limits
		}
	}
	return res
}

// Done returns the capacity of a call, settles its use and learns from its outcome. Calling it again,
// or after Release, changes nothing.
func (t *Reservation) Done(res Result) { t.DoneAt(t.tracker.Clock(), res) }

// DoneAt is Done for a caller who knows the time.
func (t *Reservation) DoneAt(now time.Time, res Result) {
	b, r := t.tracker, t.entry
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.over {
		return
	}
	running := r.running
	t.leave()
	r.learn(now, res.Limits)
	r.health.ended(now, t.probe, t.verdict(res.Kind))
	t.settle(res)
	switch res.Kind {
	case "":
		if res.Took == 0 {
			break
		}
		r.window.succeeded(res.Took, res.Usage.OutputTokens, running)
	case provider.KindRateLimited:
		b.limited(t, now, res)
	case provider.KindTooLarge:
		t.tenantUse.refusedSize(now, t.input)
	case provider.KindOverloaded:
		r.throttled(now, t.began)
		b.rest(r, now, res.RetryAfter)
	case provider.KindTimeout:
		r.throttled(now, t.began)
	}
}

// learn updates the limits from the headers of an answer.
func (r *entry) learn(now time.Time, l provider.RateLimits) {
	r.rates[requests].learn(now, l.Requests)
	r.rates[input].learn(now, l.Input)
	r.rates[output].learn(now, l.Output)
	if r.rates[input].perMinute == 0 && r.rates[output].perMinute == 0 {
		r.rates[tokens].learn(now, l.Tokens)
	}
}

// settle replaces the estimate by the actual use. If that is unknown, a call that the upstream refused used no
// tokens, and any other used its estimate.
func (t *Reservation) settle(res Result) {
	switch {
	case res.UsageKnown:
		used := res.Usage
		if used != (penstock.Usage{}) { // a call without any use is not typical
			used = t.entry.fresh.count(used)
			t.entry.expects.learn(used)
		}
		t.charge(callOf(used.InputTokens, used.OutputTokens))
	case unused(res.Kind):
		t.charge(callOf(0, 0))
	}
	if res.Calls > 1 {
		call := t.charged
		call[requests] = res.Calls
		t.charge(call)
	}
}

// unused says that a call with this failure used no tokens: the upstream refused it before a model read it.
func unused(kind provider.Kind) bool {
	switch kind {
	case provider.KindRateLimited, provider.KindOverloaded, provider.KindConnect, provider.KindTooLarge, provider.KindForbidden, provider.KindAuth,
		provider.KindSpendCap, provider.KindModelNotFound, provider.KindRejected, provider.KindContextTooLong:
		return true
	}
	return false
}

func (r *entry) throttled(now, began time.Time) {
	r.throttles++
	r.window.overran(now, began)
}

// rest makes a target rest: it gets no calls.
func (b *Tracker) rest(r *entry, now time.Time, d time.Duration) {
	if until := now.Add(min(d, MaxRest)); d > 0 && until.After(r.restUntil) {
		r.restUntil, r.restUpdates = until, true
		b.nudge()
	}
}

// MayRetry says whether a target may be called to retry a failed call. Each refusal is counted.
func (b *Tracker) MayRetry(t *penstock.Target) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	r := b.of(t, now)
	ok := r.health.mayRetry(now)
	if !ok {
		r.health.refused++
	}
	return ok
}

// MakeRetry counts a call that already has its capacity as a retry.
func (t *Reservation) MakeRetry() {
	t.tracker.mu.Lock()
	defer t.tracker.mu.Unlock()
	if h := &t.entry.health; !t.over && !t.retry {
		t.retry = true
		h.firsts, h.retries = max(0, h.firsts-1), h.retries+1
	}
}
