package bedrock

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// converseReader reads answers of Converse and ConverseStream.
type converseReader struct {
	usage    penstock.Usage
	reported wire.Reported
}

// Plain implements [wire.Reader].
func (r *converseReader) Plain(body []byte) (wire.Part, error) {
	var c struct {
		Output struct {
			Message *struct {
				Content []struct {
					Text wire.Scalar `json:"text"`
				} `json:"content"`
			} `json:"message"`
		} `json:"output"`
		StopReason wire.Scalar    `json:"stopReason"`
		Usage      jsontext.Value `json:"usage"`
		Message    wire.Scalar    `json:"message"` // of an error
	}
	if err := wire.Decode(body, &c); err != nil {
		return wire.Part{}, err
	}
	switch {
	case c.Output.Message == nil && c.Message != "":
		return wire.Part{Failed: true}, nil
	case c.Output.Message == nil:
		return wire.Part{}, errors.New("it has no message")
	case broken[string(c.StopReason)]:
		return wire.Part{Failed: true}, nil
	}
	r.count(c.Usage)
	var said strings.Builder
	for _, block := range c.Output.Message.Content {
		said.WriteString(string(block.Text))
	}
	return wire.Part{Text: said.String()}, nil
}

// broken are the stop reasons of a model that did not write an answer: another try may succeed.
var broken = map[string]bool{"malformed_model_output": true, "malformed_tool_use": true}

// event is what Penstock reads of an event.
type event struct {
	ContentBlockDelta *struct {
		Delta struct {
			Text wire.Scalar `json:"text"`
		} `json:"delta"`
	} `json:"contentBlockDelta"`
	MessageStop *struct {
		StopReason wire.Scalar `json:"stopReason"`
	} `json:"messageStop"`
	Metadata *struct {
		Usage jsontext.Value `json:"usage"`
	} `json:"metadata"`
	Others map[string]jsontext.Value `json:",embed"`
}

// exception returns the name of the exception that an event reports, and "" for other events.
func (ev *event) exception() string {
	for name := range ev.Others {
		if strings.HasSuffix(strings.ToLower(name), "exception") {
			return name
		}
	}
	return ""
}

// Event implements [wire.Reader]. Types of events that it does not know mean nothing.
func (r *converseReader) Event(in sse.Event) (wire.Part, error) {
	var ev event
	if err := wire.Decode(in.Data, &ev); err != nil {
		return wire.Part{}, err
	}
	switch {
	case ev.exception() != "":
		return wire.Part{Failed: true}, nil
	case ev.ContentBlockDelta != nil:
		return wire.Part{Text: string(ev.ContentBlockDelta.Delta.Text)}, nil
	case ev.MessageStop != nil:
		return wire.Part{Failed: broken[string(ev.MessageStop.StopReason)]}, nil
	case ev.Metadata != nil:
		r.count(ev.Metadata.Usage)
		return wire.Part{Last: true}, nil
	case len(ev.Others) != 1:
		return wire.Part{}, errors.New("it is not one event")
	}
	for _, value := range ev.Others {
		if value.Kind() != '{' {
			return wire.Part{}, errors.New("its payload is not an object")
		}
	}
	return wire.Part{}, nil
}

// count reads the usage. Counts that make no sense count as not reported.
func (r *converseReader) count(raw jsontext.Value) {
	if !wire.IsSet(raw) {
		return
	}
	var u struct {
		InputTokens           *int64 `json:"inputTokens"`
		OutputTokens          int64  `json:"outputTokens"`
		CacheReadInputTokens  int64  `json:"cacheReadInputTokens"`
		CacheWriteInputTokens int64  `json:"cacheWriteInputTokens"`
		CacheDetails          []struct {
			InputTokens int64       `json:"inputTokens"`
			TTL         wire.Scalar `json:"ttl"`
		} `json:"cacheDetails"`
	}
	if wire.Decode(raw, &u) != nil {
		r.reported = wire.ReportedInvalid
		return
	}
	if u.InputTokens == nil {
		return
	}
	hour := int64(0)
	for _, d := range u.CacheDetails {
		if d.TTL == "1h" {
			hour += d.InputTokens
		}
	}
	counts := []int64{*u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheWriteInputTokens, hour}
	for i, n := range counts {
		if n < 0 {
			r.reported = wire.ReportedInvalid
			return
		}
		counts[i] = min(n, penstock.MaxTokens)
	}
	r.usage = penstock.Usage{
		InputTokens: min(counts[0]+counts[2]+counts[3], penstock.MaxTokens), OutputTokens: counts[1],
		CachedInputTokens: counts[2], CacheWriteTokens: counts[3], CacheWrite1hTokens: min(counts[4], counts[3]),
	}
	r.reported = wire.ReportedAll
}

// Usage implements [wire.Reader].
func (r *converseReader) Usage() (penstock.Usage, wire.Reported) { return r.usage, r.reported }
