package queue

import (
	"cmp"
	"slices"

	"penstock"
)

// LaneWeights is how the lanes share the slots of a process while all of them have work: a lane with
// twice the weight gets twice the tokens.
type LaneWeights map[penstock.Lane]int64

// DefaultLaneWeights lets realtime work nearly always go first, and bulk work never stand still.
var DefaultLaneWeights = LaneWeights{penstock.LaneRealtime: 64, penstock.LaneStandard: 8, penstock.LaneBulk: 1}

// Stride picks the lane that work is taken from next, by stride scheduling: every lane has a pass that
// grows by the tokens it was given over its weight, and the lane with the lowest pass is next. Lanes
// without work lend their share to the others and bank nothing: a lane that comes back starts where the
// others are.
//
// It is a pure policy: it has no clock and no lock, and belongs to one goroutine.
type Stride struct {
	weights LaneWeights
	pass    map[penstock.Lane]int64
	now     int64 // the pass at which work was last given: where lanes that come back start
}

// strideScale keeps the pass of small charges over large weights exact enough.
const strideScale = 1 << 10

// NewStride returns a policy under which no lane has been given anything yet.
func NewStride(w LaneWeights) *Stride {
	s := &Stride{weights: w, pass: make(map[penstock.Lane]int64, len(penstock.Lanes))}
	for _, lane := range penstock.Lanes {
		s.pass[lane] = 0
	}
	return s
}

// Weigh changes the weights from now on; what was given before stays as it was charged.
func (s *Stride) Weigh(w LaneWeights) { s.weights = w }

// Order returns all lanes, the one that is due first at the front. Among equals the more urgent one is
// first.
func (s *Stride) Order() []penstock.Lane {
	order := slices.Clone(penstock.Lanes)
	slices.SortStableFunc(order, func(a, b penstock.Lane) int { return cmp.Compare(s.pass[a], s.pass[b]) })
	return order
}

// Claimed notes what a claim gave to the lanes that it looked at in their order, in tokens, and how many
// slots it left free. A lane that came before the last one served, or any lane while slots stay free, had
// nothing more to give work to.
func (s *Stride) Claimed(order []penstock.Lane, given map[penstock.Lane]int64, left int) {
	for i, lane := range order {
		passed := left > 0 || slices.ContainsFunc(order[i+1:], func(l penstock.Lane) bool { return given[l] > 0 })
		if given[lane] > 0 {
			s.Given(lane, given[lane])
		} else if passed {
			s.Idle(lane)
		}
	}
}

// Given notes that a lane was given work of so many tokens.
func (s *Stride) Given(lane penstock.Lane, tokens int64) {
	s.now = max(s.now, s.pass[lane])
	s.pass[lane] += max(tokens, 1) * strideScale / max(s.weights[lane], 1)
}

// Idle notes that a lane had no work when it was its turn. What it did not use is gone.
func (s *Stride) Idle(lane penstock.Lane) {
	s.pass[lane] = max(s.pass[lane], s.now)
}
