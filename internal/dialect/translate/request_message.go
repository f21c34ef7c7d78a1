package translate

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/dialect"
)

// chatFromMessages translates the body that asks for a message into one of a chat completion.
func chatFromMessages(text []byte, _ dialect.Upstream) ([]byte, []string, error) {
	var in messageRequest
	t := &chatBuilder{}
	object, err := messageRules.decode(text, &in, &t.notes)
	if err != nil {
		return nil, nil, err
	}
	bound, err := boundOf(penstock.EndpointMessages, object)
	if err != nil {
		return nil, nil, err
	}
	if bound == 0 {
		name := dialect.OutputMembers(penstock.EndpointMessages)[0]
		return nil, nil, penstock.InvalidParam(name, "%s must be at least 1.", name)
	}
	t.out = chatRequest{
		Model: in.Model, Messages: []chatMessage{}, MaxCompletionTokens: &bound, Stream: in.Stream,
		Temperature: in.Temperature, TopP: in.TopP, Stop: in.StopSequences,
	}
	if in.Stream {
		// A message always reports its usage.
		t.out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if err := t.system(in.System); err != nil {
		return nil, nil, err
	}
	for i, turn := range in.Messages {
		if err := t.turn(fmt.Sprintf("messages[%d]", i), turn); err != nil {
			return nil, nil, err
		}
	}
	if err := t.endOfTurns(in.Messages); err != nil {
		return nil, nil, err
	}
	if err := t.options(in); err != nil {
		return nil, nil, err
	}
	return encode(t.out), t.paths, nil
}

// chatBuilder builds the body of a chat completion.
type chatBuilder struct {
	notes
	out  chatRequest
	open openCalls
}

func (t *chatBuilder) system(system blocks) error {
	said, err := t.texts("system", system)
	if err != nil || len(said) == 0 {
		return err
	}
	t.out.Messages = append(t.out.Messages, chatMessage{Role: "system", Content: said})
	return nil
}

func (t *chatBuilder) endOfTurns(turns []turn) error {
	if err := t.open.settled("messages"); err != nil {
		return err
	}
	if len(turns) == 0 {
		return penstock.InvalidParam("messages", "messages must have at least one message.")
	}
	return endsWithUser(turns[len(turns)-1].Role, otherTarget)
}

func (t *chatBuilder) turn(where string, m turn) error {
	t.dropUnknown(where, m.Unknown)
	switch m.Role {
	case "user":
		return t.user(where, m.Content)
	case "assistant":
		return t.assistant(where, m.Content)
	}
	return penstock.InvalidParam(where+".role", "%s.role must be user or assistant.", where)
}

// user adds the results of tools, each as a message of its own, and then the user's content. Results may
// be spread over several turns of the user, with no other content in between.
func (t *chatBuilder) user(where string, content blocks) error {
	var said chatContent
	for i, b := range content {
		at := fmt.Sprintf("%s.content[%d]", where, i)
		if b.Type == "tool_result" {
			if err := t.result(at, b); err != nil {
				return err
			}
			continue
		}
		part, err := t.part(at, b)
		if err != nil {
			return err
		}
		if part.Type != "text" || part.Text != "" {
			said = append(said, part)
		}
	}
	if said == nil {
		return nil
	}
	t.out.Messages = append(t.out.Messages, chatMessage{Role: "user", Content: said})
	return t.open.settled(where)
}

func (t *chatBuilder) result(where string, b block) error {
	if err := t.open.answer(where+".tool_use_id", b.ToolUseID); err != nil {
		return err
	}
	t.dropUnknown(where, b.Unknown)
	if b.IsError {
		t.drop(where + ".is_error")
	}
	said, err := t.texts(where+".content", b.Content)
	if err != nil {
		return err
	}
	if said == nil {
		said = chatContent{}
	}
	t.out.Messages = append(t.out.Messages, chatMessage{Role: "tool", Content: said, ToolCallID: portableID(b.ToolUseID)})
	return nil
}

func (t *chatBuilder) assistant(where string, content blocks) error {
	if err := t.open.settled(where); err != nil {
		return err
	}
	m := chatMessage{Role: "assistant"}
	for i, b := range content {
		if err := t.said(fmt.Sprintf("%s.content[%d]", where, i), b, &m); err != nil {
			return err
		}
	}
	if m.Content != nil || m.ToolCalls != nil {
		t.out.Messages = append(t.out.Messages, m)
	}
	return nil
}

// said adds a block of the assistant's content to its message.
func (t *chatBuilder) said(where string, b block, m *chatMessage) error {
	switch b.Type {
	case "thinking", "redacted_thinking":
		// They are sealed for the service that made them, and chat completions take no reasoning back.
		t.drop(where + "." + b.Type)
		return nil
	case "text":
		part, err := t.part(where, b)
		if part.Text != "" {
			m.Content = append(m.Content, part)
		}
		return err
	case "tool_use":
		return t.use(where, b, m)
	}
	return untranslatable(where+".type", "text and tool_use can be carried in what the assistant said.")
}

func (t *chatBuilder) use(where string, b block, m *chatMessage) error {
	t.dropUnknown(where, b.Unknown)
	if err := t.open.ask(where+".id", b.ID); err != nil {
		return err
	}
	arguments, ok := argumentsOf(b.Input)
	if !ok {
		return penstock.InvalidParam(where+".input", "%s.input must be an object.", where)
	}
	m.ToolCalls = append(m.ToolCalls, chatToolCall{
		ID: portableID(b.ID), Type: "function", Function: chatCalled{Name: b.Name, Arguments: arguments},
	})
	return nil
}

// texts is the content of something that can hold nothing but text.
func (t *chatBuilder) texts(where string, content blocks) (chatContent, error) {
	var said chatContent
	for i, b := range content {
		at := fmt.Sprintf("%s[%d]", where, i)
		if b.Type != "text" {
			return nil, untranslatable(at+".type", "Only text can be carried here.")
		}
		part, err := t.part(at, b)
		if err != nil {
			return nil, err
		}
		if part.Text != "" {
			said = append(said, part)
		}
	}
	return said, nil
}

func (t *chatBuilder) part(where string, b block) (chatPart, error) {
	t.dropUnknown(where, b.Unknown)
	switch {
	case b.Type == "text":
		if isSet(b.Citations) {
			t.drop(where + ".citations")
		}
		return chatPart{Type: "text", Text: b.Text}, nil
	case b.Type == "image" && b.Source != nil:
		return t.image(where+".source", *b.Source)
	case b.Type == "document" && b.Source != nil:
		return t.document(where, b)
	}
	return chatPart{}, untranslatable(where+".type", "text, image, document and tool_result can be carried.")
}

// options carries all that is not part of the conversation.
func (t *chatBuilder) options(in messageRequest) error {
	for i, tool := range in.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		t.dropUnknown(at, tool.Unknown)
		if tool.Type != "custom" && tool.Type != "" {
			return untranslatable(at+".type", "Only tools that the caller runs can be carried.")
		}
		if err := (toolPlace{at, "input_schema"}).check(tool.Name, tool.InputSchema); err != nil {
			return err
		}
		t.out.Tools = append(t.out.Tools, chatTool{Type: "function", Function: chatFunction{
			Name: tool.Name, Description: tool.Description, Parameters: tool.InputSchema, Strict: tool.Strict,
		}})
	}
	if err := checkTemperature(in.Temperature, "messages"); err != nil {
		return err
	}
	if in.Metadata != nil {
		t.dropUnknown("metadata", in.Metadata.Unknown)
		t.out.User = in.Metadata.UserID
	}
	if err := t.toolChoice(in); err != nil {
		return err
	}
	return t.effort(in)
}

// citationsWanted reports whether a document asks for answers that quote it.
func citationsWanted(b block) bool {
	var wanted struct {
		Enabled bool `json:"enabled"`
	}
	return isSet(b.Citations) && (json.Unmarshal(b.Citations, &wanted, lenient) != nil || wanted.Enabled)
}
