package translate

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// messagesFromChat translates the body of a chat completion into one that asks for a message.
func messagesFromChat(text []byte, to dialect.Upstream) ([]byte, []string, error) {
	return chatBody{text: text}.messages(to)
}

// messages is the body that asks for a message.
func (c chatBody) messages(to dialect.Upstream) ([]byte, []string, error) {
	var in chatRequest
	t := &messageBuilder{most: to.MaxOutputTokens, thoughts: c.thoughts}
	object, err := chatRules.decode(c.text, &in, &t.notes)
	if err != nil {
		return nil, nil, err
	}
	if err := t.conversation(in); err != nil {
		return nil, nil, err
	}
	if err := t.options(in, object); err != nil {
		return nil, nil, err
	}
	return encode(t.out), t.paths, nil
}

// conversation carries the messages, and the options that need no conversion.
func (t *messageBuilder) conversation(in chatRequest) error {
	t.out = messageRequest{
		Model: in.Model, Messages: []turn{}, Stream: in.Stream, Temperature: in.Temperature, TopP: in.TopP, StopSequences: in.Stop,
	}
	if in.User != "" {
		t.out.Metadata = &messageMetadata{UserID: in.User}
	}
	if len(in.Messages) == 0 {
		return penstock.InvalidParam("messages", "messages must have at least one message.")
	}
	for i, m := range in.Messages {
		t.index = i
		if err := t.message(fmt.Sprintf("messages[%d]", i), m); err != nil {
			return err
		}
	}
	return t.endOfMessages()
}

// messageBuilder builds the body that asks for a message.
type messageBuilder struct {
	notes
	most int64 // that the answer may be where the caller set no bound
	out  messageRequest
	open openCalls

	index    int // of the message that is being added
	thoughts map[int][]thought
}

// message adds a message of a chat to the turns.
func (t *messageBuilder) message(where string, m chatMessage) error {
	t.dropUnknown(where, m.Unknown)
	if isSet(m.Audio) {
		return untranslatable(where+".audio", "Send the message as text.")
	}
	if isSet(m.Function) {
		return untranslatable(where+".function_call", "Use tool_calls.")
	}
	switch m.Role {
	case "system", "developer":
		return t.system(where, m)
	case "user":
		if err := t.open.settled(where); err != nil {
			return err
		}
		said, err := t.content(where, m)
		t.say("user", said)
		return err
	case "assistant":
		return t.assistant(where, m)
	case "tool":
		return t.result(where, m)
	}
	return penstock.InvalidParam(where+".role", "%s.role must be system, developer, user, assistant or tool.", where)
}

// system adds to the single system prompt. Its place in the conversation cannot be expressed.
func (t *messageBuilder) system(where string, m chatMessage) error {
	said, err := t.texts(where, m)
	if err != nil {
		return err
	}
	if len(t.out.Messages) > 0 {
		t.drop(where + ".position")
	}
	t.out.System = append(t.out.System, said...)
	return nil
}

func (t *messageBuilder) assistant(where string, m chatMessage) error {
	if err := t.open.settled(where); err != nil {
		return err
	}
	said, err := t.texts(where, m)
	if err != nil {
		return err
	}
	if m.Refusal != "" {
		said = append(said, block{Type: "text", Text: m.Refusal})
	}
	calls := make(blocks, 0, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		at := fmt.Sprintf("%s.tool_calls[%d]", where, i)
		t.dropUnknown(at, call.Unknown)
		t.dropUnknown(at+".function", call.Function.Unknown)
		if call.Type != "function" && call.Type != "" {
			return untranslatable(at+".type", "Only calls of functions can be carried.")
		}
		input, ok := inputOf(call.Function.Arguments)
		if !ok {
			return penstock.InvalidParam(at+".function.arguments", "%s.function.arguments must be a JSON object, as text.", at)
		}
		if err := t.open.ask(at+".id", call.ID); err != nil {
			return err
		}
		calls = append(calls, block{Type: "tool_use", ID: portableID(call.ID), Name: call.Function.Name, Input: input, path: at})
	}
	t.say("assistant", withThoughts(t.thoughts[t.index], said, calls))
	return nil
}

// result adds the result of a tool call to the user's turn that follows the call.
func (t *messageBuilder) result(where string, m chatMessage) error {
	if err := t.open.answer(where+".tool_call_id", m.ToolCallID); err != nil {
		return err
	}
	said, err := t.texts(where, m)
	if err != nil {
		return err
	}
	t.say("user", blocks{{Type: "tool_result", ToolUseID: portableID(m.ToolCallID), Content: said, path: where}})
	return nil
}

// say adds to the turn of a role, or begins one: turns alternate.
func (t *messageBuilder) say(role string, said blocks) {
	if len(said) == 0 {
		return // the other dialect refuses an empty text, which has no content anyway
	}
	if n := len(t.out.Messages); n > 0 && t.out.Messages[n-1].Role == role {
		last := &t.out.Messages[n-1]
		last.Content = append(last.Content, said...)
		return
	}
	t.out.Messages = append(t.out.Messages, turn{Role: role, Content: said})
}

func (t *messageBuilder) endOfMessages() error {
	if err := t.open.settled("messages"); err != nil {
		return err
	}
	if len(t.out.Messages) == 0 {
		return penstock.InvalidParam("messages", "messages must say something besides the system prompt.")
	}
	return endsWithUser(t.out.Messages[len(t.out.Messages)-1].Role, "End with a user message.")
}

// otherTarget is what a caller of messages may do besides.
const otherTarget = "End with a user message, or ask for a model whose target continues the message: that of Anthropic or Bedrock."

// endsWithUser refuses conversations that end with a message of the model: messages would continue it,
// chat completions begin a new answer.
func endsWithUser(role, instead string) error {
	if role != "assistant" {
		return nil
	}
	return penstock.InvalidParam("messages", "messages must not end with the assistant: "+
		"the API of the target that this call goes to takes that for something else. %s", instead)
}

// content is the content of a user's message.
func (t *messageBuilder) content(where string, m chatMessage) (blocks, error) {
	said := make(blocks, 0, len(m.Content))
	for i, part := range m.Content {
		at := fmt.Sprintf("%s.content[%d]", where, i)
		t.dropUnknown(at, part.Unknown)
		b, err := t.part(at, part)
		if err != nil {
			return nil, err
		}
		if b.Type != "text" || b.Text != "" {
			b.path = at
			said = append(said, b)
		}
	}
	return said, nil
}

// texts is the content of a message that can hold nothing but text.
func (t *messageBuilder) texts(where string, m chatMessage) (blocks, error) {
	for i, part := range m.Content {
		if part.Type != "text" && part.Type != "refusal" {
			at := fmt.Sprintf("%s.content[%d]", where, i)
			return nil, untranslatable(at+".type", "A %s message can hold text alone.", m.Role)
		}
	}
	return t.content(where, m)
}

func (t *messageBuilder) part(where string, part chatPart) (block, error) {
	switch {
	case part.Type == "text":
		return block{Type: "text", Text: part.Text}, nil
	case part.Type == "refusal":
		return block{Type: "text", Text: part.Refusal}, nil
	case part.Type == "image_url" && part.ImageURL != nil:
		return t.image(where+".image_url", *part.ImageURL)
	case part.Type == "file" && part.File != nil:
		return t.document(where+".file", *part.File)
	}
	return block{}, untranslatable(where+".type", "text, image_url and file can be carried.")
}

// emptySchema is for functions that take nothing: the other dialect demands a schema.
var emptySchema = jsontext.Value(`{"type":"object","properties":{}}`)

// options carries all that is not part of the conversation.
func (t *messageBuilder) options(in chatRequest, object body.Object) error {
	if err := t.format(in.ResponseFormat); err != nil {
		return err
	}
	if err := checkTemperature(in.Temperature, "the target that this call goes to"); err != nil {
		return err
	}
	if in.StreamOptions != nil {
		t.dropUnknown("stream_options", in.StreamOptions.Unknown)
	}
	if err := t.tools(in); err != nil {
		return err
	}
	bound, err := boundOf(penstock.EndpointChat, object)
	if err != nil {
		return err
	}
	return t.effort(in.ReasoningEffort, bound)
}

// tools carries the tools, and how the model may use them.
func (t *messageBuilder) tools(in chatRequest) error {
	for i, tool := range in.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		t.dropUnknown(at, tool.Unknown)
		t.dropUnknown(at+".function", tool.Function.Unknown)
		if tool.Type != "function" && tool.Type != "" {
			return untranslatable(at+".type", "Only functions can be carried.")
		}
		schema := tool.Function.Parameters
		if err := (toolPlace{at + ".function", "parameters"}).check(tool.Function.Name, schema); err != nil {
			return err
		}
		if !isSet(schema) {
			schema = emptySchema
		}
		t.out.Tools = append(t.out.Tools, messageTool{
			Name: tool.Function.Name, Description: tool.Function.Description, InputSchema: schema, Strict: tool.Function.Strict,
		})
	}
	var err error
	t.out.ToolChoice, err = choiceFromChat(in)
	return err
}

// boundOf is how long the answer may get, 0 when the caller did not say.
func boundOf(e penstock.Endpoint, object body.Object) (int64, error) {
	name, bound, given := dialect.FirstOutputBound(e, object)
	if given && bound < 1 {
		return 0, penstock.InvalidParam(name, "%s must be at least 1.", name)
	}
	return bound, nil
}
