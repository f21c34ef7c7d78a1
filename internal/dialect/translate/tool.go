package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

// maxIDBytes is the longest id of a tool call that every upstream takes.
const maxIDBytes = 40

// portableID is the id of a tool call as both dialects take it: A-Z, a-z, 0-9, - and _, and not too
// long. Another id becomes one made from its hash. It is a function of the id alone, so a call and its
// result find each other again, in this body and in all that follow, and nothing has to be remembered.
func portableID(id string) string {
	if id != "" && len(id) <= maxIDBytes && strings.IndexFunc(id, notPortable) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}

func notPortable(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// openCalls are the tool calls of the assistant's last turn that have no result yet. Both dialects want
// each call answered once, before any other content.
type openCalls struct{ ids map[string]struct{} }

func (o *openCalls) ask(where, id string) error {
	if id == "" {
		return penstock.InvalidParam(where, "%s must not be empty.", where)
	}
	if _, twice := o.ids[id]; twice {
		return penstock.InvalidParam(where, "%s is the id of another tool call of the same turn.", where)
	}
	if o.ids == nil {
		o.ids = make(map[string]struct{})
	}
	o.ids[id] = struct{}{}
	return nil
}

func (o *openCalls) answer(where, id string) error {
	if _, asked := o.ids[id]; !asked {
		return penstock.InvalidParam(where, "%s names no tool call of the assistant's last turn that still waits for its result.", where)
	}
	delete(o.ids, id)
	return nil
}

func (o *openCalls) settled(where string) error {
	if len(o.ids) == 0 {
		return nil
	}
	id := slices.Min(slices.Collect(maps.Keys(o.ids)))
	return penstock.InvalidParam(where, "The tool call %q has no result. Every call needs one before anyone says anything else.", clip(id, maxIDBytes))
}

// inputOf reads the arguments of a call, which are JSON in a string. No arguments are an empty object.
func inputOf(arguments string) (jsontext.Value, bool) {
	if strings.TrimSpace(arguments) == "" {
		return jsontext.Value("{}"), true
	}
	if body.Depth([]byte(arguments)) > maxDepth {
		return nil, false
	}
	input := jsontext.Value(arguments)
	// Compact checks the syntax and leaves everything but white space alone, numbers above all.
	if input.Compact() != nil || input.Kind() != '{' {
		return nil, false
	}
	return input, true
}

// argumentsOf writes the input of a call into a string.
func argumentsOf(input jsontext.Value) (string, bool) {
	if !isSet(input) {
		return "{}", true
	}
	text := input.Clone()
	if text.Compact() != nil || text.Kind() != '{' {
		return "", false
	}
	return string(text), true
}

// toolPlace is where the body of the caller has a tool: the path of the tool, and the member of it that has the schema of the input.
type toolPlace struct{ path, schema string }

// check refuses a tool that no upstream accepts, by its place in the caller's body. An upstream's own refusal names members of another dialect.
func (p toolPlace) check(name string, schema jsontext.Value) error {
	if name == "" {
		return penstock.InvalidParam(p.path+".name", "%s.name must be the name of the tool.", p.path)
	}
	if isSet(schema) && schema.Kind() != '{' {
		return penstock.InvalidParam(p.path+"."+p.schema, "%s.%s must be an object: the JSON Schema of the tool's input.", p.path, p.schema)
	}
	return nil
}

// errUnknownTool refuses to demand a tool that is not among the tools.
func errUnknownTool(name string) error {
	return penstock.InvalidParam("tool_choice", "tool_choice demands the tool %q, which is not among the tools.", clip(name, maxIDBytes))
}

// choices are the words for how free the model is to call tools: in chat completions, then in messages.
var choices = [][2]string{{"auto", "auto"}, {"required", "any"}, {"none", "none"}, {"function", "tool"}}

// choiceFromChat says how the model may use tools. Without tools there is nothing to say.
func choiceFromChat(in chatRequest) (*messageToolChoice, error) {
	if len(in.Tools) == 0 {
		if in.ToolChoice != nil && (in.ToolChoice.Type == "required" || in.ToolChoice.Name != "") {
			return nil, errNoTools()
		}
		return nil, nil
	}
	if name := in.ToolChoice.name(); name != "" && !slices.ContainsFunc(in.Tools, func(t chatTool) bool { return t.Function.Name == name }) {
		return nil, errUnknownTool(name)
	}
	oneAtATime := in.ParallelToolCalls != nil && !*in.ParallelToolCalls
	if in.ToolChoice == nil {
		if !oneAtATime {
			return nil, nil
		}
		return &messageToolChoice{Type: "auto", DisableParallelToolUse: true}, nil
	}
	for _, words := range choices {
		if in.ToolChoice.Type == words[0] {
			return &messageToolChoice{
				Type: words[1], Name: in.ToolChoice.Name, DisableParallelToolUse: oneAtATime && words[1] != "none",
			}, nil
		}
	}
	return nil, untranslatable("tool_choice", "Use none, auto, required or the name of a function.")
}

// name is the name of the function that must be called, "" for any or none.
func (c *chatToolChoice) name() string {
	if c == nil {
		return ""
	}
	return c.Name
}

// check refuses a choice that the tools do not allow.
func (c *messageToolChoice) check(tools []messageTool) error {
	switch {
	case c == nil:
		return nil
	case len(tools) == 0 && (c.Type == "any" || c.Type == "tool"):
		return errNoTools()
	case c.Type == "tool" && !slices.ContainsFunc(tools, func(t messageTool) bool { return t.Name == c.Name }):
		return errUnknownTool(c.Name)
	}
	return nil
}

// errNoTools refuses to demand what is not there.
func errNoTools() error {
	return penstock.InvalidParam("tool_choice", "tool_choice demands a tool, but there are no tools.")
}

func (t *chatBuilder) toolChoice(in messageRequest) error {
	if err := in.ToolChoice.check(in.Tools); err != nil || in.ToolChoice == nil || len(in.Tools) == 0 {
		return err
	}
	t.dropUnknown("tool_choice", in.ToolChoice.Unknown)
	if in.ToolChoice.DisableParallelToolUse && in.ToolChoice.Type != "none" {
		t.out.ParallelToolCalls = new(bool)
	}
	for _, words := range choices {
		if in.ToolChoice.Type == words[1] {
			t.out.ToolChoice = &chatToolChoice{Type: words[0], Name: in.ToolChoice.Name}
			return nil
		}
	}
	return untranslatable("tool_choice.type", "Use none, auto, any or tool.")
}
