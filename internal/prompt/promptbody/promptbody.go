// Package promptbody writes rendered prompts as bodies of inferences, one function for each dialect of callers.
//
// The written body has the messages and the config of the prompt. The caller's own members, such as stream, are not in it: the
// code that merges both decides which member wins. It opens no connection and holds no state.
package promptbody

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/translate"
	"penstock/internal/prompt/content"
)

// Chat is the body of a chat completion. Its members are sorted by name, so that the same prompt gives the same bytes.
func Chat(r content.Rendered) ([]byte, error) {
	messages, err := encode(chatMessages(r.Messages))
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	maps.Copy(members, r.Config)
	members["messages"] = messages
	return encode(members)
}

// chatMessages writes null as the content of a message that has only tool calls, as the dialect wants it.
func chatMessages(messages []content.Message) []chatMessage {
	all := make([]chatMessage, len(messages))
	for i, m := range messages {
		all[i] = chatMessage{Role: m.Role, Name: m.Name, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
		if !m.Content.IsZero() || len(m.ToolCalls) == 0 {
			all[i].Content = &messages[i].Content
		}
	}
	return all
}

type chatMessage struct {
	Role       string             `json:"role"`
	Content    *content.Body      `json:"content"`
	Name       string             `json:"name,omitempty"`
	ToolCalls  []content.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string             `json:"tool_call_id,omitempty"`
}

// Messages is the body that asks Anthropic's API for a message. An answer has at most maxTokens tokens unless the config says
// otherwise. Members that the dialect lacks are named in dropped. Codes: invalid_request.
func Messages(r content.Rendered, maxTokens int64) (body []byte, dropped []string, err error) {
	chat, err := Chat(r)
	if err != nil {
		return nil, nil, err
	}
	t, ok := translate.For(penstock.EndpointChat, penstock.EndpointMessages)
	if !ok {
		return nil, nil, penstock.Internal(fmt.Errorf("there is no translation of chat completions into messages"))
	}
	return t.Request(chat, dialect.Upstream{MaxOutputTokens: maxTokens})
}

// Responses is the body of a response: messages become items, and members with other names get these.
func Responses(r content.Rendered) ([]byte, error) {
	members := map[string]json.RawMessage{}
	for name, value := range r.Config {
		if err := responseMember(members, name, value); err != nil {
			return nil, err
		}
	}
	var err error
	members["input"], err = encode(responseItems(r.Messages))
	if err != nil {
		return nil, err
	}
	return encode(members)
}

// responseMember adds a member of the config as responses have it.
func responseMember(members map[string]json.RawMessage, name string, value json.RawMessage) (err error) {
	if slices.Contains(dialect.OutputMembers(penstock.EndpointChat), name) {
		members[dialect.OutputMembers(penstock.EndpointResponses)[0]] = value
		return nil
	}
	switch name {
	case "reasoning_effort":
		members["reasoning"], err = encode(map[string]json.RawMessage{"effort": value})
	case "tools":
		members[name], err = responseTools(value)
	case "tool_choice":
		members[name], err = responseChoice(value)
	case "response_format":
		members["text"], err = responseText(value)
	default:
		members[name] = value
	}
	return err
}

// unwrap moves the members of an inner object beside the type: {"type":t,"k":{…}} becomes {"type":t,…}.
func unwrap(value json.RawMessage, key string) (map[string]json.RawMessage, error) {
	var outer, inner map[string]json.RawMessage
	if err := json.Unmarshal(value, &outer); err != nil {
		return nil, penstock.InvalidParam("config", "config: %s must be an object.", key)
	}
	if json.Unmarshal(outer[key], &inner) == nil {
		delete(outer, key)
		maps.Copy(outer, inner)
	}
	return outer, nil
}

func responseTools(value json.RawMessage) (json.RawMessage, error) {
	var tools []json.RawMessage
	if err := json.Unmarshal(value, &tools); err != nil {
		return nil, penstock.InvalidParam("config.tools", "config.tools must be a list.")
	}
	out := make([]map[string]json.RawMessage, len(tools))
	for i, tool := range tools {
		var err error
		if out[i], err = unwrap(tool, "function"); err != nil {
			return nil, err
		}
	}
	return encode(out)
}

func responseChoice(value json.RawMessage) (json.RawMessage, error) {
	if !strings.HasPrefix(string(value), "{") {
		return value, nil
	}
	choice, err := unwrap(value, "function")
	if err != nil {
		return nil, err
	}
	return encode(choice)
}

func responseText(value json.RawMessage) (json.RawMessage, error) {
	format, err := unwrap(value, "json_schema")
	if err != nil {
		return nil, err
	}
	return encode(map[string]any{"format": format})
}

func encode(v any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, penstock.Internal(fmt.Errorf("encoding a rendered prompt: %w", err))
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}

// item is an item of a response's input.
type item struct {
	Type      string `json:"type"`
	Role      string `json:"role,omitempty"`
	Content   []part `json:"content,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    string `json:"output,omitempty"`
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

func responseItems(messages []content.Message) []item {
	items := []item{}
	for _, m := range messages {
		if m.Role == "tool" {
			items = append(items, item{Type: "function_call_output", CallID: m.ToolCallID, Output: plain(m.Content)})
			continue
		}
		if parts := responseParts(m); len(parts) > 0 || len(m.ToolCalls) == 0 {
			items = append(items, item{Type: "message", Role: m.Role, Content: parts})
		}
		for _, call := range m.ToolCalls {
			items = append(items, item{Type: "function_call", CallID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
	}
	return items
}

func responseParts(m content.Message) (parts []part) {
	word := "input_text"
	if m.Role == "assistant" {
		word = "output_text"
	}
	if m.Content.Parts == nil && m.Content.Text != "" {
		return []part{{Type: word, Text: m.Content.Text}}
	}
	for _, p := range m.Content.Parts {
		if p.Type == content.PartImage {
			parts = append(parts, part{Type: "input_image", ImageURL: p.ImageURL.URL, Detail: p.ImageURL.Detail})
		} else {
			parts = append(parts, part{Type: word, Text: p.Text})
		}
	}
	return parts
}

// plain joins the texts of a body.
func plain(b content.Body) string {
	if b.Parts == nil {
		return b.Text
	}
	var texts []string
	for _, p := range b.Parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}
