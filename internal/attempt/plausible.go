package attempt

import (
	"fmt"

	"penstock"
	"penstock/internal/dialect"
)

// checkUsage drops reported usage that is impossible for the call, and records counts that could not be read. Usage is believed up to
// a bound. Above it the upstream is broken, or lies: such usage counts as unknown, so that the reservation is forfeit, and no more.
func (t *try) checkUsage() {
	reported := t.meta.Usage
	if t.meta.UsageInvalid {
		t.disbelieve("invalid counts")
		return
	}
	if reported == (penstock.Usage{}) || (reported.InputTokens <= t.sentBytes() && reported.OutputTokens <= dialect.UsageSlack) {
		return // nearly all
	}
	if reported.InputTokens <= t.mostInput() && reported.OutputTokens <= t.mostOutput() {
		return
	}
	t.disbelieve(fmt.Sprintf("%d input and %d output tokens", reported.InputTokens, reported.OutputTokens))
}

// disbelieve makes the usage of a try unknown, and records the reported counts.
func (t *try) disbelieve(reported string) {
	t.implausible = reported
	t.meta.Usage, t.meta.UsageKnown = penstock.Usage{}, false
	t.addReason(fmt.Sprintf("the upstream reported impossible usage, %s: it counts as unknown", reported))
}

// sentBytes is the length of the body that the upstream received; 0 once the body was dropped.
func (t *try) sentBytes() int64 { return int64(len(t.request.Body)) }

// mostInput is the most tokens of input that the calls can have used.
func (t *try) mostInput() int64 {
	if t.weight != nil {
		return t.weight.most
	}
	text, times := t.request.Parts.Input(t.request.Body)
	further := max(0, t.request.Parts.Calls-times) // beside those that MostInput allows for
	return min(times*dialect.MostInput(text, t.task.ranking())+further*dialect.UsageSlack, penstock.MaxTokens-1)
}

// mostOutput is the most tokens of output that the call can have used.
func (t *try) mostOutput() int64 {
	if asked := t.task.MaxOutputTokens; asked > 0 {
		return min(dialect.UsageFactor*asked+dialect.UsageSlack, penstock.MaxTokens-1)
	}
	return min(dialect.UsageFactor*min(t.calls()*t.target.MaxOutputTokens, penstock.MaxTokens)+dialect.OpenSlack, penstock.MaxTokens-1)
}
