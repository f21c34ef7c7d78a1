package attempt

import (
	"bytes"
	"fmt"

	"penstock"
	"penstock/internal/body"
)

// An upstream is believed what a call used, up to a point. What is told beyond it cannot have been used: the upstream is broken, or
// lies. It then counts as unknown, so that the reservation is forfeit, and no more.
const (
	// usageFactor is how often the bounds of a call may be exceeded: a token for each byte of input, and the output that was asked
	// for. Templates, the tools' own prompts and thinking that a server does not count as output stay far below it.
	usageFactor = 4
	// usageSlack is what may come on top for short calls: prompts that the upstream puts before the caller's, and thinking.
	usageSlack = 64 << 10
	// openSlack is what may come on top where the body does not say how much there is: documents and files, that are read by the
	// page, tools that the upstream runs, audio and video, and answers that nobody bounds.
	openSlack = 4 << 20
)

// openMarks are found in bodies that refer to more than they hold.
var openMarks = [][]byte{
	[]byte("document"), []byte("file"), []byte("audio"), []byte("video"), []byte("search"), []byte("mcp"), []byte("container"), []byte("computer"), []byte("code_"),
}

// checkUsage drops what the upstream told if the call cannot have used as much.
func (t *try) checkUsage() {
	told := t.meta.Usage
	if told == (penstock.Usage{}) || (told.InputTokens <= t.sentBytes() && told.OutputTokens <= usageSlack) {
		return // nearly all
	}
	if told.InputTokens <= t.mostInput() && told.OutputTokens <= t.mostOutput() {
		return
	}
	t.claimed = told
	t.meta.Usage, t.meta.UsageKnown = penstock.Usage{}, false
	t.aside(fmt.Sprintf("the upstream told usage that cannot be, of %d input and %d output tokens: it counts as unknown", told.InputTokens, told.OutputTokens))
}

// aside adds to the reason on the record of a try.
func (t *try) aside(what string) { t.record.Reason = bounded(t.record.Reason + "; " + what) }

// sentBytes is how long the body was that the upstream got; 0 once it was let go of.
func (t *try) sentBytes() int64 { return int64(len(t.letter.body)) }

// mostInput is the most tokens of input that the call can have used.
func (t *try) mostInput() int64 {
	if t.weight != nil {
		return t.weight.most
	}
	return mostInput(t.letter.body)
}

// mostInput is that of a body: what its bytes and its images come to, and more where it refers to what it does not hold.
func mostInput(sent []byte) int64 {
	most := usageFactor*int64(len(sent)) + int64(bytes.Count(sent, []byte("image")))*body.ImageTokens + usageSlack
	for _, mark := range openMarks {
		if bytes.Contains(sent, mark) {
			most += openSlack
			break
		}
	}
	return min(most, penstock.MaxTokens-1)
}

// mostOutput is the most tokens of output that the call can have used.
func (t *try) mostOutput() int64 {
	if asked := t.task.MaxOutputTokens; asked > 0 {
		return min(usageFactor*asked+usageSlack, penstock.MaxTokens-1)
	}
	return min(usageFactor*min(t.target.MaxOutputTokens, penstock.MaxTokens)+openSlack, penstock.MaxTokens-1)
}
