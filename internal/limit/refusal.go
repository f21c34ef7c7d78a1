package limit

import (
	"fmt"
	"math"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

// refuse counts a refusal and returns its error.
func (b *Limiter) refuse(asked string, p capacity.Name, s *capacity.Shortage) error {
	if b.metrics != nil {
		b.metrics.LimitRefused(string(p.Tenant), string(p.Kind), s.Resource)
	}
	return refusal(asked, p, s, b.tracker.Clock())
}

// unknown refuses a call whose limits could not be looked at: they hold when the database is away, too.
func unknown(cause error) error {
	return &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: time.Second, Err: cause,
		Message: "The limits of this key could not be read in time; retry in a moment."}
}

// units are how limits are called in messages.
var units = map[string]string{
	"requests": "requests", "input_tokens": "input tokens", "output_tokens": "output tokens", "daily_tokens": "tokens",
}

// refusal is an error that says which limit refuses, how much it allows, and when to come back.
func refusal(asked string, p capacity.Name, s *capacity.Shortage, now time.Time) error {
	who := name(asked, p)
	e := &penstock.Error{Code: penstock.CodeRateLimited, RetryAfter: s.Wait}
	if s.Resource == capacity.Permits {
		e.RetryAfter = busyRetry
		e.Message = fmt.Sprintf("%s runs %d of %d calls at a time; retry when one has ended, in %s.", who, s.Limit, s.Limit, spell(busyRetry))
		return e
	}
	rate := fmt.Sprintf("%d %s a minute, %d at once", s.Limit, units[s.Resource], s.Burst)
	if s.Burst == 0 {
		rate = fmt.Sprintf("%d %s a day", s.Limit, units[s.Resource])
	}
	when := fmt.Sprintf("retry in %s", spell(s.Wait))
	if s.Kept {
		when = fmt.Sprintf("a place is kept for this key at %s (in %s)", moment(now.Add(s.Wait)), spell(s.Wait))
	}
	e.Message = fmt.Sprintf("%s is at its limit: %s; %s.", who, rate, when)
	return e
}

// moment writes a time of day as people read it, and not before it.
func moment(at time.Time) string {
	return at.Add(time.Second - time.Nanosecond).UTC().Truncate(time.Second).Format("15:04:05Z")
}

// name is what a limit scope is called in messages.
func name(asked string, p capacity.Name) string {
	switch {
	case p.Kind == capacity.KindKey:
		return fmt.Sprintf("Key %s of tenant %s", p.Of, p.Tenant)
	case p.Kind == capacity.KindModel && p.Of != asked:
		return fmt.Sprintf("Tenant %s with model %s, which answers for the name that was asked for,", p.Tenant, p.Of)
	case p.Kind == capacity.KindModel:
		return fmt.Sprintf("Tenant %s with model %s", p.Tenant, p.Of)
	}
	return fmt.Sprintf("Tenant %s", p.Tenant)
}

// spell writes a wait as people read it: 12 s, or 0.2 s.
func spell(d time.Duration) string {
	s := d.Seconds()
	if s >= 1 {
		return fmt.Sprintf("%.0f s", math.Ceil(s))
	}
	return fmt.Sprintf("%.1f s", max(0.1, math.Ceil(s*10)/10))
}
