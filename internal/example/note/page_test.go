package note_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root = "../../.."
	page = root + "/docs/how-to/add-a-capability.md"
)

// shared are the lists that every capability adds to. None belongs to another capability.
var shared = []string{
	"internal/store/schema/schema.go", "internal/app/store.go", "webhook.go", "internal/e2e/crash_test.go", "deps_test.go",
	"internal/api/api.go", "internal/api/route.go", "internal/app/app.go", "docs/explanation/architecture.md",
}

// allowed are the packages that a capability builds on, besides its own.
var allowed = []string{"penstock", "penstock/internal/audit", "penstock/internal/outbox", "penstock/internal/store/sqldb"}

// asInPage replaces the path of the example by the path that a real capability has.
func asInPage(text string) string {
	return strings.ReplaceAll(text, "internal/example/note", "internal/note")
}

// section are the paths of a section's list.
func section(t *testing.T, title string) (paths []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+title+"\n")
	if !found {
		t.Fatalf("the page has no section %q", title)
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	for _, match := range regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(body, -1) {
		paths = append(paths, match[1])
	}
	slices.Sort(paths)
	return paths
}

// exampleFiles are the example's files, but for this test, by their path in the page.
func exampleFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "page_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		files["internal/note/"+filepath.ToSlash(path)] = asInPage(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The routes are compiled as a test of package api.
	text, err := os.ReadFile(root + "/internal/api/note_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files["internal/api/note.go"] = asInPage(string(text))
	return files
}

// The page names exactly the example's files, and shared lists besides.
func TestPageNamesEveryFile(t *testing.T) {
	t.Parallel()
	var want []string
	for path := range exampleFiles(t) {
		want = append(want, path)
	}
	slices.Sort(want)
	if got := section(t, "New files"); !slices.Equal(got, want) {
		t.Errorf("the page lists the new files %v; the example has %v", got, want)
	}
	want = slices.Sorted(slices.Values(shared))
	if got := section(t, "Shared lists that get a line"); !slices.Equal(got, want) {
		t.Errorf("the page lists the shared files %v; a capability may touch %v", got, want)
	}
	for _, path := range shared {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("the page names %s: %v", path, err)
		}
	}
}

// The code of the page is the example's.
func TestPageShowsTheExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(?:go|sql)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 {
		t.Fatalf("the page shows %d pieces of code", len(blocks))
	}
	for _, block := range blocks {
		shown := false
		for _, file := range exampleFiles(t) {
			shown = shown || strings.Contains(file, block[1])
		}
		if !shown {
			t.Errorf("no file of the example has\n%s", block[1])
		}
	}
}

// The example needs no file of another capability, and not store.Store.
func TestExampleStandsAlone(t *testing.T) {
	t.Parallel()
	for path, text := range exampleFiles(t) {
		if !strings.HasPrefix(path, "internal/note/") || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if ours := name == "penstock" || strings.HasPrefix(name, "penstock/"); ours && !slices.Contains(allowed, name) && name != "penstock/internal/note" {
				t.Errorf("%s imports %s", path, name)
			}
		}
	}
}
