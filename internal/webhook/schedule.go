package webhook

import (
	"math/rand/v2"
	"time"
)

// Schedule is how long to wait after each attempt that failed: that of the Standard Webhooks specification. The
// first attempt is made at once; after the last wait there is one more attempt, and then none.
var Schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// Jitter is by how much a wait may be shorter or longer, as a part of it.
	Jitter = 0.1
	// DisableAfter is how long an endpoint may fail, without one success in between, before it is disabled.
	DisableAfter = 5 * 24 * time.Hour
	// BreakerFailures in a row let a receiver rest: after that a single attempt shows whether it is back.
	BreakerFailures = 5
	// MaxRest is how long a receiver rests at the most.
	MaxRest = 5 * time.Minute
	// MaxRetryAfter is the longest Retry-After of a receiver that is heeded.
	MaxRetryAfter = 24 * time.Hour

	minRest = 30 * time.Second
)

// wait is how long to wait after a number of attempts, false when there shall be no more.
func wait(attempts int) (time.Duration, bool) {
	if attempts > len(Schedule) {
		return 0, false
	}
	return jittered(Schedule[attempts-1]), true
}

// rest is how long a receiver rests after a number of failures in a row.
func rest(failures int) time.Duration {
	if failures < BreakerFailures {
		return 0
	}
	return jittered(min(minRest<<min(failures-BreakerFailures, 10), MaxRest))
}

// jittered keeps receivers that failed together from being tried together.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration((2*rand.Float64()-1)*Jitter*float64(d))
}
