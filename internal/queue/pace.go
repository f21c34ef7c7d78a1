package queue

import (
	"math"
	"time"
)

// Pace spreads the starts of work that is not urgent over the time that its items take. Slots that were
// filled together come free together, and until then an urgent item finds none; filled one after the other,
// they come free one after the other, and the next one is never far. Starts are allowed somewhat faster than
// the slots can come free, so that busy slots stay busy; only slots that are idle are filled more slowly. So
// it holds nothing back unless urgent items came lately.
//
// It is a pure policy: its callers tell the time, and it has no lock.
type Pace struct {
	slots   float64
	service float64 // moving average of what items take, in seconds; 0 while unknown
	starts  float64 // allowed at once
	at      time.Time
	urgent  time.Time // when an urgent item last came
}

const (
	// paceSlack is how much faster than they can end items may start. What is left of each round of slots is a time in which
	// none comes free: with a quarter too much, an urgent item waited for a fifth of what items take.
	paceSlack = 1.15
	// paceBurst is which part of the slots may be filled together.
	paceBurst = 1.0 / 16
	// paceLearn is how much one item counts for in the average.
	paceLearn = 1.0 / 16
	// paceFrom is the time below which items come free so fast that nobody has to wait for them.
	paceFrom = 10 * time.Millisecond
	// paceMemory is how long after an urgent item another one is expected.
	paceMemory = 30 * time.Second
)

// NewPace returns a pace for so many slots, which allows everything until it has learnt what items take.
func NewPace(slots int) *Pace { return &Pace{slots: float64(slots)} }

// Ended notes how long an item had its slot.
func (p *Pace) Ended(took time.Duration) {
	if p.service == 0 {
		p.service = took.Seconds()
		return
	}
	p.service += (took.Seconds() - p.service) * paceLearn
}

// Urgent notes that an urgent item started. It takes one of the starts that the slots have for all, of which the others
// would else have too many.
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

// unlimited reports that nothing is held back: items are short, or no urgent item came of late.
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
	return time.Duration((1-p.starts)/rate*float64(time.Second)) + time.Microsecond // rounded up: whoever waits so long may start
}

func (p *Pace) burst() float64 { return max(1, p.slots*paceBurst) }
