package translate

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// responseRules are for responses that go to an upstream of chat completions, or on from there.
var responseRules = withBounds(penstock.EndpointResponses, rules{
	"model": {}, "input": {}, "instructions": {}, "stream": {}, "temperature": {}, "top_p": {}, "tools": {}, "tool_choice": {},
	"parallel_tool_calls": {}, "user": {}, "reasoning": {}, "text": {},

	// They say how to run, bill, file or deliver the call. Penstock itself keeps responses.
	"store":                  {disposition: dropped, neutral: []string{"false"}},
	"background":             {disposition: dropped, neutral: []string{"false"}},
	"include":                {disposition: dropped, neutral: []string{"[]", `["reasoning.encrypted_content"]`}},
	"metadata":               {disposition: dropped, neutral: []string{"{}"}},
	"service_tier":           {disposition: dropped, neutral: []string{`"auto"`}},
	"stream_options":         {disposition: dropped},
	"truncation":             {disposition: dropped, neutral: []string{`"disabled"`}},
	"prompt_cache_key":       {disposition: dropped},
	"prompt_cache_retention": {disposition: dropped},
	"safety_identifier":      {disposition: dropped},
	"max_tool_calls":         {disposition: dropped}, // of hosted tools, which are refused
	"context_management":     {disposition: dropped},

	"top_logprobs":         {disposition: rejected, neutral: []string{"0"}, instead: "Leave it out"},
	"prompt":               {disposition: rejected, instead: "Send the prompt itself as instructions and input"},
	"previous_response_id": {disposition: rejected, instead: "Send the whole conversation as input"},
	"conversation":         {disposition: rejected, instead: "Send the whole conversation as input"},
})

// chatFromResponse translates the body of a response into one of a chat completion.
func chatFromResponse(text []byte, _ dialect.Upstream) ([]byte, []string, error) {
	t := &responseBuilder{}
	if err := t.read(text); err != nil {
		return nil, nil, err
	}
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	return encode(t.out), t.paths, nil
}

// viaChat translates the body of a response by way of the chat completion that it becomes. Errors and dropped members are named as in
// the response. The upstream takes back sealed reasoning of these kinds.
func viaChat(request func(chat chatBody, to dialect.Upstream) ([]byte, []string, error), kinds ...sealKind) func([]byte, dialect.Upstream) ([]byte, []string, error) {
	return func(text []byte, to dialect.Upstream) ([]byte, []string, error) {
		t := &responseBuilder{kinds: kinds, origin: to.Origin}
		if err := t.read(text); err != nil {
			return nil, nil, err
		}
		translated, left, err := request(chatBody{text: encode(t.out), thoughts: t.thoughts}, to)
		if err != nil {
			return nil, nil, t.rename(err)
		}
		for _, path := range left {
			if path = t.responsePath(path); path != "" {
				t.drop(path)
			}
		}
		return translated, t.paths, nil
	}
}

// responseBuilder builds the body of a chat completion from that of a response.
type responseBuilder struct {
	notes
	out     chatFromResponseBody
	origins []messageOrigin // of each message

	kinds    []sealKind // of sealed reasoning that the upstream takes back
	origin   string     // of that reasoning
	thoughts map[int][]thought
	pending  []sealed // reasoning that belongs to what the assistant says next
	dangling string   // the path of the last of them
}

// read reads the body of a response.
func (t *responseBuilder) read(text []byte) error {
	var in responseRequest
	object, err := responseRules.decode(text, &in, &t.notes)
	if err != nil {
		return err
	}
	t.out.chatRequest = chatRequest{
		Model: in.Model, Messages: []chatMessage{}, Stream: in.Stream, Temperature: in.Temperature, TopP: in.TopP, User: in.User, ParallelToolCalls: in.ParallelToolCalls,
	}
	if in.Stream {
		// A response always reports its usage.
		t.out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if in.Instructions != "" {
		t.add("instructions", chatMessage{Role: "system", Content: chatContent{{Type: "text", Text: in.Instructions}}})
	}
	for i, item := range in.Input {
		if err := t.item(fmt.Sprintf("input[%d]", i), item); err != nil {
			return err
		}
	}
	t.dropPending()
	return t.options(in, object)
}

// check refuses conversations that no upstream of chat completions accepts, by the members of the response: the upstream would name
// members of the chat. Some upstreams accept a call that has no result, so that is for the upstream to refuse.
func (t *responseBuilder) check() error {
	if len(t.out.Messages) == 0 {
		return penstock.InvalidParam("input", "input must have at least one item.")
	}
	var open openCalls
	for i, m := range t.out.Messages {
		from := t.origins[i]
		switch m.Role {
		case "tool":
			if err := open.answer(from.item+".call_id", m.ToolCallID); err != nil {
				return err
			}
		case "assistant":
			open = openCalls{}
			for j, call := range m.ToolCalls {
				if err := open.ask(from.calls[j]+".call_id", call.ID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t *responseBuilder) add(where string, m chatMessage) {
	if m.Role != "assistant" {
		t.dropPending()
	}
	t.out.Messages, t.origins = append(t.out.Messages, m), append(t.origins, messageOrigin{item: where})
}

// from notes where the last parts of the last message come from.
func (t *responseBuilder) from(path string, said chatContent) {
	o := &t.origins[len(t.origins)-1]
	o.content = append(o.content, contentOrigin{path, len(said)})
}

// item adds an item of the input to the messages.
func (t *responseBuilder) item(where string, item responseItem) error {
	switch item.Type {
	case "", "message":
		t.dropUnknown(where, item.Unknown)
		return t.message(where, item)
	case "function_call":
		t.dropUnknown(where, item.Unknown)
		call := chatToolCall{ID: item.CallID, Type: "function", Function: chatCalled{Name: item.Name, Arguments: item.Arguments}}
		m := t.assistant(where)
		m.ToolCalls = append(m.ToolCalls, call)
		o := &t.origins[len(t.origins)-1]
		o.calls = append(o.calls, where)
		return nil
	case "function_call_output":
		t.dropUnknown(where, item.Unknown)
		said, err := t.content(where+".output", item.Output)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(said, func(p chatPart) bool { return p.Type != "text" }) {
			return untranslatable(where+".output", "The result of a tool can hold text alone.")
		}
		if said == nil {
			said = chatContent{}
		}
		t.add(where, chatMessage{Role: "tool", ToolCallID: item.CallID, Content: said})
		t.from(where+".output", said)
		return nil
	case "reasoning":
		return t.reasoning(where, item)
	}
	return untranslatable(where+".type", "message, function_call, function_call_output and reasoning can be carried.")
}

// assistant is the assistant's last message, which calls of tools belong to, or a new one if somebody else spoke since.
func (t *responseBuilder) assistant(where string) *chatMessage {
	if n := len(t.out.Messages); n == 0 || t.out.Messages[n-1].Role != "assistant" {
		t.add(where, chatMessage{Role: "assistant"})
	}
	for _, s := range t.pending {
		t.think(s)
	}
	t.pending = nil
	return &t.out.Messages[len(t.out.Messages)-1]
}

func (t *responseBuilder) message(where string, item responseItem) error {
	said, err := t.content(where+".content", item.Content)
	if err != nil {
		return err
	}
	switch item.Role {
	case "user":
		t.add(where, chatMessage{Role: item.Role, Content: said})
	case "system", "developer":
		t.add(where, chatMessage{Role: "system", Content: said}) // not every server knows developers
	case "assistant":
		m := t.assistant(where)
		m.Content = append(m.Content, said...)
	default:
		return penstock.InvalidParam(where+".role", "%s.role must be user, assistant, system or developer.", where)
	}
	t.from(where+".content", said)
	return nil
}

func (t *responseBuilder) content(where string, content responseContent) (said chatContent, err error) {
	for i, part := range content {
		at := fmt.Sprintf("%s[%d]", where, i)
		t.dropUnknown(at, part.Unknown)
		switch {
		case part.Type == "input_text", part.Type == "output_text", part.Type == "text":
			said = append(said, chatPart{Type: "text", Text: part.Text})
		case part.Type == "refusal":
			said = append(said, chatPart{Type: "text", Text: part.Refusal})
		case part.Type == "input_image" && part.ImageURL != "":
			said = append(said, chatPart{Type: "image_url", ImageURL: &chatImage{URL: part.ImageURL, Detail: part.Detail}})
		case part.Type == "input_file" && part.FileData != "":
			said = append(said, chatPart{Type: "file", File: &chatFile{Filename: part.Filename, FileData: part.FileData}})
		default:
			return nil, untranslatable(at, "Texts, images by image_url and files by file_data can be carried.")
		}
	}
	return said, nil
}

// options carries all that is not part of the conversation.
func (t *responseBuilder) options(in responseRequest, object body.Object) error {
	bound, err := boundOf(penstock.EndpointResponses, object)
	if err != nil {
		return err
	}
	if bound > 0 {
		t.out.MaxCompletionTokens = &bound
	}
	if in.Reasoning != nil {
		t.dropUnknown("reasoning", in.Reasoning.Unknown)
		t.out.ReasoningEffort = in.Reasoning.Effort
	}
	if err := t.tools(in); err != nil {
		return err
	}
	return t.format(in.Text)
}

func (t *responseBuilder) tools(in responseRequest) error {
	for i, tool := range in.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		if tool.Type != "function" {
			return untranslatable(at+".type", "Only functions can be carried.")
		}
		if err := (toolPlace{at, "parameters"}).check(tool.Name, tool.Parameters); err != nil {
			return err
		}
		t.dropUnknown(at, tool.Unknown)
		f := chatFunction{Name: tool.Name, Description: tool.Description}
		if isSet(tool.Parameters) {
			f.Parameters = tool.Parameters
		}
		if isSet(tool.Strict) {
			f.Unknown = jsontext.Value(`{"strict":` + string(tool.Strict) + `}`)
		}
		t.out.Tools = append(t.out.Tools, chatTool{Type: "function", Function: f})
	}
	if in.ToolChoice == nil {
		return nil
	}
	if !slices.Contains([]string{"none", "auto", "required", "function"}, in.ToolChoice.Type) || in.ToolChoice.Type == "function" && in.ToolChoice.Name == "" {
		return untranslatable("tool_choice", "Use none, auto, required or the name of a function.")
	}
	if name := in.ToolChoice.Name; name != "" && len(in.Tools) > 0 && !slices.ContainsFunc(in.Tools, func(t responseTool) bool { return t.Name == name }) {
		return errUnknownTool(name)
	}
	if len(t.out.Tools) > 0 || in.ToolChoice.Type == "required" || in.ToolChoice.Type == "function" {
		t.out.ToolChoice = &chatToolChoice{Type: in.ToolChoice.Type, Name: in.ToolChoice.Name}
	}
	if len(t.out.Tools) == 0 {
		t.out.ParallelToolCalls = nil // servers refuse it without tools
	}
	return nil
}

// format carries the form that the answer must have.
func (t *responseBuilder) format(text *responseText) error {
	if text == nil {
		return nil
	}
	t.dropUnknown("text", text.Unknown)
	if text.Format == nil {
		return nil
	}
	schema := memberOf(text.Format.Unknown, "schema")
	switch text.Format.Type {
	case "text":
		t.dropUnknown("text.format", text.Format.Unknown)
	case "json_object":
		t.dropUnknown("text.format", text.Format.Unknown)
		if isSet(schema) || isSet(memberOf(text.Format.Unknown, "json_schema")) {
			return errNoSchema("text.format", "schema", responseSchemaForm)
		}
		t.out.ResponseFormat = jsontext.Value(`{"type":"json_object"}`)
	case "json_schema":
		if !isObject(schema) {
			return errNoSchema("text.format", "schema", responseSchemaForm)
		}
		t.out.ResponseFormat = jsontext.Value(`{"type":"json_schema","json_schema":` + string(text.Format.Unknown) + `}`)
	default:
		return untranslatable("text.format.type", "Use text, json_object or json_schema.")
	}
	return nil
}
