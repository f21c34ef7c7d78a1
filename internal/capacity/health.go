package capacity

import (
	"math"
	"time"

	"penstock/internal/provider"
)

const (
	// strikesToOpen is how many failures in a row open the breaker. A failed connection counts double:
	// every other call would fail too, and items with the usual four attempts must not use all of them up.
	strikesToOpen = 5
	// The breaker also opens when this part of the recent calls failed, of at least callsToOpen calls.
	rateToOpen  = 0.5
	callsToOpen = 20
	// firstBreak is how long the breaker is open; each failed probe doubles the time, up to MaxBreak.
	firstBreak = time.Second
	// MaxBreak bounds how long the breaker is open before the next probe.
	MaxBreak = 30 * time.Second
	// probesToClose is how many probes in a row must succeed. On a flapping target one success can be chance.
	probesToClose = 2
	// probeTimeout is how long other calls wait for a probe. A probe that hangs must not close a target for
	// as long as a call may take.
	probeTimeout = 30 * time.Second
	// probeLook is how long a call that finds a probe running waits before it looks again.
	probeLook = time.Second

	// recently is the time constant of the counts: after it, a call counts for 1/e.
	recently = 10 * time.Second
	// ailing is the failure rate from which on retries are limited.
	ailing = 0.1
	// retryShare is the part that retries may add to the load of an ailing target, and retriesPerSecond
	// the number that they may add in any case.
	retryShare       = 0.1
	retriesPerSecond = 3
)

// verdict is what a call says about the health of its target.
type verdict int

const (
	silent   verdict = iota // nothing
	doubtful                // it failed in a way that may be the call's own fault
	well
	sick
	unreachable
)

// verdict judges by the kind of a failure. A target that refuses a body, a key or one call too many works; only failures
// that any call would have count against it. Some upstreams answer a body that they cannot process with a server error: a
// few such items, tried again and again, must not open the breaker for all calls.
func (t *Reservation) verdict(kind provider.Kind) verdict {
	switch kind {
	case provider.KindServer:
		if t.retry {
			return doubtful
		}
		return sick
	case provider.KindFinal, provider.KindForbidden:
		// The upstream failed or had no capacity for this call, or a firewall refused it. That shows neither that the target
		// works nor that it does not.
		return doubtful
	case provider.KindConnect:
		return unreachable
	case provider.KindNetwork, provider.KindTimeout, provider.KindOverloaded, provider.KindTruncated:
		return sick
	case provider.KindCancelled, provider.KindInternal, provider.KindMemory, provider.KindMalformed:
		return silent
	}
	return well
}

// health is the state of a target's breaker, which keeps calls away from a failing target, and of its retry budget. It
// is pure: its callers pass all times.
//
// A closed breaker lets all calls pass. An open one lets none pass until a time; then it is half-open and lets one probe
// pass at a time, until enough probes succeeded.
type health struct {
	open       bool
	strikes    int // in a row, while closed
	until      time.Time
	pause      time.Duration // how long the breaker was open last
	probe      int64         // the number of the probe that runs, 0 for none
	lastNo     int64
	probeUntil time.Time // when other calls stop waiting for the probe
	good       int       // probes in a row that succeeded

	seen            time.Time // when the counts below were last updated
	calls, failures float64   // that ended recently
	firsts, retries float64   // that began recently

	opened  int64 // how often the breaker opened
	refused int64 // retries that were not made
}

// look returns why no call may be made, "" when one may.
func (h *health) look(now time.Time) Look {
	switch {
	case !h.open:
		return Look{}
	case h.until.After(now):
		return Look{Broken, h.until.Sub(now)}
	case h.probe != 0 && h.probeUntil.After(now):
		return Look{Probed, min(probeLook, h.probeUntil.Sub(now))}
	}
	return Look{}
}

// began counts a call, and returns its number if it is a probe.
func (h *health) began(now time.Time, a Ask) (probe int64) {
	h.age(now)
	if a.Retry {
		h.retries++
	} else {
		h.firsts++
	}
	if !h.open {
		return 0
	}
	h.lastNo++
	h.probe, h.probeUntil = h.lastNo, now.Add(probeTimeout)
	return h.probe
}

// undone removes a call that was not made from the counts.
func (h *health) undone(t *Reservation) {
	if t.retry {
		h.retries = max(0, h.retries-1)
	} else {
		h.firsts = max(0, h.firsts-1)
	}
	h.forget(t.probe)
}

// forget ends a probe. It returns false if the call is not the current probe: others may have stopped waiting for it.
func (h *health) forget(probe int64) bool {
	mine := probe != 0 && probe == h.probe
	if mine {
		h.probe = 0
	}
	return mine
}

// ended updates the state with the outcome of a call.
func (h *health) ended(now time.Time, probe int64, v verdict) {
	h.age(now)
	mine := h.forget(probe)
	if v == doubtful && mine { // the next probe follows after the same time
		h.good = 0
		h.leaveAlone(now, h.pause)
	}
	if v == silent || v == doubtful {
		return
	}
	h.calls++
	if v != well {
		h.failures++
	}
	switch {
	case !h.open:
		h.strike(now, v)
	case !mine: // it began before the breaker opened: only probes count
	case v != well:
		h.good = 0
		h.leaveAlone(now, min(2*h.pause, MaxBreak))
	default:
		if h.good++; h.good >= probesToClose {
			h.open, h.good, h.strikes, h.pause = false, 0, 0, 0
			h.calls, h.failures = 0, 0
		}
	}
}

// strike counts failures in a row, and opens the breaker when there are too many.
func (h *health) strike(now time.Time, v verdict) {
	switch v {
	case well:
		h.strikes = 0
	case unreachable:
		h.strikes += 2
	default:
		h.strikes++
	}
	failing := h.calls >= callsToOpen && h.failures >= rateToOpen*h.calls
	if v != well && (h.strikes >= strikesToOpen || failing) {
		h.open, h.good = true, 0
		h.opened++
		h.leaveAlone(now, firstBreak)
	}
}

func (h *health) leaveAlone(now time.Time, d time.Duration) {
	h.pause, h.until = d, now.Add(d)
}

// mayRetry says whether a retry of a failed call may be made. A healthy target takes as many retries as it has capacity
// for: a limit would turn the outage of another target into errors. An ailing target takes few, or retries would be most
// of its load.
func (h *health) mayRetry(now time.Time) bool {
	h.age(now)
	if h.failures <= ailing*h.calls {
		return true
	}
	return h.retries+1 <= retryShare*h.firsts+retriesPerSecond*recently.Seconds()
}

// pace is the recent number of calls per second.
func (h *health) pace(now time.Time) float64 {
	h.age(now)
	return (h.firsts + h.retries) / recently.Seconds()
}

// ageStep is the least time after which the counts decay. The decay of a shorter time is far below one call, and takes longer to compute than
// all else that is done here for a call.
const ageStep = time.Millisecond

// age decays the counts.
func (h *health) age(now time.Time) {
	passed := now.Sub(h.seen)
	if passed >= 0 && passed < ageStep {
		return
	}
	if passed > 0 && !h.seen.IsZero() {
		left := math.Exp(-passed.Seconds() / recently.Seconds())
		h.calls, h.failures, h.firsts, h.retries = h.calls*left, h.failures*left, h.firsts*left, h.retries*left
	}
	h.seen = now
}

// Breaker is the state of a target's breaker.
type Breaker string

// The states of a breaker.
const (
	BreakerClosed   Breaker = "closed"
	BreakerHalfOpen Breaker = "half_open"
	BreakerOpen     Breaker = "open"
)

func (h *health) breaker(now time.Time) Breaker {
	switch {
	case !h.open:
		return BreakerClosed
	case h.until.After(now):
		return BreakerOpen
	}
	return BreakerHalfOpen
}

// maxFreeProbes is the number of attempts of an item up to which a failed probe does not count. It is enough for an
// outage of minutes in which one item makes every probe, and it ends an item that alone causes the failures of its
// target.
const maxFreeProbes = 16

// FreeProbe says that a failed probe does not count against the attempts of its item, of which it was the n-th: the
// probe tested whether the target works again. A failed connection or an overloaded target is not the item's fault; a
// repeated error of the target may be. A failure that a retry cannot change is the answer to the item itself, probe or
// not.
func FreeProbe(kind provider.Kind, n int) bool {
	if !kind.Policy().Retry {
		return false
	}
	switch kind {
	case provider.KindConnect, provider.KindOverloaded:
		return true
	case provider.KindServer:
		return n == 1
	}
	return n <= maxFreeProbes
}
