package promptfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"penstock/internal/yamltext"
)

type nodeKind uint8

const (
	kindNull nodeKind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

// node is a value of a YAML or JSON document with its line. The methods accept nil, which is an absent value.
type node struct {
	kind    nodeKind
	line    int
	text    string // of a string; a number or a truth as it is written
	list    []*node
	names   []string // of an object, in the order of the file
	members map[string]*node
	inBlock bool // the text is a block of lines, which begins in the next line
}

// mistake is a text that is not a document.
type mistake struct {
	line    int
	message string
}

func (m *mistake) Error() string { return m.message }

// at returns a member, nil if there is none.
func (n *node) at(name string) *node {
	if n == nil || n.members[name] == nil || n.members[name].kind == kindNull {
		return nil
	}
	return n.members[name]
}

// has reports whether there is a member.
func (n *node) has(name string) bool { return n.at(name) != nil }

// string is the text of a string, "" for any other value.
func (n *node) string() string {
	if n == nil || n.kind != kindString {
		return ""
	}
	return n.text
}

// scalar is a string, a number or a truth as text; "" for any other value.
func (n *node) scalar() string {
	if n == nil || n.kind == kindList || n.kind == kindObject || n.kind == kindNull {
		return ""
	}
	return n.text
}

func (n *node) isObject() bool { return n != nil && n.kind == kindObject }
func (n *node) isList() bool   { return n != nil && n.kind == kindList }
func (n *node) isString() bool { return n != nil && n.kind == kindString }

// elements are the elements of a list, none for any other value.
func (n *node) elements() []*node {
	if n == nil {
		return nil
	}
	return n.list
}

// place is the line of a value, 0 if it is absent.
func (n *node) place() int {
	if n == nil {
		return 0
	}
	return n.line
}

// textLine is the line in which the text of a string begins.
func (n *node) textLine() int {
	if n.inBlock {
		return n.line + 1
	}
	return n.line
}

// raw is the value as JSON.
func (n *node) raw() json.RawMessage {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *node) write(b *bytes.Buffer) {
	if n == nil {
		b.WriteString("null")
		return
	}
	switch n.kind {
	case kindNull:
		b.WriteString("null")
	case kindBool, kindNumber:
		b.WriteString(n.text)
	case kindString:
		b.Write(quoteJSON(n.text))
	case kindList:
		b.WriteByte('[')
		for i, one := range n.list {
			if i > 0 {
				b.WriteByte(',')
			}
			one.write(b)
		}
		b.WriteByte(']')
	case kindObject:
		b.WriteByte('{')
		for i, name := range n.names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quoteJSON(name))
			b.WriteByte(':')
			n.members[name].write(b)
		}
		b.WriteByte('}')
	}
}

// quoteJSON writes a string as JSON, without the escapes that protect HTML.
func quoteJSON(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil { // a string can be encoded
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// yaml reads a YAML document of the import.
func (r *reader) yaml(text string) (*node, *mistake) { return readYAML(text, &r.tokens) }

// readYAML reads a YAML document. Anchors, aliases and tags are refused: prompts need none, and they can grow without bound.
func readYAML(text string, budget *int) (*node, *mistake) {
	root, problem := yamltext.Read([]byte(text), yamltext.Limits{Bytes: MaxTextBytes, Tokens: maxYAMLTokens, Budget: budget})
	if problem != nil {
		line, _ := problem.Place()
		return nil, &mistake{line, problem.Message}
	}
	return fromYAML(root, 0)
}

func fromYAML(value ast.Node, depth int) (*node, *mistake) {
	if value == nil {
		return &node{kind: kindNull, line: 1}, nil
	}
	line := 1
	if tk := value.GetToken(); tk != nil && tk.Position != nil {
		line = tk.Position.Line
	}
	if depth > maxNodeDepth {
		return nil, &mistake{line, "this is nested too deeply"}
	}
	n := &node{line: line}
	switch v := value.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.kind, n.text = kindBool, fmt.Sprint(v.Value)
	case *ast.IntegerNode, *ast.FloatNode:
		n.kind, n.text = kindNumber, strings.TrimSpace(value.GetToken().Value)
		if !json.Valid([]byte(n.text)) {
			n.kind = kindString // such as 0x1F, .5 or 1_000, which JSON has no number for
		}
	case *ast.StringNode:
		n.kind, n.text = kindString, v.Value
		if plainNumber(v) {
			n.kind = kindNumber
		}
	case *ast.LiteralNode:
		n.kind, n.text, n.inBlock = kindString, v.Value.Value, true
	case *ast.SequenceNode:
		n.kind, n.list = kindList, make([]*node, 0, len(v.Values))
		for _, one := range v.Values {
			element, wrong := fromYAML(one, depth+1)
			if wrong != nil {
				return nil, wrong
			}
			n.list = append(n.list, element)
		}
	case *ast.MappingNode:
		return n, n.pairs(v.Values, depth)
	case *ast.MappingValueNode:
		return n, n.pairs([]*ast.MappingValueNode{v}, depth)
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return nil, &mistake{line, "anchors and aliases are not supported; repeat the value"}
	default:
		return nil, &mistake{line, "this kind of YAML value is not supported"}
	}
	return n, nil
}

// plainNumber reports whether a string without quotes is a number, such as 1e5, which the parser does not know as one.
func plainNumber(v *ast.StringNode) bool {
	if v.Token == nil || v.Token.Type != token.StringType || v.Value == "" {
		return false
	}
	first := v.Value[0]
	return (first == '-' || first >= '0' && first <= '9') && json.Valid([]byte(v.Value))
}

func (n *node) pairs(pairs []*ast.MappingValueNode, depth int) *mistake {
	n.kind, n.members = kindObject, make(map[string]*node, len(pairs))
	for _, pair := range pairs {
		line := n.line
		if tk := pair.Key.GetToken(); tk != nil && tk.Position != nil {
			line = tk.Position.Line
		}
		var name string
		switch key := pair.Key.(type) {
		case *ast.StringNode:
			name = key.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			name = key.GetToken().Value
		default:
			return &mistake{line, "a key must be a plain text"}
		}
		value, wrong := fromYAML(pair.Value, depth+1)
		if wrong != nil {
			return wrong
		}
		if value.kind == kindNull {
			value.line = line
		}
		if wrong := n.set(name, value, line); wrong != nil {
			return wrong
		}
	}
	return nil
}

func (n *node) set(name string, value *node, line int) *mistake {
	if n.members[name] != nil {
		return &mistake{line, fmt.Sprintf("%s is given twice", clip(name))}
	}
	n.members[name], n.names = value, append(n.names, name)
	return nil
}

// readJSON reads one JSON value.
func readJSON(text string) (*node, *mistake) {
	d := &jsonReader{dec: json.NewDecoder(strings.NewReader(text)), text: text, line: 1, left: maxJSONNodes}
	d.dec.UseNumber()
	n, wrong := d.value(0)
	if wrong != nil {
		return nil, wrong
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &mistake{d.lineNow(), "there is text behind the JSON value"}
	}
	return n, nil
}

type jsonReader struct {
	dec  *json.Decoder
	text string
	at   int // how far line ends were counted
	line int
	left int
}

// lineNow is the line that the decoder has read to.
func (d *jsonReader) lineNow() int {
	to := min(int(d.dec.InputOffset()), len(d.text))
	d.line += strings.Count(d.text[d.at:to], "\n")
	d.at = to
	return d.line
}

func (d *jsonReader) value(depth int) (*node, *mistake) {
	word, err := d.dec.Token()
	line := d.lineNow()
	if err != nil {
		return nil, &mistake{line, "this is not valid JSON"}
	}
	if d.left--; d.left < 0 || depth > maxNodeDepth {
		return nil, &mistake{line, fmt.Sprintf("the JSON has more than %d values, or values more than %d deep", maxJSONNodes, maxNodeDepth)}
	}
	n := &node{line: line}
	switch v := word.(type) {
	case bool:
		n.kind, n.text = kindBool, fmt.Sprint(v)
	case json.Number:
		n.kind, n.text = kindNumber, v.String()
	case string:
		n.kind, n.text = kindString, v
	case json.Delim:
		return n, d.inside(n, v, depth)
	}
	return n, nil
}

// inside reads the elements of a list or the members of an object.
func (d *jsonReader) inside(n *node, opened json.Delim, depth int) *mistake {
	n.kind, n.list = kindList, []*node{}
	if opened == '{' {
		n.kind, n.list, n.members = kindObject, nil, map[string]*node{}
	}
	for d.dec.More() {
		var name string
		if n.kind == kindObject {
			word, err := d.dec.Token()
			key, ok := word.(string)
			if err != nil || !ok {
				return &mistake{d.lineNow(), "this is not valid JSON"}
			}
			name = key
		}
		one, wrong := d.value(depth + 1)
		if wrong != nil {
			return wrong
		}
		if n.kind == kindList {
			n.list = append(n.list, one)
		} else if wrong := n.set(name, one, one.line); wrong != nil {
			return wrong
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return &mistake{d.lineNow(), "this is not valid JSON"}
	}
	return nil
}
