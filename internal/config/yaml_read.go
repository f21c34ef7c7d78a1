package config

import (
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"penstock/internal/yamltext"
)

// The bounds of a file's text.
const (
	MaxFileBytes = 1 << 20
	maxTokens    = 100_000
)

// readYAML returns the root of the one document in data, nil when it is empty. It knows YAML but not what a configuration looks
// like. Duplicate keys are left to the decoder, which reports them along with everything else.
func readYAML(data []byte) (ast.Node, *Problem) {
	root, wrong := yamltext.Read(data, yamltext.Limits{Bytes: MaxFileBytes, Tokens: maxTokens})
	if wrong == nil {
		return root, nil
	}
	message := wrong.Message
	if wrong.Syntax != nil {
		message += syntaxHint(wrong.Syntax)
	}
	p := newProblem("", placeOf(wrong.Token), message)
	return nil, &p
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
