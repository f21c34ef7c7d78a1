package config

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

// The bounds of a file's text. They keep a hostile or broken file from costing more than a moment:
// the YAML parser takes time quadratic in the width of a map and in the depth of nesting.
const (
	MaxFileBytes = 1 << 20

	maxTokens        = 100_000
	maxFlowDepth     = 32 // of [ and {
	maxEntriesInLine = 8  // of - and ?, each of which nests
)

// readYAML returns the root of the one document in data, nil when it is empty. It knows YAML but
// not what a configuration looks like.
func readYAML(data []byte) (root ast.Node, problem *Problem) {
	fail := func(tk *token.Token, format string, args ...any) (ast.Node, *Problem) {
		p := newProblem("", placeOf(tk), fmt.Sprintf(format, args...))
		return nil, &p
	}
	// The parser is not ours, and a bug in it must cost a reload, not the process that reloads.
	defer func() {
		if r := recover(); r != nil {
			root, problem = fail(nil, "the file cannot be read as YAML: %v", r)
		}
	}()

	if len(data) > MaxFileBytes {
		return fail(nil, "the file is larger than %d bytes", MaxFileBytes)
	}
	if !utf8.Valid(data) {
		return fail(nil, "the file is not UTF-8 text")
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\uFEFF"))
	if tk, reason := refuse(tokens); reason != "" {
		return fail(tk, "%s", reason)
	}
	// Duplicate keys are left to the decoder, which reports them along with everything else.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		// The error's own text would quote the lines around it, and so perhaps a secret.
		if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			return fail(syntax.Token, "this is not valid YAML: %s%s", syntax.Message, syntaxHint(syntax))
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
func refuse(tokens token.Tokens) (*token.Token, string) {
	if len(tokens) > maxTokens {
		return tokens[maxTokens], fmt.Sprintf("the file has more than %d YAML tokens", maxTokens)
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

// syntaxHint explains the syntax errors that people are most likely to meet: a tabulator, and in { } a bare ${NAME}, which
// opens another map.
func syntaxHint(e *yaml.SyntaxError) string {
	tk := e.Token
	if strings.Contains(e.Message, "\t") {
		return "; indent with spaces"
	}
	if tk != nil && tk.Prev != nil && strings.HasSuffix(tk.Prev.Value, "$") {
		return `; inside { } and [ ], "${NAME}" needs its quotes`
	}
	return ""
}

func placeOf(tk *token.Token) place {
	if tk == nil || tk.Position == nil {
		return place{}
	}
	return place{tk.Position.Line, tk.Position.Column}
}
