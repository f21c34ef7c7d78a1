package sim

import (
	"cmp"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// bedrockPath is the path of both methods.
const bedrockPath = "/model/{model}/{method}"

// converseRequest is a body of Converse and ConverseStream.
type converseRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content []converseBlock `json:"content"`
	} `json:"messages"`
	System          []converseBlock `json:"system"`
	InferenceConfig struct {
		MaxTokens     *int     `json:"maxTokens"`
		Temperature   *float64 `json:"temperature"`
		StopSequences stopList `json:"stopSequences"`
	} `json:"inferenceConfig"`
	ToolConfig *struct {
		Tools []struct {
			ToolSpec *struct {
				Name        string `json:"name"`
				InputSchema struct {
					JSON jsontext.Value `json:"json"`
				} `json:"inputSchema"`
			} `json:"toolSpec"`
		} `json:"tools"`
		ToolChoice struct {
			Any  *struct{} `json:"any"`
			Tool *struct {
				Name string `json:"name"`
			} `json:"tool"`
		} `json:"toolChoice"`
	} `json:"toolConfig"`
	OutputConfig struct {
		Effort     string `json:"effort"`
		TextFormat struct {
			Type      string `json:"type"`
			Structure struct {
				JSONSchema struct {
					Schema string `json:"schema"`
				} `json:"jsonSchema"`
			} `json:"structure"`
		} `json:"textFormat"`
	} `json:"outputConfig"`
	Additional struct {
		Thinking     thinking `json:"thinking"`
		OutputConfig struct {
			Effort string `json:"effort"`
		} `json:"output_config"`
	} `json:"additionalModelRequestFields"`
}

// converseBlock is one of its members.
type converseBlock struct {
	Text       *string         `json:"text,omitzero"`
	Image      *converseMedia  `json:"image,omitzero"`
	Document   *converseMedia  `json:"document,omitzero"`
	ToolUse    *converseUse    `json:"toolUse,omitzero"`
	ToolResult *converseResult `json:"toolResult,omitzero"`
	Reasoning  *converseReason `json:"reasoningContent,omitzero"`
	CachePoint *struct{}       `json:"cachePoint,omitzero"`
}

type converseMedia struct {
	Format string `json:"format"`
	Source struct {
		Bytes string `json:"bytes"`
	} `json:"source"`
}

// imageFormats are the images that the service reads.
var imageFormats = []string{"png", "jpeg", "gif", "webp"}

// check refuses an image that the service refuses.
func (m *converseMedia) check() error {
	switch {
	case !slices.Contains(imageFormats, m.Format):
		return invalid("messages", "Value '"+abridge(m.Format)+"' at 'image.format' failed to satisfy constraint: Member must satisfy enum value set: ["+strings.Join(imageFormats, ", ")+"]")
	case !isBase64(m.Source.Bytes):
		return invalid("messages", "Value at 'image.source.bytes' is not valid base64")
	}
	return nil
}

type converseUse struct {
	ToolUseID string         `json:"toolUseId"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input,omitzero"`
}

type converseResult struct {
	ToolUseID string          `json:"toolUseId"`
	Content   []converseBlock `json:"content"`
	Status    string          `json:"status"`
}

type converseReason struct {
	ReasoningText struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
	} `json:"reasoningText"`
}

// decodeConverse reads a request of either method.
func decodeConverse(r *http.Request, body []byte) (*call, error) {
	in := new(converseRequest)
	if err := decodeBody(body, in); err != nil {
		return nil, err
	}
	c := &call{model: r.PathValue("model"), prompt: new(prompt), responder: in}
	switch r.PathValue("method") {
	case "converse":
	case "converse-stream":
		c.stream = true
	default:
		return nil, &failure{class: classNoRoute, message: "There is no such operation."}
	}
	if err := in.readPrompt(c.prompt); err != nil {
		return nil, err
	}
	if most := in.InferenceConfig.MaxTokens; most != nil {
		if *most < 1 {
			return nil, invalid("maxTokens", "Value at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1")
		}
		c.maxTokens = *most
	}
	if heat := in.InferenceConfig.Temperature; heat != nil && (*heat < 0 || *heat > 1) {
		return nil, invalid("temperature", "Value at 'inferenceConfig.temperature' failed to satisfy constraint: Member must have value less than or equal to 1")
	}
	c.stops = in.InferenceConfig.StopSequences
	if err := c.stops.check("stopSequences", maxStops); err != nil {
		return nil, err
	}
	var err error
	if c.effort, err = in.effort(); err != nil {
		return nil, err
	}
	if c.prompt.ordersObject() {
		c.format = &outputFormat{param: "system"}
	}
	if f := &in.OutputConfig.TextFormat; f.Type == "json_schema" {
		format := responseFormat{Type: f.Type, Schema: jsontext.Value(f.Structure.JSONSchema.Schema)}
		if c.format, err = format.read("outputConfig"); err != nil {
			return nil, err
		}
	}
	return c, in.offerTools(&c.tools)
}

// effort is how many tokens the model thinks. The rules are those of Anthropic's messages: the service passes these fields on.
func (r *converseRequest) effort() (int, error) {
	m := messageRequest{Thinking: r.Additional.Thinking, Temperature: r.InferenceConfig.Temperature, MaxTokens: r.InferenceConfig.MaxTokens}
	m.OutputConfig.Effort = cmp.Or(r.Additional.OutputConfig.Effort, r.OutputConfig.Effort)
	if m.MaxTokens == nil {
		m.MaxTokens = new(math.MaxInt) // the model's own maximum is above each budget
	}
	if r.ToolConfig != nil && (r.ToolConfig.ToolChoice.Any != nil || r.ToolConfig.ToolChoice.Tool != nil) {
		m.ToolChoice.Type = "any"
	}
	return m.effort()
}

// readPrompt reads the conversation.
func (r *converseRequest) readPrompt(p *prompt) error {
	if len(r.Messages) == 0 {
		return invalid("messages", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	if len(r.System) > 0 {
		said, err := converseContent(r.System)
		if err != nil {
			return err
		}
		p.add("system", said)
	}
	for _, m := range r.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return invalid("messages", "Member must satisfy enum value set: [user, assistant]")
		}
		said, err := converseContent(m.Content)
		if err != nil {
			return err
		}
		p.add(m.Role, said)
	}
	return nil
}

// converseContent is a list of blocks in no dialect's form.
func converseContent(blocks []converseBlock) (content, error) {
	var c content
	var texts, asked []string
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.Text != nil:
			texts, asked = append(texts, *b.Text), append(asked, *b.Text)
		case b.ToolResult != nil:
			inner, err := converseContent(b.ToolResult.Content)
			if err != nil {
				return c, err
			}
			texts = append(texts, inner.text)
			c.attachments += inner.attachments
			c.media.add(inner.media)
		case b.ToolUse != nil:
			c.calls = append(c.calls, b.ToolUse.Name)
			c.attachments++
		case b.Image != nil:
			if err := b.Image.check(); err != nil {
				return c, err
			}
			c.media.addImage(&contentPart{Source: mediaSource{Data: b.Image.Source.Bytes}})
			c.attachments++
		case b.Document != nil:
			c.media.files++
			c.attachments++
		case b.Reasoning != nil:
			if t := &b.Reasoning.ReasoningText; t.Text != "" && t.Signature != signature(t.Text) {
				return c, invalid("messages", "The signature of the reasoning content is invalid.")
			}
		case b.CachePoint == nil:
			return c, invalid("messages", "The content block object is invalid: exactly one member must be set.")
		}
	}
	c.text, c.asked = strings.Join(texts, "\n"), strings.Join(asked, "\n")
	return c, nil
}

// offerTools reads the tools and how they may be used.
func (r *converseRequest) offerTools(t *tools) error {
	if r.ToolConfig == nil {
		return nil
	}
	for _, tool := range r.ToolConfig.Tools {
		if tool.ToolSpec == nil {
			continue // a cache point
		}
		if tool.ToolSpec.Name == "" {
			return invalid("toolConfig", "The name of a tool must not be empty.")
		}
		if !toolNames.MatchString(tool.ToolSpec.Name) {
			return invalid("toolConfig", "Value '"+abridge(tool.ToolSpec.Name)+"' at 'toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
		}
		if err := t.offer(tool.ToolSpec.Name, tool.ToolSpec.InputSchema.JSON); err != nil {
			return err
		}
	}
	switch choice := &r.ToolConfig.ToolChoice; {
	case choice.Any != nil:
		t.use = mustUse
	case choice.Tool != nil:
		t.use, t.named = mustUse, choice.Tool.Name
		if !t.offers(t.named) {
			return invalid("toolConfig", "The tool choice names a tool that is not offered.")
		}
	}
	return nil
}

// converseUsage counts the input without what was read from and written to a cache.
type converseUsage struct {
	InputTokens           int `json:"inputTokens"`
	OutputTokens          int `json:"outputTokens"`
	TotalTokens           int `json:"totalTokens"`
	CacheReadInputTokens  int `json:"cacheReadInputTokens"`
	CacheWriteInputTokens int `json:"cacheWriteInputTokens"`
}

func (a *answer) converseUsage() converseUsage {
	written := a.parts.written + a.parts.written1h
	return converseUsage{
		InputTokens: a.reported(a.inputTokens - a.parts.cached - written), OutputTokens: a.reported(a.outputTokens),
		TotalTokens: a.reported(a.inputTokens) + a.reported(a.outputTokens), CacheReadInputTokens: a.parts.cached, CacheWriteInputTokens: written,
	}
}

type converseMetrics struct {
	LatencyMS int `json:"latencyMs"`
}

func (r *converseRequest) plain(a *answer) []byte {
	type message struct {
		Role    string          `json:"role"`
		Content []converseBlock `json:"content"`
	}
	type output struct {
		Message message `json:"message"`
	}
	var blocks []converseBlock
	for _, b := range a.blocks() {
		blocks = append(blocks, b.converse())
	}
	return encode(struct {
		Output     output          `json:"output"`
		StopReason string          `json:"stopReason"`
		Usage      converseUsage   `json:"usage"`
		Metrics    converseMetrics `json:"metrics"`
	}{output{message{"assistant", blocks}}, *a.stopReason(), a.converseUsage(), converseMetrics{}})
}

// converse is a whole block. The stop reasons and the blocks of the dialect are those of Anthropic's messages, in other words.
func (b *messageBlock) converse() converseBlock {
	switch b.kind {
	case "thinking_delta":
		r := new(converseReason)
		r.ReasoningText.Text, r.ReasoningText.Signature = *b.whole.Thinking, b.signature
		return converseBlock{Reasoning: r}
	case "input_json_delta":
		input := b.whole.Input
		if !input.IsValid() {
			input = jsontext.Value("{}") // the request's maximum cut it
		}
		return converseBlock{ToolUse: &converseUse{ToolUseID: b.whole.ID, Name: b.whole.Name, Input: input}}
	}
	return converseBlock{Text: b.whole.Text}
}

func (r *converseRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		send := func(name string, payload any, token bool) bool {
			return yield(frame{data: streamMessage("event", name, encode(payload)), token: token})
		}
		if !send("messageStart", map[string]any{"role": "assistant"}, false) {
			return
		}
		for i, b := range a.blocks() {
			if !b.converseEvents(i, send) {
				return
			}
		}
		_ = send("messageStop", map[string]any{"stopReason": *a.stopReason()}, false) &&
			send("metadata", map[string]any{"usage": a.converseUsage(), "metrics": converseMetrics{}}, false)
	}
}

// converseEvents sends the events of a block, and reports whether to go on. Only the use of a tool has a start.
func (b *messageBlock) converseEvents(index int, send func(name string, payload any, token bool) bool) bool {
	delta := func(d any, token bool) bool {
		return send("contentBlockDelta", map[string]any{"contentBlockIndex": index, "delta": d}, token)
	}
	if b.kind == "input_json_delta" {
		start := map[string]any{"toolUse": converseUse{ToolUseID: b.opened.ID, Name: b.opened.Name}}
		if !send("contentBlockStart", map[string]any{"contentBlockIndex": index, "start": start}, false) {
			return false
		}
	}
	for token := range b.text.tokens() {
		var d any = map[string]any{"text": token}
		switch b.kind {
		case "thinking_delta":
			d = map[string]any{"reasoningContent": d}
		case "input_json_delta":
			d = map[string]any{"toolUse": map[string]any{"input": token}}
		}
		if !delta(d, true) {
			return false
		}
	}
	if b.signature != "" && !delta(map[string]any{"reasoningContent": map[string]any{"signature": b.signature}}, false) {
		return false
	}
	return send("contentBlockStop", map[string]any{"contentBlockIndex": index}, false)
}
