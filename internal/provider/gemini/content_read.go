package gemini

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// contentReader reads answers of generateContent, and the parts of a streamed one, which have the same form.
type contentReader struct {
	usage    penstock.Usage
	reported wire.Reported
}

// content is what Penstock reads of an answer.
type content struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []struct {
				Text    text `json:"text"`
				Thought bool `json:"thought"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason wire.Scalar `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason wire.Scalar `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata jsontext.Value `json:"usageMetadata"`
	Error         jsontext.Value `json:"error"`
}

// text is a string; anything else is no text.
type text = wire.Scalar

// broken are the finish reasons of a model that did not write an answer: another try may succeed.
var broken = map[wire.Scalar]bool{"MALFORMED_FUNCTION_CALL": true, "UNEXPECTED_TOOL_CALL": true, "TOO_MANY_TOOL_CALLS": true, "MALFORMED_RESPONSE": true}

// failed reports whether the answer is an error in place of one.
func (c *content) failed() bool {
	return wire.IsSet(c.Error) || c.PromptFeedback.BlockReason != "" || broken[c.finished()]
}

// finished is why the first candidate ended, "" while it has not.
func (c *content) finished() wire.Scalar {
	for i := range c.Candidates {
		if c.Candidates[i].Index == 0 {
			return c.Candidates[i].FinishReason
		}
	}
	return ""
}

// said is the text of the first candidate, without its thoughts.
func (c *content) said() string {
	var all strings.Builder
	for i := range c.Candidates {
		if c.Candidates[i].Index != 0 {
			continue
		}
		for _, part := range c.Candidates[i].Content.Parts {
			if !part.Thought {
				all.WriteString(string(part.Text))
			}
		}
	}
	return all.String()
}

// Plain implements [wire.Reader].
func (r *contentReader) Plain(body []byte) (wire.Part, error) {
	var c content
	if err := wire.Decode(body, &c); err != nil {
		return wire.Part{}, err
	}
	switch {
	case c.failed():
		return wire.Part{Failed: true}, nil
	case len(c.Candidates) == 0:
		return wire.Part{}, errors.New("it has no candidates")
	}
	r.count(c.UsageMetadata)
	return wire.Part{Text: c.said()}, nil
}

// Event implements [wire.Reader].
func (r *contentReader) Event(ev sse.Event) (wire.Part, error) {
	var c content
	if err := wire.Decode(ev.Data, &c); err != nil {
		return wire.Part{}, err
	}
	if c.failed() {
		return wire.Part{Failed: true}, nil
	}
	if len(c.Candidates) == 0 && !wire.IsSet(c.UsageMetadata) {
		return wire.Part{}, errors.New("it has neither candidates nor usage")
	}
	r.count(c.UsageMetadata)
	return wire.Part{Text: c.said(), Last: c.finished() != ""}, nil
}

// Usage implements [wire.Reader].
func (r *contentReader) Usage() (penstock.Usage, wire.Reported) { return r.usage, r.reported }

// Complaint implements [wire.Reader].
func (r *contentReader) Complaint(status int, body []byte) wire.Complaint {
	return readComplaint(status, body)
}
