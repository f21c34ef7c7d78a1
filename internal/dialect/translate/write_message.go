package translate

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

const prefixMessage = "msg_"

// writtenMessage is a message, and what opens a stream. Strict clients want all of its members in both.
type writtenMessage struct {
	ID           string       `json:"id"`
	Type         string       `json:"type"`
	Role         string       `json:"role"`
	Model        string       `json:"model"`
	Content      []block      `json:"content"`
	StopReason   *string      `json:"stop_reason"`
	StopSequence *string      `json:"stop_sequence"`
	Usage        messageUsage `json:"usage"`
}

func newMessage(id string, asked dialect.Asked) writtenMessage {
	return writtenMessage{
		ID: answerID(prefixMessage, id, asked), Type: "message", Role: "assistant", Model: asked.Model, Content: []block{}, Usage: tokens{}.message(),
	}
}

// writtenEvent is an event of a stream; each type has its own fields.
type writtenEvent struct {
	Type         string          `json:"type"`
	Message      *writtenMessage `json:"message,omitzero"`
	Index        *int            `json:"index,omitzero"`
	ContentBlock any             `json:"content_block,omitzero"`
	Delta        any             `json:"delta,omitzero"`
	Usage        *messageUsage   `json:"usage,omitzero"`
}

// What content_block_start and content_block_delta carry. Their members are there even when empty.
type (
	textStart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingStart struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	toolStart struct {
		Type  string         `json:"type"`
		ID    string         `json:"id"`
		Name  string         `json:"name"`
		Input jsontext.Value `json:"input"`
	}
	textDelta struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingDelta struct {
		Type     string `json:"type"`
		Thinking string `json:"thinking"`
	}
	inputDelta struct {
		Type        string `json:"type"`
		PartialJSON string `json:"partial_json"`
	}
	stopDelta struct {
		StopReason   string  `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
)

// messageStream writes a message as a stream. Its blocks come one after the other.
type messageStream struct {
	asked dialect.Asked
	buf   []byte
	said  strings.Builder
	index int    // of the open block, or of the next one
	open  string // type of the open block, "" when none is
}

func newMessageStream(asked dialect.Asked) writer { return &messageStream{asked: asked} }

// begin writes no usage yet: the upstream reports it at the end. All of it is written then.
func (s *messageStream) begin(id string) {
	m := newMessage(id, s.asked)
	s.event(writtenEvent{Type: "message_start", Message: &m})
}

// thought writes thinking without a signature: only the service that a signature is for could make one.
func (s *messageStream) thought(part string) {
	if s.open != "thinking" {
		s.block("thinking", thinkingStart{Type: "thinking"})
	}
	s.event(writtenEvent{Type: "content_block_delta", Index: &s.index, Delta: thinkingDelta{"thinking_delta", part}})
}

func (s *messageStream) text(part string) {
	if s.open != "text" {
		s.block("text", textStart{Type: "text"})
	}
	s.said.WriteString(part)
	s.event(writtenEvent{Type: "content_block_delta", Index: &s.index, Delta: textDelta{"text_delta", part}})
}

func (s *messageStream) call(id, name string) {
	s.block("tool_use", toolStart{Type: "tool_use", ID: id, Name: name, Input: jsontext.Value("{}")})
}

func (s *messageStream) arguments(part string) {
	s.event(writtenEvent{Type: "content_block_delta", Index: &s.index, Delta: inputDelta{"input_json_delta", part}})
}

// block begins a block, after the one before it has ended.
func (s *messageStream) block(kind string, start any) {
	s.endBlock()
	s.open = kind
	s.event(writtenEvent{Type: "content_block_start", Index: &s.index, ContentBlock: start})
}

func (s *messageStream) endBlock() {
	if s.open == "" {
		return
	}
	s.event(writtenEvent{Type: "content_block_stop", Index: &s.index})
	s.open = ""
	s.index++
}

func (s *messageStream) idle() { s.buf = sse.AppendComment(s.buf, "ping") }

func (s *messageStream) end(e ending) error {
	s.endBlock()
	usage := e.usage.message()
	s.event(writtenEvent{Type: "message_delta", Delta: stopDelta{messageWords[e.stop], sequenceOf(e)}, Usage: &usage})
	s.event(writtenEvent{Type: "message_stop"})
	return nil
}

// sequenceOf is the sequence that an answer stopped at, if it is known.
func sequenceOf(e ending) *string {
	if e.sequence == "" {
		return nil
	}
	return &e.sequence
}

func (s *messageStream) event(ev writtenEvent) {
	s.buf = sse.AppendEvent(s.buf, sse.Event{Type: []byte(ev.Type), Data: encode(ev)})
}

func (s *messageStream) take() provider.Chunk { return taken(&s.buf, &s.said) }

// messageWriter writes a message in one piece.
type messageWriter struct {
	gathered
	asked dialect.Asked
}

func newMessageWriter(asked dialect.Asked) writer { return &messageWriter{asked: asked} }

func (m *messageWriter) end(e ending) error {
	parts, err := m.all()
	if err != nil {
		return err
	}
	message := newMessage(m.id, m.asked)
	for i, p := range parts {
		switch p.kind {
		case partThought:
			message.Content = append(message.Content, block{Type: "thinking", Thinking: new(p.text.String()), Signature: new("")})
			continue
		case partText:
			message.Content = append(message.Content, block{Type: "text", Text: p.text.String()})
			continue
		}
		input, ok := inputOf(p.text.String())
		switch {
		case ok:
			message.Content = append(message.Content, block{Type: "tool_use", ID: p.id, Name: p.name, Input: input})
		case e.stop == stopLength && i == len(parts)-1:
			// The token limit cut the call short. Its incomplete arguments are not an object, and the caller must not run it.
		default:
			return malformed(nil, "the arguments of a tool call are not a JSON object")
		}
	}
	word := messageWords[e.stop]
	message.StopReason, message.StopSequence, message.Usage = &word, sequenceOf(e), e.usage.message()
	m.buf = encode(message)
	return nil
}

func messageError(failure *provider.Error) any {
	type said struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	return struct {
		Type  string `json:"type"`
		Error said   `json:"error"`
	}{"error", said{Type: errorType(failure), Message: valid(failure.Public())}}
}
