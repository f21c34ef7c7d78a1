package penstock

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outputMembers are the members of a request that bound its answer. Code that read them on its own could reserve less money than the
// upstream charges.
var outputMembers = []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}

// outputReaders are the files that may name them: the one reader, the wire structs of the translation, which only write them, and the
// echo of a request in its response, which repeats them as they were written.
var outputReaders = []string{
	"internal/dialect/output.go", "internal/dialect/translate/wire_chat.go", "internal/dialect/translate/wire_message.go", "internal/dialect/openai/echo.go",
}

// TestOutputBoundIsReadInOnePlace holds that no other code names a member that bounds an answer: as a string, or as the JSON name of
// a struct's field. The configuration, the catalogue of models and the file of another gateway describe targets by such names, and
// the files of other programs describe prompts; the simulated upstream and the ends of answers ("max_tokens" is
// also a stop reason) do not read requests. The types in body_schema.go describe bodies in OpenAPI, and no handler decodes them.
func TestOutputBoundIsReadInOnePlace(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, s := range sources(t) {
		exempt := s.test() || strings.HasPrefix(s.path, "internal/sim/") || strings.HasPrefix(s.path, "internal/e2e/") || strings.HasPrefix(s.path, "bench/") ||
			s.path == "internal/dialect/translate/ending.go" || s.path == "internal/api/body_schema.go" || strings.HasPrefix(s.path, "internal/config/") ||
			strings.HasPrefix(s.path, "internal/catalogue/") || strings.HasPrefix(s.path, "internal/litellm/") || strings.HasPrefix(s.path, "internal/prompt/promptfile/")
		if exempt {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !namesOutput(text) {
				return true
			}
			seen++
			if !slices.Contains(outputReaders, s.path) {
				t.Errorf("%s names %s; read the bound from the dialect.Inference", s.set.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	}
	if seen < len(outputMembers) {
		t.Errorf("only %d names were found; the reader has moved", seen)
	}
}

// namesOutput says whether a string is a name of such a member, or the tag of a field that is one in JSON.
func namesOutput(text string) bool {
	return slices.ContainsFunc(outputMembers, func(name string) bool {
		return text == name || strings.Contains(text, `json:"`+name+`"`) || strings.Contains(text, `json:"`+name+`,`)
	})
}
