package openai

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

var done = []byte("[DONE]")

// completionReader reads chat completions, and completions of the older kind.
type completionReader struct {
	usageInjected bool // the caller did not ask for usage and must not see it

	delta    wire.Template
	usage    penstock.Usage
	reported wire.Reported
}

// Plain implements [wire.Reader].
func (r *completionReader) Plain(text []byte) (wire.Part, error) {
	c, err := readCompletion(text)
	switch {
	case err != nil:
		return wire.Part{}, err
	case c.failed:
		return wire.Part{Failed: true}, nil
	case !c.hasChoices:
		return wire.Part{}, errors.New("it has no choices")
	}
	r.count(c.usage)
	return wire.Part{Text: c.text}, nil
}

// Event implements [wire.Reader].
func (r *completionReader) Event(ev sse.Event) (wire.Part, error) {
	if bytes.Equal(ev.Data, done) {
		return wire.Part{Last: true}, nil
	}
	if text, ok := r.delta.Text(ev.Data); ok {
		return wire.Part{Text: text}, nil
	}
	c, err := readCompletion(ev.Data)
	if err != nil {
		return wire.Part{}, err
	}
	if c.failed {
		return wire.Part{Failed: true}, nil
	}
	r.count(c.usage)
	if c.isDelta() {
		r.delta.Learn(ev.Data, c.contents.last)
	}
	return wire.Part{
		Text: c.text,
		// Usage alone, as the protocol sends it last. Some servers add usage to chunks with choices, and
		// some send other chunks without choices: those are the caller's.
		Hidden: r.usageInjected && c.choices == 0 && wire.IsSet(c.usage),
	}, nil
}

func (r *completionReader) count(reported jsontext.Value) {
	switch usage, how := readUsage(reported); {
	case how == wire.ReportedAll:
		r.usage, r.reported = r.usage.Most(usage), how
	case r.reported == wire.ReportedPart:
		r.reported = how
	}
}

// Usage implements [wire.Reader].
func (r *completionReader) Usage() (penstock.Usage, wire.Reported) { return r.usage, r.reported }

// Complaint implements [wire.Reader].
func (r *completionReader) Complaint(status int, body []byte) wire.Complaint {
	return readComplaint(status, body)
}

// completion is what Penstock reads of an answer, and of each chunk of a streamed one.
type completion struct {
	failed     bool // the server put an error where an answer belongs
	hasChoices bool
	choices    int
	text       string // what the first choice says
	usage      jsontext.Value

	contents contents
}

// isDelta says whether a chunk has no other meaning than the text of its first choice.
func (c *completion) isDelta() bool {
	return c.choices == 1 && c.contents.read == 1 && c.contents.last.End > 0 && !wire.IsSet(c.usage)
}

// readCompletion reads an answer or a chunk. There is one for every token of a stream.
func readCompletion(text []byte) (c completion, err error) {
	in := body.NewCursor(text)
	for name := range in.Members {
		switch string(name) {
		case "object":
			c.failed = c.failed || string(in.Raw()) == `"error"`
		case "error":
			c.failed = c.failed || in.Kind() != 'n'
			in.Skip()
		case "usage":
			c.usage = in.Raw()
		case "choices":
			c.readChoices(&in)
		default:
			in.Skip()
		}
	}
	return c, in.End()
}

func (c *completion) readChoices(in *body.Cursor) {
	if in.Kind() == 'n' {
		in.Skip()
		return
	}
	c.hasChoices, c.choices, c.text = true, 0, ""
	found := false
	for range in.Elements {
		c.choices++
		// Callers that ask for several choices get them all on the wire, but their texts have no order among each other.
		if index, text := c.readChoice(in); index == 0 && !found {
			c.text, found = text, true
		} else {
			c.contents.read += 2 // the chunk says more than the text of its first choice
		}
	}
}

func (c *completion) readChoice(in *body.Cursor) (index int64, text string) {
	if in.Kind() == 'n' {
		in.Skip()
		return 0, ""
	}
	for name := range in.Members {
		switch string(name) {
		case "index":
			index = in.Int()
		case "message", "delta": // of a plain chat, and of a chunk of one
			text += c.readMessage(in)
		case "text": // of the older kind, plain or chunk
			text += c.contents.next(in)
		default:
			in.Skip()
		}
	}
	return index, text
}

func (c *completion) readMessage(in *body.Cursor) (text string) {
	if in.Kind() == 'n' {
		in.Skip()
		return ""
	}
	for name := range in.Members {
		if string(name) == "content" {
			text = c.contents.next(in)
		} else {
			in.Skip()
		}
	}
	return text
}
