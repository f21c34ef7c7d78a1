package sim

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

const systemFingerprint = "fp_sim"

type chatRequest struct {
	generation
	Messages            []chatMessage  `json:"messages"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	Tools               []chatTool     `json:"tools"`
	ToolChoice          toolChoice     `json:"tool_choice"`
	ParallelToolCalls   *bool          `json:"parallel_tool_calls"`
	ReasoningEffort     string         `json:"reasoning_effort"`
	ResponseFormat      responseFormat `json:"response_format"`
	Logprobs            bool           `json:"logprobs"`
	TopLogprobs         *int           `json:"top_logprobs"`
}

// chatTool is a function, or a custom tool.
type chatTool struct {
	Type     string      `json:"type"`
	Custom   *customTool `json:"custom"`
	Function struct {
		Name       string         `json:"name"`
		Parameters jsontext.Value `json:"parameters"`
	} `json:"function"`
}

// offer adds the tool. Its place is at.
func (t *chatTool) offer(into *tools, at string) error {
	if t.Type != "" && t.Type != "function" && t.Type != "custom" {
		return unsupported(at+".type", t.Type, []string{"function", "custom"})
	}
	if t.Custom != nil {
		if err := checkToolName(at+".custom.name", t.Custom.Name); err != nil {
			return err
		}
		return into.offerCustom(*t.Custom)
	}
	if err := checkToolName(at+".function.name", t.Function.Name); err != nil {
		return err
	}
	return into.offer(t.Function.Name, t.Function.Parameters)
}

// chatMessage is a message of any of the dialects.
type chatMessage struct {
	Role      string         `json:"role"`
	Content   content        `json:"content"`
	ToolCalls []chatToolCall `json:"tool_calls"`
}

// addTo adds the message to a prompt.
func (m *chatMessage) addTo(p *prompt) {
	for _, call := range m.ToolCalls {
		m.Content.calls = append(m.Content.calls, call.name())
	}
	p.add(m.Role, m.Content)
}

// Roles of messages, by endpoint.
var (
	chatRoles     = []string{"system", "developer", "user", "assistant", "tool", "function"}
	responseRoles = []string{"system", "developer", "user", "assistant"}
)

// check refuses a message that OpenAI refuses.
func (m *chatMessage) check(at string, roles, parts []string) error {
	if err := oneOf(at+".role", m.Role, roles); err != nil {
		return err
	}
	return m.Content.checkParts(at+".content", parts)
}

func decodeChat(body []byte) (*call, error) {
	r := new(chatRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	c := &call{model: r.Model, prompt: new(prompt), n: r.choices(), stops: r.Stop, stream: r.Stream, responder: r}
	for i, m := range r.Messages {
		if err := m.check(element("messages", i), chatRoles, chatParts); err != nil {
			return nil, err
		}
		m.addTo(c.prompt)
	}
	for _, limit := range []*int{r.MaxTokens, r.MaxCompletionTokens} {
		if limit != nil {
			c.maxTokens = *limit
		}
	}
	return c, r.understand(c)
}

// understand reads how the answer is to be made.
func (r *chatRequest) understand(c *call) error {
	var err error
	if c.effort, err = effortOf("reasoning_effort", r.ReasoningEffort); err != nil {
		return err
	}
	if err = r.ResponseFormat.checkChat(); err != nil {
		return err
	}
	if c.format, err = r.ResponseFormat.read("response_format"); err != nil {
		return err
	}
	for i, t := range r.Tools {
		if err := t.offer(&c.tools, element("tools", i)); err != nil {
			return err
		}
	}
	if r.ToolChoice.mode != "" && len(r.Tools) == 0 {
		return invalid("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
	}
	c.tools.sequential = r.ParallelToolCalls != nil && !*r.ParallelToolCalls
	return r.ToolChoice.apply(&c.tools)
}

func (r *chatRequest) validate() error {
	if err := r.generation.validate(); err != nil {
		return err
	}
	switch {
	case r.Messages == nil:
		return required("messages")
	case len(r.Messages) == 0:
		return invalid("messages", "Invalid 'messages': empty array. Expected at least one message.")
	case r.MaxCompletionTokens != nil && *r.MaxCompletionTokens < 1:
		return invalid("max_completion_tokens", "Invalid 'max_completion_tokens': expected a value of at least 1.")
	}
	return r.alternatives().check()
}

type chatCompletion struct {
	ID                string       `json:"id"`
	Object            string       `json:"object"`
	Created           int64        `json:"created"`
	Model             string       `json:"model"`
	Choices           []chatChoice `json:"choices"`
	Usage             openAIUsage  `json:"usage"`
	SystemFingerprint string       `json:"system_fingerprint"`
}

type chatChoice struct {
	Index        int            `json:"index"`
	Message      chatAnswer     `json:"message"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

type chatAnswer struct {
	Role      string         `json:"role"`
	Content   *string        `json:"content"`
	Refusal   *string        `json:"refusal"`
	ToolCalls []chatToolCall `json:"tool_calls,omitempty"`
	// Thoughts, as servers that are compatible with OpenAI report them. OpenAI itself only counts them.
	ReasoningContent string `json:"reasoning_content,omitempty"`
}

type chatToolCall struct {
	ID       string        `json:"id"`
	Type     string        `json:"type"`
	Function *chatFunction `json:"function,omitzero"`
	Custom   *chatCustom   `json:"custom,omitzero"`
}

// name is the name of the called tool, "" if the call has no name.
func (c *chatToolCall) name() string {
	switch {
	case c.Function != nil:
		return c.Function.Name
	case c.Custom != nil:
		return c.Custom.Name
	}
	return ""
}

// chatCustom is the call of a custom tool.
type chatCustom struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

type chatFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

func (r *chatRequest) plain(a *answer) []byte {
	choices := make([]chatChoice, len(a.choices))
	for i := range a.choices {
		c := &a.choices[i]
		message := chatAnswer{Role: "assistant", ReasoningContent: c.thoughts.String()}
		for _, called := range c.calls {
			one := chatToolCall{ID: "call_" + called.id, Type: "function"}
			if called.custom {
				one.Type, one.Custom = "custom", &chatCustom{Name: called.name, Input: called.arguments.String()}
			} else {
				one.Function = &chatFunction{Name: called.name, Arguments: called.arguments.String()}
			}
			message.ToolCalls = append(message.ToolCalls, one)
		}
		choices[i] = chatChoice{Index: i, FinishReason: c.finishReason()}
		if c.calls == nil {
			message.Content = new(c.text.String())
			if r.Logprobs {
				choices[i].Logprobs = encode(chatLogprobs{Content: c.text.logprobs(r.alternatives().count())})
			}
		}
		choices[i].Message = message
	}
	return encode(chatCompletion{
		ID:                "chatcmpl-" + a.id,
		Object:            "chat.completion",
		Created:           a.created.Unix(),
		Model:             a.model,
		Choices:           choices,
		Usage:             a.openAIUsage(),
		SystemFingerprint: systemFingerprint,
	})
}

// chatLogprobs is how likely the tokens of a choice were.
type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
	Refusal []tokenLogprob `json:"refusal"`
}

// alternatives is what the request asks about the probability of tokens.
func (r *chatRequest) alternatives() alternatives { return alternatives{r.Logprobs, r.TopLogprobs} }

type chatChunk struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	Created           int64             `json:"created"`
	Model             string            `json:"model"`
	SystemFingerprint string            `json:"system_fingerprint"`
	Choices           []chatChunkChoice `json:"choices"`
	Usage             jsontext.Value    `json:"usage,omitzero"` // absent unless asked for, then null until the last chunk
}

type chatChunkChoice struct {
	Index        int            `json:"index"`
	Delta        chatDelta      `json:"delta"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

type chatDelta struct {
	Role      string             `json:"role,omitempty"`
	Content   jsontext.Value     `json:"content,omitzero"`
	Refusal   jsontext.Value     `json:"refusal,omitzero"`
	ToolCalls []chatToolCallPart `json:"tool_calls,omitempty"`

	ReasoningContent string `json:"reasoning_content,omitempty"`
}

// chatToolCallPart carries id, type and name in the first part only; the rest is joined by index.
type chatToolCallPart struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function *chatFunction `json:"function,omitzero"`
	Custom   *chatCustom   `json:"custom,omitzero"`
}

func (r *chatRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		chunk := chatChunk{
			ID:                "chatcmpl-" + a.id,
			Object:            "chat.completion.chunk",
			Created:           a.created.Unix(),
			Model:             a.model,
			SystemFingerprint: systemFingerprint,
		}
		if r.includeUsage() {
			chunk.Usage = jsontext.Value("null")
		}
		for i := range a.choices {
			for piece := range r.pieces(&a.choices[i]) {
				chunk.Choices = []chatChunkChoice{{Index: i, Delta: piece.delta, Logprobs: piece.logprobs}}
				if !yield(frame{data: dataEvent(encode(chunk)), token: piece.token}) {
					return
				}
			}
			chunk.Choices = []chatChunkChoice{{Index: i, FinishReason: a.choices[i].finishReason()}}
			if !yield(frame{data: dataEvent(encode(chunk))}) {
				return
			}
		}
		if r.includeUsage() {
			chunk.Choices, chunk.Usage = []chatChunkChoice{}, encode(a.openAIUsage())
			if !yield(frame{data: dataEvent(encode(chunk))}) {
				return
			}
		}
		yield(frame{data: doneEvent()})
	}
}

// chatPiece is a part of a choice.
type chatPiece struct {
	delta    chatDelta
	logprobs jsontext.Value
	token    bool // it carries one
}

// pieces yields the parts of a choice: its thoughts, then its text or its calls.
func (r *chatRequest) pieces(c *choice) iter.Seq[chatPiece] {
	return func(yield func(chatPiece) bool) {
		null := jsontext.Value("null")
		first := chatDelta{Role: "assistant", Content: jsontext.Value(`""`), Refusal: null}
		if c.calls != nil { // the first call comes with the role
			first = chatDelta{Role: "assistant", Content: null}
			if c.thoughts.length == 0 {
				first.ToolCalls = []chatToolCallPart{openingPart(c, 0)}
			}
		}
		if !yield(chatPiece{delta: first}) {
			return
		}
		for token := range c.thoughts.tokens() {
			if !yield(chatPiece{delta: chatDelta{ReasoningContent: token}, token: true}) {
				return
			}
		}
		if c.calls != nil {
			callPieces(c, yield)
			return
		}
		n := 0
		for token := range c.text.tokens() {
			piece := chatPiece{delta: chatDelta{Content: encode(token)}, token: true}
			if r.Logprobs {
				piece.logprobs = encode(chatLogprobs{Content: []tokenLogprob{likelihood(token, n, r.alternatives().count())}})
			}
			if n++; !yield(piece) {
				return
			}
		}
	}
}

// openingPart is the first part of a call.
func openingPart(c *choice, i int) chatToolCallPart {
	called := &c.calls[i]
	part := chatToolCallPart{Index: i, ID: "call_" + called.id}
	if called.custom {
		part.Type, part.Custom = "custom", &chatCustom{Name: called.name}
	} else {
		part.Type, part.Function = "function", &chatFunction{Name: called.name}
	}
	return part
}

func callPieces(c *choice, yield func(chatPiece) bool) {
	for i, called := range c.calls {
		if i > 0 || c.thoughts.length > 0 {
			if !yield(chatPiece{delta: chatDelta{ToolCalls: []chatToolCallPart{openingPart(c, i)}}}) {
				return
			}
		}
		for token := range called.arguments.tokens() {
			part := chatToolCallPart{Index: i}
			if called.custom {
				part.Custom = &chatCustom{Input: token}
			} else {
				part.Function = &chatFunction{Arguments: token}
			}
			if !yield(chatPiece{delta: chatDelta{ToolCalls: []chatToolCallPart{part}}, token: true}) {
				return
			}
		}
	}
}
