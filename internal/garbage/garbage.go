// Package garbage decides when the garbage collector runs.
//
// By default Go collects whenever the heap has doubled. A gateway that serves short calls has a live heap of a few MiB, so
// under load it would collect dozens of times a second, to save memory that nobody misses; with ten thousand open
// streams, which allocate little, it would keep as much again as they need. So the room for garbage is set apart from the
// live heap: it grows with the square root of what is alive and of how fast memory is allocated, which is where the sum
// of memory and of work is least, and is never less than [MinRoom].
//
// Whoever sets GOGC decides instead. GOMEMLIMIT holds beside this: a soft limit makes the collector run as often as it
// takes, whatever is decided here.
//
// It changes a setting of the whole process, so only a command starts it.
package garbage

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// MinRoom is what garbage may always take.
	MinRoom = 64 << 20
	// patience weighs memory against work: the longer, the more of the one is given for the other.
	patience = 1500 * time.Millisecond
	// minFraction and maxFraction bound the room in percent of what is alive, where that is more than MinRoom.
	minFraction, maxFraction = 20, 100
	// maxPercent bounds what a heap that is all but empty leads to: it may grow before the next look.
	maxPercent = 1000
	// hysteresis is by how much the percentage has to change, in percent of itself, before it is set: the world stops
	// for a moment when it is.
	hysteresis = 10
)

// Pacer adjusts the collector after each of its cycles.
type Pacer struct {
	before int // what Stop sets again

	mu      sync.Mutex
	percent int
	last    sample
	rate    float64 // bytes allocated a second, of late
	stopped bool
}

// Start begins to adjust, unless GOGC is set in the environment: then it returns nil, which can be stopped all the same.
func Start(env func(string) (string, bool)) *Pacer {
	if _, set := env("GOGC"); set {
		return nil
	}
	p := &Pacer{last: look()}
	p.percent = percentFor(p.last.alive, 0)
	p.before = debug.SetGCPercent(p.percent)
	p.await()
	return p
}

// Stop gives the collector back to Go's defaults.
func (p *Pacer) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	debug.SetGCPercent(p.before)
}

// mark is garbage from the start: that it is found tells of the end of a cycle. It holds a pointer so that it is an
// object of its own, and not a part of a larger one that lives on.
type mark struct{ _ *mark }

// await has adjust called after the next cycle.
func (p *Pacer) await() { runtime.AddCleanup(new(mark), (*Pacer).adjust, p) }

func (p *Pacer) adjust() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	now := look()
	if passed := now.at.Sub(p.last.at).Seconds(); passed > 0 {
		p.rate = (p.rate + float64(now.allocated-p.last.allocated)/passed) / 2
	}
	p.last = now
	if percent := percentFor(now.alive, p.rate); changed(p.percent, percent) {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	p.await()
}

func changed(from, to int) bool {
	return max(from-to, to-from)*100 > from*hysteresis
}

// percentFor is GOGC for a heap and stacks of which so many bytes are alive, while so many are allocated a second.
func percentFor(alive uint64, rate float64) int {
	room := uint64(math.Sqrt(float64(alive) * rate * patience.Seconds()))
	room = min(max(room, alive*minFraction/100), alive*maxFraction/100)
	return int(min(maxPercent, max(room, MinRoom)*100/max(alive, 1)))
}

// sample is how the heap stood at a time.
type sample struct {
	at        time.Time
	alive     uint64 // what the last cycle found in use, stacks included: GOGC is a fraction of both
	allocated uint64 // since the start
}

func look() sample {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	var values [3]uint64
	for i, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			values[i] = s.Value.Uint64()
		}
	}
	return sample{at: time.Now(), alive: values[0] + values[1], allocated: values[2]}
}
