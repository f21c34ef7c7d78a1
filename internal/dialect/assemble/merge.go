package assemble

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// merged is a value that grows by deltas as those of chat completions do: texts are continued, lists of things with an
// index are merged by it, other lists are continued, objects are merged by name, and of anything else the last counts.
type merged struct {
	text    *strings.Builder
	members map[string]*merged
	names   []string
	items   []*merged
	isList  bool
	last    jsontext.Value
	index   int64 // of a thing in a list
}

// final are members whose texts are names, and not continued when they are told again.
var final = []string{"id", "type", "role", "name", "object", "model", "finish_reason", "stop_reason"}

func (m *merged) add(v jsontext.Value, name string) error {
	switch v.Kind() {
	case '"':
		return m.addText(v, name)
	case '{':
		return m.addObject(v)
	case '[':
		return m.addList(v)
	case 'n':
		if m.empty() {
			m.last = v.Clone()
		}
	default:
		*m = merged{last: v.Clone(), index: m.index}
	}
	return nil
}

func (m *merged) empty() bool { return m.text == nil && m.members == nil && !m.isList }

func (m *merged) addText(v jsontext.Value, name string) error {
	text, err := unquote(v)
	if err != nil {
		return err
	}
	if m.text == nil {
		*m = merged{text: new(strings.Builder), index: m.index}
	} else if slices.Contains(final, name) {
		if text == "" {
			return nil // some servers repeat names as empty texts
		}
		m.text.Reset()
	}
	m.text.WriteString(text)
	return nil
}

func (m *merged) addObject(v jsontext.Value) error {
	var o object
	if err := o.read(v); err != nil {
		return err
	}
	if m.members == nil {
		*m = merged{members: map[string]*merged{}, index: m.index}
	}
	for _, name := range o.names {
		inner := m.members[name]
		if inner == nil {
			inner = &merged{}
			m.members[name] = inner
			m.names = append(m.names, name)
		}
		if err := inner.add(o.values[name], name); err != nil {
			return err
		}
	}
	return nil
}

func (m *merged) addList(v jsontext.Value) error {
	var values []jsontext.Value
	if err := json.Unmarshal(v, &values, lenient); err != nil {
		return err
	}
	if !m.isList {
		*m = merged{isList: true, index: m.index}
	}
	for _, value := range values {
		var indexed struct {
			Index *int64 `json:"index"`
		}
		if value.Kind() != '{' || json.Unmarshal(value, &indexed, lenient) != nil || indexed.Index == nil {
			item := &merged{index: int64(len(m.items))}
			m.items = append(m.items, item)
			if err := item.add(value, ""); err != nil {
				return err
			}
			continue
		}
		if err := m.at(*indexed.Index).add(value, ""); err != nil {
			return err
		}
	}
	return nil
}

// at is the thing in a list that has an index.
func (m *merged) at(index int64) *merged {
	i, found := slices.BinarySearchFunc(m.items, index, func(item *merged, index int64) int { return cmp.Compare(item.index, index) })
	if !found {
		m.items = slices.Insert(m.items, i, &merged{index: index})
	}
	return m.items[i]
}

func (m *merged) encode() (jsontext.Value, error) {
	switch {
	case m.text != nil:
		return quote(m.text.String())
	case m.members != nil:
		var o object
		for _, name := range m.names {
			v, err := m.members[name].encode()
			if err != nil {
				return nil, err
			}
			o.set(name, v)
		}
		return o.encode()
	case m.isList:
		parts := make([]string, len(m.items))
		for i, item := range m.items {
			v, err := item.encode()
			if err != nil {
				return nil, err
			}
			parts[i] = string(v)
		}
		return jsontext.Value("[" + strings.Join(parts, ",") + "]"), nil
	case m.last == nil:
		return jsontext.Value("null"), nil
	}
	return m.last, nil
}

// member is a member of an object that was merged, nil if it has none.
func (m *merged) member(name string) *merged { return m.members[name] }

// withoutIndex drops the indexes of calls, which only streams have.
func (m *merged) withoutIndex() {
	for _, item := range m.items {
		delete(item.members, "index")
		item.names = slices.DeleteFunc(item.names, func(n string) bool { return n == "index" })
	}
}

// broken says which event could not be read.
func broken(err error) error { return fmt.Errorf("putting a streamed answer together: %w", err) }
