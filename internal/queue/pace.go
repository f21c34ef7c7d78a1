package queue

import (
	"math"
	"time"
)

// Pace spreads the starts of work that is not urgent over the time that its items take. Slots that were filled together
// become free together, and until then an urgent item finds no slot. Slots that were filled one after the other become
// free one after the other, so an urgent item finds a slot soon. Starts are allowed somewhat faster than the slots can
// come free, so that busy slots stay busy; only slots that are idle are filled more slowly. So it holds nothing back
// unless urgent items came lately.
//
// It is a pure policy: its callers tell the time, and it has no lock.
type Pace struct {
	slots   float64
	service float64 // moving average of the duration of items, in seconds; 0 while unknown
	starts  float64 // allowed at once
	at      time.Time
	urgent  time.Time // when the last urgent item started
}

const (
	// paceSlack is how much faster items may start than they can end. A higher value leaves a part of each round in
	// which no slot becomes free: with a quarter, an urgent item waited for a fifth of the duration of an item.
	paceSlack = 1.15
	// paceBurst is the part of the slots that may be filled together.
	paceBurst = 1.0 / 16
	// paceLearn is the weight of one item in the average.
	paceLearn = 1.0 / 16
	// paceFrom is the duration of items below which slots become free so fast that no pace is needed.
	paceFrom = 10 * time.Millisecond
	// paceMemory is how long after an urgent item another one is expected.
	paceMemory = 30 * time.Second
)

// NewPace returns a pace for so many slots. It allows all starts until the duration of items is known.
func NewPace(slots int) *Pace { return &Pace{slots: float64(slots)} }

// Ended records how long an item used its slot.
func (p *Pace) Ended(took time.Duration) {
	if p.service == 0 {
		p.service = took.Seconds()
		return
	}
	p.service += (took.Seconds() - p.service) * paceLearn
}

// Urgent records the start of an urgent item. It uses one of the allowed starts, so that the other items do not start
// too fast.
func (p *Pace) Urgent(now time.Time) {
	p.Next(now)
	p.urgent, p.starts = now, max(p.starts-1, -p.burst())
}

// Take reports whether an item may start now, and counts it if so.
func (p *Pace) Take(now time.Time) bool {
	if p.Next(now) > 0 {
		return false
	}
	p.starts--
	return true
}

// Starts is how many items may start now.
func (p *Pace) Starts(now time.Time) int {
	switch {
	case p.Next(now) > 0:
		return 0
	case p.unlimited(now):
		return math.MaxInt
	}
	return int(p.starts)
}

// unlimited reports whether all starts are allowed: items are short, or there was no urgent item recently.
func (p *Pace) unlimited(now time.Time) bool {
	return p.service < paceFrom.Seconds() || now.Sub(p.urgent) > paceMemory
}

// Next is how long until an item may start.
func (p *Pace) Next(now time.Time) time.Duration {
	if p.unlimited(now) {
		p.starts, p.at = p.burst(), now
		return 0
	}
	rate := paceSlack * p.slots / p.service
	p.starts = min(p.burst(), p.starts+now.Sub(p.at).Seconds()*rate)
	p.at = now
	if p.starts >= 1 {
		return 0
	}
	return time.Duration((1-p.starts)/rate*float64(time.Second)) + time.Microsecond // rounded up: after this wait an item may start
}

func (p *Pace) burst() float64 { return max(1, p.slots*paceBurst) }
