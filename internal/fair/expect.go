package fair

// Expectations is which part of their estimate the items of a model use, as a moving average. Estimates are
// upper bounds, often ten times too high. Were tenants charged by them, a busy one would have much given
// back by the time its items end, and would be served before one that has just come.
type Expectations map[string]float64

const (
	// learnRate is how much one item counts for.
	learnRate = 1.0 / 16
	// maxExpectations bounds the models that are known; others are charged their estimate.
	maxExpectations = 10_000
)

// Learn takes note of an item's estimate and of what it used.
func (e Expectations) Learn(model string, estimate, actual int64) {
	if estimate <= 0 || actual <= 0 {
		return // nothing ran, or nobody told what it used
	}
	part := float64(actual) / float64(estimate)
	known, ok := e[model]
	switch {
	case ok:
		e[model] = known + (part-known)*learnRate
	case len(e) < maxExpectations:
		e[model] = part
	}
}

// Of is how many tokens an item with an estimate will probably use.
func (e Expectations) Of(model string, estimate int64) int64 {
	if part, ok := e[model]; ok {
		return int64(part * float64(estimate))
	}
	return estimate
}
