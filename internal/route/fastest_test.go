package route

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"penstock"
	"penstock/internal/capacity"
)

// race has callers in a closed loop choose the fastest of two targets, over a clock of its own.
type race struct {
	t      *testing.T
	now    time.Time
	router *Router
	query  Query
	rng    *rand.Rand
	takes  map[string]func(at time.Duration) time.Duration // how long a call takes that begins then
	under  ends
	given  []start
}

// start is a call that began.
type start struct {
	at     time.Duration
	target string
}

// end is when a call is over.
type end struct {
	at     time.Time
	took   time.Duration
	choice Choice
}

type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

var raceBegan = time.Unix(1_000_000, 0)

func newRace(t *testing.T, seed uint64) *race {
	r := &race{t: t, now: raceBegan, rng: rand.New(rand.NewPCG(seed, 1)), takes: map[string]func(time.Duration) time.Duration{}}
	r.router = New(capacity.New(capacity.Config{Clock: func() time.Time { return r.now }}))
	r.router.draw = r.rng.IntN
	r.query = Query{Candidates: inOrder(target("a", 0), target("b", 0)),
		Model: penstock.Model{Name: "m", Policy: penstock.PolicyFastest, Score: penstock.ScoreWeights{Latency: 1}}}
	return r
}

// run simulates so many callers, each with one call after the other, until a time.
func (r *race) run(callers int, until time.Duration) {
	r.t.Helper()
	for range callers {
		r.begin()
	}
	for r.now.Sub(raceBegan) < until {
		e := heap.Pop(&r.under).(end)
		r.now = e.at
		e.choice.Done(capacity.Result{Took: e.took})
		r.begin()
	}
}

func (r *race) begin() {
	r.t.Helper()
	c, ok := reserveOne(r.router, r.query)
	if !ok {
		r.t.Fatal("no target has capacity")
	}
	at := r.now.Sub(raceBegan)
	took := r.takes[c.Target.Name](at)
	r.given = append(r.given, start{at, c.Target.Name})
	heap.Push(&r.under, end{r.now.Add(took), took, c})
}

// share is the part of the calls in a span of time that a target got, and how many there were.
func (r *race) share(target string, from, to time.Duration) (float64, int) {
	all, mine := 0, 0
	for _, s := range r.given {
		if s.at >= from && s.at < to {
			all++
			if s.target == target {
				mine++
			}
		}
	}
	return float64(mine) / float64(max(1, all)), mine
}

// jittered varies a duration by a part of it, evenly.
func (r *race) jittered(d time.Duration, part float64) time.Duration {
	return time.Duration(float64(d) * (1 + part*(2*r.rng.Float64()-1)))
}

// A target that turns from 20 to 600 ms loses its traffic within about ten calls and five seconds, however many calls were fast before; only
// few calls measure it afterwards. When it is fast again, it gets its traffic back.
func TestFastestReacts(t *testing.T) {
	t.Parallel()
	const turns, recovers, ends = 90 * time.Second, 3 * time.Minute, 225 * time.Second
	for _, callers := range []int{1, 8} {
		for seed := range uint64(3) {
			r := newRace(t, seed)
			r.takes["a"] = func(at time.Duration) time.Duration {
				if at >= turns && at < recovers {
					return r.jittered(600*time.Millisecond, 0.2)
				}
				return r.jittered(20*time.Millisecond, 0.2)
			}
			r.takes["b"] = func(time.Duration) time.Duration { return r.jittered(60*time.Millisecond, 0.2) }
			r.run(callers, ends)
			if got, _ := r.share("a", 20*time.Second, turns); got < 0.94 {
				t.Errorf("%d callers: the fastest gets %.2f of the calls", callers, got)
			}
			// Calls that are sent before the first answers of the slow target are there cannot know.
			if _, n := r.share("a", turns, turns+5*time.Second); n > 10+callers {
				t.Errorf("%d callers: %d calls in 5 s to a target that became slow", callers, n)
			}
			if got, n := r.share("a", turns+6*time.Second, recovers); got > 0.06 || n == 0 {
				t.Errorf("%d callers: %.3f of the calls, %d, go to a slow target", callers, got, n)
			}
			if got, _ := r.share("a", recovers+10*time.Second, ends); got < 0.9 {
				t.Errorf("%d callers: 10 s after it recovered it gets %.2f of the calls", callers, got)
			}
		}
	}
}

// Two targets that are alike share the calls in every ten seconds, whatever the noise is like.
func TestEqualTargetsDoNotFlap(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]func(r *race) time.Duration{
		"even":        func(r *race) time.Duration { return r.jittered(40*time.Millisecond, 0.5) },
		"on the edge": func(r *race) time.Duration { return r.jittered(time.Duration(1e6*math.Pow(sketchGrowth, 16)), 0.02) },
		"long tail":   func(r *race) time.Duration { return time.Duration(40e6 * math.Exp(0.4*r.rng.NormFloat64())) },
	} {
		for seed := range uint64(3) {
			r := newRace(t, seed)
			r.takes["a"] = func(time.Duration) time.Duration { return noise(r) }
			r.takes["b"] = r.takes["a"]
			r.run(4, 2*time.Minute)
			for at := 20 * time.Second; at < 2*time.Minute; at += 10 * time.Second {
				if got, _ := r.share("a", at, at+10*time.Second); got < 0.3 || got > 0.7 {
					t.Errorf("%s: from %v on, %.2f of the calls go to one of two equals", name, at, got)
				}
			}
		}
	}
}

// Lone outliers move no traffic.
func TestOutliersMoveNothing(t *testing.T) {
	t.Parallel()
	r := newRace(t, 7)
	r.takes["a"] = func(time.Duration) time.Duration {
		if r.rng.IntN(20) == 0 {
			return 2 * time.Second
		}
		return r.jittered(20*time.Millisecond, 0.3)
	}
	r.takes["b"] = func(time.Duration) time.Duration { return r.jittered(60*time.Millisecond, 0.3) }
	r.run(4, 3*time.Minute)
	for at := 10 * time.Second; at < 3*time.Minute; at += 5 * time.Second {
		if got, _ := r.share("a", at, at+5*time.Second); got < 0.9 {
			t.Errorf("from %v on, the fastest gets %.2f of the calls", at, got)
		}
	}
}

// The first token of a stream counts when it comes, and once: the rest may take minutes.
func TestFirstTokensCountAtOnce(t *testing.T) {
	t.Parallel()
	now := raceBegan
	r := New(capacity.New(capacity.Config{Clock: func() time.Time { return now }}))
	q := Query{Candidates: inOrder(target("a", 0), target("b", 0)), Stream: true,
		Model: penstock.Model{Name: "m", Policy: penstock.PolicyFastest, Score: penstock.ScoreWeights{Latency: 1}}}
	var open []Choice
	for range 20 {
		c, _ := reserveOne(r, Query{Candidates: q.Candidates[:1]})
		c.Begun(600 * time.Millisecond)
		c.Begun(time.Millisecond) // not again
		open = append(open, c)
		d, _ := reserveOne(r, Query{Candidates: q.Candidates[1:]})
		d.Begun(20 * time.Millisecond)
		open = append(open, d)
	}
	if c, ok := reserveOne(r, q); !ok || c.Target.Name != "b" {
		t.Errorf("a stream goes to %s: %s", c.Target.Name, c.Reason)
	}
	for _, c := range open {
		c.Done(capacity.Result{FirstToken: time.Millisecond, Took: time.Minute})
	}
	if got := r.paces["a"].latency(now, &q); got < 500*time.Millisecond || r.paces["a"].firstToken.lately.calls != 20 {
		t.Errorf("it is taken for %v after %d", got, r.paces["a"].firstToken.lately.calls)
	}
}
