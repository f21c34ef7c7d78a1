package translate

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// callLimiter is a reader of answers whose upstream cannot limit the model to one tool call.
type callLimiter interface {
	// keepFirstCall makes the reader drop every tool call after the first.
	keepFirstCall()
}

// callLimit counts the tool calls of an answer. The first of several calls in parallel is a valid answer for a caller that allows one:
// the model makes the others in later turns if it still needs them.
type callLimit struct{ limited, called bool }

// keepFirstCall implements [callLimiter].
func (l *callLimit) keepFirstCall() { l.limited = true }

// allows reports whether the next call may be written, and notes a call that may not.
func (l *callLimit) allows(n *notes) bool {
	if l.limited && l.called {
		n.lose("tool_calls")
		return false
	}
	l.called = true
	return true
}

// chatAllowsOneCall reports whether the body of a chat completion or of a response allows one tool call at most.
func chatAllowsOneCall(body []byte) bool {
	var in struct {
		Parallel *bool `json:"parallel_tool_calls"`
	}
	return bytes.Contains(body, []byte("parallel_tool_calls")) && json.Unmarshal(body, &in, lenient) == nil && in.Parallel != nil && !*in.Parallel
}

// messageAllowsOneCall reports whether the body that asks for a message allows one tool call at most.
func messageAllowsOneCall(body []byte) bool {
	var in struct {
		Choice struct {
			DisableParallel bool `json:"disable_parallel_tool_use"`
		} `json:"tool_choice"`
	}
	return bytes.Contains(body, []byte("disable_parallel_tool_use")) && json.Unmarshal(body, &in, lenient) == nil && in.Choice.DisableParallel
}
