package content

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Conforms reports whether an answer has the form that a response_format asks for; nil if it asks for nothing that can be checked.
func Conforms(format json.RawMessage, answer string) *bool {
	var asked struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if len(format) == 0 || json.Unmarshal(format, &asked) != nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(answer)))
	_, isObject := value.(map[string]any)
	valid := err == nil
	switch asked.Type {
	case "json_object":
		valid = valid && isObject
	case "json_schema":
		schema, err := responseSchema(asked.JSONSchema.Schema)
		if err != nil {
			return nil // the upstream accepted a schema that cannot be checked here
		}
		valid = valid && schema.Validate(value) == nil
	default:
		return nil
	}
	return &valid
}

// responseSchema compiles the schema of an answer, within the bounds of those of variables: its size, its parts with references
// replaced, and no references to other documents.
func responseSchema(text []byte) (*jsonschema.Schema, error) {
	if len(text) > MaxSchemaBytes {
		return nil, fmt.Errorf("the schema has more than %d bytes", MaxSchemaBytes)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	left := MaxSchemaNodes
	if err := (&schemaWalk{document: document, left: &left}).node(document, nil); err != nil {
		return nil, err
	}
	return compileSchema(document)
}
