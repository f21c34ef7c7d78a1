package queue

import (
	"time"

	"penstock/internal/provider"
)

// Backoff is how long items wait between attempts.
type Backoff struct {
	Base time.Duration // most that is waited after the first attempt
	Max  time.Duration // most that is ever waited, unless the upstream asks for more
}

// MaxRetryAfter is the longest that an upstream may ask an item to wait.
const MaxRetryAfter = time.Hour

// DefaultBackoff suits upstreams that recover within seconds or minutes.
var DefaultBackoff = Backoff{Base: time.Second, Max: time.Minute}

// Failure is an attempt that did not succeed.
type Failure struct {
	Kind        provider.Kind
	Tries       int           // attempts so far, this one included
	Counted     int           // those of them that count, this one included
	MaxAttempts int           // how many may count
	RetryAfter  time.Duration // what the upstream asked for, 0 when it did not
	Jitter      float64       // in [0, 1), from the caller's source of randomness
}

// Next says whether the item is tried again and how long it waits until then. Waits grow by full
// jitter: a random part of a bound that doubles, so that many items that failed together do not
// come back together. A wait that the upstream asked for is a floor.
func (b Backoff) Next(f Failure) (wait time.Duration, again bool) {
	p := f.Kind.Policy()
	if !p.Retry || (!p.Free && f.Counted >= f.MaxAttempts) {
		return 0, false
	}
	bound := min(b.Base, b.Max)
	for range f.Tries - 1 {
		if bound > b.Max/2 {
			bound = b.Max
			break
		}
		bound *= 2
	}
	return min(f.RetryAfter, MaxRetryAfter) + time.Duration(f.Jitter*float64(bound)), true
}
