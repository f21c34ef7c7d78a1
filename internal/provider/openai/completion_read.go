package openai

import (
	"bytes"
	"errors"
	"strings"

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
	c, err := readCompletion(ev.Data)
	if err != nil {
		return wire.Part{}, err
	}
	if c.failed {
		return wire.Part{Failed: true}, nil
	}
	r.count(c.usage)
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
		if index, text := readChoice(in); index == 0 && !found {
			c.text, found = text, true
		}
	}
}

func readChoice(in *body.Cursor) (index int64, text string) {
	if in.Kind() == 'n' {
		in.Skip()
		return 0, ""
	}
	for name := range in.Members {
		switch string(name) {
		case "index":
			index = in.Int()
		case "message", "delta": // of a plain chat, and of a chunk of one
			text += readMessage(in)
		case "text": // of the older kind, plain or chunk
			text += readContent(in)
		default:
			in.Skip()
		}
	}
	return index, text
}

func readMessage(in *body.Cursor) (text string) {
	if in.Kind() == 'n' {
		in.Skip()
		return ""
	}
	for name := range in.Members {
		if string(name) == "content" {
			text = readContent(in)
		} else {
			in.Skip()
		}
	}
	return text
}

// readContent reads a message's text: a string, or a list of parts of which some are text. Anything else,
// null above all, is no text.
func readContent(in *body.Cursor) string {
	switch in.Kind() {
	case '"':
		return in.String()
	case '[':
		var all strings.Builder
		for range in.Elements {
			readPart(in, &all)
		}
		return all.String()
	default:
		in.Skip()
		return ""
	}
}

func readPart(in *body.Cursor, to *strings.Builder) {
	if in.Kind() == 'n' {
		in.Skip()
		return
	}
	for name := range in.Members {
		if string(name) == "text" {
			to.WriteString(readContent(in))
		} else {
			in.Skip()
		}
	}
}
