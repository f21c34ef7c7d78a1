package fair

// Expectations is which part of their estimate the items of a model use, as a moving average. Estimates are
// upper bounds, often ten times too high. Were tenants charged by them, a busy one would have much given
// back by the time its items end, and would be served before one that has just come.
//
// A model of which no item has ended yet is taken to use little. To charge too little is the smaller error: it is
// made good when the items end, and whoever came meanwhile is ahead by what they really used, one round of slots.
// Whoever came while too much was charged starts behind by all that is given back.
type Expectations map[string]float64

const (
	// learnRate is how much one item counts for.
	learnRate = 1.0 / 16
	// firstPart is what a model is taken to use before any of its items ended.
	firstPart = 1.0 / 16
	// maxExpectations bounds the models that are known.
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
	part, ok := e[model]
	if !ok {
		part = firstPart
	}
	return int64(part * float64(estimate))
}
