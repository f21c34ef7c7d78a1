package forecast

import (
	"time"

	"penstock/internal/provider"
)

// ending is how an item ends.
type ending int

const (
	succeeded ending = iota
	failed
	expired
	refused // a call for which there was no capacity in time
	endings
)

// measure is what is counted of the whole.
type measure struct {
	slots time.Duration // in use, of all together
}

// figures is what is counted of a group.
type figures struct {
	submitted, attempts, retries int64
	ends                         [endings]int64
	tokens                       int64     // used by items that succeeded
	waits, totals                histogram // from due to start, and from arrival to success
}

// targetFigures is what is counted of a target.
type targetFigures struct {
	attempts, answers int64
	errors            map[provider.Kind]int64
	latency           histogram
	input, output     int64
}

// beginFigures forgets what was counted while things warmed up.
func (s *sim) beginFigures() {
	s.measure = measure{}
	for _, g := range s.groups {
		g.figures = figures{}
		for _, t := range g.tenants {
			t.standing.got, t.standing.fair, t.standing.since = 0, 0, t.arena.ideal
		}
	}
	for _, u := range s.targets {
		u.targetFigures, u.busy, u.peak = targetFigures{}, 0, u.running
		for _, m := range u.limits {
			m.used = 0
		}
	}
}

func (f *figures) wait(d time.Duration) { f.waits.add(d) }

func (f *figures) end(it *item, e ending, now time.Duration) {
	f.ends[e]++
	if e == succeeded {
		f.tokens += it.tokens()
		f.totals.add(now - it.born)
	}
}

func (f *targetFigures) attempt(kind provider.Kind) {
	f.attempts++
	if kind != "" {
		if f.errors == nil {
			f.errors = map[provider.Kind]int64{}
		}
		f.errors[kind]++
	}
}

func (f *targetFigures) answered(it *item, took time.Duration) {
	f.answers++
	f.input += int64(it.input)
	f.output += int64(it.output)
	f.latency.add(took)
}
