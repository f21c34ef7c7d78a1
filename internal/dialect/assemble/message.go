package assemble

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// message puts the events of an Anthropic message together.
type message struct {
	top    object
	usage  object
	blocks []*block
	begun  bool
}

// block is a block of content while it grows.
type block struct {
	object
	texts map[string]*strings.Builder // by member
	input strings.Builder             // of a tool, as JSON
	notes []string                    // citations
}

func (m *message) Last(data []byte) bool { return eventType(data) == "message_stop" }

func (m *message) Add(data []byte) error {
	var e struct {
		Type         string         `json:"type"`
		Message      jsontext.Value `json:"message"`
		Index        int            `json:"index"`
		ContentBlock jsontext.Value `json:"content_block"`
		Delta        jsontext.Value `json:"delta"`
		Usage        jsontext.Value `json:"usage"`
	}
	if err := json.Unmarshal(data, &e, lenient); err != nil {
		return broken(err)
	}
	var err error
	switch e.Type {
	case "message_start":
		m.begun = true
		if err = m.top.read(e.Message); err == nil && !isNull(m.top.values["usage"]) {
			err = m.usage.read(m.top.values["usage"])
		}
	case "content_block_start":
		b := &block{texts: map[string]*strings.Builder{}}
		err = b.read(e.ContentBlock)
		m.blocks = append(m.blocks, b)
	case "content_block_delta":
		if e.Index < 0 || e.Index >= len(m.blocks) {
			return broken(errors.New("a block continues that never began"))
		}
		err = m.blocks[e.Index].add(e.Delta)
	case "message_delta":
		if err = m.top.read(e.Delta); err == nil && !isNull(e.Usage) {
			err = m.usage.read(e.Usage)
		}
	}
	if err != nil {
		return broken(err)
	}
	return nil
}

// continued are the members of deltas that go on where the block's own member of that name ends.
var continued = []string{"text", "thinking", "signature"}

func (b *block) add(delta jsontext.Value) error {
	var d object
	if err := d.read(delta); err != nil {
		return err
	}
	for _, name := range continued {
		if value, ok := d.values[name]; ok {
			more, err := unquote(value)
			if err != nil {
				return err
			}
			if b.texts[name] == nil {
				b.texts[name] = new(strings.Builder)
				if begun, ok := b.values[name]; ok && !isNull(begun) {
					first, err := unquote(begun)
					if err != nil {
						return err
					}
					b.texts[name].WriteString(first)
				}
			}
			b.texts[name].WriteString(more)
		}
	}
	if value, ok := d.values["partial_json"]; ok {
		more, err := unquote(value)
		b.input.WriteString(more)
		return err
	}
	if value, ok := d.values["citation"]; ok {
		b.notes = append(b.notes, string(value))
	}
	return nil
}

func (b *block) whole() (jsontext.Value, error) {
	for _, name := range continued {
		if b.texts[name] == nil {
			continue
		}
		text, err := quote(b.texts[name].String())
		if err != nil {
			return nil, err
		}
		b.set(name, text)
	}
	if b.input.Len() > 0 {
		input := jsontext.Value(b.input.String())
		if !input.IsValid() { // the answer ended inside of it: what there is of it is kept as text
			var err error
			if input, err = quote(b.input.String()); err != nil {
				return nil, err
			}
		}
		b.set("input", input)
	}
	if len(b.notes) > 0 {
		b.set("citations", jsontext.Value("["+strings.Join(b.notes, ",")+"]"))
	}
	return b.encode()
}

func (m *message) Whole() ([]byte, error) {
	if !m.begun {
		return nil, errEmpty
	}
	parts := make([]string, len(m.blocks))
	for i, b := range m.blocks {
		whole, err := b.whole()
		if err != nil {
			return nil, broken(err)
		}
		parts[i] = string(whole)
	}
	m.top.set("content", jsontext.Value("["+strings.Join(parts, ",")+"]"))
	if len(m.usage.names) > 0 {
		usage, err := m.usage.encode()
		if err != nil {
			return nil, broken(err)
		}
		m.top.set("usage", usage)
	}
	return m.top.encode()
}
