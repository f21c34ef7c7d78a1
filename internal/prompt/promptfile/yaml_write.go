package promptfile

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// yamlWriter writes values as YAML in one stable form: the same value is the same text. Texts of several lines are blocks.
type yamlWriter struct{ strings.Builder }

// member writes a member of a map at a depth.
func (w *yamlWriter) member(depth int, name string, value *node) {
	w.WriteString(strings.Repeat("  ", depth) + scalarYAML(name) + ":")
	w.value(depth, value)
}

// value writes a value behind a key or a dash, with the line end.
func (w *yamlWriter) value(depth int, n *node) {
	switch {
	case n.isObject() && len(n.names) > 0:
		w.WriteString("\n")
		w.object(depth+1, n)
	case n.isList() && len(n.list) > 0:
		w.WriteString("\n")
		for _, one := range n.list {
			w.WriteString(strings.Repeat("  ", depth+1) + "-")
			w.element(depth+1, one)
		}
	case n.isString() && blockable(n.text):
		w.block(depth+1, n.text)
	case n.isString():
		w.WriteString(" " + scalarYAML(n.text) + "\n")
	default:
		w.WriteString(" " + string(n.raw()) + "\n")
	}
}

func (w *yamlWriter) object(depth int, n *node) {
	for _, name := range n.names {
		w.member(depth, name, n.members[name])
	}
}

// element writes an element of a list behind its dash. The first member of a map stands in the same line.
func (w *yamlWriter) element(depth int, n *node) {
	if !n.isObject() || len(n.names) == 0 {
		w.value(depth, n)
		return
	}
	var inner yamlWriter
	inner.object(depth+1, n)
	w.WriteString(" " + strings.TrimLeft(inner.String(), " "))
}

// block writes a text of several lines.
func (w *yamlWriter) block(depth int, text string) {
	mark := "|-"
	if strings.HasSuffix(text, "\n") {
		mark = "|"
		if strings.HasSuffix(text, "\n\n") {
			mark = "|+"
		}
	}
	w.WriteString(" " + mark + "\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			w.WriteString(strings.Repeat("  ", depth) + line)
		}
		w.WriteString("\n")
	}
}

// blockable reports whether a text can be a block: it has several lines, and no line begins or ends in a way that readers change.
func blockable(text string) bool {
	if !strings.Contains(text, "\n") || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "\n") || strings.HasPrefix(text, " ") {
		return false
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) || r == '\uFEFF' || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return false
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimRight(line, " \u00a0") != line || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...") {
			return false
		}
	}
	return true
}

// scalarYAML writes a string in one line: plain where no reader can mistake it, otherwise in double quotes as JSON has it.
func scalarYAML(text string) string {
	if plainYAML(text) {
		return text
	}
	return string(quoteJSON(text))
}

// yamlWords mean something else when they are plain.
var yamlWords = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

func plainYAML(text string) bool {
	if text == "" || slices.Contains(yamlWords, strings.ToLower(text)) {
		return false
	}
	for i := range len(text) {
		c := text[i]
		begins := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if i == 0 && !begins {
			return false
		}
		if !begins && (c < '0' || c > '9') && !strings.ContainsRune(" .,/()+-", rune(c)) {
			return false
		}
	}
	return text[len(text)-1] != ' '
}

// Making nodes of values.

func stringNode(text string) *node { return &node{kind: kindString, text: text} }

func objectNode() *node { return &node{kind: kindObject, members: map[string]*node{}} }

func listNode(all []*node) *node { return &node{kind: kindList, list: all} }

// put adds a member, unless the value is nil.
func (n *node) put(name string, value *node) *node {
	if value != nil {
		n.members[name], n.names = value, append(n.names, name)
	}
	return n
}

// putText adds a string, unless it is empty.
func (n *node) putText(name, text string) *node {
	if text != "" {
		n.put(name, stringNode(text))
	}
	return n
}

// jsonNode makes a node of JSON that was checked before; nil for nothing.
func jsonNode(text json.RawMessage) *node {
	if len(text) == 0 {
		return nil
	}
	n, wrong := readJSON(string(text))
	if wrong != nil {
		return nil
	}
	return n
}

// numberNode is a number.
func numberNode(n int64) *node { return &node{kind: kindNumber, text: string(jsonOf(n))} }

// yamlComment writes lines of comments.
func yamlComment(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		for part := range strings.SplitSeq(line, "\n") {
			b.WriteString("# " + strings.Map(func(r rune) rune {
				if unicode.IsControl(r) {
					return ' '
				}
				return r
			}, part) + "\n")
		}
	}
	return b.String()
}
