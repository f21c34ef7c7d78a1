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

// objectMember is the member of a body that asks for any JSON object, "" if none does. Members of other dialects ask for nothing: the
// translation of the request drops them.
type objectMember func(body []byte) string

// chatWantsObject is for chat completions.
func chatWantsObject(body []byte) string {
	var in struct {
		Format objectFormat `json:"response_format"`
	}
	return in.Format.member("response_format", body, &in)
}

// responseWantsObject is for responses.
func responseWantsObject(body []byte) string {
	var in struct {
		Text struct {
			Format objectFormat `json:"format"`
		} `json:"text"`
	}
	return in.Text.Format.member("text.format", body, &in)
}

type objectFormat struct {
	Type string `json:"type"`
}

// member reads a body into in, which holds the format, and returns the given name if the format asks for any object, else "".
func (f *objectFormat) member(name string, body []byte, in any) string {
	if !bytes.Contains(body, []byte(formatObject)) || json.Unmarshal(body, in, lenient) != nil || f.Type != formatObject {
		return ""
	}
	return name
}

// objectChecker is a writer of answers that must be JSON objects. Any other text makes the answer fail at
// its end. An answer that was cut short or refused, or that calls tools, is not checked: vendors that have the format promise no object
// in these cases.
type objectChecker struct {
	writer
	member string // of the caller's body, that asks for the object
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
		return malformed(nil, c.member+" asks for a JSON object, and the model answered something else")
	}
	return c.writer.end(e)
}

// ableTo returns a writer as a type with further methods, and reports whether the writer has them. An objectChecker is replaced by the
// writer below it, because it has nothing to check in these calls: they carry no text of the answer.
func ableTo[T any](w writer) (T, bool) {
	if c, ok := w.(*objectChecker); ok {
		w = c.writer
	}
	to, ok := w.(T)
	return to, ok
}
