package sim

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// responseInput is a text, or a list of messages and other items.
type responseInput struct {
	items []inputItem
}

// inputItem is a message or another item; each type has its own fields.
type inputItem struct {
	chatMessage
	Type      string   `json:"type"`
	ID        string   `json:"id"`
	CallID    string   `json:"call_id"`
	Name      string   `json:"name"`              // of a call
	Arguments *string  `json:"arguments"`         // of the call of a function
	Input     *string  `json:"input"`             // of the call of a custom tool
	Output    *content `json:"output"`            // of the result of a call
	Encrypted *string  `json:"encrypted_content"` // of reasoning
}

// servedItems are the types of items that belong to tools of the service. They are accepted as they are.
var servedItems = []string{
	"apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction", "computer_call", "computer_call_output", "file_search_call",
	"image_generation_call", "local_shell_call", "local_shell_call_output", "mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools",
	"shell_call", "shell_call_output", "tool_search_call", "tool_search_output", "web_search_call",
}

// itemTypes are the types of all items.
var itemTypes = append([]string{
	"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "item_reference",
}, servedItems...)

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (in *responseInput) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '"':
		in.items = []inputItem{{chatMessage: chatMessage{Role: "user"}}}
		return json.UnmarshalDecode(dec, &in.items[0].Content)
	case '[':
		return json.UnmarshalDecode(dec, &in.items)
	}
	return errors.New("input is a text or a list of items")
}

// addTo adds the items to a prompt. It refuses an item that OpenAI refuses.
func (in *responseInput) addTo(p *prompt) error {
	for i := range in.items {
		item := &in.items[i]
		if err := item.check(element("input", i)); err != nil {
			return err
		}
		if item.Role == "" { // no message
			item.Role = "tool"
			if item.Output != nil {
				item.Content = *item.Output
			}
			if item.Name != "" {
				item.Content.calls = []string{item.Name}
			}
		}
		item.chatMessage.addTo(p)
	}
	return nil
}

// checkResults refuses the result of a call that is not in the input before it. A reference may stand for any call.
func (in *responseInput) checkResults() error {
	called := make(map[string]bool)
	for i := range in.items {
		switch item := &in.items[i]; item.Type {
		case "item_reference":
			return nil
		case "function_call", customCall:
			called[item.CallID] = true
		case "function_call_output", "custom_tool_call_output":
			if !called[item.CallID] {
				return invalid("input", "No tool call found for function call output with call_id "+abridge(item.CallID)+".")
			}
		}
	}
	return nil
}

// check refuses an item of an unknown type, and an item without what its type needs. A message may leave out its type.
func (item *inputItem) check(at string) error {
	switch item.Type {
	case "", "message":
		return item.chatMessage.check(at, responseRoles, responseParts)
	case "reasoning":
		if item.Encrypted != nil && !unsealed(*item.Encrypted) {
			return invalid(at+".encrypted_content", "Invalid '"+at+".encrypted_content': the encrypted content for item '"+abridge(item.ID)+"' could not be verified.")
		}
	case "function_call":
		return item.checkCall(at, "arguments", item.Arguments)
	case customCall:
		return item.checkCall(at, "input", item.Input)
	case "function_call_output", "custom_tool_call_output":
		switch {
		case item.CallID == "":
			return required(at + ".call_id")
		case item.Output == nil:
			return required(at + ".output")
		}
		return item.Output.checkParts(at+".output", responseParts)
	case "item_reference":
		if item.ID == "" {
			return required(at + ".id")
		}
	default:
		if !slices.Contains(servedItems, item.Type) {
			return unsupported(at+".type", item.Type, itemTypes)
		}
	}
	return nil
}

// checkCall refuses the call of a tool without an id, a name, or the member that has its input.
func (item *inputItem) checkCall(at, member string, input *string) error {
	switch {
	case item.CallID == "":
		return required(at + ".call_id")
	case item.Name == "":
		return required(at + ".name")
	case input == nil:
		return required(at + "." + member)
	}
	return nil
}
