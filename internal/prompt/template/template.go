// Package template parses and renders the templates of prompts.
//
// The grammar is small. Everything outside of {{ and }} is text. A tag is one of:
//
//	{{path}}                                   the value of a variable
//	{{#if path}} … {{else}} … {{/if}}          a section that depends on a value; else may be left out
//	{{#each path}} … {{else}} … {{/each}}      a section for each element of a list; else is for an empty list
//	{{> folder/name@label}}                    a partial: the text of another prompt, by label or version
//	{{! comment }}                             nothing
//
// A path is a variable's name, then names of members with dots between them. Inside each, this is the element and @index its
// number, from 0. A path without this always begins at the variables, so an element never hides a variable.
//
// \{{ is a literal {{. Of backslashes in front of {{, each pair is one backslash. A line that has one tag of a section or a comment
// and otherwise white space is left out as a whole, so that sections can stand on lines of their own.
//
// Invariants:
//   - Values are data. A value is appended to the output and never parsed, whatever it contains.
//   - The work and the output of a rendering are bounded by its [Budget], those of a parse by the constants below.
//   - A Template is immutable and safe for concurrent use.
package template

import (
	"fmt"
	"strings"
)

// Bounds of a template.
const (
	MaxBytes       = 256 << 10
	MaxNodes       = 20_000
	MaxDepth       = 16 // of sections in each other
	MaxPathNames   = 8
	MaxNameBytes   = 64
	MaxPartials    = 256 // different ones
	MaxPartialText = 256 // of a reference
)

// Template is a parsed template.
type Template struct {
	nodes    []node
	partials []string // references, in the order of their first use
	linked   bool     // its partials are known, or it has none
}

// Partials are the references to other prompts, as they are written. The list is shared: it must not be changed.
func (t *Template) Partials() []string { return t.partials }

type nodeKind uint8

const (
	nodeText nodeKind = iota
	nodeValue
	nodeIf
	nodeEach
	nodePartial
)

// node is a part of a template. A partial has its reference in text, and its template in partial once it is linked.
type node struct {
	kind      nodeKind
	text      string
	path      path
	body      []node
	otherwise []node
	partial   *Template
}

// origin is where a path begins.
type origin uint8

const (
	atVariables origin = iota
	atElement
	atIndex
)

type path struct {
	origin origin
	names  []string
}

func (p path) String() string {
	switch {
	case p.origin == atIndex:
		return indexWord
	case p.origin == atElement:
		return strings.Join(append([]string{elementWord}, p.names...), ".")
	}
	return strings.Join(p.names, ".")
}

// Error is a mistake in a template.
type Error struct {
	Line, Column int // from 1; the column counts characters
	Reason       string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// Escape returns a template that renders as text.
func Escape(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, open)
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		b.WriteString(strings.Repeat(`\`, backslashes(text[:at])+1))
		b.WriteString(open)
		text = text[at+len(open):]
	}
}

// backslashes counts those at the end of a text.
func backslashes(text string) int { return len(text) - len(strings.TrimRight(text, `\`)) }

// Link returns the template with its partials. Each reference that Partials names must be in parts, and the parts must be linked.
func (t *Template) Link(parts map[string]*Template) (*Template, error) {
	if len(t.partials) == 0 {
		return t, nil
	}
	for _, reference := range t.partials {
		if part := parts[reference]; part == nil || !part.linked {
			return nil, fmt.Errorf("linking the partial %s: its template is missing or has unlinked partials", reference)
		}
	}
	return &Template{nodes: link(t.nodes, parts), partials: t.partials, linked: true}, nil
}

func link(nodes []node, parts map[string]*Template) []node {
	linked := make([]node, len(nodes))
	for i, n := range nodes {
		n.body, n.otherwise = link(n.body, parts), link(n.otherwise, parts)
		if n.kind == nodePartial {
			n.partial = parts[n.text]
		}
		linked[i] = n
	}
	return linked
}
