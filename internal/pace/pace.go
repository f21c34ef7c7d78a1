// Package pace decides when the garbage collector runs.
//
// By default Go collects whenever the heap has doubled. A gateway that is not busy with long streams has a live heap of a
// few MiB, so under load it would collect dozens of times a second, to keep memory that nobody misses; with ten thousand
// open streams it would keep as much again as they need. So the room that garbage may take is set apart from the live
// heap: never less than [MinRoom], and above that a fraction of what is alive.
//
// Whoever sets GOGC decides instead. GOMEMLIMIT holds beside this: a soft limit makes the collector run as often as it
// takes, whatever is decided here.
//
// It changes a setting of the whole process, so only a command starts it.
package pace

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// MinRoom is what garbage may always take.
	MinRoom = 64 << 20
	// fraction of what is alive that garbage may take when that is more, in percent.
	fraction = 50
	// hysteresis is by how much the percentage has to change, in percent of itself, before it is set: the world stops
	// for a moment when it is.
	hysteresis = 10
	// maxPercent bounds what a heap that is all but empty leads to: it may grow before the next look.
	maxPercent = 1000
)

// Pacer adjusts the collector after each of its cycles.
type Pacer struct {
	before int // what Stop sets again

	mu      sync.Mutex
	percent int
	stopped bool
}

// Start begins to adjust, unless GOGC is set in the environment: then it returns nil, which can be stopped all the same.
func Start(env func(string) (string, bool)) *Pacer {
	if _, set := env("GOGC"); set {
		return nil
	}
	p := &Pacer{percent: percentFor(alive())}
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
	if now := percentFor(alive()); changed(p.percent, now) {
		p.percent = now
		debug.SetGCPercent(now)
	}
	p.await()
}

func changed(from, to int) bool {
	return max(from-to, to-from)*100 > from*hysteresis
}

// percentFor is GOGC for a heap and stacks of which so many bytes are alive.
func percentFor(alive uint64) int {
	room := max(MinRoom, alive*fraction/100)
	return int(min(maxPercent, room*100/max(alive, 1)))
}

// alive is what the last cycle found in use, stacks included: GOGC is a fraction of both.
func alive() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	metrics.Read(samples)
	var sum uint64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
