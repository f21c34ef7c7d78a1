package forecast

import (
	"math"
	"math/rand/v2"
	"time"

	"penstock"
)

// group is tenants that are alike, while they run.
type group struct {
	*Group
	index   int
	random  *rand.Rand // of its load alone: the load is the same whatever serves it
	tenants []*tenant
	models  []*model
	turn    int // of the models
	figures
	waiting, running int // items now
}

// tenant is one of a group.
type tenant struct {
	group *group
	index int
	lane  *lane
	share *share
	arena *arena
	standing
}

// model is what items ask for.
type model struct {
	name    string
	index   int
	targets []*upstream // in the order they are tried
	open    bitset      // processes that are not known to lack capacity for it
}

// plan puts the arrivals of a group on the agenda. Its backlog is there before anybody looks.
func (s *sim) plan(g *group) {
	for _, t := range g.tenants {
		for i := range g.Arrivals.Backlog {
			if it := s.inference(t, i); g.Kind == Calls {
				s.events.push(event{what: ring, item: it, age: it.age})
			} else {
				t.lane.put(it)
			}
		}
	}
	if g.Arrivals.Burst > 0 {
		s.events.push(event{at: g.Arrivals.At, what: burst, n: int32(g.index)})
	}
	s.arriveAfter(g, g.Arrivals.From)
}

// arriveAfter plans the next random arrival of a group. The arrivals of alike tenants together are random
// arrivals too, at the sum of their rates, each of one of them by chance.
func (s *sim) arriveAfter(g *group, from time.Duration) {
	if g.Arrivals.Rate == 0 {
		return
	}
	gap := g.random.ExpFloat64() / (g.Arrivals.Rate * float64(g.Count)) * float64(time.Second)
	if at := from + time.Duration(gap); at < min(g.Arrivals.Until, s.Duration) {
		s.events.push(event{at: at, what: arrival, n: int32(g.index)})
		s.arrivals++
	}
}

func (s *sim) arrive(g *group) {
	s.arrivals--
	s.arriveAfter(g, s.now)
	s.submit(g.tenants[g.random.IntN(len(g.tenants))], 1)
}

func (s *sim) burst(g *group) {
	for _, t := range g.tenants {
		s.submit(t, g.Arrivals.Burst)
	}
	if next := s.now + g.Arrivals.Every; g.Arrivals.Every > 0 && next < min(g.Arrivals.Until, s.Duration) {
		s.events.push(event{at: next, what: burst, n: int32(g.index)})
	}
}

// submit has a tenant ask for n inferences at once.
func (s *sim) submit(t *tenant, n int) {
	for i := range n {
		if it := s.inference(t, i); t.group.Kind == Calls {
			s.call(it)
		} else {
			s.queue(it)
		}
	}
}

// inference draws the i-th item of what a tenant submits at once.
func (s *sim) inference(t *tenant, i int) *item {
	g := t.group
	it := s.newItem()
	it.tenant, it.model = t, g.models[g.turn%len(g.models)]
	g.turn++
	it.born, it.due = s.now, s.now
	// Jobs that were submitted together have their deadlines one after the other.
	it.deadline = s.now + g.Deadline + time.Duration(i%g.Jobs)*time.Microsecond
	it.input, it.output = int32(g.InputTokens.draw(g.random)), int32(min(g.OutputTokens.draw(g.random), g.MaxTokens))
	g.submitted++
	g.waiting++
	s.live++
	return it
}

// z95 is how many standard deviations the 95th percentile of a normal distribution lies above its median.
const z95 = 1.6449

// draw returns a size.
func (t *Tokens) draw(random *rand.Rand) int64 {
	switch {
	case t.Fixed > 0:
		return t.Fixed
	case t.Max > 0:
		return t.Min + random.Int64N(t.Max-t.Min+1)
	}
	sigma := math.Log(float64(t.P95)/float64(t.Median)) / z95
	size := float64(t.Median) * math.Exp(sigma*random.NormFloat64())
	return max(1, int64(min(size, maxTokens)))
}

func laneIndex(l penstock.Lane) int {
	for i, name := range penstock.Lanes {
		if name == l {
			return i
		}
	}
	panic("forecast: no lane " + string(l))
}
