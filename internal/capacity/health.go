package capacity

import (
	"math"
	"time"

	"penstock/internal/provider"
)

const (
	// strikesToOpen is how many failures in a row break a target. No connection at all counts double:
	// nothing else would fare better, and items with the usual four attempts must not be used up by it.
	strikesToOpen = 5
	// A target is broken too when so much of what was called lately failed, of so many calls at least.
	rateToOpen  = 0.5
	callsToOpen = 20
	// firstBreak is how long a broken target is left alone; each probe that fails doubles it, up to MaxBreak.
	firstBreak = time.Second
	// MaxBreak bounds how long a broken target is left alone before it is probed again.
	MaxBreak = 30 * time.Second
	// probesToClose is how many probes in a row must go well. One alone could be luck, on a flapping target.
	probesToClose = 2
	// probePatience is how long a probe may keep others away. One that hangs must not close a target for
	// as long as a call may take.
	probePatience = 30 * time.Second
	// probeLook is how long those wait who come while a probe runs, until they look again.
	probeLook = time.Second

	// recently is how fast calls are forgotten: one counts for 1/e after it.
	recently = 10 * time.Second
	// ailing is the part of recent calls that may fail before retries are limited.
	ailing = 0.1
	// retryShare is how much retries may add to the load of a target that ails, and retriesPerSecond
	// what they may add in any case.
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

// verdict judges by the kind of a failure. Whoever refuses a caller's body, our key or one call too many is
// alive; only what goes wrong for anybody counts. Some upstreams answer with an error of their own to a body that
// they cannot bear: a few such items, tried again and again, must not take a target away from all.
func (t *Reservation) verdict(kind provider.Kind) verdict {
	switch kind {
	case provider.KindServer:
		if t.retry {
			return doubtful
		}
		return sick
	case provider.KindFinal, provider.KindForbidden:
		// The upstream broke, or has no capacity, for this call, or a firewall in front of it dislikes it: that neither accuses nor
		// clears it.
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

// health is how a target fares: a breaker that keeps calls away from one that fails, and the budget of
// retries. It is pure: all times are its callers'.
//
// Closed, it lets everything pass. Open, nothing until a time; then one probe at a time (half-open), until
// enough went well.
type health struct {
	open    bool
	strikes int // in a row, while closed
	until   time.Time
	pause   time.Duration // how long it was left alone last
	probe   int64         // the number of the probe that runs, 0 for none
	lastNo  int64
	patient time.Time // when the probe is no longer waited for
	good    int       // probes in a row that went well

	seen            time.Time // when the counts below were brought up to date
	calls, failures float64   // that ended lately
	firsts, retries float64   // that began lately

	opened  int64 // how often it broke
	refused int64 // retries that were not made
}

// look says why nothing may be called, "" when a call may be made.
func (h *health) look(now time.Time) Look {
	switch {
	case !h.open:
		return Look{}
	case h.until.After(now):
		return Look{Broken, h.until.Sub(now)}
	case h.probe != 0 && h.patient.After(now):
		return Look{Probed, min(probeLook, h.patient.Sub(now))}
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
	h.probe, h.patient = h.lastNo, now.Add(probePatience)
	return h.probe
}

// undone takes back a call that was not made.
func (h *health) undone(t *Reservation) {
	if t.retry {
		h.retries = max(0, h.retries-1)
	} else {
		h.firsts = max(0, h.firsts-1)
	}
	h.forget(t.probe)
}

// forget makes the place of a probe free. One that was given up has none any more.
func (h *health) forget(probe int64) bool {
	mine := probe != 0 && probe == h.probe
	if mine {
		h.probe = 0
	}
	return mine
}

// ended learns from a call.
func (h *health) ended(now time.Time, probe int64, v verdict) {
	h.age(now)
	mine := h.forget(probe)
	if v == doubtful && mine { // it goes on looking, no more and no less often
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
	case !mine: // it began before the target broke: the probes know better
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

// strike counts failures in a row, and breaks a target that has too many.
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

// mayRetry says whether a call may be made that another one, which failed, gave rise to. A target that fares
// well takes as many as it has capacity for: limiting them there would turn the outage of its neighbour into
// errors. One that ails takes few, or retries would be most of what it has to bear.
func (h *health) mayRetry(now time.Time) bool {
	h.age(now)
	if h.failures <= ailing*h.calls {
		return true
	}
	return h.retries+1 <= retryShare*h.firsts+retriesPerSecond*recently.Seconds()
}

// pace is how many calls began in a second, lately.
func (h *health) pace(now time.Time) float64 {
	h.age(now)
	return (h.firsts + h.retries) / recently.Seconds()
}

// age lets the counts fade.
func (h *health) age(now time.Time) {
	if passed := now.Sub(h.seen); passed > 0 && !h.seen.IsZero() {
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

// maxFreeProbes is how many attempts an item may have had so that a probe which failed counts for nothing. It is
// enough for an outage of minutes in which one item makes every probe; an item that breaks its target all by
// itself ends in spite of it.
const maxFreeProbes = 16

// FreeProbe says that a failed probe does not count against the attempts of its item, of which it was the n-th:
// the item was lent to find out whether a target works again, which is not its fault. Where no connection came
// about, or the target had no capacity for anyone, it cannot be; where the target answers it with an error again, it may. A refusal
// that no later try changes is an answer to the item itself, probe or not.
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
