package queue

import (
	"cmp"
	"slices"

	"penstock"
)

// LaneWeights is how the lanes share the slots of a process while all of them have work: a lane with
// twice the weight gets twice the tokens.
type LaneWeights map[penstock.Lane]int64

// DefaultLaneWeights let realtime work nearly always go first, and never starve bulk work.
var DefaultLaneWeights = LaneWeights{penstock.LaneRealtime: 64, penstock.LaneStandard: 8, penstock.LaneBulk: 1}

// Stride picks the lane that work is taken from next, by stride scheduling: every lane has a pass that grows by its
// tokens divided by its weight, and the lane with the lowest pass is next. Lanes without work leave their share to the
// others and save nothing: a lane that has work again starts at the pass of the others.
//
// It is a pure policy: it has no clock and no lock, and belongs to one goroutine.
type Stride struct {
	weights LaneWeights
	pass    map[penstock.Lane]int64
	now     int64 // the pass at which work was last given: where lanes that come back start
}

// strideScale keeps the pass of small charges over large weights exact enough.
const strideScale = 1 << 10

// NewStride returns a policy in which all lanes have the same pass.
func NewStride(w LaneWeights) *Stride {
	s := &Stride{weights: w, pass: make(map[penstock.Lane]int64, len(penstock.Lanes))}
	for _, lane := range penstock.Lanes {
		s.pass[lane] = 0
	}
	return s
}

// Weigh changes the weights for later work.
func (s *Stride) Weigh(w LaneWeights) { s.weights = w }

// Order returns all lanes, the lane with the lowest pass first. Among equals the more urgent lane is first.
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

// Given records that a lane got work of so many tokens.
func (s *Stride) Given(lane penstock.Lane, tokens int64) {
	s.now = max(s.now, s.pass[lane])
	s.pass[lane] += max(tokens, 1) * strideScale / max(s.weights[lane], 1)
}

// Idle records that a lane had no work at its turn. It does not save the unused share.
func (s *Stride) Idle(lane penstock.Lane) {
	s.pass[lane] = max(s.pass[lane], s.now)
}
