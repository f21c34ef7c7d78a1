package anthropic

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
	"penstock/internal/provider/wire"
)

// message is what Penstock reads of a whole answer.
type message struct {
	kind           eventType
	text           string
	hasContent     bool
	usage, failure jsontext.Value
}

func readMessage(text []byte) (m message, err error) {
	in := body.NewCursor(text)
	for name := range in.Members {
		switch string(name) {
		case "type":
			m.kind = readType(&in)
		case "content":
			m.readContent(&in)
		case "usage":
			m.usage = in.Raw()
		case "error":
			m.failure = in.Raw()
		default:
			in.Skip()
		}
	}
	return m, in.End()
}

func (m *message) readContent(in *body.Cursor) {
	m.text, m.hasContent = "", in.Kind() != 'n'
	if !m.hasContent {
		in.Skip()
		return
	}
	var all strings.Builder
	for range in.Elements {
		all.WriteString(readBlock(in).text())
	}
	m.text = all.String()
}

// event is what Penstock reads of an event of a stream.
type event struct {
	kind           eventType
	begun          jsontext.Value // the usage in the message that begins
	block, delta   block
	usage, failure jsontext.Value
}

// readEvent reads an event. There is one for every token of a stream.
func readEvent(text []byte) (e event, err error) {
	in := body.NewCursor(text)
	for name := range in.Members {
		switch string(name) {
		case "type":
			e.kind = readType(&in)
		case "message":
			e.begun = readBegun(&in)
		case "content_block":
			e.block = readBlock(&in)
		case "delta":
			e.delta = readBlock(&in)
		case "usage":
			e.usage = in.Raw()
		case "error":
			e.failure = in.Raw()
		default:
			in.Skip()
		}
	}
	return e, in.End()
}

// readBegun reads the usage in a message that begins.
func readBegun(in *body.Cursor) (usage jsontext.Value) {
	if in.Kind() == 'n' {
		in.Skip()
		return nil
	}
	for name := range in.Members {
		if string(name) == "usage" {
			usage = in.Raw()
		} else {
			in.Skip()
		}
	}
	return usage
}

// block is a block of content or a change to one. Only text is generated text: thinking and what tools
// are given are not for reading along.
type block struct {
	isText bool
	value  string
	at     wire.Span // of the value, if it is a string
}

func (b block) text() string {
	if !b.isText {
		return ""
	}
	return b.value
}

func readBlock(in *body.Cursor) (b block) {
	if in.Kind() == 'n' {
		in.Skip()
		return b
	}
	for name := range in.Members {
		switch string(name) {
		case "type":
			kind := string(in.Raw())
			b.isText = kind == `"text"` || kind == `"text_delta"`
		case "text":
			b.readText(in)
		default:
			in.Skip()
		}
	}
	return b
}

// readText reads a string, or a number as text. Anything else reads as "".
func (b *block) readText(in *body.Cursor) {
	b.value, b.at = "", wire.Span{}
	switch kind := in.Kind(); {
	case kind == '"':
		start := in.Offset()
		b.value = in.String()
		b.at = wire.Span{Start: start, End: in.Offset()}
	case kind == '-' || '0' <= kind && kind <= '9':
		b.value = string(in.Raw())
	default:
		in.Skip()
	}
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

// readType reads a type. It is there in every event, so it is compared in place and not made a string.
func readType(in *body.Cursor) eventType {
	isString := in.Kind() == '"'
	switch raw := in.Raw(); string(raw) {
	case `"error"`:
		return typeError
	case `"ping"`:
		return typePing
	case `"message_start"`:
		return typeMessageStart
	case `"message_delta"`:
		return typeMessageDelta
	case `"message_stop"`:
		return typeMessageStop
	case `"content_block_start"`:
		return typeBlockStart
	case `"content_block_delta"`:
		return typeBlockDelta
	default:
		if isString {
			return typeOther
		}
		return typeNone
	}
}
