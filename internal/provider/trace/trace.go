// Package trace reads the parts of an answer that only traces show: the model that answered, and why it stopped. It is separate from
// the readers of the protocols because few calls are traced, and all others must not pay for it. One reader serves all dialects: the
// names of their members do not collide.
//
// The texts of an upstream are bounded, and only plain names are kept: anything else may be a payload. A Reader belongs to one goroutine.
package trace

import (
	"slices"
	"strings"

	"penstock/internal/body"
	"penstock/internal/provider"
)

// The bounds of upstream texts in a trace. A text that is longer, or is not a plain name, may be a payload and is left out.
const (
	maxModel   = 128
	maxReason  = 64
	maxReasons = 16
)

// Reader reads one answer. A nil Reader reads nothing.
type Reader struct{ found provider.Traced }

// New returns the reader of a call's answer, nil if the call is not traced.
func New(call *provider.Call) *Reader {
	if !call.Traced {
		return nil
	}
	return new(Reader)
}

// Read reads a plain answer, or an event of a stream. Invalid JSON is reported elsewhere.
func (t *Reader) Read(text []byte) {
	if t == nil || len(text) == 0 || text[0] != '{' {
		return
	}
	in := body.NewCursor(text)
	t.answer(&in, t.within)
}

// Into adds to the description of an answer what was read.
func (t *Reader) Into(m *provider.Meta) {
	if t != nil {
		m.Traced = &t.found
	}
}

// answer reads the members of an answer, or of what carries one: Anthropic's message and delta, OpenAI's response. Those are
// one level deep; further ones are passed over, however many an upstream sends.
func (t *Reader) answer(in *body.Cursor, carried func(*body.Cursor)) {
	status, isResponse := "", false
	for name := range in.Members {
		switch string(name) {
		case "model":
			t.model(word(in))
		case "choices":
			t.choices(in)
		case "stop_reason":
			t.reason(word(in))
		case "object":
			isResponse = word(in) == "response"
		case "status":
			status = word(in)
		case "incomplete_details":
			status = reasonIn(in, status)
		case "message", "delta", "response":
			carried(in)
		default:
			in.Skip()
		}
	}
	if isResponse && status != "in_progress" && status != "queued" {
		t.reason(status)
	}
}

// within reads an answer inside of another object.
func (t *Reader) within(in *body.Cursor) {
	if in.Kind() != '{' {
		in.Skip()
		return
	}
	t.answer(in, (*body.Cursor).Skip)
}

// choices reads why each choice of a completion ended, in their order.
func (t *Reader) choices(in *body.Cursor) {
	if in.Kind() != '[' {
		in.Skip()
		return
	}
	for range in.Elements {
		if in.Kind() != '{' {
			in.Skip()
			continue
		}
		for name := range in.Members {
			if string(name) == "finish_reason" {
				t.reason(word(in))
			} else {
				in.Skip()
			}
		}
	}
}

// reasonIn is the reason in the details of a response that is incomplete, or else what is known already.
func reasonIn(in *body.Cursor, known string) string {
	if in.Kind() != '{' {
		in.Skip()
		return known
	}
	for name := range in.Members {
		if string(name) == "reason" {
			known = word(in)
		} else {
			in.Skip()
		}
	}
	return known
}

func (t *Reader) model(name string) {
	if t.found.Model == "" && isName(name, maxModel) {
		t.found.Model = name
	}
}

func (t *Reader) reason(word string) {
	if len(t.found.FinishReasons) < maxReasons && isName(word, maxReason) {
		t.found.FinishReasons = append(slices.Clip(t.found.FinishReasons), word)
	}
}

// word reads a string; anything else reads as "".
func word(in *body.Cursor) string {
	if in.Kind() != '"' {
		in.Skip()
		return ""
	}
	return in.String()
}

// isName reports whether a text is a name and not a sentence.
func isName(text string, most int) bool {
	return text != "" && len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' })
}
