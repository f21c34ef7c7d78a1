package attempt

import (
	"bytes"
	"fmt"

	"penstock"
	"penstock/internal/body"
)

// The usage that an upstream reports is believed up to a bound. Usage above the bound is impossible: the upstream is broken, or
// lies. Such usage counts as unknown, so that the reservation is forfeit, and no more.
const (
	// usageFactor is how often the bounds of a call may be exceeded: a token for each byte of input, and the output that was asked
	// for. Templates, the tools' own prompts and thinking that a server does not count as output stay far below it.
	usageFactor = 4
	// usageSlack is added for short calls: prompts that the upstream puts before the caller's, and thinking.
	usageSlack = 64 << 10
	// openSlack is added where the length of the body does not bound the input or the output: documents and files, which are read by the
	// page, tools that the upstream runs, audio and video, and answers without a bound.
	openSlack = 4 << 20
)

// plainTypes are the types of parts of bodies, and of schemas in them, whose content is in the body.
var plainTypes = map[string]bool{
	"text": true, "input_text": true, "output_text": true, "message": true, "function": true, "function_call": true, "function_call_output": true,
	"tool_use": true, "tool_result": true, "thinking": true, "redacted_thinking": true, "reasoning": true, "ephemeral": true, "auto": true, "any": true,
	"tool": true, "none": true, "enabled": true, "disabled": true, "adaptive": true, "json_object": true, "json_schema": true, "custom": true, "grammar": true,
	"object": true, "string": true, "number": true, "integer": true, "boolean": true, "array": true, "null": true,
}

// checkUsage drops reported usage that is impossible for the call, and records counts that could not be read.
func (t *try) checkUsage() {
	reported := t.meta.Usage
	if t.meta.UsageInvalid {
		t.disbelieve("invalid counts")
		return
	}
	if reported == (penstock.Usage{}) || (reported.InputTokens <= t.sentBytes() && reported.OutputTokens <= usageSlack) {
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

// addReason adds to the reason on the record of a try.
func (t *try) addReason(what string) { t.record.Reason = bounded(t.record.Reason + "; " + what) }

// sentBytes is the length of the body that the upstream received; 0 once the body was dropped.
func (t *try) sentBytes() int64 { return int64(len(t.upstreamRequest.body)) }

// mostInput is the most tokens of input that the call can have used.
func (t *try) mostInput() int64 {
	if t.weight != nil {
		return t.weight.most
	}
	most := mostInput(t.upstreamRequest.body) + usageFactor*t.task.ranking().MostRepeated()
	return min(most, penstock.MaxTokens-1)
}

// mostInput is that of a body: what its bytes and its images come to, and more where it refers to what it does not hold.
func mostInput(sent []byte) int64 {
	images, open := attachments(sent)
	most := usageFactor*int64(len(sent)) + images*body.ImageTokens + usageSlack
	if open {
		most += openSlack
	}
	return most
}

// attachments counts the images among the types that a body names, and says whether one is of content of unknown length. It runs for
// every stream, so it does not parse the body: a text that is mistaken for a type only makes the bound larger.
func attachments(sent []byte) (images int64, open bool) {
	name := []byte(`"type"`)
	for {
		at := bytes.Index(sent, name)
		if at < 0 {
			return images, open
		}
		sent = bytes.TrimLeft(sent[at+len(name):], ": \t\r\n")
		value, quoted := bytes.CutPrefix(sent, []byte(`"`))
		end := bytes.IndexByte(value[:min(len(value), maxTypeBytes)], '"')
		switch {
		case !quoted || end < 0:
		case bytes.Contains(value[:end], []byte("image")):
			images++
		case !plainTypes[string(value[:end])]:
			open = true
		}
	}
}

// maxTypeBytes bounds the name of a type; longer ones are none that is known.
const maxTypeBytes = 64

// mostOutput is the most tokens of output that the call can have used.
func (t *try) mostOutput() int64 {
	if asked := t.task.MaxOutputTokens; asked > 0 {
		return min(usageFactor*asked+usageSlack, penstock.MaxTokens-1)
	}
	return min(usageFactor*min(t.target.MaxOutputTokens, penstock.MaxTokens)+openSlack, penstock.MaxTokens-1)
}
