package openai

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// responseReader reads responses. Their streams are of typed events, and end with one that carries the
// whole response; there is no [DONE].
type responseReader struct {
	usage    penstock.Usage
	reported wire.Reported
}

// response is what Penstock reads of one.
type response struct {
	Output []outputItem   `json:"output"`
	Usage  jsontext.Value `json:"usage"`
	Error  jsontext.Value `json:"error"`
	Object errorMark      `json:"object"`
}

// outputItem is a message, or something that is no text: a tool call, reasoning.
type outputItem struct {
	Type    wire.Scalar `json:"type"`
	Content []struct {
		Type wire.Scalar `json:"type"`
		Text content     `json:"text"`
	} `json:"content"`
}

func (r *response) failed() bool { return wire.IsSet(r.Error) || bool(r.Object) }

// text is what the response's messages say.
func (r *response) text() string {
	var all strings.Builder
	for _, item := range r.Output {
		if item.Type != "message" {
			continue
		}
		for _, part := range item.Content {
			if part.Type == "output_text" {
				all.WriteString(string(part.Text))
			}
		}
	}
	return all.String()
}

// Plain implements [wire.Reader].
func (r *responseReader) Plain(body []byte) (wire.Part, error) {
	var whole response
	if err := wire.Decode(body, &whole); err != nil {
		return wire.Part{}, err
	}
	if whole.failed() {
		return wire.Part{Failed: true}, nil
	}
	if whole.Output == nil {
		return wire.Part{}, errors.New("it has no output")
	}
	r.usage, r.reported = readUsage(whole.Usage)
	return wire.Part{Text: whole.text()}, nil
}

// Event implements [wire.Reader]. Events of a type that is not known pass: new ones are added often.
func (r *responseReader) Event(ev sse.Event) (wire.Part, error) {
	event, err := readResponseEvent(ev.Data)
	if err != nil {
		return wire.Part{}, err
	}
	switch event.kind {
	case "response.output_text.delta":
		return wire.Part{Text: event.delta}, nil
	case "response.completed", "response.incomplete":
		var whole response
		if err := wire.Decode(event.response, &whole); err != nil {
			return wire.Part{}, err
		}
		r.usage, r.reported = readUsage(whole.Usage)
		return wire.Part{Last: true}, nil
	case "response.failed":
		// What it used until then was charged.
		var whole response
		if wire.Decode(event.response, &whole) == nil {
			r.usage, r.reported = readUsage(whole.Usage)
		}
		return wire.Part{Failed: true}, nil
	case "error":
		return wire.Part{Failed: true}, nil
	case "":
		if wire.IsSet(event.failure) {
			return wire.Part{Failed: true}, nil
		}
		return wire.Part{}, errors.New("it has no type")
	}
	return wire.Part{}, nil
}

// responseEvent is what Penstock reads of an event.
type responseEvent struct {
	kind, delta       string
	response, failure jsontext.Value
}

// readResponseEvent reads an event. There is one for every token of a stream.
func readResponseEvent(text []byte) (e responseEvent, err error) {
	in := body.NewCursor(text)
	for name := range in.Members {
		switch string(name) {
		case "type":
			e.kind = in.String()
		case "delta":
			e.delta = new(contents).next(&in)
		case "response":
			e.response = in.Raw()
		case "error":
			e.failure = in.Raw()
		default:
			in.Skip()
		}
	}
	return e, in.End()
}

// Usage implements [wire.Reader].
func (r *responseReader) Usage() (penstock.Usage, wire.Reported) { return r.usage, r.reported }

// Complaint implements [wire.Reader].
func (r *responseReader) Complaint(status int, body []byte) wire.Complaint {
	return readComplaint(status, envelope(body))
}

// envelope returns the error of a failed response, or of an error event, in the form that errors have
// elsewhere. Any other body comes back as it is.
func envelope(body []byte) []byte {
	var top struct {
		Type     wire.Scalar    `json:"type"`
		Object   wire.Scalar    `json:"object"`
		Error    jsontext.Value `json:"error"`
		Response struct {
			Error jsontext.Value `json:"error"`
		} `json:"response"`
	}
	if wire.Decode(body, &top) != nil {
		return body
	}
	inner := top.Error
	switch {
	case top.Type == "response.failed":
		inner = top.Response.Error
	case top.Type == "error" && !wire.IsSet(top.Error):
		inner = body
	case top.Object != "response":
		return body
	}
	if !wire.IsSet(inner) {
		return body
	}
	return append(append([]byte(`{"error":`), inner...), '}')
}
