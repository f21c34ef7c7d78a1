package capacity

import "penstock"

const (
	// firstInput and firstOutput are the estimate of a call before any call has ended.
	firstInput  = 256
	firstOutput = 256
	// expectWeight is the weight of the newest call in the averages, once there were enough of them.
	expectWeight = 0.05
)

// expectation is the average use of a target's calls. Limits count the likely use of a call, not the most that it could
// use: the difference is settled when the call ends. (Money is different: its reservations are upper bounds; package
// admit computes them.)
type expectation struct {
	input, output float64
	calls         float64 // in the averages, the first guess included
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
