package backlog

import (
	"math"
	"time"
)

// Demand is what a lane asks for.
type Demand struct {
	Ready     int64
	Running   int64
	PerSecond float64       // items that arrive
	Service   time.Duration // how long an item runs; 0 is unknown
	SLOWait   time.Duration // how long one should wait at the most
}

// Slots is how many items must run at a time for the lane to keep up with what arrives and to drain what
// is ready within its objective: by Little's law, the items to be started in a second, times the seconds
// that one runs. More slots than there are items would idle. Where nobody knows how long an item runs, one
// slot is there to find out.
func (d Demand) Slots() int {
	if d.Service <= 0 || d.SLOWait <= 0 {
		return int(d.Running + min(d.Ready, 1))
	}
	arriving := d.PerSecond * d.Service.Seconds()
	needed := arriving + float64(d.Ready)*d.Service.Seconds()/d.SLOWait.Seconds()
	useful := max(arriving, float64(d.Running)) + float64(d.Ready)
	return max(ceil(min(needed, useful)), int(min(d.Ready, 1)))
}

// Workers is how many processes of so many slots each have as many slots in all.
func Workers(slots, each int) int { return ceil(float64(slots) / float64(max(each, 1))) }

// ceil rounds up, but not for what only arithmetic left over.
func ceil(x float64) int { return int(math.Ceil(x - 1e-9)) }
