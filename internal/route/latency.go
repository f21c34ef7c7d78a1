package route

import (
	"math"
	"slices"
	"time"
)

const (
	// A sketch has buckets from a millisecond on, each a quarter wider than the one before: 64 of them reach
	// past twenty minutes, and a quantile is off by an eighth at the most.
	sketchBuckets = 64
	sketchGrowth  = 1.25
	sketchLeast   = time.Millisecond
	// sketchHalf is the half-life of a call's weight.
	sketchHalf = time.Minute
	// sketchStep is the interval of the decay: decaying at every call would be the largest cost of a call here.
	sketchStep = time.Second
	// sketchEnough is how many calls of full weight make a quantile reliable.
	sketchEnough = 3
)

// sketch is a decaying histogram of durations. It is pure: its callers pass all times.
type sketch struct {
	weight [sketchBuckets]float64
	total  float64
	at     time.Time
}

// add counts a duration.
func (s *sketch) add(now time.Time, d time.Duration) {
	s.fade(now)
	s.weight[bucketOf(d)]++
	s.total++
}

// quantile is the duration below which a part of the calls were; false when there are too few calls.
func (s *sketch) quantile(now time.Time, part float64) (time.Duration, bool) {
	s.fade(now)
	if s.total < sketchEnough {
		return 0, false
	}
	var sum float64
	for i, w := range s.weight {
		if sum+w >= part*s.total && w > 0 {
			// Within a bucket calls are taken to be spread evenly: two targets that are alike must not differ by a bucket.
			return within(i, (part*s.total-sum)/w), true
		}
		sum += w
	}
	return within(sketchBuckets-1, 0.5), true
}

func (s *sketch) fade(now time.Time) {
	passed := now.Sub(s.at)
	if s.total > 0 && passed >= 0 && passed < sketchStep {
		return
	}
	if passed > 0 && s.total > 0 {
		left := math.Exp2(-passed.Seconds() / sketchHalf.Seconds())
		s.total = 0
		for i := range s.weight {
			s.weight[i] *= left
			s.total += s.weight[i]
		}
	}
	s.at = now
}

func bucketOf(d time.Duration) int {
	if d <= sketchLeast {
		return 0
	}
	n := int(math.Log(float64(d)/float64(sketchLeast)) / math.Log(sketchGrowth))
	return min(n, sketchBuckets-1)
}

// within is the duration at a part, from 0 to 1, of a bucket.
func within(bucket int, part float64) time.Duration {
	return time.Duration(float64(sketchLeast) * math.Pow(sketchGrowth, float64(bucket)+part))
}

const (
	// recentCalls is how many calls are needed to see that a target has changed.
	recentCalls = 10
	// shift is by how much their median must differ from what is usual. Less is noise, or slow change, which the sketch follows.
	shift = 2
)

// recent holds the last calls, whenever they were. It is pure.
type recent struct {
	took  [recentCalls]time.Duration
	calls int // in all
}

func (r *recent) add(d time.Duration) {
	r.took[r.calls%recentCalls] = d
	r.calls++
}

// spread is the median of the last calls. All calls but one took longer than low, and all but one less than high: a single
// outlier makes no difference. It sorts, since nearly all models have a policy that never asks.
func (r *recent) spread() (low, middle, high time.Duration) {
	sorted := r.took
	slices.Sort(sorted[:])
	return sorted[1], sorted[recentCalls/2], sorted[recentCalls-2]
}

// tempo is the latency of calls: usual covers the calls of minutes, lately the last few. lately counts while nearly all of
// the last calls are on one side of the usual median, and far from it. Otherwise usual counts.
type tempo struct {
	usual  sketch
	lately recent
}

func (t *tempo) add(now time.Time, d time.Duration) {
	t.usual.add(now, d)
	t.lately.add(d)
}

// median is the median latency; 0 while there are too few calls.
func (t *tempo) median(now time.Time) time.Duration {
	usual, known := t.usual.quantile(now, 0.5)
	l := &t.lately
	if !known || l.calls < recentCalls {
		return usual
	}
	low, middle, high := l.spread()
	slower := low > usual && middle >= shift*usual
	faster := high < usual && shift*middle <= usual
	if slower || faster {
		return middle
	}
	return usual
}

// last is how long the last call took, 0 if there was none.
func (t *tempo) last() time.Duration {
	if t.lately.calls == 0 {
		return 0
	}
	return t.lately.took[(t.lately.calls-1)%recentCalls]
}

// pace is the latency of a target.
type pace struct {
	firstToken, total tempo
	askedAt           time.Time // when it was last chosen by its pace
	passed            int       // calls since then that went to other targets
}

// of is the latency that callers see: the first token of a stream, the end of a plain answer.
func (p *pace) of(q *Query) *tempo {
	if q.Stream {
		return &p.firstToken
	}
	return &p.total
}

// latency is the median time that callers wait. It is 0 while there are too few calls.
func (p *pace) latency(now time.Time, q *Query) time.Duration { return p.of(q).median(now) }

const (
	// exploreEvery is the least time between two calls that measure a target which is not the fastest. exploreShare is how many
	// calls go to other targets before such a call: so exploring costs at most one call in twenty.
	exploreEvery = 2 * time.Second
	exploreShare = 20
)

// unexplored says that it is time to measure a target again. A target whose last call was far faster than its median is called
// again at once. A slow target is called at most once in twice its median, so that exploring it keeps half a call in flight.
func (p *pace) unexplored(now time.Time, q *Query) bool {
	if p.passed < exploreShare {
		return false
	}
	t := p.of(q)
	median := t.median(now)
	if last := t.last(); last > 0 && shift*last <= median {
		return true
	}
	return now.Sub(p.askedAt) >= max(exploreEvery, 2*median)
}
