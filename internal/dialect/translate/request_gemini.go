package translate

import (
	"fmt"

	"penstock"
	"penstock/internal/dialect"
)

// geminiRules are the rules for calls that go to Gemini, which honours more of a chat completion than a message does.
var geminiRules = pivotRules{
	chat:    chatRules.with(rules{"seed": {}, "frequency_penalty": {}, "presence_penalty": {}}),
	message: messageRules.with(rules{"top_k": {}}),
}

// unsigned is what Google documents for the calls of functions whose signature is not known: those of other models, and those whose
// caller did not send the signature back. Without any, newer models refuse the conversation.
const unsigned = "skip_thought_signature_validator"

// geminiFromChat translates the body of a chat completion into one of generateContent.
func geminiFromChat(text []byte, to dialect.Upstream) ([]byte, []string, error) {
	return chatBody{text: text}.gemini(to)
}

// gemini is the body of generateContent.
func (c chatBody) gemini(to dialect.Upstream) ([]byte, []string, error) {
	p, err := pivotFromChat(c, to, geminiRules)
	if err != nil {
		return nil, nil, err
	}
	return geminiFromPivot(p)
}

// geminiFromMessages translates the body that asks for a message into one of generateContent.
func geminiFromMessages(text []byte, _ dialect.Upstream) ([]byte, []string, error) {
	p, err := pivotFromMessages(text, geminiRules)
	if err != nil {
		return nil, nil, err
	}
	return geminiFromPivot(p)
}

func geminiFromPivot(p *pivot) ([]byte, []string, error) {
	b := &geminiBuilder{pivot: p, names: map[string]string{}}
	if err := b.build(); err != nil {
		return nil, nil, err
	}
	return encode(b.out), p.paths, nil
}

// geminiBuilder builds a body of generateContent.
type geminiBuilder struct {
	*pivot
	out    geminiRequest
	open   openCalls
	names  map[string]string // of the functions that were called, by the id of the call
	signed bool              // a call of the turn has its signature
}

func (b *geminiBuilder) build() error {
	var system []geminiPart
	for i, said := range b.System {
		at := said.in(fmt.Sprintf("system[%d]", i))
		if said.Type != "text" {
			return untranslatable(at+".type", "Only text can be carried here.")
		}
		b.dropUnknown(at, said.Unknown)
		system = append(system, textPart(said.Text))
	}
	if len(system) > 0 {
		b.out.SystemInstruction = &geminiContent{Parts: system}
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

func textPart(text string) geminiPart { return geminiPart{Text: &text} }

// turn adds a turn of a role.
func (b *geminiBuilder) turn(where string, m turn) error {
	content := geminiContent{Role: "user"}
	if m.Role == "assistant" {
		content.Role = "model"
		if err := b.open.settled(where); err != nil {
			return err
		}
	}
	b.signed = false
	for i, said := range m.Content {
		at := said.in(fmt.Sprintf("%s.content[%d]", where, i))
		part, err := b.part(at, said)
		if err != nil {
			return err
		}
		if part != nil {
			content.Parts = append(content.Parts, *part)
		}
	}
	if len(content.Parts) > 0 {
		b.out.Contents = append(b.out.Contents, content)
	}
	return nil
}

// part is a block of a turn; nil for a block that is left out.
func (b *geminiBuilder) part(where string, said block) (*geminiPart, error) {
	switch {
	case said.Type == "thinking" || said.Type == "redacted_thinking":
		b.drop(where + "." + said.Type) // sealed for the service that made them
		return nil, nil
	case said.Type == "tool_result":
		return b.result(where, said)
	case said.Type == "tool_use":
		return b.use(where, said)
	case said.Type == "text":
		b.dropUnknown(where, said.Unknown)
		if said.Text == "" && said.partSignature == "" {
			return nil, nil
		}
		return &geminiPart{Text: &said.Text, ThoughtSignature: said.partSignature}, nil
	case (said.Type == "image" || said.Type == "document") && said.Source != nil:
		return b.media(where, said)
	}
	return nil, untranslatable(where+".type", "text, image, document, tool_use and tool_result can be carried.")
}

// media is an image or a document.
func (b *geminiBuilder) media(where string, said block) (*geminiPart, error) {
	b.dropUnknown(where, said.Unknown)
	b.dropUnknown(said.sourcePath(where), said.Source.Unknown)
	if citationsWanted(said) {
		return nil, untranslatable(where+".citations", "Leave it out.")
	}
	if said.Title != "" {
		b.drop(said.titlePath(where))
	}
	switch s := *said.Source; {
	case s.Type == "base64" && s.MediaType != "":
		return &geminiPart{InlineData: &geminiData{MimeType: s.MediaType, Data: s.Data}}, nil
	case s.Type == "url" && isWebAddress(s.URL):
		return &geminiPart{FileData: &geminiFile{FileURI: s.URL}}, nil
	case s.Type == "text":
		return new(textPart(s.Data)), nil
	}
	return nil, untranslatable(said.sourcePath(where), "Use base64, or an http or https address.")
}

func (b *geminiBuilder) use(where string, said block) (*geminiPart, error) {
	b.dropUnknown(where, said.Unknown)
	if err := b.open.ask(where+".id", said.ID); err != nil {
		return nil, err
	}
	arguments, ok := argumentsOf(said.Input)
	if !ok {
		return nil, penstock.InvalidParam(where+".input", "%s.input must be an object.", where)
	}
	b.names[said.ID] = said.Name
	signature := said.partSignature
	if b.signed = b.signed || signature != ""; !b.signed {
		signature = unsigned // of calls in parallel only the first has a signature
	}
	return &geminiPart{ThoughtSignature: signature, FunctionCall: &geminiCall{ID: portableID(said.ID), Name: said.Name, Args: []byte(arguments)}}, nil
}

// result is the result of a call. Gemini accepts only an object, so other text becomes a member of a new object.
func (b *geminiBuilder) result(where string, said block) (*geminiPart, error) {
	if err := b.open.answer(where+".tool_use_id", said.ToolUseID); err != nil {
		return nil, err
	}
	b.dropUnknown(where, said.Unknown)
	text := ""
	for i, part := range said.Content {
		if part.Type != "text" {
			return nil, untranslatable(part.in(fmt.Sprintf("%s.content[%d]", where, i))+".type", "Only text can be carried here.")
		}
		text += part.Text
	}
	result := &geminiResult{ID: portableID(said.ToolUseID), Name: b.names[said.ToolUseID]}
	object, isObject := inputOf(text)
	switch {
	case said.IsError:
		result.Response = encode(map[string]string{"error": text})
	case !isObject || text == "":
		result.Response = encode(map[string]string{"result": text})
	default:
		result.Response = object
	}
	return &geminiPart{FunctionResponse: result}, nil
}

// options carries all that is not part of the conversation.
func (b *geminiBuilder) options() error {
	if b.Metadata != nil && b.Metadata.UserID != "" {
		b.drop(b.members.user)
	}
	g := &b.out.GenerationConfig
	*g = geminiGeneration{
		MaxOutputTokens: b.bound, Temperature: b.Temperature, TopP: b.TopP, TopK: b.topK, StopSequences: b.StopSequences,
		Seed: b.seed, PresencePenalty: b.presencePenalty, FrequencyPenalty: b.frequencyPenalty,
	}
	if b.format.json {
		g.ResponseMimeType, g.ResponseJSONSchema = typeJSON, b.format.schema
	}
	tokens, known, err := b.budget()
	if err != nil {
		return err
	}
	switch tokens = min(tokens, b.bound/2, maxGeminiThinking); { // some of the bound must be left for the answer
	case !known && b.Thinking == nil:
	case known && b.thinks(tokens):
		g.ThinkingConfig = &geminiThinking{ThinkingBudget: tokens, IncludeThoughts: tokens > 0}
	case b.Thinking != nil:
		b.drop(b.members.thinking)
	default:
		b.drop(b.members.effort)
	}
	return b.functions()
}

// The budgets for thoughts that all models accept, besides none.
const (
	minGeminiThinking = 512
	maxGeminiThinking = 24576
)

// thinks reports whether a budget can be sent: enough for thoughts, or none because none is wanted.
func (b *geminiBuilder) thinks(tokens int64) bool {
	if tokens >= minGeminiThinking {
		return true
	}
	return b.effort == "none" || b.effort == "minimal" || (b.Thinking != nil && b.Thinking.Type == "disabled")
}

// functions carries the tools, and how the model may use them.
func (b *geminiBuilder) functions() error {
	if len(b.Tools) == 0 {
		return nil
	}
	var all geminiTool
	for i, tool := range b.Tools {
		b.dropUnknown(fmt.Sprintf("tools[%d]", i), tool.Unknown)
		if tool.Strict != nil {
			b.drop(b.members.strict)
		}
		all.FunctionDeclarations = append(all.FunctionDeclarations, geminiFunction{Name: tool.Name, Description: tool.Description, Parameters: tool.InputSchema})
	}
	b.out.Tools = []geminiTool{all}
	if b.ToolChoice == nil {
		return nil
	}
	mode, ok := map[string]string{"auto": "AUTO", "any": "ANY", "none": "NONE", "tool": "ANY"}[b.ToolChoice.Type]
	if !ok {
		return untranslatable("tool_choice.type", "Use none, auto, any or tool.")
	}
	b.out.ToolConfig = new(geminiCalling)
	b.out.ToolConfig.FunctionCallingConfig.Mode = mode
	if b.ToolChoice.Type == "tool" {
		b.out.ToolConfig.FunctionCallingConfig.AllowedFunctionNames = []string{b.ToolChoice.Name}
	}
	return nil
}
