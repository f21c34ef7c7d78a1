package route

import (
	"math"
	"time"
)

const (
	// A sketch has buckets from a millisecond on, each a quarter wider than the one before: 64 of them reach
	// past twenty minutes, and a quantile is off by an eighth at the most.
	sketchBuckets = 64
	sketchGrowth  = 1.25
	sketchLeast   = time.Millisecond
	// sketchHalf is how long until a call counts half.
	sketchHalf = time.Minute
	// sketchStep is how long calls count the same: to make each a little less at every call would be the most that a
	// call costs here.
	sketchStep = time.Second
	// sketchEnough is how many calls, of full weight, make a quantile worth believing.
	sketchEnough = 3
)

// sketch is a histogram of durations that forgets. It is pure; times are its callers'.
type sketch struct {
	weight [sketchBuckets]float64
	total  float64
	at     time.Time
}

// add notes a duration.
func (s *sketch) add(now time.Time, d time.Duration) {
	s.fade(now)
	s.weight[bucketOf(d)]++
	s.total++
}

// quantile is the duration that a part of the calls stayed below; false when too few are known.
func (s *sketch) quantile(now time.Time, part float64) (time.Duration, bool) {
	s.fade(now)
	if s.total < sketchEnough {
		return 0, false
	}
	var sum float64
	for i, w := range s.weight {
		if sum += w; sum >= part*s.total {
			return middleOf(i), true
		}
	}
	return middleOf(sketchBuckets - 1), true
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

// middleOf is the duration that stands for a bucket.
func middleOf(bucket int) time.Duration {
	return time.Duration(float64(sketchLeast) * math.Pow(sketchGrowth, float64(bucket)+0.5))
}

// pace is how quickly a target answers.
type pace struct{ firstToken, total sketch }

// latency is the time that callers wait: to the first token of a stream, to the end of a plain answer. It is 0
// while too little is known.
func (p *pace) latency(now time.Time, q *Query) time.Duration {
	s := &p.total
	if q.Stream {
		s = &p.firstToken
	}
	d, _ := s.quantile(now, 0.5)
	return d
}
