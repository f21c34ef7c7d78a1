package playground

import (
	"bytes"
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"penstock/internal/prompt/content"
)

// conforms reports whether a text is what a response format asked for; nil if the format asks for nothing that can be checked.
func conforms(format json.RawMessage, text string) *bool {
	var asked struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if len(format) == 0 || json.Unmarshal(format, &asked) != nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	_, isObject := value.(map[string]any)
	valid := err == nil
	switch asked.Type {
	case "json_object":
		valid = valid && isObject
	case "json_schema":
		schema, err := content.CompileSchema(asked.JSONSchema.Schema)
		if err != nil {
			return nil // the upstream accepted a schema that cannot be checked here
		}
		valid = valid && schema.Validate(value) == nil
	default:
		return nil
	}
	return &valid
}
