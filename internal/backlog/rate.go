package backlog

import (
	"math"
	"time"
)

const (
	// memory is the time constant of a rate: older values count a third.
	memory = 30 * time.Second
	// enough is how long a level must have been observed before its rate is known.
	enough = 2 * time.Second
	// serviceMemory is the time constant of service times. They change slowly, and rare items give few measurements.
	serviceMemory = 5 * time.Minute
)

// average is an exponentially weighted mean over time. It knows the observed time, so that its first values are not
// biased towards zero.
type average struct{ sum, weight float64 }

func (a *average) add(value, seconds float64, memory time.Duration) {
	keep := math.Exp(-seconds / memory.Seconds())
	a.sum = a.sum*keep + value*(1-keep)
	a.weight = a.weight*keep + (1 - keep)
}

func (a average) mean() float64 {
	if a.weight == 0 {
		return 0
	}
	return a.sum / a.weight
}

// settled is the mean as if at least half of the memory had been observed. The first seconds after a start say little
// about the rate, and must not start many workers.
func (a average) settled() float64 {
	least := 1 - math.Exp(-0.5)
	return a.sum / max(a.weight, least)
}

// rate is the number of items and tokens per second.
type rate struct {
	perItem, perToken average
	watched           float64 // seconds
}

func (r *rate) observe(seconds float64, moved step) {
	r.perItem.add(moved.items/seconds, seconds, memory)
	r.perToken.add(moved.tokens/seconds, seconds, memory)
	r.watched += seconds
}

// items is the number of items in a second, and whether that is known. A level that does not move has no rate, so no
// time can be computed from it.
func (r rate) items() (float64, bool) { return r.known(r.perItem) }

// tokens is the number of tokens in a second, and whether that is known.
func (r rate) tokens() (float64, bool) { return r.known(r.perToken) }

func (r rate) known(a average) (float64, bool) {
	const still = 1e-6 // of an item or token in a second: one in eleven days
	mean := a.mean()
	return mean, mean > still && r.watched >= enough.Seconds()
}

// little measures how long items run, by Little's law: the number of running items is the number of starts per second
// times the seconds that an item runs. It needs only counts, so it covers the work of every process.
type little struct{ running, started average }

func (l *little) observe(seconds, running, started float64) {
	l.running.add(running, seconds, serviceMemory)
	l.started.add(started/seconds, seconds, serviceMemory)
}

// time is how long an item runs, and whether that was measured.
func (l little) time() (time.Duration, bool) {
	const still = 1e-9
	if l.started.mean() <= still {
		return 0, false
	}
	return seconds(l.running.mean() / l.started.mean()), true
}

// seconds converts seconds to a duration, and saturates.
func seconds(s float64) time.Duration {
	const most = 10 * 365 * 24 * time.Hour
	return time.Duration(min(s, most.Seconds()) * float64(time.Second))
}
