package sim

import (
	"errors"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// toolChoice is OpenAI's: "none", "auto" or "required", or an object that names a tool or a part of the tools.
type toolChoice struct {
	mode    string
	name    string   // of the one tool
	allowed []string // of the tools that may be used
}

// toolName is a tool in a tool_choice. Chat completions have its name inside, responses beside the type.
type toolName struct {
	Type     string     `json:"type"`
	Name     string     `json:"name"`
	Function customTool `json:"function"`
	Custom   customTool `json:"custom"`
}

func (n *toolName) name() string { return n.Name + n.Function.Name + n.Custom.Name }

// allowedTools is a part of the tools, and whether one of them must be called.
type allowedTools struct {
	Mode  string     `json:"mode"`
	Tools []toolName `json:"tools"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (c *toolChoice) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n', '"':
		return json.UnmarshalDecode(dec, &c.mode)
	case '{':
		var object struct {
			toolName
			allowedTools              // of a response
			AllowedTools allowedTools `json:"allowed_tools"` // of a chat completion
		}
		err := json.UnmarshalDecode(dec, &object)
		c.mode, c.name = object.Type, object.name()
		if object.Type == "allowed_tools" {
			part := object.AllowedTools
			if part.Mode == "" {
				part = object.allowedTools
			}
			c.mode, c.allowed = part.Mode, []string{}
			for _, tool := range part.Tools {
				if name := tool.name(); name != "" { // a tool that the service would run has none, and is never called
					c.allowed = append(c.allowed, name)
				}
			}
		}
		return err
	}
	return errors.New("tool_choice is a string or an object")
}

// apply says how tools may be used.
func (c toolChoice) apply(t *tools) error {
	if c.allowed != nil {
		if c.mode != "auto" && c.mode != "required" {
			return invalid("tool_choice", "Invalid value for 'tool_choice.mode': use auto or required.")
		}
		if missing := t.allow(c.allowed); missing != "" {
			return invalid("tool_choice", "Tool choice '"+abridge(missing)+"' not found in 'tools'.")
		}
	}
	switch c.mode {
	case "none":
		t.use = noUse
	case "required":
		t.use = mustUse
		if len(t.offered) == 0 {
			return invalid("tool_choice", "'tool_choice' is 'required', but there are no functions in 'tools'.")
		}
	case "function", "custom":
		t.use, t.named = mustUse, c.name
		if !t.offers(c.name) {
			return invalid("tool_choice", "Tool choice '"+abridge(c.name)+"' not found in 'tools'.")
		}
	}
	return nil
}

// offers says whether there is a tool of a name.
func (t *tools) offers(name string) bool {
	return slices.ContainsFunc(t.offered, func(tool tool) bool { return tool.name == name })
}

// allow leaves only some of the tools. It returns the name of one that is not offered, "" if all are.
func (t *tools) allow(names []string) (missing string) {
	for _, name := range names {
		if !t.offers(name) {
			return name
		}
	}
	t.offered = slices.DeleteFunc(t.offered, func(tool tool) bool { return !slices.Contains(names, tool.name) })
	return ""
}

// toolNames are the names that OpenAI and Bedrock allow, messageToolNames those of Anthropic and functionNames those of Gemini.
var (
	toolNames        = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	messageToolNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	functionNames    = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)
)

// checkToolName refuses the name of a tool that OpenAI refuses.
func checkToolName(param, name string) error {
	switch {
	case name == "":
		return required(param)
	case !toolNames.MatchString(name):
		return invalid(param, "Invalid '"+param+"': expected a string that matches the pattern '^[a-zA-Z0-9_-]{1,64}$', but got '"+abridge(name)+"'.")
	}
	return nil
}
