package route

import (
	"math"
	"slices"

	"penstock"
)

// Window asks how long the input of a call may be.
type Window struct {
	Model   *penstock.Model
	Targets []*penstock.Target // of the call, in the order of the model
	// Able reports whether a target can serve the call apart from its length.
	Able func(*penstock.Target) bool
}

// Largest returns the most tokens of input for which a target may serve the call, by the rules of [Skips.Restrict], if a target takes
// inputs up to its limit. A limit of 0 is none: the result is then math.MaxInt64. The result is 0 if the call cannot be served at any
// length.
func (w Window) Largest(limit func(*penstock.Target) int64) int64 {
	within := func(t *penstock.Target) int64 {
		if most := limit(t); most > 0 {
			return most
		}
		return math.MaxInt64
	}
	lengths := make([]int64, len(w.Targets))
	for i, t := range w.Targets {
		lengths[i] = within(t)
	}
	slices.Sort(lengths)
	for _, n := range slices.Backward(lengths) {
		if w.serves(func(t *penstock.Target) bool { return w.Able(t) && n <= within(t) }) {
			return n
		}
	}
	return 0
}

// serves reports whether the model allows one of the able targets.
func (w Window) serves(able func(*penstock.Target) bool) bool {
	var skips Skips
	for _, t := range w.Targets {
		if !able(t) {
			skips.Add(Skip{Target: t.Name, Reason: "cannot serve the call"})
		}
	}
	q := Query{Model: *w.Model, Candidates: slices.Clone(w.Targets)}
	return skips.Restrict(&q, w.Targets) == nil && slices.ContainsFunc(q.Candidates, able)
}
