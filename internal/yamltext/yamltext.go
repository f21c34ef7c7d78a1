// Package yamltext parses a YAML document of unknown origin within bounds. It returns the nodes of the parser, with their places;
// readers give them a meaning.
//
// The parser takes time quadratic in the width of a map and in the depth of nesting. The bounds keep a hostile or broken text from
// costing more than a moment.
package yamltext

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of every document.
const (
	maxFlowDepth     = 32 // of [ and {
	maxEntriesInLine = 8  // of - and ?, each of which nests
)

// Limits are the bounds that a reader chooses.
type Limits struct {
	Bytes  int
	Tokens int
	// Budget is how many tokens several documents may have together; nil for any number. Each document takes its tokens from it.
	Budget *int
}

// Problem says why a text is not a document.
type Problem struct {
	Token   *token.Token // where, nil for the whole text
	Message string
	Syntax  *yaml.SyntaxError // of the parser, nil for others
}

// Place is the line and the column of a problem, from 1; 0 for the whole text.
func (p *Problem) Place() (line, column int) {
	if p.Token == nil || p.Token.Position == nil {
		return 0, 0
	}
	return p.Token.Position.Line, p.Token.Position.Column
}

// Read returns the root of the one document in data, nil when it is empty. Maps may have duplicate keys: the reader of the nodes
// reports them. The text is not quoted in problems, because it may have secrets.
func Read(data []byte, limits Limits) (root ast.Node, problem *Problem) {
	fail := func(tk *token.Token, format string, args ...any) (ast.Node, *Problem) {
		return nil, &Problem{Token: tk, Message: fmt.Sprintf(format, args...)}
	}
	// A bug in the parser must cost a document, not the process.
	defer func() {
		if r := recover(); r != nil {
			root, problem = fail(nil, "the file cannot be read as YAML: %v", r)
		}
	}()
	if len(data) > limits.Bytes {
		return fail(nil, "the file is larger than %d bytes", limits.Bytes)
	}
	if !utf8.Valid(data) {
		return fail(nil, "the file is not UTF-8 text")
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\uFEFF"))
	if tk, reason := refuse(tokens, limits); reason != "" {
		return fail(tk, "%s", reason)
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		// The error's own text would quote the lines around it.
		if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			return nil, &Problem{Token: syntax.Token, Message: "this is not valid YAML: " + syntax.Message, Syntax: syntax}
		}
		return fail(nil, "this is not valid YAML")
	}
	if len(file.Docs) > 1 {
		return fail(file.Docs[1].Start, "the file must hold a single YAML document")
	}
	if len(file.Docs) == 0 {
		return nil, nil
	}
	return file.Docs[0].Body, nil
}

// refuse finds what the parser should not be bothered with, before it is.
func refuse(tokens token.Tokens, limits Limits) (*token.Token, string) {
	if len(tokens) > limits.Tokens {
		return tokens[limits.Tokens], fmt.Sprintf("the file has more than %d YAML tokens", limits.Tokens)
	}
	if limits.Budget != nil {
		if *limits.Budget -= len(tokens); *limits.Budget < 0 {
			return nil, "the files have too many YAML tokens together; send fewer files at once"
		}
	}
	depth, documents, entries, line := 0, 0, 0, 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			if tk.Position.Line != line {
				line, entries = tk.Position.Line, 0
			}
			entries++
		case token.DocumentHeaderType:
			documents++
		case token.TagType, token.DirectiveType:
			return tk, "YAML tags and directives are not supported"
		}
		switch {
		case depth > maxFlowDepth || entries > maxEntriesInLine:
			return tk, "this is nested too deeply"
		case documents > 1:
			return tk, "the file must hold a single YAML document"
		}
	}
	return nil, ""
}
