package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/dialect"
)

// Config are the members of a chat completion's body beside its messages: model, parameters, tools, the form of the answer. They
// are sent as they are; nothing in them is a template.
type Config map[string]json.RawMessage

// Model is the model that the config names, "" for none.
func (c Config) Model() string {
	var name string
	if json.Unmarshal(c["model"], &name) != nil {
		return ""
	}
	return name
}

// elsewhere are members that a prompt cannot set, each with the reason.
var elsewhere = map[string]string{
	"messages":       "the prompt has messages of its own",
	"input":          "the prompt has messages of its own",
	"system":         "write a message of the role system",
	"instructions":   "write a message of the role system",
	"prompt":         "include another prompt as a partial: {{> name}}",
	"stream":         "the caller decides about it",
	"stream_options": "the caller decides about it",
	"user":           "the caller decides about it",
	"metadata":       "the caller decides about it",
	"store":          "the caller decides about it",
}

// configKinds are the JSON kinds of well-known members: s string, n number, b boolean, l list, o object.
var configKinds = map[string]string{
	"model": "s", "temperature": "n", "top_p": "n", "top_k": "n", "seed": "n",
	"presence_penalty": "n", "frequency_penalty": "n", "n": "n", "tools": "l", "response_format": "o", "parallel_tool_calls": "b",
	"reasoning_effort": "s", "tool_choice": "so", "stop": "sl",
}

var kindWords = map[byte]string{'s': "a string", 'n': "a number", 'b': "true or false", 'l': "a list", 'o': "an object", 'z': "null"}

// kindOf is the kind of a JSON value, by its first character.
func kindOf(text json.RawMessage) byte {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return 'z'
	}
	switch text[0] {
	case '"':
		return 's'
	case '{':
		return 'o'
	case '[':
		return 'l'
	case 't', 'f':
		return 'b'
	case 'n':
		return 'z'
	}
	return 'n'
}

// check refuses members that do not belong into a config. It removes members that are null and empty lists of tools, so that
// leaving a member out and saying nothing in it are the same content. Codes: invalid_request.
func (c Config) check() error {
	bytesOf := 0
	for name, value := range c {
		if kind := kindOf(value); kind == 'z' || name == "tools" && string(bytes.Join(bytes.Fields(value), nil)) == "[]" {
			delete(c, name)
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return penstock.InvalidParam("config."+name, "config.%s is not valid JSON.", name)
		}
		c[name] = compact.Bytes()
		if bytesOf += len(name) + compact.Len(); bytesOf > MaxConfigBytes {
			return penstock.InvalidParam("config", "config has more than %d bytes.", MaxConfigBytes)
		}
		if err := checkMember(name, c[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkMember(name string, value json.RawMessage) error {
	path := "config." + name
	if why := elsewhere[name]; why != "" {
		return penstock.InvalidParam(path, "config cannot have %s: %s.", name, why)
	}
	kinds := configKinds[name]
	if slices.Contains(dialect.OutputMembers(penstock.EndpointChat), name) {
		kinds = "n"
	}
	if kinds != "" && !strings.ContainsRune(kinds, rune(kindOf(value))) {
		words := make([]string, len(kinds))
		for i := range len(kinds) {
			words[i] = kindWords[kinds[i]]
		}
		return penstock.InvalidParam(path, "%s must be %s, not %s.", path, strings.Join(words, " or "), kindWords[kindOf(value)])
	}
	switch name {
	case "model":
		if model := (Config{"model": value}).Model(); model == "" || len(model) > MaxModelBytes {
			return penstock.InvalidParam(path, "config.model must have 1 to %d bytes.", MaxModelBytes)
		}
	case "tools":
		return checkTools(value)
	}
	return nil
}

func checkTools(value json.RawMessage) error {
	var tools []struct {
		Type     string `json:"type"`
		Function *struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(value, &tools); err != nil || len(tools) > MaxTools {
		return penstock.InvalidParam("config.tools", "config.tools must be a list of at most %d tools, each an object.", MaxTools)
	}
	var names []string
	for i, tool := range tools {
		at := fmt.Sprintf("config.tools[%d]", i)
		if tool.Type != "function" || tool.Function == nil || tool.Function.Name == "" {
			return penstock.InvalidParam(at, `%s must have the type "function" and a function with a name.`, at)
		}
		if slices.Contains(names, tool.Function.Name) {
			return penstock.InvalidParam(at, "%s: there are two tools named %s.", at, tool.Function.Name)
		}
		names = append(names, tool.Function.Name)
	}
	return nil
}

// WithModel is a copy of the config that names another model.
func (c Config) WithModel(model string) Config {
	text, err := json.Marshal(model)
	if err != nil { // a string can be encoded
		return c
	}
	out := maps.Clone(c)
	if out == nil {
		out = Config{}
	}
	out["model"] = text
	return out
}

// Overlay is a copy of the config in which the members of another config replace its own; null removes a member. The result is
// checked. Codes: invalid_request.
func (c Config) Overlay(over Config) (Config, error) {
	out := Config{}
	maps.Copy(out, c)
	maps.Copy(out, over)
	return out, out.check()
}
