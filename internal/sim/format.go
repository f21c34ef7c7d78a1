package sim

import (
	"crypto/sha256"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/sim/schema"
)

// outputFormat is JSON that a text must be.
type outputFormat struct {
	param  string         // that asks for it
	schema *schema.Schema // nil for any object
}

// responseFormat is how the dialects ask for a format. OpenAI's chat completions have the schema inside
// json_schema, the others have it beside the type.
type responseFormat struct {
	Type       string         `json:"type"`
	Name       string         `json:"name"`
	Schema     jsontext.Value `json:"schema"`
	JSONSchema *namedSchema   `json:"json_schema"`
}

type namedSchema struct {
	Name   string         `json:"name"`
	Schema jsontext.Value `json:"schema"`
}

// checkChat refuses a format of a chat completion that has its members where a response has them.
func (f *responseFormat) checkChat() error {
	const at = "response_format"
	switch {
	case f.Schema != nil:
		return unknownParameter(at+".schema", at+".json_schema.schema")
	case f.Name != "":
		return unknownParameter(at+".name", at+".json_schema.name")
	case f.Type != "json_schema":
		return nil
	case f.JSONSchema == nil:
		return required(at + ".json_schema")
	}
	return f.JSONSchema.check(at + ".json_schema")
}

// checkResponse refuses a format of a response that has its members where a chat completion has them.
func (f *responseFormat) checkResponse() error {
	const at = "text.format"
	switch {
	case f.JSONSchema != nil:
		return unknownParameter(at+".json_schema", at+".schema")
	case f.Type != "json_schema":
		return nil
	}
	return (&namedSchema{f.Name, f.Schema}).check(at)
}

func (s *namedSchema) check(at string) error {
	switch {
	case s.Name == "":
		return required(at + ".name")
	case s.Schema == nil:
		return required(at + ".schema")
	}
	return nil
}

// unknownParameter is the failure for a member that belongs elsewhere.
func unknownParameter(param, place string) error {
	return invalid(param, "Unknown parameter: '"+param+"'. Did you mean '"+place+"'?")
}

// read returns the format that is asked for, nil for free text.
func (f *responseFormat) read(param string) (*outputFormat, error) {
	switch f.Type {
	case "", "text":
		return nil, nil
	case "json_object":
		return &outputFormat{param: param}, nil
	case "json_schema":
	default:
		return nil, invalid(param, "Invalid value for '"+param+".type': use text, json_object or json_schema.")
	}
	text := f.Schema
	if text == nil && f.JSONSchema != nil {
		text = f.JSONSchema.Schema
	}
	if text == nil {
		return nil, invalid(param, "Invalid '"+param+"': a json_schema needs a schema.")
	}
	s, err := schema.Parse(text)
	if err != nil {
		return nil, invalid(param, "Invalid schema for '"+param+"': "+err.Error()+".")
	}
	return &outputFormat{param: param, schema: s}, nil
}

// json generates the text of an answer in the format.
func (f *outputFormat) json(digest [sha256.Size]byte) (text, error) {
	if f.schema == nil {
		return written(string(encode(map[string]string{"answer": script{digest: digest, length: objectWords}.text().String()}))), nil
	}
	instance, err := f.schema.Instance(source(derived(digest, "format")))
	if err != nil {
		return text{}, invalid(f.param, "Invalid schema for '"+f.param+"': "+err.Error()+".")
	}
	return written(string(instance)), nil
}

// objectWords is the length of the answer in a JSON object that has no schema.
const objectWords = 8

// say generates a text of a length, or the JSON that the request's format asks for.
func (c *call) say(digest [sha256.Size]byte, length int) (text, error) {
	if c.format != nil {
		return c.format.json(digest)
	}
	words := script{digest: digest, length: length}.text()
	seen := c.prompt.media().words()
	if len(seen) == 0 {
		return words, nil
	}
	// After the digest, so that no two answers begin alike.
	return text{length: length, pieces: func(yield func(string) bool) {
		i := 0
		for word := range words.tokens() {
			if i > 0 && i <= len(seen) {
				word = " " + seen[i-1]
			}
			if !yield(word) {
				return
			}
			i++
		}
	}}, nil
}

// arguments generates the arguments of a call: an object that the tool's schema allows. The schema is read here:
// one that cannot be satisfied matters only when the tool is called.
func (t *tool) arguments(digest [sha256.Size]byte) (text, error) {
	if t.custom != nil {
		return t.custom.input(t.name, digest)
	}
	if t.parameters == nil || t.parameters.Kind() == 'n' {
		return written("{}"), nil
	}
	var instance []byte
	s, err := schema.ParseObject(t.parameters)
	if err == nil {
		instance, err = s.Instance(source(digest))
	}
	if err != nil {
		return text{}, invalid("tools", "Invalid schema for function '"+abridge(t.name)+"': "+err.Error()+".")
	}
	return written(string(instance)), nil
}
