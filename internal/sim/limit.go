package sim

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// limiter holds the three limits per minute. A request takes from all of them or from none. Its callers tell
// the time.
type limiter struct {
	mu      sync.Mutex
	buckets [3]bucket // requests, input tokens, output tokens: the fields of rates
}

// rates is a number for each limit: the limits themselves, or what one request costs.
type rates struct {
	requests, input, output int
}

func (r rates) list() [3]int { return [3]int{r.requests, r.input, r.output} }

// bucket refills evenly up to a minute's worth.
type bucket struct {
	perMinute int // 0: no limit
	level     float64
	at        time.Time // when level was true
}

// gauge is a limit as rate-limit headers show it.
type gauge struct {
	limit     int // 0: no limit
	remaining int
	reset     time.Duration // until it is full again
}

// quota is the state of all limits after a request.
type quota struct {
	requests, input, output gauge
}

// tokens returns the token limit of which less is left.
func (q quota) tokens() gauge {
	if q.input.limit == 0 || q.output.limit > 0 && q.output.left() < q.input.left() {
		return q.output
	}
	return q.input
}

func (g gauge) left() float64 { return float64(g.remaining) / float64(g.limit) }

func (b *bucket) refill(now time.Time) {
	b.level = min(float64(b.perMinute), b.level+now.Sub(b.at).Minutes()*float64(b.perMinute))
	b.at = now
}

// slack forgives what rounding takes away, so that a client that waits exactly as long as it was asked to is let
// in.
const slack = 1e-6

// until returns how long it takes to reach a level.
func (b *bucket) until(level float64) time.Duration {
	if b.perMinute == 0 || level <= b.level+slack {
		return 0
	}
	return time.Duration(math.Ceil((level - b.level) / float64(b.perMinute) * float64(time.Minute)))
}

func (b *bucket) gauge() gauge {
	return gauge{limit: b.perMinute, remaining: int(b.level + slack), reset: b.until(float64(b.perMinute))}
}

// configure sets the limits; one that changes starts full.
func (l *limiter) configure(now time.Time, limits rates) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, limit := range limits.list() {
		if b := &l.buckets[i]; b.perMinute != limit {
			*b = bucket{perMinute: limit, level: float64(limit), at: now}
		}
	}
}

// refill makes every limit as good as unused.
func (l *limiter) refill(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.buckets {
		l.buckets[i].level = float64(l.buckets[i].perMinute)
		l.buckets[i].at = now
	}
}

// take charges a request and returns the state after it; if a limit does not allow it, nothing is charged and
// the error is a *failure that says when to come back.
func (l *limiter) take(now time.Time, cost rates) (quota, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tight := -1 // the limit that is longest in the way
	var wait time.Duration
	for i, n := range cost.list() {
		b := &l.buckets[i]
		b.refill(now)
		if d := b.until(float64(n)); d > wait {
			tight, wait = i, d
		}
	}
	var err error
	if tight >= 0 {
		err = l.refusal(tight, cost.list()[tight])
	} else {
		for i, n := range cost.list() {
			if b := &l.buckets[i]; b.perMinute > 0 {
				b.level -= float64(n)
			}
		}
	}
	return quota{requests: l.buckets[0].gauge(), input: l.buckets[1].gauge(), output: l.buckets[2].gauge()}, err
}

func (l *limiter) refusal(i, requested int) *failure {
	b := &l.buckets[i]
	what := [...]string{"requests per min (RPM)", "input tokens per min (TPM)", "output tokens per min (TPM)"}[i]
	class := classTokenRate
	if i == 0 {
		class = classRequestRate
	}
	if requested > b.perMinute { // waiting would not help, so no time is given
		return &failure{class: class, message: fmt.Sprintf(
			"Request too large on %s: Limit %d, Requested %d. Reduce the input or output tokens.", what, b.perMinute, requested)}
	}
	wait := b.until(float64(requested))
	return &failure{class: class, retryAfter: wait, message: fmt.Sprintf(
		"Rate limit reached on %s: Limit %d, Used %d, Requested %d. Please try again in %s.",
		what, b.perMinute, b.perMinute-int(b.level), requested, wireDuration(wait))}
}

// wireDuration writes a duration as OpenAI does: 6m0s, 8.64s, 12ms.
func wireDuration(d time.Duration) string {
	return ceilTo(d, time.Millisecond).String()
}

func ceilTo(d, unit time.Duration) time.Duration {
	return (d + unit - 1) / unit * unit
}
