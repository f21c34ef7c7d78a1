package work

import "penstock/internal/store"

// expectations is which part of their estimate the items of a model use, as a moving average. Estimates are
// upper bounds, often ten times too high. Were tenants charged by them, a busy one would have much given
// back by the time its items end, and would be served before one that has just come.
type expectations map[string]float64

const (
	// learnRate is how much one item counts for.
	learnRate = 1.0 / 16
	// maxExpectations bounds the models that are known; others are charged their estimate.
	maxExpectations = 10_000
)

func (e expectations) learn(c store.Claimed, actual int64) {
	if c.Estimate <= 0 || actual <= 0 {
		return // nothing ran, or nobody told what it used
	}
	part := float64(actual) / float64(c.Estimate)
	known, ok := e[c.Model]
	switch {
	case ok:
		e[c.Model] = known + (part-known)*learnRate
	case len(e) < maxExpectations:
		e[c.Model] = part
	}
}

// of is how many tokens an item will probably use.
func (e expectations) of(c store.Candidate) int64 {
	if part, ok := e[c.Model]; ok {
		return int64(part * float64(c.Estimate))
	}
	return c.Estimate
}

// charge is what a claim charges for an item.
func (p *Pool) charge(c store.Candidate) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expected.of(c)
}
