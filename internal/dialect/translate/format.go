package translate

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

const (
	formatSchema = "json_schema"
	formatObject = "json_object"
)

// format carries the format of the answer. A message's format always binds the model, so a schema that is not
// strict binds it as well.
func (t *messageBuilder) format(f *chatFormat) error {
	wanted, err := t.chatFormat(f)
	if err != nil || !wanted.json {
		return err
	}
	if wanted.schema == nil {
		t.out.System = instructed(t.out.System)
		return nil
	}
	if f.JSONSchema.Name != "" {
		t.drop("response_format.json_schema.name")
	}
	if f.JSONSchema.Description != "" {
		t.drop("response_format.json_schema.description")
	}
	t.out.OutputConfig = &outputConfig{Format: &messageFormat{Type: formatSchema, Schema: wanted.schema}}
	return nil
}

// outputFormat is the form that the text of an answer must have.
type outputFormat struct {
	json   bool           // an object
	schema jsontext.Value // that it must match; nil for any
	name   string
}

// chatFormat reads the format of a chat completion for all upstreams. It refuses a schema in another place than its own: the caller
// relies on the schema, and no upstream would get it.
func (n *notes) chatFormat(f *chatFormat) (outputFormat, error) {
	if f == nil {
		return outputFormat{}, nil
	}
	switch f.Type {
	case "text":
		n.dropUnknown("response_format", f.Unknown)
		return outputFormat{}, nil
	case formatObject:
		if f.JSONSchema != nil || isSet(memberOf(f.Unknown, "schema")) {
			return outputFormat{}, errNoSchema("response_format", "json_schema.schema", chatSchemaForm)
		}
		n.dropUnknown("response_format", f.Unknown)
		return outputFormat{json: true}, nil
	case formatSchema:
		if f.JSONSchema == nil || !isObject(f.JSONSchema.Schema) {
			return outputFormat{}, errNoSchema("response_format", "json_schema.schema", chatSchemaForm)
		}
		n.dropUnknown("response_format", f.Unknown)
		n.dropUnknown("response_format.json_schema", f.JSONSchema.Unknown)
		return outputFormat{json: true, schema: f.JSONSchema.Schema, name: f.JSONSchema.Name}, nil
	}
	return outputFormat{}, untranslatable("response_format.type", "Use text, json_object or json_schema.")
}

// The forms of formats with a schema, for errors.
const (
	chatSchemaForm     = `{"type": "json_schema", "json_schema": {"name": "…", "schema": {…}}}`
	responseSchemaForm = `{"type": "json_schema", "name": "…", "schema": {…}}`
	messageSchemaForm  = `{"type": "json_schema", "schema": {…}}`
)

// errNoSchema refuses a format whose schema is missing or misplaced.
func errNoSchema(param, member, form string) error {
	return penstock.InvalidParam(param, "%s.%s must be an object. A format with a schema is %s.", param, member, form)
}

// memberOf returns the named member of an object, or nil if the object lacks the member.
func memberOf(object jsontext.Value, name string) jsontext.Value {
	if len(object) == 0 {
		return nil
	}
	o, err := body.Scan(object)
	if err != nil {
		return nil
	}
	return jsontext.Value(o.Raw(name))
}

// formatName is the name of a schema that has none. Chat completions require one.
const formatName = "output"

// format carries the format of the answer. Messages promise that the answer follows its schema, and so does a
// strict schema alone.
func (t *chatBuilder) format(f *messageFormat) error {
	wanted, err := t.messageFormat(f)
	if err != nil || !wanted.json {
		return err
	}
	t.out.ResponseFormat = &chatFormat{Type: formatSchema, JSONSchema: &chatSchema{Name: formatName, Strict: new(true), Schema: wanted.schema}}
	return nil
}

// messageFormat reads the format of a message for all upstreams.
func (n *notes) messageFormat(f *messageFormat) (outputFormat, error) {
	if f == nil {
		return outputFormat{}, nil
	}
	if f.Type != formatSchema {
		return outputFormat{}, untranslatable("output_config.format.type", "Use the type json_schema.")
	}
	if !isObject(f.Schema) {
		return outputFormat{}, errNoSchema("output_config.format", "schema", messageSchemaForm)
	}
	n.dropUnknown("output_config.format", f.Unknown)
	return outputFormat{json: true, schema: f.Schema}, nil
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
