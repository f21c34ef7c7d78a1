package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/dialect"
)

// converseRules are the rules for calls that go to Bedrock.
var converseRules = pivotRules{
	chat: chatRules, message: messageRules.with(rules{"top_k": {}}), prefill: true,
}

// converseFromChat translates the body of a chat completion into one of Converse.
func converseFromChat(text []byte, to dialect.Upstream) ([]byte, []string, error) {
	return chatBody{text: text}.converse(to)
}

// converse is the body of Converse.
func (c chatBody) converse(to dialect.Upstream) ([]byte, []string, error) {
	p, err := pivotFromChat(c, to, converseRules)
	if err != nil {
		return nil, nil, err
	}
	if p.effort != "" {
		// Anthropic's models have the same rules here as in their own API.
		t := &messageBuilder{out: p.messageRequest, notes: p.notes, most: p.bound}
		if err := t.effort(p.effort, p.bound); err != nil {
			return nil, nil, err
		}
		p.Thinking, p.notes = t.out.Thinking, t.notes
	}
	return converseFromPivot(p)
}

// converseFromMessages translates the body that asks for a message into one of Converse.
func converseFromMessages(text []byte, _ dialect.Upstream) ([]byte, []string, error) {
	p, err := pivotFromMessages(text, converseRules)
	if err != nil {
		return nil, nil, err
	}
	return converseFromPivot(p)
}

func converseFromPivot(p *pivot) ([]byte, []string, error) {
	if p.format.json && p.format.schema == nil {
		p.System, p.format = instructed(p.System), outputFormat{}
	}
	b := &converseBuilder{pivot: p}
	if err := b.build(); err != nil {
		return nil, nil, err
	}
	return encode(b.out), p.paths, nil
}

// converseBuilder builds a body of Converse.
type converseBuilder struct {
	*pivot
	out       converseRequest
	open      openCalls
	usedTools bool // the conversation has calls of tools
	signed    bool // the assistant's last turn has the thoughts that led to it
}

func (b *converseBuilder) build() error {
	for i, said := range b.System {
		at := said.in(fmt.Sprintf("system[%d]", i))
		if said.Type != "text" {
			return untranslatable(at+".type", "Only text can be carried here.")
		}
		if said.Text != "" {
			b.out.System = append(b.out.System, converseBlock{Text: &said.Text})
		}
		if mark := b.cached(at, said); mark != nil {
			b.out.System = append(b.out.System, converseBlock{CachePoint: mark})
		}
	}
	for i, m := range b.Messages {
		if err := b.turn(fmt.Sprintf("messages[%d]", i), m); err != nil {
			return err
		}
	}
	if err := b.open.settled("messages"); err != nil {
		return err
	}
	return b.options()
}

func (b *converseBuilder) turn(where string, m turn) error {
	if m.Role == "assistant" {
		b.signed = false
		if err := b.open.settled(where); err != nil {
			return err
		}
	}
	content := make([]converseBlock, 0, len(m.Content))
	for i, said := range m.Content {
		at := said.in(fmt.Sprintf("%s.content[%d]", where, i))
		block, err := b.block(at, said)
		if err != nil {
			return err
		}
		if block != nil {
			content = append(content, *block)
		}
		if said.Type == "thinking" || said.Type == "redacted_thinking" {
			continue // all of their members were read
		}
		if mark := b.cached(at, said); mark != nil {
			content = append(content, converseBlock{CachePoint: mark})
		}
	}
	if len(content) > 0 {
		b.out.Messages = append(b.out.Messages, converseMessage{Role: m.Role, Content: content})
	}
	return nil
}

// block is a block of a turn; nil for a block that is left out.
func (b *converseBuilder) block(where string, said block) (*converseBlock, error) {
	switch {
	case said.Type == "text":
		if said.Text == "" {
			return nil, nil
		}
		return &converseBlock{Text: &said.Text}, nil
	case said.Type == "thinking" || said.Type == "redacted_thinking":
		return b.thoughts(where, said)
	case said.Type == "image" && said.Source != nil:
		media, err := b.media(where, said)
		return &converseBlock{Image: media}, err
	case said.Type == "document" && said.Source != nil:
		return b.document(where, said)
	case said.Type == "tool_use":
		return b.use(where, said)
	case said.Type == "tool_result":
		return b.result(where, said)
	}
	return nil, untranslatable(where+".type", "text, image, document, tool_use and tool_result can be carried.")
}

// thoughts are sealed for the model that made them: Bedrock serves models of Anthropic, so they are carried.
func (b *converseBuilder) thoughts(where string, said block) (*converseBlock, error) {
	if said.Type == "redacted_thinking" {
		b.signed = true
		return &converseBlock{Reasoning: &converseReasoning{RedactedContent: said.Data}}, nil
	}
	if said.Thinking == nil || said.Signature == nil || *said.Signature == "" {
		b.drop(where + ".thinking") // of another service, or translated: the model accepts only its own
		return nil, nil
	}
	b.signed = true
	r := new(converseReasoning)
	r.ReasoningText = new(struct {
		Text      string `json:"text"`
		Signature string `json:"signature,omitzero"`
	})
	r.ReasoningText.Text, r.ReasoningText.Signature = *said.Thinking, *said.Signature
	return &converseBlock{Reasoning: r}, nil
}

// media is an image or a document in base64: Bedrock fetches nothing.
func (b *converseBuilder) media(where string, said block) (*converseMedia, error) {
	s := *said.Source
	b.dropUnknown(said.sourcePath(where), s.Unknown)
	_, format, ok := strings.Cut(s.MediaType, "/")
	if s.Type != "base64" || !ok {
		return nil, untranslatable(said.sourcePath(where), "Send the data in base64: the target that this call goes to fetches no addresses.")
	}
	media := &converseMedia{Format: format}
	media.Source.Bytes = s.Data
	return media, nil
}

func (b *converseBuilder) document(where string, said block) (*converseBlock, error) {
	if citationsWanted(said) {
		return nil, untranslatable(where+".citations", "Leave it out.")
	}
	if said.Source.Type == "text" {
		return &converseBlock{Text: &said.Source.Data}, nil
	}
	media, err := b.media(where, said)
	if err != nil {
		return nil, err
	}
	media.Name = documentName(said.Title)
	return &converseBlock{Document: media}, nil
}

// documentName is a title with the characters that Bedrock accepts: A-Z, a-z, digits, hyphens, brackets and single spaces.
func documentName(title string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '(' || r == ')' || r == '[' || r == ']' || !notPortable(r)) && r != '_' {
			return r
		}
		return ' '
	}, title)
	if name = strings.Join(strings.Fields(name), " "); name == "" {
		return "document"
	}
	return name
}

func (b *converseBuilder) use(where string, said block) (*converseBlock, error) {
	if err := b.open.ask(where+".id", said.ID); err != nil {
		return nil, err
	}
	arguments, ok := argumentsOf(said.Input)
	if !ok {
		return nil, penstock.InvalidParam(where+".input", "%s.input must be an object.", where)
	}
	b.usedTools = true
	return &converseBlock{ToolUse: &converseUse{ToolUseID: portableID(said.ID), Name: said.Name, Input: []byte(arguments)}}, nil
}

func (b *converseBuilder) result(where string, said block) (*converseBlock, error) {
	if err := b.open.answer(where+".tool_use_id", said.ToolUseID); err != nil {
		return nil, err
	}
	out := &converseResult{ToolUseID: portableID(said.ToolUseID), Content: []converseBlock{}}
	if said.IsError {
		out.Status = "error"
	}
	for i, part := range said.Content {
		at := part.in(fmt.Sprintf("%s.content[%d]", where, i))
		if part.Type != "text" && part.Type != "image" {
			return nil, untranslatable(at+".type", "Text and images can be carried here.")
		}
		block, err := b.block(at, part)
		if err != nil {
			return nil, err
		}
		if block != nil {
			out.Content = append(out.Content, *block)
		}
	}
	return &converseBlock{ToolResult: out}, nil
}

// cached reads the mark that ends a cached prefix. Other unknown members are dropped.
func (b *converseBuilder) cached(where string, said block) *converseCache {
	return b.cacheMark(where, said.Unknown)
}

func (b *converseBuilder) cacheMark(where string, unknown []byte) *converseCache {
	if len(unknown) == 0 {
		return nil
	}
	var in struct {
		CacheControl *struct {
			TTL string `json:"ttl"`
		} `json:"cache_control"`
	}
	var others notes
	others.dropUnknown(where, unknown)
	if json.Unmarshal(unknown, &in, lenient) != nil || in.CacheControl == nil {
		b.take(others.paths)
		return nil
	}
	b.take(slices.DeleteFunc(others.paths, func(path string) bool { return strings.HasSuffix(path, ".cache_control") }))
	return &converseCache{Type: "default", TTL: in.CacheControl.TTL}
}

func (b *converseBuilder) take(paths []string) {
	for _, path := range paths {
		b.drop(path)
	}
}

// options carries all that is not part of the conversation.
func (b *converseBuilder) options() error {
	if b.Metadata != nil && b.Metadata.UserID != "" {
		b.drop(b.members.user)
	}
	if b.Temperature != nil && *b.Temperature > 1 {
		return penstock.InvalidParam("temperature", "temperature must be at most 1 for the target that this call goes to.")
	}
	b.out.InferenceConfig = converseInference{MaxTokens: b.bound, Temperature: b.Temperature, TopP: b.TopP, StopSequences: b.StopSequences}
	if last := b.Messages[len(b.Messages)-1].Content; b.Thinking != nil && len(last) > 0 && last[0].Type == "tool_result" && !b.signed {
		// After the result of a tool, the thoughts that led to the call would have to be there.
		b.drop(b.members.thinking)
		b.Thinking = nil
	}
	if b.Thinking != nil && b.Thinking.Type != "disabled" || b.topK != nil {
		b.out.Additional = &converseAdditional{TopK: b.topK}
		if b.Thinking != nil && b.Thinking.Type != "disabled" {
			b.out.Additional.Thinking = b.Thinking
		}
	}
	if err := b.output(); err != nil {
		return err
	}
	return b.tools()
}

// output carries the form of the answer's text, and how much effort a message asks for.
func (b *converseBuilder) output() error {
	var out converseOutput
	if b.OutputConfig != nil {
		out.Effort = b.OutputConfig.Effort
	}
	if b.format.schema != nil {
		schema := b.format.schema.Clone()
		if err := schema.Compact(); err != nil {
			return penstock.InvalidParam(b.members.format, "The schema is not valid: %v.", err)
		}
		out.TextFormat = &converseFormat{Type: "json_schema"}
		out.TextFormat.Structure.JSONSchema.Schema, out.TextFormat.Structure.JSONSchema.Name = string(schema), b.format.name
	}
	if out != (converseOutput{}) {
		b.out.OutputConfig = &out
	}
	return nil
}

// tools carries the tools, and how the model may use them.
func (b *converseBuilder) tools() error {
	if len(b.Tools) == 0 {
		return nil
	}
	b.out.ToolConfig = new(converseTools)
	for i, tool := range b.Tools {
		spec := &converseSpec{Name: tool.Name, Description: tool.Description, Strict: tool.Strict}
		if spec.InputSchema.JSON = tool.InputSchema; !isSet(tool.InputSchema) {
			spec.InputSchema.JSON = emptySchema
		}
		b.out.ToolConfig.Tools = append(b.out.ToolConfig.Tools, converseTool{ToolSpec: spec})
		if mark := b.cacheMark(fmt.Sprintf("tools[%d]", i), tool.Unknown); mark != nil {
			b.out.ToolConfig.Tools = append(b.out.ToolConfig.Tools, converseTool{CachePoint: mark})
		}
	}
	if b.ToolChoice == nil {
		return nil
	}
	switch b.ToolChoice.Type {
	case "auto":
		b.out.ToolConfig.ToolChoice = &converseChoice{Auto: &struct{}{}}
	case "any":
		b.out.ToolConfig.ToolChoice = &converseChoice{Any: &struct{}{}}
	case "tool":
		b.out.ToolConfig.ToolChoice = &converseChoice{Tool: &converseNamed{b.ToolChoice.Name}}
	case "none":
		if b.usedTools {
			return untranslatable("tool_choice", "A conversation with tool calls needs its tools: leave out tool_choice.")
		}
		b.out.ToolConfig = nil // without tools the model calls none
	default:
		return untranslatable("tool_choice.type", "Use none, auto, any or tool.")
	}
	return nil
}
