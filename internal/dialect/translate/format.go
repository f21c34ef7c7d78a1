package translate

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

const (
	formatSchema = "json_schema"
	formatObject = "json_object"
)

// format carries the format of the answer. A message's format always binds the model, so a schema that is not
// strict binds it as well.
func (t *messageBuilder) format(f *chatFormat) error {
	if f == nil || f.Type == "text" {
		return nil
	}
	if f.Type == formatObject {
		t.out.System = instructed(t.out.System)
		return nil
	}
	if f.Type != formatSchema {
		return untranslatable("response_format", "Use the type json_schema or json_object.")
	}
	if f.JSONSchema == nil || !isObject(f.JSONSchema.Schema) {
		return penstock.InvalidParam("response_format", "response_format.json_schema.schema must be an object.")
	}
	t.dropUnknown("response_format", f.Unknown)
	t.dropUnknown("response_format.json_schema", f.JSONSchema.Unknown)
	if f.JSONSchema.Name != "" {
		t.drop("response_format.json_schema.name")
	}
	if f.JSONSchema.Description != "" {
		t.drop("response_format.json_schema.description")
	}
	t.out.OutputConfig = &outputConfig{Format: &messageFormat{Type: formatSchema, Schema: f.JSONSchema.Schema}}
	return nil
}

// formatName is the name of a schema that has none. Chat completions require one.
const formatName = "output"

// format carries the format of the answer. Messages promise that the answer follows its schema, and so does a
// strict schema alone.
func (t *chatBuilder) format(f *messageFormat) error {
	if f == nil {
		return nil
	}
	if f.Type != formatSchema {
		return untranslatable("output_config.format.type", "Use the type json_schema.")
	}
	if !isObject(f.Schema) {
		return penstock.InvalidParam("output_config.format", "output_config.format.schema must be an object.")
	}
	t.dropUnknown("output_config.format", f.Unknown)
	t.out.ResponseFormat = &chatFormat{Type: formatSchema, JSONSchema: &chatSchema{Name: formatName, Strict: new(true), Schema: f.Schema}}
	return nil
}

func isObject(v jsontext.Value) bool { return len(v) > 0 && v.Kind() == '{' }

// messageTemperature is the highest temperature of a message. A chat completion's may be 2. Both begin at 0, and 1
// means the same in both, so one that both have is carried unchanged. A higher one is refused: a mapped one would
// be a guess.
const messageTemperature = 1

// checkTemperature refuses a temperature that a message cannot have.
func checkTemperature(temperature *float64, whose string) error {
	if temperature == nil || (*temperature >= 0 && *temperature <= messageTemperature) {
		return nil
	}
	return penstock.InvalidParam("temperature", "temperature must be between 0 and %d for %s.", messageTemperature, whose)
}
