package capacity

import "time"

const (
	// firstWindow is how many calls run at a time on a target of which nothing is known: what a worker
	// runs by default. Calls can take minutes, so that growing from little would take an hour.
	firstWindow = 64
	maxWindow   = 100_000
	// cut is what a window shrinks to when the target refuses for load.
	cut = 0.7
	// slowdown is how much longer calls may take than at their best before the window stops growing.
	slowdown = 3
	// shortAnswer is the least number of output tokens that latency is divided by: below it the fixed
	// costs of a call dominate.
	shortAnswer = 16
	// The averages of latency: the recent one follows in about ten calls, the best one is forgotten in
	// about a thousand, so that a target which became permanently slower can grow its window again.
	recentWeight = 0.1
	forgetting   = 0.001
)

// window is how many calls may run at a time, as learned from the target: it grows while calls succeed and
// more are waiting, and shrinks when the target is overloaded.
//
// Growth is by one for each success until the target first refuses, which doubles the window each
// round trip; after that by one each round trip. It stops while calls take far longer than at their
// best. What is compared is the time per output token, of the whole call: the time to the first token
// is not known for plain answers, and the time of a call follows the length of its answer.
type window struct {
	limit  float64
	cutAt  time.Time // refusals of calls that began before it do not count
	was    bool      // it was cut before
	wanted bool      // a call was refused for it since it last grew

	best, recent float64 // seconds per output token; 0 before the first
}

func newWindow() window { return window{limit: firstWindow} }

func (w *window) size() int { return int(w.limit) }

// trust opens the window to the configured concurrency, until the target refuses a call for load. Growing to it call by
// call would refuse thousands of streams that the target has capacity for.
func (w *window) trust(concurrency int) {
	if !w.was {
		w.limit = max(w.limit, float64(concurrency))
	}
}

// succeeded updates the window after a successful call, while so many ran, itself included.
func (w *window) succeeded(took time.Duration, outputTokens int64, running int) {
	w.time(took.Seconds() / float64(max(outputTokens, shortAnswer)))
	if !w.wanted && running < w.size() {
		return
	}
	w.wanted = false
	if w.recent > slowdown*w.best {
		return
	}
	step := 1.0
	if w.was {
		step = 1 / w.limit
	}
	w.limit = min(w.limit+step, maxWindow)
}

// time updates the averages of latency.
func (w *window) time(perToken float64) {
	if w.best == 0 {
		w.best, w.recent = perToken, perToken
	}
	w.recent += (perToken - w.recent) * recentWeight
	w.best = min(w.best*(1+forgetting), w.recent)
}

// overran shrinks the window after a call that the target had no capacity for. An overloaded target refuses many calls
// together: only those that began after the last cut show that the cut was too small.
func (w *window) overran(now, began time.Time) {
	if began.Before(w.cutAt) {
		return
	}
	w.limit = max(1, w.limit*cut)
	w.cutAt, w.was = now, true
}

// overConcurrent shrinks the window below the number of calls that ran when the target refused one for its concurrency.
func (w *window) overConcurrent(now, began time.Time, running int) {
	if !began.Before(w.cutAt) {
		w.limit = min(w.limit, float64(running+1))
	}
	w.overran(now, began)
}
