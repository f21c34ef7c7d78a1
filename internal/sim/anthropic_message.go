package sim

import (
	"fmt"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

type messageRequest struct {
	Model     string        `json:"model"`
	System    *content      `json:"system"`
	Messages  []chatMessage `json:"messages"`
	MaxTokens *int          `json:"max_tokens"`
	Stream    bool          `json:"stream"`
	Tools     []struct {
		Name string `json:"name"`
	} `json:"tools"`
	ToolChoice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
}

func decodeMessage(body []byte) (*call, error) {
	r := new(messageRequest)
	c, err := r.decode(body)
	if err != nil {
		return nil, err
	}
	switch {
	case r.MaxTokens == nil:
		return nil, invalid("max_tokens", "max_tokens: Field required")
	case *r.MaxTokens < 1:
		return nil, invalid("max_tokens", "max_tokens: must be at least 1")
	}
	c.maxTokens, c.stream, c.responder = *r.MaxTokens, r.Stream, r
	return c, nil
}

// tokenCountRequest asks how long a prompt is.
type tokenCountRequest struct {
	messageRequest
}

func decodeTokenCount(body []byte) (*call, error) {
	r := new(tokenCountRequest)
	c, err := r.decode(body)
	if err != nil {
		return nil, err
	}
	c.silent, c.dry, c.responder = true, true, r
	return c, nil
}

func (r *tokenCountRequest) plain(a *answer) []byte {
	return encode(struct {
		InputTokens int `json:"input_tokens"`
	}{a.inputTokens})
}

// decode reads what a message and a token count have in common.
func (r *messageRequest) decode(body []byte) (*call, error) {
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, invalid("model", "model: Field required")
	case r.Messages == nil:
		return nil, invalid("messages", "messages: Field required")
	case len(r.Messages) == 0:
		return nil, invalid("messages", "messages: at least one message is required")
	}
	p := new(prompt)
	if r.System != nil {
		p.add("system", *r.System)
	}
	for i, m := range r.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return nil, invalid("messages", fmt.Sprintf("messages.%d.role: must be 'user' or 'assistant'", i))
		}
		p.add(m.Role, m.Content)
	}
	tool, err := r.demandedTool()
	if err != nil {
		return nil, err
	}
	return &call{model: r.Model, prompt: p, tool: tool}, nil
}

// demandedTool returns the tool that the request insists on, or "".
func (r *messageRequest) demandedTool() (string, error) {
	if r.ToolChoice.Type != "" && len(r.Tools) == 0 {
		return "", invalid("tool_choice", "tool_choice: may only be specified while providing tools")
	}
	for i, tool := range r.Tools {
		if tool.Name == "" {
			return "", invalid("tools", fmt.Sprintf("tools.%d.name: Field required", i))
		}
	}
	switch r.ToolChoice.Type {
	case "any":
		return r.Tools[0].Name, nil
	case "tool":
		for _, tool := range r.Tools {
			if tool.Name == r.ToolChoice.Name {
				return tool.Name, nil
			}
		}
		return "", invalid("tool_choice", "tool_choice: tool '"+abridge(r.ToolChoice.Name)+"' not found in provided tools")
	}
	return "", nil
}

// message is a whole answer, and also what opens a stream.
type message struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []contentBlock `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        messageUsage   `json:"usage"`
}

// contentBlock is text, or the use of a tool.
type contentBlock struct {
	Type  string         `json:"type"`
	Text  *string        `json:"text,omitzero"`
	ID    string         `json:"id,omitempty"`
	Name  string         `json:"name,omitempty"`
	Input jsontext.Value `json:"input,omitzero"`
}

type messageUsage struct {
	InputTokens              int `json:"input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	// Nothing where nothing was written.
	CacheCreation *cacheCreation `json:"cache_creation,omitzero"`
}

// cacheCreation is how long a cache write is kept.
type cacheCreation struct {
	For5m int `json:"ephemeral_5m_input_tokens"`
	For1h int `json:"ephemeral_1h_input_tokens"`
}

func (a *answer) message() message {
	written := a.parts.written + a.parts.written1h
	usage := messageUsage{
		InputTokens:              a.reported(a.inputTokens - a.parts.cached - written),
		CacheCreationInputTokens: written, CacheReadInputTokens: a.parts.cached,
	}
	if written > 0 {
		usage.CacheCreation = &cacheCreation{a.parts.written, a.parts.written1h}
	}
	return message{
		ID:      "msg_" + a.id,
		Type:    "message",
		Role:    "assistant",
		Model:   a.model,
		Content: []contentBlock{},
		Usage:   usage,
	}
}

// block returns the answer's one content block, holding the text given.
func (a *answer) block(text string) contentBlock {
	if a.tool != "" {
		return contentBlock{Type: "tool_use", ID: "toolu_" + a.id, Name: a.tool, Input: jsontext.Value("{}")}
	}
	return contentBlock{Type: "text", Text: &text}
}

// stopReason is why the answer ended, in the dialect's words.
func (a *answer) stopReason() *string {
	switch {
	case a.tool != "":
		return nullable("tool_use")
	case a.cut:
		return nullable("max_tokens")
	}
	return nullable("end_turn")
}

func (r *messageRequest) plain(a *answer) []byte {
	m := a.message()
	m.Content = []contentBlock{a.block(a.script.String())}
	m.StopReason = a.stopReason()
	m.Usage.OutputTokens = a.reported(a.outputTokens)
	return encode(m)
}

// messageEvent is any event of a stream; each kind fills its own fields.
type messageEvent struct {
	Type         string        `json:"type"`
	Message      *message      `json:"message,omitzero"`
	Index        *int          `json:"index,omitzero"`
	ContentBlock *contentBlock `json:"content_block,omitzero"`
	Delta        any           `json:"delta,omitzero"`
	Usage        *deltaUsage   `json:"usage,omitzero"`
}

type blockDelta struct {
	Type        string  `json:"type"`
	Text        *string `json:"text,omitzero"`
	PartialJSON *string `json:"partial_json,omitzero"`
}

type stopDelta struct {
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

// deltaUsage is the count so far, not the increase.
type deltaUsage struct {
	OutputTokens int `json:"output_tokens"`
}

func (r *messageRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		for event := range messageEvents(a) {
			token := event.Type == "content_block_delta"
			if !yield(frame{data: namedEvent(event.Type, encode(event)), token: token}) {
				return
			}
		}
	}
}

func messageEvents(a *answer) iter.Seq[messageEvent] {
	start := a.message()
	start.Usage.OutputTokens = 1 // the real service counts the first token before it sends any
	block := a.block("")
	index := new(int)
	opening := []messageEvent{
		{Type: "message_start", Message: &start},
		{Type: "content_block_start", Index: index, ContentBlock: &block},
		{Type: "ping"},
	}
	closing := []messageEvent{
		{Type: "content_block_stop", Index: index},
		{Type: "message_delta", Delta: stopDelta{StopReason: a.stopReason()}, Usage: &deltaUsage{a.reported(a.outputTokens)}},
		{Type: "message_stop"},
	}
	return func(yield func(messageEvent) bool) {
		for _, event := range opening {
			if !yield(event) {
				return
			}
		}
		for delta := range blockDeltas(a) {
			if !yield(messageEvent{Type: "content_block_delta", Index: index, Delta: delta}) {
				return
			}
		}
		for _, event := range closing {
			if !yield(event) {
				return
			}
		}
	}
}

func blockDeltas(a *answer) iter.Seq[blockDelta] {
	return func(yield func(blockDelta) bool) {
		if a.tool != "" {
			for _, piece := range toolArguments() {
				if !yield(blockDelta{Type: "input_json_delta", PartialJSON: &piece}) {
					return
				}
			}
			return
		}
		for token := range a.script.tokens() {
			if !yield(blockDelta{Type: "text_delta", Text: &token}) {
				return
			}
		}
	}
}
