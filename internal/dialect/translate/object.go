package translate

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// objectInstruction asks for any JSON object where the upstream has formats with a schema only: every object of such a schema must
// forbid further members, so that no schema allows all objects. The model may not follow an instruction, so the answer is checked.
const objectInstruction = "Answer with one JSON object and nothing else: no text before or after it, and no code fence."

// instructed is a system prompt with the instruction at its end.
func instructed(system blocks) blocks {
	return append(system, block{Type: "text", Text: objectInstruction})
}

// wantsObject reports whether the body of a chat completion or of a response asks for any JSON object.
func wantsObject(body []byte) bool {
	type format struct {
		Type string `json:"type"`
	}
	var in struct {
		ResponseFormat *format `json:"response_format"`
		Text           *struct {
			Format *format `json:"format"`
		} `json:"text"`
	}
	if !bytes.Contains(body, []byte(formatObject)) || json.Unmarshal(body, &in, lenient) != nil {
		return false
	}
	if in.ResponseFormat != nil {
		return in.ResponseFormat.Type == formatObject
	}
	return in.Text != nil && in.Text.Format != nil && in.Text.Format.Type == formatObject
}

// objectChecker is a writer of answers that must be JSON objects. An answer that is none ends with an error instead of its end. One
// that was cut short or refused, or that calls tools, is not checked: other vendors do not promise an object then either.
type objectChecker struct {
	writer
	said   strings.Builder
	called bool
}

func (c *objectChecker) text(part string) {
	if c.said.Len()+len(part) <= maxAnswerBytes {
		c.said.WriteString(part)
	}
	c.writer.text(part)
}

func (c *objectChecker) call(id, name string) {
	c.called = true
	c.writer.call(id, name)
}

func (c *objectChecker) end(e ending) error {
	text := jsontext.Value(strings.TrimSpace(c.said.String()))
	if !c.called && (e.stop == stopTurn || e.stop == stopSequence) && (text.Kind() != '{' || !text.IsValid()) {
		return malformed(nil, "response_format asks for a JSON object, and the model answered something else")
	}
	return c.writer.end(e)
}
