package promptcall

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/dialect/openai"
)

// system is the member of Anthropic's dialect that holds the instructions.
const system = "system"

// merger makes one body of a caller's body and a rendered prompt.
type merger struct {
	endpoint penstock.Endpoint
	caller   body.Object
	prompt   body.Object // the rendered prompt, as a body of the endpoint
	model    string      // of the job, which counts instead of the model of the prompt; "" for none
}

// conversation is the member that holds the messages.
func (m *merger) conversation() string {
	entry, _ := catalog.Of(m.endpoint)
	return entry.Conversation
}

// merge writes the members of the caller in their order, then those of the prompt that the caller does not give. The messages of both
// are one list, those of the prompt first. Codes: invalid_request.
func (m *merger) merge() ([]byte, error) {
	out := &object{text: make([]byte, 0, len(m.caller.Text)+len(m.prompt.Text)+2)}
	for _, member := range m.caller.Members {
		value, err := m.value(member.Name)
		if err != nil {
			return nil, err
		}
		out.add(member.Name, value)
	}
	for _, member := range m.prompt.Members {
		if m.superseded(member.Name) {
			continue
		}
		out.add(member.Name, m.prompt.Raw(member.Name))
	}
	return out.end(), nil
}

// value is the value of a member that the caller's body has; nil if the caller's body says nothing with it.
func (m *merger) value(name string) ([]byte, error) {
	own := m.caller.Raw(name)
	if name == dialect.PromptMember || string(own) == "null" {
		return nil, nil
	}
	switch {
	case name == m.conversation():
		return m.messages(own)
	case name == system && m.endpoint == penstock.EndpointMessages:
		return joinSystem(m.prompt.Raw(system), own)
	}
	return own, nil
}

// superseded says whether a member of the prompt gives way to the caller's. Members that bound the answer mean the same under several
// names.
func (m *merger) superseded(name string) bool {
	given := func(name string) bool {
		raw := m.caller.Raw(name)
		return len(raw) > 0 && string(raw) != "null"
	}
	if bounds := dialect.OutputMembers(m.endpoint); slices.Contains(bounds, name) {
		return slices.ContainsFunc(bounds, given)
	}
	return given(name) || name == "model" && m.model != ""
}

// messages joins the messages of both.
func (m *merger) messages(own []byte) ([]byte, error) {
	if m.endpoint == penstock.EndpointResponses {
		items, err := openai.InputItems(own)
		if err != nil {
			return nil, err
		}
		own = []byte(openai.JoinItems(items))
	}
	if own[0] != '[' {
		return nil, penstock.InvalidParam(m.conversation(), "%s must be a list.", m.conversation())
	}
	return joinLists(m.prompt.Raw(m.conversation()), own), nil
}

// joinLists makes one list of two.
func joinLists(first, second []byte) []byte {
	inner := func(list []byte) []byte {
		if len(list) < 2 {
			return nil
		}
		return bytes.TrimSpace(list[1 : len(list)-1])
	}
	a, b := inner(first), inner(second)
	joined := append(make([]byte, 0, len(a)+len(b)+3), '[')
	joined = append(joined, a...)
	if len(a) > 0 && len(b) > 0 {
		joined = append(joined, ',')
	}
	return append(append(joined, b...), ']')
}

// joinSystem joins the instructions of a prompt and a caller in a list of blocks: blocks of the caller may have settings of their own.
// Codes: invalid_request.
func joinSystem(first, second []byte) ([]byte, error) {
	if len(first) == 0 {
		return second, nil
	}
	blocks := func(raw []byte) ([]byte, error) {
		switch raw[0] {
		case '[':
			return raw, nil
		case '"':
			return fmt.Appendf(nil, `[{"type":"text","text":%s}]`, raw), nil
		}
		return nil, penstock.InvalidParam(system, "system must be a text or a list of blocks.")
	}
	a, err := blocks(first)
	if err != nil {
		return nil, err
	}
	b, err := blocks(second)
	return joinLists(a, b), err
}

// object is a JSON object that is being written.
type object struct{ text []byte }

// add adds a member; one without a value is left out.
func (o *object) add(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	separator := byte(',')
	if len(o.text) == 0 {
		separator = '{'
	}
	o.text, _ = jsontext.AppendQuote(append(o.text, separator), name) // the body was scanned, so it is valid text
	o.text = append(append(o.text, ':'), value...)
}

func (o *object) end() []byte {
	if len(o.text) == 0 {
		return []byte("{}")
	}
	return append(o.text, '}')
}
