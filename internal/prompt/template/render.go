package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// Budget is what a rendering may still use. The templates of one rendering share it.
type Budget struct {
	Bytes int // of output
	Steps int // parts of templates that are visited, and rounds of loops
}

// Causes of a rendering that does not end.
var (
	ErrBytes = errors.New("the rendered text is too long")
	ErrSteps = errors.New("the rendering takes too many steps")
)

// Append renders the template with variables behind dst. Values are what encoding/json decodes; numbers may be json.Number. A
// variable that is absent is empty. Errors: ErrBytes, ErrSteps.
func (t *Template) Append(dst []byte, variables map[string]any, b *Budget) ([]byte, error) {
	r := renderer{out: dst, root: variables, budget: b}
	err := r.nodes(t.nodes, element{})
	return r.out, err
}

// element is what this and @index mean.
type element struct {
	value any
	index int
}

type renderer struct {
	out    []byte
	root   map[string]any
	budget *Budget
}

func (r *renderer) spend() error {
	if r.budget.Steps--; r.budget.Steps < 0 {
		return ErrSteps
	}
	return nil
}

func (r *renderer) write(text string) error {
	if r.budget.Bytes -= len(text); r.budget.Bytes < 0 {
		return ErrBytes
	}
	r.out = append(r.out, text...)
	return nil
}

func (r *renderer) nodes(nodes []node, e element) error {
	for i := range nodes {
		if err := r.spend(); err != nil {
			return err
		}
		if err := r.node(&nodes[i], e); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) node(n *node, e element) error {
	switch n.kind {
	case nodeValue:
		text, err := textOf(r.find(n.path, e))
		if err != nil {
			return err
		}
		return r.write(text)
	case nodeIf:
		if truth(r.find(n.path, e)) {
			return r.nodes(n.body, e)
		}
		return r.nodes(n.otherwise, e)
	case nodeEach:
		return r.each(n, e)
	case nodePartial:
		return r.nodes(n.partial.nodes, element{}) // a partial sees the variables, not the element
	}
	return r.write(n.text)
}

func (r *renderer) each(n *node, e element) error {
	all, _ := r.find(n.path, e).([]any)
	if len(all) == 0 {
		return r.nodes(n.otherwise, e)
	}
	for i, value := range all {
		if err := r.spend(); err != nil {
			return err
		}
		if err := r.nodes(n.body, element{value, i}); err != nil {
			return err
		}
	}
	return nil
}

// find follows a path; nil for a value that is not there.
func (r *renderer) find(p path, e element) any {
	var value any = r.root
	switch p.origin {
	case atIndex:
		return e.index
	case atElement:
		value = e.value
	}
	for _, name := range p.names {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// truth decides a condition: null, false, 0, the empty string, and empty lists and objects are false.
func truth(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	case float64:
		return v != 0
	case int:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// textOf writes a value: strings as they are, lists and objects as JSON, null as nothing.
func textOf(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
