package webhook

import (
	"math/rand/v2"
	"time"
)

// Schedule is the wait after each failed attempt, as the Standard Webhooks specification has it. The first attempt is made
// at once; the attempt after the last wait is the last.
var Schedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// Jitter is the fraction by which a wait may be shorter or longer.
	Jitter = 0.1
	// DisableAfter is how long an endpoint may fail, without one success in between, before it is disabled.
	DisableAfter = 5 * 24 * time.Hour
	// BreakerFailures is the number of failures in a row after which a receiver rests; then a single attempt probes it.
	BreakerFailures = 5
	// MaxRest is the longest rest of a receiver.
	MaxRest = 5 * time.Minute
	// MaxRetryAfter is the longest Retry-After of a receiver that is used.
	MaxRetryAfter = 24 * time.Hour

	minRest = 30 * time.Second
)

// wait is the wait after a number of attempts, false when the schedule has ended.
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

// jittered keeps receivers that failed together from being retried together.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration((2*rand.Float64()-1)*Jitter*float64(d))
}
