package translate

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

const (
	objectCompletion = "chat.completion"
	objectChunk      = "chat.completion.chunk"
	prefixCompletion = "chatcmpl-"
	// noArguments are the arguments of a call without any. Clients parse them without a check.
	noArguments = "{}"
)

// writtenCompletion is a chat completion, or a chunk of one.
type writtenCompletion struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Created int64           `json:"created"`
	Model   string          `json:"model"`
	Choices []writtenChoice `json:"choices"`
	Usage   jsontext.Value  `json:"usage,omitzero"` // in chunks: absent unless asked for, then null until the last
}

type writtenChoice struct {
	Index        int            `json:"index"`
	Message      *writtenAnswer `json:"message,omitzero"`
	Delta        *writtenDelta  `json:"delta,omitzero"`
	Logprobs     *struct{}      `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

type writtenAnswer struct {
	Role      string        `json:"role"`
	Content   *string       `json:"content"`
	Refusal   *string       `json:"refusal"`
	ToolCalls []writtenCall `json:"tool_calls,omitempty"`
	// ReasoningContent is not OpenAI's own, which shows no reasoning, but widely understood.
	ReasoningContent string `json:"reasoning_content,omitzero"`
}

type writtenDelta struct {
	Role             string        `json:"role,omitzero"`
	Content          *string       `json:"content,omitzero"`
	ReasoningContent string        `json:"reasoning_content,omitzero"`
	ToolCalls        []writtenCall `json:"tool_calls,omitempty"`
}

// writtenCall is a call, or a part of one. Parts after the first have neither id nor type nor name, and
// not null either: clients append what they get.
type writtenCall struct {
	Index    *int          `json:"index,omitzero"` // in chunks
	ID       string        `json:"id,omitzero"`
	Type     string        `json:"type,omitzero"`
	Function writtenCalled `json:"function"`
}

type writtenCalled struct {
	Name      string `json:"name,omitzero"`
	Arguments string `json:"arguments"`
}

// chatStream writes a chat completion as a stream.
type chatStream struct {
	asked    dialect.Asked
	id       string
	buf      []byte
	said     strings.Builder
	calls    int
	argument bool // the call that began last has some
}

func newChatStream(asked dialect.Asked) writer { return &chatStream{asked: asked} }

func (s *chatStream) begin(id string) {
	s.id = answerID(prefixCompletion, id, s.asked)
	s.delta(writtenDelta{Role: "assistant", Content: new(string)})
}

func (s *chatStream) thought(part string) { s.delta(writtenDelta{ReasoningContent: part}) }

func (s *chatStream) text(part string) {
	s.said.WriteString(part)
	s.delta(writtenDelta{Content: &part})
}

func (s *chatStream) call(id, name string) {
	s.endCall()
	index := s.calls
	s.calls++
	s.argument = false
	s.delta(writtenDelta{ToolCalls: []writtenCall{{Index: &index, ID: id, Type: "function", Function: writtenCalled{Name: name}}}})
}

func (s *chatStream) arguments(part string) {
	s.argument = true
	index := s.calls - 1
	s.delta(writtenDelta{ToolCalls: []writtenCall{{Index: &index, Function: writtenCalled{Arguments: part}}}})
}

func (s *chatStream) endCall() {
	if s.calls > 0 && !s.argument {
		s.arguments(noArguments)
	}
}

func (s *chatStream) idle() { s.buf = sse.AppendComment(s.buf, "ping") }

func (s *chatStream) end(e ending) error {
	s.endCall()
	word := chatWords[e.stop]
	s.chunk([]writtenChoice{{Delta: &writtenDelta{}, FinishReason: &word}}, nil)
	if s.asked.IncludeUsage {
		s.chunk([]writtenChoice{}, encode(e.usage.chat()))
	}
	s.buf = sse.AppendEvent(s.buf, sse.Event{Data: []byte("[DONE]")})
	return nil
}

func (s *chatStream) delta(d writtenDelta) { s.chunk([]writtenChoice{{Delta: &d}}, nil) }

func (s *chatStream) chunk(choices []writtenChoice, usage jsontext.Value) {
	if usage == nil && s.asked.IncludeUsage {
		usage = jsontext.Value("null")
	}
	s.buf = sse.AppendEvent(s.buf, sse.Event{Data: encode(writtenCompletion{
		ID: s.id, Object: objectChunk, Created: s.asked.Created(), Model: s.asked.Model, Choices: choices, Usage: usage,
	})})
}

func (s *chatStream) take() provider.Chunk { return taken(&s.buf, &s.said) }

// taken empties what a writer wrote into a chunk. The bytes stay until the writer writes again.
func taken(buf *[]byte, said *strings.Builder) provider.Chunk {
	chunk := provider.Chunk{Wire: *buf, Text: said.String()}
	*buf = (*buf)[:0]
	said.Reset()
	return chunk
}

// chatWriter writes a chat completion in one piece.
type chatWriter struct {
	gathered
	asked dialect.Asked
}

func newChatWriter(asked dialect.Asked) writer { return &chatWriter{asked: asked} }

func (c *chatWriter) end(e ending) error {
	parts, err := c.all()
	if err != nil {
		return err
	}
	message := &writtenAnswer{Role: "assistant"}
	for _, p := range parts {
		if p.kind == partThought {
			message.ReasoningContent += p.text.String()
		}
		if p.kind != partCall {
			continue
		}
		arguments := p.text.String()
		if arguments == "" {
			arguments = noArguments
		}
		message.ToolCalls = append(message.ToolCalls, writtenCall{ID: p.id, Type: "function", Function: writtenCalled{Name: p.name, Arguments: arguments}})
	}
	if text := c.said.String(); text != "" || message.ToolCalls == nil {
		message.Content = &text
	}
	word := chatWords[e.stop]
	c.buf = encode(writtenCompletion{
		ID: answerID(prefixCompletion, c.id, c.asked), Object: objectCompletion, Created: c.asked.Created(), Model: c.asked.Model,
		Choices: []writtenChoice{{Message: message, FinishReason: &word}}, Usage: encode(e.usage.chat()),
	})
	return nil
}

func chatError(failure *provider.Error) any {
	type said struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	return struct {
		Error said `json:"error"`
	}{said{Message: valid(failure.Public()), Type: errorType(failure)}}
}
