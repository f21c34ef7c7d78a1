package wire

import (
	"bytes"

	"penstock/internal/body"
)

// Span is where a value lies in the data of an event.
type Span struct{ Start, End int }

// Template recognises an event that equals an earlier one except for its text, as nearly all events of a stream do. Equal bytes have an
// equal meaning, so only the text has to be parsed. The zero Template recognises nothing.
type Template struct {
	fixed []byte // the earlier event without its text
	at    int    // where the text was
}

// maxTemplateBytes bounds the memory of a template. A stream has one while it is open.
const maxTemplateBytes = 1 << 10

// Learn keeps an event that says nothing but its text: the JSON string at delta. If a reader would find another meaning in the event
// with another string in that place, it must not be learned.
func (t *Template) Learn(data []byte, delta Span) {
	if len(data)-(delta.End-delta.Start) > maxTemplateBytes {
		return
	}
	t.fixed = append(append(t.fixed[:0], data[:delta.Start]...), data[delta.End:]...)
	t.at = delta.Start
}

// Text returns the text of an event that differs from the learned event in nothing else.
func (t *Template) Text(data []byte) (text string, ok bool) {
	before, after := t.fixed[:t.at], t.fixed[t.at:]
	if len(t.fixed) == 0 || len(data) < len(t.fixed) || !bytes.HasPrefix(data, before) || !bytes.HasSuffix(data, after) {
		return "", false
	}
	in := body.NewCursor(data[len(before) : len(data)-len(after)])
	if in.Kind() != '"' {
		return "", false
	}
	text = in.String()
	return text, in.End() == nil
}
