package penstock

import (
	"go/ast"
	"os"
	"regexp"
	"testing"
)

// TestSecurityPageNamesTests holds that every test which docs/explanation/security.md names exists: each promise needs its test.
func TestSecurityPageNamesTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/explanation/security.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && s.test() {
				known[fn.Name.Name] = true
			}
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllSubmatch(page, -1)
	for _, m := range named {
		if !known[string(m[1])] {
			t.Errorf("docs/explanation/security.md names %s, which does not exist", m[1])
		}
	}
	if len(named) < 30 {
		t.Errorf("docs/explanation/security.md names %d tests only", len(named))
	}
}
