// Package garbage decides when the garbage collector runs.
//
// By default Go collects whenever the heap has doubled. A gateway that serves short calls has a live heap of a few MiB, so
// under load it would collect dozens of times a second to save little memory. With ten thousand open streams, which
// allocate little, it would reserve twice the memory that they need. So the allowance for garbage does not follow the
// live heap alone: it grows with the square root of the live heap and of the allocation rate, which minimises the sum of
// memory and work, and is never less than [MinGarbage].
//
// GOGC in the environment turns this package off. GOMEMLIMIT applies as well: the collector runs as often as the soft
// limit requires.
//
// The package changes a setting of the whole process, so only a command starts it.
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
	// MinGarbage is the least allowance for garbage, in bytes.
	MinGarbage = 64 << 20
	// memoryWeight weighs memory against work: a longer time spends more memory to save work.
	memoryWeight = 1500 * time.Millisecond
	// minFraction and maxFraction bound the allowance in percent of the live bytes, where that is more than MinGarbage.
	minFraction, maxFraction = 20, 100
	// maxPercent bounds GOGC for a heap that is almost empty: the heap may grow before the next cycle.
	maxPercent = 1000
	// hysteresis is the least change of the percentage, in percent of itself, that is applied: each change stops the
	// world for a moment.
	hysteresis = 10
)

// Pacer adjusts the collector after each of its cycles.
type Pacer struct {
	before int // the percentage that Stop restores

	mu      sync.Mutex
	percent int
	last    sample
	rate    float64 // bytes allocated a second, of late
	stopped bool
}

// Start begins to adjust, unless GOGC is set in the environment: then it returns nil, on which Stop does nothing.
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

// mark is garbage from the start: its cleanup runs at the end of a cycle. It holds a pointer so that it is allocated
// alone; the allocator would put an object without pointers into a block together with others.
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

// percentFor is GOGC for a heap and stacks with so many live bytes, at an allocation rate in bytes per second.
func percentFor(alive uint64, rate float64) int {
	allowance := uint64(math.Sqrt(float64(alive) * rate * memoryWeight.Seconds()))
	allowance = min(max(allowance, alive*minFraction/100), alive*maxFraction/100)
	return int(min(maxPercent, max(allowance, MinGarbage)*100/max(alive, 1)))
}

// sample is the state of the heap at a time.
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
