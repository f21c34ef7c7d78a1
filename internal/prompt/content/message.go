package content

import (
	"fmt"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/prompt/template"
)

// maxNameBytes bounds names and ids inside messages.
const maxNameBytes = 128

// check refuses a message of a wrong form. Codes: invalid_request.
func (m *Message) check(where string) error {
	if m.Placeholder != "" {
		return m.checkPlaceholder(where)
	}
	if !slices.Contains(Roles, m.Role) {
		return penstock.InvalidParam(where+".role", "%s.role must be one of %s.", where, strings.Join(Roles, ", "))
	}
	if len(m.Name) > maxNameBytes || len(m.ToolCallID) > maxNameBytes {
		return penstock.InvalidParam(where, "%s: name and tool_call_id have at most %d bytes.", where, maxNameBytes)
	}
	if (m.Role == "tool") != (m.ToolCallID != "") {
		return penstock.InvalidParam(where+".tool_call_id", "%s.tool_call_id belongs to messages of the role tool, and each of these has one.", where)
	}
	if err := m.checkCalls(where); err != nil {
		return err
	}
	return m.Content.check(where+".content", m.Role)
}

func (m *Message) checkPlaceholder(where string) error {
	if m.Role != "" || m.Name != "" || !m.Content.IsZero() || len(m.ToolCalls) > 0 || m.ToolCallID != "" {
		return penstock.InvalidParam(where, "%s: a message with placeholder has no other members.", where)
	}
	if !template.ValidName(m.Placeholder) {
		return penstock.InvalidParam(where+".placeholder", "%s.placeholder must be the name of a variable: a-z, A-Z, 0-9, _ and -, at most %d bytes.", where, template.MaxNameBytes)
	}
	return nil
}

func (m *Message) checkCalls(where string) error {
	if len(m.ToolCalls) == 0 {
		return nil
	}
	where += ".tool_calls"
	if m.Role != "assistant" || len(m.ToolCalls) > MaxToolCalls {
		return penstock.InvalidParam(where, "%s: only messages of the role assistant have tool calls, at most %d each.", where, MaxToolCalls)
	}
	for i, call := range m.ToolCalls {
		at := fmt.Sprintf("%s[%d]", where, i)
		if call.Type != "function" || call.ID == "" || call.Function.Name == "" || len(call.ID) > maxNameBytes || len(call.Function.Name) > maxNameBytes {
			return penstock.InvalidParam(at, `%s must have an id, the type "function", and a function with a name and arguments.`, at)
		}
	}
	return nil
}

func (b *Body) check(where, role string) error {
	if len(b.Parts) > MaxParts {
		return penstock.InvalidParam(where, "%s must have at most %d parts.", where, MaxParts)
	}
	for i, p := range b.Parts {
		at := fmt.Sprintf("%s[%d]", where, i)
		switch p.Type {
		case PartText:
			if p.ImageURL != nil {
				return penstock.InvalidParam(at+".image_url", "%s is a text and has no image_url.", at)
			}
		case PartImage:
			if p.ImageURL == nil || p.ImageURL.URL == "" || p.Text != "" {
				return penstock.InvalidParam(at, "%s must have an image_url with a url, and no text.", at)
			}
			if role != "user" {
				return penstock.InvalidParam(at, "%s: only messages of the role user have images.", at)
			}
		default:
			return penstock.InvalidParam(at+".type", "%s.type must be text or image_url.", at)
		}
	}
	return nil
}
