package anthropic

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// messageReader reads one message, plain or streamed.
type messageReader struct {
	decoded event // memory to decode events into
	tally   tally
}

// Plain implements [wire.Reader].
func (r *messageReader) Plain(body []byte) (wire.Part, error) {
	var m struct {
		Type    eventType      `json:"type"`
		Content []block        `json:"content"`
		Usage   jsontext.Value `json:"usage"`
		Error   jsontext.Value `json:"error"`
	}
	if err := wire.Decode(body, &m); err != nil {
		return wire.Part{}, err
	}
	if m.Type == typeError || wire.IsSet(m.Error) {
		return wire.Part{Failed: true}, nil
	}
	if m.Content == nil {
		return wire.Part{}, errors.New("it has no content")
	}
	r.tally.last = r.tally.add(m.Usage)
	var text strings.Builder
	for _, b := range m.Content {
		text.WriteString(b.text())
	}
	return wire.Part{Text: text.String()}, nil
}

// Event implements [wire.Reader]. Events of a type that is not known pass: the protocol promises to add
// some.
func (r *messageReader) Event(ev sse.Event) (wire.Part, error) {
	e := &r.decoded
	e.reset()
	if err := wire.Decode(ev.Data, e); err != nil {
		return wire.Part{}, err
	}
	switch {
	case e.Type == typeError || wire.IsSet(e.Error):
		return wire.Part{Failed: true}, nil
	case e.Type == typeNone:
		return wire.Part{}, errors.New("it has no type")
	}
	switch e.Type {
	case typePing:
		return wire.Part{Alive: true}, nil
	case typeMessageStart:
		r.tally.add(e.Message.Usage)
	case typeMessageDelta:
		// Its counts are totals so far, and with tools of the server's own the input grows too.
		r.tally.last = r.tally.add(e.Usage) || r.tally.last
	case typeMessageStop:
		return wire.Part{Last: true}, nil
	case typeBlockStart:
		return wire.Part{Text: e.ContentBlock.text()}, nil
	case typeBlockDelta:
		return wire.Part{Text: e.Delta.text()}, nil
	}
	return wire.Part{}, nil
}

// Usage implements [wire.Reader].
func (r *messageReader) Usage() (penstock.Usage, wire.Reported) { return r.tally.usage() }

// event is what Penstock reads of an event of a stream.
type event struct {
	Type    eventType `json:"type"`
	Message struct {
		Usage jsontext.Value `json:"usage"`
	} `json:"message"`
	ContentBlock block          `json:"content_block"`
	Delta        block          `json:"delta"`
	Usage        jsontext.Value `json:"usage"`
	Error        jsontext.Value `json:"error"`
}

// reset prepares e for another event, keeping its memory.
func (e *event) reset() {
	usage, started, failure := e.Usage[:0], e.Message.Usage[:0], e.Error[:0]
	*e = event{Usage: usage, Error: failure}
	e.Message.Usage = started
}

// block is a block of content or a change to one. Only text is generated text: thinking and what tools
// are given are not for reading along.
type block struct {
	IsText textMark    `json:"type"`
	Text   wire.Scalar `json:"text"`
}

func (b block) text() string {
	if !b.IsText {
		return ""
	}
	return string(b.Text)
}

// textMark reports whether a type is that of text. It is there in every event, so it is compared in place
// and not made a string.
type textMark bool

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (m *textMark) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	switch string(value) {
	case `"text"`, `"text_delta"`:
		*m = true
	default:
		*m = false
	}
	return err
}

// eventType is the type of a message or an event, as far as it matters.
type eventType uint8

const (
	typeNone eventType = iota
	typeOther
	typeError
	typePing
	typeMessageStart
	typeMessageDelta
	typeMessageStop
	typeBlockStart
	typeBlockDelta
)

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (t *eventType) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		*t = typeNone
		return dec.SkipValue()
	}
	value, err := dec.ReadValue()
	switch string(value) {
	case `"error"`:
		*t = typeError
	case `"ping"`:
		*t = typePing
	case `"message_start"`:
		*t = typeMessageStart
	case `"message_delta"`:
		*t = typeMessageDelta
	case `"message_stop"`:
		*t = typeMessageStop
	case `"content_block_start"`:
		*t = typeBlockStart
	case `"content_block_delta"`:
		*t = typeBlockDelta
	default:
		*t = typeOther
	}
	return err
}
