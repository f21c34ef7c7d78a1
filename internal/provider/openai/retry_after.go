package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"penstock/internal/provider"
)

// maxRetryAfter bounds how long an upstream can put us off. Past it, trying once in vain is cheaper
// than believing a broken clock.
const maxRetryAfter = time.Hour

// retryAfter says how long the upstream asked us to wait, 0 when it did not. The most exact header
// wins; for a rate limit, the time at which the limit is reset is better than nothing.
func retryAfter(h http.Header, kind provider.Kind) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if wait := inUnits(h.Get(name), time.Millisecond); wait > 0 {
			return wait
		}
	}
	value := h.Get("Retry-After")
	if wait := inUnits(value, time.Second); wait > 0 {
		return wait
	}
	if at, err := http.ParseTime(value); err == nil {
		return bounded(time.Until(at))
	}
	if kind == provider.KindRateLimited {
		return limitReset(h)
	}
	return 0
}

// limitReset reads the reset times of the request and token limits. The limit that is used up is
// the one to wait for, and the longer one if both are. If neither is, then the call was too big for
// what was left, and the shorter wait may already do: a reset tells when all of the limit is back.
func limitReset(h http.Header) time.Duration {
	var exhausted, shortest time.Duration
	for _, limit := range []string{"Requests", "Tokens"} {
		value := h.Get("X-Ratelimit-Reset-" + limit)
		wait, err := time.ParseDuration(value)
		if err != nil {
			wait = inUnits(value, time.Second)
		}
		wait = bounded(wait)
		if wait == 0 {
			continue
		}
		if strings.TrimSpace(h.Get("X-Ratelimit-Remaining-"+limit)) == "0" {
			exhausted = max(exhausted, wait)
		}
		if shortest == 0 || wait < shortest {
			shortest = wait
		}
	}
	if exhausted > 0 {
		return exhausted
	}
	return shortest
}

// inUnits reads a number of units, 0 if it is none.
func inUnits(s string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	// Compared as a float: a large one does not fit a duration.
	if n >= float64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), maxRetryAfter) }
