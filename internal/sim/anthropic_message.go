package sim

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

type messageRequest struct {
	Model        string            `json:"model"`
	System       *content          `json:"system"`
	Messages     []chatMessage     `json:"messages"`
	MaxTokens    *int              `json:"max_tokens"`
	Temperature  *float64          `json:"temperature"`
	Stops        stopList          `json:"stop_sequences"`
	Stream       bool              `json:"stream"`
	Tools        []messageTool     `json:"tools"`
	ToolChoice   messageToolChoice `json:"tool_choice"`
	Thinking     thinking          `json:"thinking"`
	Thread       jsontext.Value    `json:"thread"`
	OutputConfig struct {
		Effort string         `json:"effort"`
		Format responseFormat `json:"format"`
	} `json:"output_config"`
}

// messageTool is a tool of the caller, of the type custom, or one that Anthropic defines.
type messageTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	InputSchema jsontext.Value `json:"input_schema"`
}

type messageToolChoice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name"`
	DisableParallelToolUse bool   `json:"disable_parallel_tool_use"`
}

// thinking is "enabled" with a budget, "adaptive" or "disabled".
type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens"`
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
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return nil, invalid("temperature", "temperature: range: 0..1")
	}
	if err := r.Stops.check("stop_sequences", maxStops); err != nil {
		return nil, err
	}
	c.maxTokens, c.stops, c.stream, c.responder = *r.MaxTokens, r.Stops, r.Stream, r
	if c.effort, err = r.effort(); err != nil {
		return nil, err
	}
	if c.format, err = r.OutputConfig.Format.read("output_config.format"); c.format == nil && c.prompt.ordersObject() {
		c.format = &outputFormat{param: "system"}
	}
	return c, err
}

// minThinkingBudget is the least budget that may be set.
const minThinkingBudget = 1024

// effort is how many tokens the model thinks.
func (r *messageRequest) effort() (int, error) {
	word := r.OutputConfig.Effort
	if word == "" {
		word = "high"
	}
	adaptive, known := anthropicEfforts[word]
	switch {
	case !known:
		return 0, invalid("output_config.effort", "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case r.Thinking.Type == "", r.Thinking.Type == "disabled":
		return 0, nil
	case r.Thinking.Type != "enabled" && r.Thinking.Type != "adaptive":
		return 0, invalid("thinking", "thinking.type: Input should be 'enabled', 'adaptive' or 'disabled'")
	case r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool":
		return 0, invalid("thinking", "Thinking may not be enabled when tool_choice forces tool use.")
	case r.Temperature != nil && *r.Temperature != 1:
		return 0, invalid("temperature", "`temperature` may only be set to 1 when thinking is enabled.")
	case r.Thinking.Type == "adaptive":
		return adaptive, nil
	case r.Thinking.BudgetTokens < minThinkingBudget:
		return 0, invalid("thinking", fmt.Sprintf("thinking.enabled.budget_tokens: Input should be greater than or equal to %d", minThinkingBudget))
	case *r.MaxTokens <= r.Thinking.BudgetTokens:
		return 0, invalid("max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	}
	return anthropicEfforts["medium"], nil
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
	case r.Thread != nil && r.Thread.Kind() != 'n': // SDKs send all messages when they are told so
		return nil, invalid("thread", "thread: this server keeps no conversations")
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
		m.addTo(p)
	}
	c := &call{model: r.Model, prompt: p}
	return c, r.offerTools(&c.tools)
}

// offerTools reads the tools and how they may be used.
func (r *messageRequest) offerTools(t *tools) error {
	choice := r.ToolChoice
	if choice.Type != "" && len(r.Tools) == 0 {
		return invalid("tool_choice", "tool_choice: may only be specified while providing tools")
	}
	for i, tool := range r.Tools {
		if tool.Name == "" {
			return invalid("tools", fmt.Sprintf("tools.%d.name: Field required", i))
		}
		if !messageToolNames.MatchString(tool.Name) {
			return invalid("tools", fmt.Sprintf("tools.%d.custom.name: String should match pattern '%s'", i, messageToolNames))
		}
		if tool.served() {
			continue
		}
		if err := t.offer(tool.Name, tool.InputSchema); err != nil {
			return err
		}
	}
	t.sequential = choice.DisableParallelToolUse
	switch choice.Type {
	case "none":
		t.use = noUse
	case "any":
		t.use = mustUse
	case "tool":
		t.use, t.named = mustUse, choice.Name
		if !t.offers(choice.Name) {
			return invalid("tool_choice", "tool_choice: tool '"+abridge(choice.Name)+"' not found in provided tools")
		}
	}
	return nil
}

// served says whether the service itself would run the tool. Such a tool is never called.
func (t *messageTool) served() bool {
	return slices.ContainsFunc([]string{"web_search_", "web_fetch_", "code_execution_", "tool_search_tool_"}, func(kind string) bool { return strings.HasPrefix(t.Type, kind) })
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

// contentBlock is thoughts, text, or the use of a tool.
type contentBlock struct {
	Type      string         `json:"type"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature *string        `json:"signature,omitzero"`
	Text      *string        `json:"text,omitzero"`
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Input     jsontext.Value `json:"input,omitzero"`
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

// messageBlock is one of an answer's content blocks: how it begins, what it is in the end, and the parts in
// between.
type messageBlock struct {
	opened, whole contentBlock
	kind          string // of its deltas
	text          text
	signature     string // that ends thoughts
}

// blocks are the content blocks of an answer.
func (a *answer) blocks() []messageBlock {
	c := a.only()
	var all []messageBlock
	if c.thoughts.length > 0 {
		thoughts := c.thoughts.String()
		seal := signature(thoughts)
		all = append(all, messageBlock{
			opened: contentBlock{Type: "thinking", Thinking: new(""), Signature: new("")},
			whole:  contentBlock{Type: "thinking", Thinking: &thoughts, Signature: &seal},
			kind:   "thinking_delta", text: c.thoughts, signature: seal,
		})
	}
	for _, called := range c.calls {
		block := contentBlock{Type: "tool_use", ID: "toolu_" + called.id, Name: called.name, Input: jsontext.Value("{}")}
		whole := block
		whole.Input = jsontext.Value(called.arguments.String())
		all = append(all, messageBlock{opened: block, whole: whole, kind: "input_json_delta", text: called.arguments})
	}
	if c.text.length > 0 || len(all) == 0 {
		all = append(all, messageBlock{
			opened: contentBlock{Type: "text", Text: new("")}, whole: contentBlock{Type: "text", Text: new(c.text.String())},
			kind: "text_delta", text: c.text,
		})
	}
	return all
}

// stopReason is why the answer ended, in the dialect's words.
func (a *answer) stopReason() *string {
	switch a.only().stop {
	case stopTools:
		return nullable("tool_use")
	case stopLength:
		return nullable("max_tokens")
	case stopSequence:
		return nullable("stop_sequence")
	}
	return nullable("end_turn")
}

func (r *messageRequest) plain(a *answer) []byte {
	m := a.message()
	for _, block := range a.blocks() {
		m.Content = append(m.Content, block.whole)
	}
	m.StopReason, m.StopSequence = a.stopReason(), nullable(a.only().sequence)
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
	Thinking    *string `json:"thinking,omitzero"`
	Signature   *string `json:"signature,omitzero"`
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
			delta, inside := event.Delta.(blockDelta)
			token := inside && delta.Signature == nil
			if !yield(frame{data: namedEvent(event.Type, encode(event)), token: token}) {
				return
			}
		}
	}
}

func messageEvents(a *answer) iter.Seq[messageEvent] {
	start := a.message()
	start.Usage.OutputTokens = 1 // the real service counts the first token before it sends any
	closing := []messageEvent{
		{Type: "message_delta", Delta: stopDelta{a.stopReason(), nullable(a.only().sequence)}, Usage: &deltaUsage{a.reported(a.outputTokens)}},
		{Type: "message_stop"},
	}
	return func(yield func(messageEvent) bool) {
		if !yield(messageEvent{Type: "message_start", Message: &start}) {
			return
		}
		for i, block := range a.blocks() {
			for event := range block.events(i) {
				if !yield(event) {
					return
				}
			}
		}
		for _, event := range closing {
			if !yield(event) {
				return
			}
		}
	}
}

// events are the events of the block with an index. The service sends a ping after the start of the first.
func (b *messageBlock) events(index int) iter.Seq[messageEvent] {
	return func(yield func(messageEvent) bool) {
		if !yield(messageEvent{Type: "content_block_start", Index: &index, ContentBlock: &b.opened}) {
			return
		}
		if index == 0 && !yield(messageEvent{Type: "ping"}) {
			return
		}
		for token := range b.text.tokens() {
			if !yield(messageEvent{Type: "content_block_delta", Index: &index, Delta: b.delta(token)}) {
				return
			}
		}
		if b.signature != "" {
			seal := blockDelta{Type: "signature_delta", Signature: &b.signature}
			if !yield(messageEvent{Type: "content_block_delta", Index: &index, Delta: seal}) {
				return
			}
		}
		yield(messageEvent{Type: "content_block_stop", Index: &index})
	}
}

// delta is a part of a block.
func (b *messageBlock) delta(token string) blockDelta {
	d := blockDelta{Type: b.kind}
	switch b.kind {
	case "thinking_delta":
		d.Thinking = &token
	case "input_json_delta":
		d.PartialJSON = &token
	default:
		d.Text = &token
	}
	return d
}
