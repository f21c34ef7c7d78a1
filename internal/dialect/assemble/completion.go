package assemble

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// completion puts the chunks of a chat completion together, or of a completion of the older kind.
type completion struct {
	object  string
	top     object
	choices merged
	begun   bool
}

var done = []byte("[DONE]")

func (c *completion) Last(data []byte) bool { return bytes.Equal(data, done) }

func (c *completion) Add(data []byte) error {
	if c.Last(data) {
		return nil
	}
	var chunk object
	if err := chunk.read(data); err != nil {
		return broken(err)
	}
	c.begun = true
	for _, name := range chunk.names {
		value := chunk.values[name]
		switch {
		case name == "choices":
			if err := c.choices.add(value, name); err != nil {
				return broken(err)
			}
		case isNull(value) && !isNull(c.top.values[name]): // usage is null until it is told
		default:
			c.top.set(name, value)
		}
	}
	return nil
}

func (c *completion) Whole() ([]byte, error) {
	if !c.begun {
		return nil, errEmpty
	}
	name, err := quote(c.object)
	if err != nil {
		return nil, broken(err)
	}
	c.top.set("object", name)
	for _, choice := range c.choices.items {
		if err := choice.settle(); err != nil {
			return nil, broken(err)
		}
	}
	choices, err := c.choices.encode()
	if err != nil {
		return nil, broken(err)
	}
	if !c.choices.isList {
		choices = jsontext.Value("[]")
	}
	c.top.set("choices", choices)
	if isNull(c.top.values["usage"]) {
		c.top.drop("usage") // which a plain answer has or has not
	}
	whole, err := c.top.encode()
	return whole, err
}

// settle makes the message of a choice of what its deltas came to.
func (m *merged) settle() error {
	delta := m.member("delta")
	if delta == nil {
		return nil // of the older kind: its text is its own
	}
	delete(m.members, "delta")
	m.members["message"] = delta
	for i, name := range m.names {
		if name == "delta" {
			m.names[i] = "message"
		}
	}
	if delta.members == nil {
		delta.members = map[string]*merged{}
	}
	if calls := delta.member("tool_calls"); calls != nil {
		calls.withoutIndex()
		if said := delta.member("content"); said != nil && said.text != nil && said.text.Len() == 0 {
			*said = merged{} // streams begin with an empty text; a plain call of tools says null
		}
	}
	if delta.member("role") == nil {
		delta.names = append([]string{"role"}, delta.names...)
		delta.members["role"] = textOf("assistant")
	}
	for _, name := range []string{"content", "refusal"} { // which a plain message has, if only as null
		if delta.member(name) == nil {
			delta.names = append(delta.names, name)
			delta.members[name] = &merged{}
		}
	}
	return nil
}

func textOf(text string) *merged {
	m := &merged{text: new(strings.Builder)}
	m.text.WriteString(text)
	return m
}

// response takes the last event of a response's stream, which has all of it.
type response struct{ whole jsontext.Value }

func (r *response) Last(data []byte) bool {
	switch eventType(data) {
	case "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}

func (r *response) Add(data []byte) error {
	if !r.Last(data) {
		return nil
	}
	var event struct {
		Response jsontext.Value `json:"response"`
	}
	if err := json.Unmarshal(data, &event, lenient); err != nil {
		return broken(err)
	}
	r.whole = event.Response
	return nil
}

func (r *response) Whole() ([]byte, error) {
	if isNull(r.whole) {
		return nil, errEmpty
	}
	return r.whole, nil
}

// eventType is the type that an event gives itself.
func eventType(data []byte) string {
	var event struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &event, lenient) != nil {
		return ""
	}
	return event.Type
}
