package capacity

import "penstock"

const (
	// firstInput and firstOutput are what a call is taken for before any has told.
	firstInput  = 256
	firstOutput = 256
	// expectWeight is the weight of the newest call in the averages, once there were enough of them.
	expectWeight = 0.05
)

// expectation is what calls of a target use on average. Limits are best met by what calls are likely to
// use, not by the most that they could: what the estimate misses is settled when the call is done. (Money
// is different: its reservations are upper bounds, and package admit's.)
type expectation struct {
	input, output float64
	calls         float64 // that they are made of, the first guess included
}

func newExpectation() expectation { return expectation{firstInput, firstOutput, 1} }

// call is what a call is likely to take. Its own maximum counts where it is below the average.
func (e *expectation) call(inputTokens, maxOutputTokens int64) amounts {
	output := int64(e.output)
	if maxOutputTokens > 0 {
		output = min(output, maxOutputTokens)
	}
	if inputTokens == 0 {
		inputTokens = int64(e.input)
	}
	return callOf(inputTokens, output)
}

func (e *expectation) learn(u penstock.Usage) {
	e.calls++
	weight := max(expectWeight, 1/e.calls)
	e.input += (float64(u.InputTokens) - e.input) * weight
	e.output += (float64(u.OutputTokens) - e.output) * weight
}
