package backlog

import (
	"fmt"
	"math"
	"time"

	"penstock"
)

// The bounds of the Retry-After of a refused caller.
const (
	MinRetryAfter = time.Second
	MaxRetryAfter = 5 * time.Minute
	// unknownRetryAfter is the Retry-After while the drain rate is unknown.
	unknownRetryAfter = 30 * time.Second
)

// Admit admits a job to the queue, or refuses it without any effect. The caller reports an admitted job to Accepted or
// Dropped. Codes: queue_full (the tenant's own bound), overloaded (the bound of the whole queue), too_large (the job
// alone exceeds a bound).
func (v *View) Admit(a Arrival) error {
	p := v.current()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, b := range []bound{
		{a, level{tenant: a.Tenant}, v.Limits.Tenant(a.Tenant), penstock.CodeQueueFull},
		{a, level{}, v.Limits.All(), penstock.CodeOverloaded},
	} {
		if err := b.check(p.of(b.at), v.local.at(b.at)); err != nil {
			return err
		}
	}
	v.local.open.add(a.level(), a.weight())
	return nil
}

// Accepted reports that an admitted job is committed.
func (v *View) Accepted(a Arrival) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.local.open.add(a.level(), a.weight().negative())
	v.local.fresh.add(a.level(), a.weight())
}

// Dropped reports that an admitted job does not wait in the queue: it was not written, or it has started.
func (v *View) Dropped(a Arrival) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.local.open.add(a.level(), a.weight().negative())
}

// bound is one bound that an arrival must keep.
type bound struct {
	Arrival
	at   level
	most Bounds
	code penstock.Code
}

// check refuses an arrival that would exceed the bound.
func (b bound) check(f flow, local weight) error {
	queued := weight{items: f.queued(), bytes: f.bytes, tokens: f.tokens}.plus(local)
	each := func(all int64) float64 { return max(float64(all)/float64(max(queued.items, 1)), 1) }
	for _, m := range []measure{
		{"items", queued.items, int64(b.Items), b.most.Items, 1},
		{"bytes", queued.bytes, b.Bytes, b.most.Bytes, each(queued.bytes)},
		{"tokens", queued.tokens, b.Tokens, b.most.Tokens, each(queued.tokens)},
	} {
		switch {
		case m.most == 0 || m.queued+m.more <= m.most:
		case m.more > m.most:
			return penstock.Errorf(penstock.CodeTooLarge, "This job has %d %s. %s accepts at most %d; split the job.", m.more, m.unit, b.name(), m.most)
		default:
			return b.refuse(m, f.drain)
		}
	}
	return nil
}

// measure is one bounded quantity: items or bytes.
type measure struct {
	unit               string
	queued, more, most int64
	perItem            float64 // how much of it an item is
}

// refuse makes the error with the bound, the state of the queue, and the time at which the job would fit.
func (b bound) refuse(m measure, drain rate) error {
	wait := unknownRetryAfter
	speed := "the drain rate is not known yet"
	if perSecond, ok := drain.items(); ok {
		wait = retryAfter(float64(m.queued+m.more-m.most) / m.perItem / perSecond)
		speed = fmt.Sprintf("%s items/s drain", short(perSecond))
	}
	e := penstock.Errorf(b.code, "%s has %d of %d %s queued and this job adds %d; %s, retry in %d s.",
		b.name(), m.queued, m.most, m.unit, m.more, speed, int(wait.Seconds()))
	e.RetryAfter = wait
	return e
}

func (b bound) name() string {
	if b.at.tenant != "" {
		return fmt.Sprintf("The queue of tenant %s", b.at.tenant)
	}
	return "The queue"
}

// retryAfter is a wait in whole seconds, within its bounds.
func retryAfter(s float64) time.Duration {
	s = min(max(math.Ceil(s), MinRetryAfter.Seconds()), MaxRetryAfter.Seconds())
	return time.Duration(s) * time.Second
}

// short formats a rate with its significant digits.
func short(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
