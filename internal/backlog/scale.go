package backlog

import (
	"math"
	"time"
)

// Demand is the load of a lane.
type Demand struct {
	Ready     int64
	Parked    int64 // that wait until they may start, lines of files among them
	Running   int64
	Idle      time.Duration // for how long nothing was open and nothing came
	PerSecond float64       // items that arrive
	Service   time.Duration // how long an item runs; 0 is unknown
	SLOWait   time.Duration // how long an item should wait at most
}

// Slots is how many items must run at a time for the lane to keep up with what arrives and to drain what is ready
// within its objective: by Little's law, the items to be started in a second, times the seconds that one runs. More
// slots than there are items would idle. If it is unknown how long an item runs, one slot is enough to measure it. A
// lane with open items needs one slot at least: those that run must not lose their worker, and only a worker brings in
// the lines of a file. A lane without any needs none once it was idle for a while.
func (d Demand) Slots() int {
	if d.Ready+d.Parked+d.Running == 0 && d.Idle >= idleToZero {
		return 0
	}
	const least = 1
	if d.Service <= 0 || d.SLOWait <= 0 {
		return max(int(d.Running+min(d.Ready, 1)), least)
	}
	arriving := d.PerSecond * d.Service.Seconds()
	needed := arriving + float64(d.Ready)*d.Service.Seconds()/d.SLOWait.Seconds()
	useful := max(arriving, float64(d.Running)) + float64(d.Ready)
	return max(ceil(min(needed, useful)), least)
}

// idleToZero is how long a lane must be idle before it needs no slot at all. The mean of arrivals never reaches zero,
// and workers that stop in every short pause would have to be started again for the next item.
const idleToZero = 2 * time.Minute

// Workers is how many processes of so many slots each have as many slots in all.
func Workers(slots, each int) int { return ceil(float64(slots) / float64(max(each, 1))) }

// ceil rounds up, but ignores rounding errors.
func ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }
