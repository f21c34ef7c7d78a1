package itemstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFilesOfATokenClass holds that docs/items.md lists the files that a new token class changes: those that name the
// class which was added last. Tests, their tools and benchmarks are not listed.
func TestFilesOfATokenClass(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	page, err := os.ReadFile(filepath.Join(root, "docs/items.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Add a token class\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, line := range regexp.MustCompile("(?m)^- `([^`]+)`: ").FindAllStringSubmatch(section, -1) {
		listed = append(listed, line[1])
	}
	slices.Sort(listed)
	if diff := cmp.Diff(filesNaming(t, root, regexp.MustCompile(`AudioOutput|audio_output`)), listed); diff != "" {
		t.Errorf("files that name the class (-there +listed):\n%s", diff)
	}
}

// filesNaming are the Go and SQL files of the program that match.
func filesNaming(t *testing.T, root string, name *regexp.Regexp) (found []string) {
	t.Helper()
	skipped := []string{"bench", "node_modules", "testdata", "internal/sim", "internal/e2e", "internal/store/storetest"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		rel := strings.TrimPrefix(path, root+"/")
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, rel) || slices.Contains(skipped, d.Name())) {
			return fs.SkipDir
		}
		if ext := filepath.Ext(path); d.IsDir() || (ext != ".go" && ext != ".sql") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if name.Match(text) {
			found = append(found, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
