package translate

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readMessage is what is read of a message.
type readMessage struct {
	Type         string         `json:"type"`
	ID           string         `json:"id"`
	Content      []readBlock    `json:"content"`
	StopReason   string         `json:"stop_reason"`
	StopSequence string         `json:"stop_sequence"`
	Usage        jsontext.Value `json:"usage"`
	Error        jsontext.Value `json:"error"`
}

// readBlock is a block of a message. The results of a server's own tools are not read, but named as dropped.
type readBlock struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Data      string         `json:"data"` // of thinking that is encrypted
	Citations saidMark       `json:"citations"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
}

// messageEvent is an event of a streamed message.
type messageEvent struct {
	Type         string         `json:"type"`
	Message      readMessage    `json:"message"`
	ContentBlock readBlock      `json:"content_block"`
	Delta        readDelta      `json:"delta"`
	Usage        jsontext.Value `json:"usage"`
	Error        jsontext.Value `json:"error"`
}

type readDelta struct {
	Type         string `json:"type"`
	Text         string `json:"text"`
	Thinking     string `json:"thinking"`
	Signature    string `json:"signature"`
	PartialJSON  string `json:"partial_json"`
	StopReason   string `json:"stop_reason"`
	StopSequence string `json:"stop_sequence"`
}

// messageReader reads messages. The blocks of a stream come one after the other.
type messageReader struct {
	begun bool
	end   ending
	notes

	calling bool           // the current block is the use of a tool
	input   jsontext.Value // the input in the block's first event, until a part of it arrives
	signed  signature      // of the current block, which is thinking
}

func (r *messageReader) plain(body []byte, w writer) error {
	var m readMessage
	if err := json.Unmarshal(body, &m, lenient); err != nil {
		return malformed(err, "it is not a message")
	}
	if isSet(m.Error) {
		return upstreamSaid(m.Error)
	}
	if m.Type != "message" {
		return malformed(nil, "it is not a message")
	}
	r.begin(&m, w)
	return nil
}

// begin opens the answer with the content that the message has already: all of it, or none in a stream.
func (r *messageReader) begin(m *readMessage, w writer) {
	r.begun = true
	w.begin(m.ID)
	r.end.usage.update(m.Usage)
	for i := range m.Content {
		r.open(&m.Content[i], w)
		r.close(w)
	}
	r.stopped(m.StopReason, m.StopSequence)
}

func (r *messageReader) stopped(reason, sequence string) {
	if reason != "" {
		r.end.stop, r.end.sequence = stopFromMessage(reason), sequence
	}
}

// open begins a block.
func (r *messageReader) open(b *readBlock, w writer) {
	switch b.Type {
	case "text":
		if b.Text != "" {
			w.text(b.Text)
		}
		if b.Citations {
			r.lose("citations")
		}
	case "thinking":
		if b.Thinking != "" {
			w.thought(b.Thinking)
		}
		r.signed.add(b.Signature)
	case "redacted_thinking":
		if !sealTo(w, sealed{Kind: sealRedacted, Data: b.Data}) {
			r.lose(b.Type)
		}
	case "tool_use":
		w.call(portableID(b.ID), b.Name)
		r.calling, r.input = true, b.Input
	default:
		r.lose(b.Type)
	}
}

// close ends a block. An input that did not arrive in parts was in the block's first event.
func (r *messageReader) close(w writer) {
	if r.calling && len(r.input) > 0 {
		if arguments, ok := argumentsOf(r.input); ok {
			w.arguments(arguments)
		}
	}
	r.calling, r.input = false, nil
	sealTo(w, sealed{Kind: sealThinking, Data: r.signed.take(&r.notes)})
}

func (r *messageReader) event(data []byte, w writer) error {
	var ev messageEvent
	if err := json.Unmarshal(data, &ev, lenient); err != nil {
		return malformed(err, "an event is not one of a message")
	}
	if ev.Type == "error" {
		return upstreamSaid(ev.Error)
	}
	if ev.Type == "message_start" {
		if r.begun {
			return malformed(nil, "it begins twice")
		}
		r.begin(&ev.Message, w)
		return nil
	}
	if !r.begun && (strings.HasPrefix(ev.Type, "content_") || ev.Type == "message_delta") {
		return malformed(nil, "it says something before it begins")
	}
	r.part(&ev, w)
	return nil
}

// part reads an event between the first and the last.
func (r *messageReader) part(ev *messageEvent, w writer) {
	switch ev.Type {
	case "content_block_start":
		r.close(w)
		r.open(&ev.ContentBlock, w)
	case "content_block_delta":
		switch {
		case ev.Delta.Type == "text_delta" && ev.Delta.Text != "":
			w.text(ev.Delta.Text)
		case ev.Delta.Type == "thinking_delta" && ev.Delta.Thinking != "":
			w.thought(ev.Delta.Thinking)
		case ev.Delta.Type == "signature_delta":
			r.signed.add(ev.Delta.Signature)
		case ev.Delta.Type == "input_json_delta" && ev.Delta.PartialJSON != "" && r.calling:
			r.input = nil
			w.arguments(ev.Delta.PartialJSON)
		case ev.Delta.Type == "citations_delta":
			r.lose("citations")
		}
	case "content_block_stop":
		r.close(w)
	case "message_delta":
		r.end.usage.update(ev.Usage)
		r.stopped(ev.Delta.StopReason, ev.Delta.StopSequence)
	case "ping":
		w.idle()
	}
}

func (r *messageReader) ending() (ending, error) {
	if !r.begun {
		return ending{}, malformed(nil, "it does not begin")
	}
	return r.end, nil
}
