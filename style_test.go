package penstock

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The bounds that keep code readable. Aim for half of them.
const (
	maxFunctionLines = 70
	maxFileLines     = 800
	maxParameters    = 4
)

// exceptions are places that break a rule for a reason.
var exceptions = map[string]string{
	"internal/store/types.go": "the rows that several roles of the store share",
}

// forbiddenPackages are names that say nothing about what is inside.
var forbiddenPackages = []string{"util", "utils", "common", "helpers", "types", "models", "manager", "base", "misc", "pkg"}

// source is one Go file of the repository.
type source struct {
	path string
	file *ast.File
	set  *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// sources are all Go files of the repository, parsed once.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsedSources()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsedSources = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{path, file, set})
		return nil
	})
	return all, err
})

func TestStyleOfFiles(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if lines := s.set.File(s.file.Pos()).LineCount(); lines > maxFileLines {
			t.Errorf("%s has %d lines; %d are the most", s.path, lines, maxFileLines)
		}
		if slices.Contains(forbiddenPackages, s.file.Name.Name) {
			t.Errorf("%s: package %s says nothing about what is inside", s.path, s.file.Name.Name)
		}
		for _, decl := range s.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				checkFunction(t, s, fn)
			}
		}
	}
}

func checkFunction(t *testing.T, s source, fn *ast.FuncDecl) {
	t.Helper()
	where := s.path + ": " + fn.Name.Name
	if _, excepted := exceptions[where]; excepted {
		return
	}
	first, last := s.set.Position(fn.Pos()).Line, s.set.Position(fn.End()).Line
	if lines := last - first + 1; lines > maxFunctionLines {
		t.Errorf("%s has %d lines; %d are the most", where, lines, maxFunctionLines)
	}
	if fn.Name.Name == "init" && fn.Recv == nil {
		t.Errorf("%s: nothing happens behind the back of main", where)
	}
	if s.test() {
		return
	}
	count := 0
	for _, p := range fn.Type.Params.List {
		if _, variadic := p.Type.(*ast.Ellipsis); variadic {
			continue
		}
		count += cmp.Or(len(p.Names), 1)
		if id, ok := p.Type.(*ast.Ident); ok && id.Name == "bool" {
			t.Errorf("%s takes a bare bool; a reader of the call cannot tell what it means", where)
		}
	}
	if count > maxParameters {
		t.Errorf("%s takes %d parameters; past %d they want a struct", where, count, maxParameters)
	}
}

// TestStyleOfPackages holds that every package opens with a file of its own name, or main.go, whose
// comment says what the package is.
func TestStyleOfPackages(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		dir := filepath.Dir(s.path)
		opener := s.file.Name.Name + ".go"
		documented[dir] = documented[dir] || (filepath.Base(s.path) == opener && s.file.Doc != nil)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no file named after the package carries its documentation", dir)
		}
	}
}

// TestStyleOfTests holds that no test waits by sleeping.
func TestStyleOfTests(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Sleep" {
				return true
			}
			where := s.path + ": Sleep"
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "time" && exceptions[where] == "" && !synctested(s.file) {
				t.Errorf("%s: %s sleeps; use a clock, testing/synctest or a channel", s.path, s.set.Position(n.Pos()))
			}
			return true
		})
	}
}

// synctested reports whether a test runs on virtual time, where sleeping costs nothing.
func synctested(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` })
}
