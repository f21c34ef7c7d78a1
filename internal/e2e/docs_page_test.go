package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repository is the root of the repository, seen from this package.
const repository = "../.."

// snippet is a fenced block of a page.
type snippet struct {
	page  string // its path in the repository
	line  int    // of the opening fence
	lang  string
	words []string // after the language: readers do not see them
	text  string
	// notRun is the reason why the test does not run it, from a comment above it: <!-- not run: REASON -->. Its syntax
	// is checked nevertheless.
	notRun string
}

var (
	fence       = regexp.MustCompile("^ *```([a-z]*)((?: [a-z=0-9.]+)*)$")
	notRunAbove = regexp.MustCompile(`^<!-- not run: (.*) -->$`)
)

// testedPages are the pages whose snippets a reader copies.
func testedPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	for _, pattern := range []string{"docs/tutorial/*.md", "docs/how-to/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no page matches %s: %v", pattern, err)
		}
		for _, path := range found {
			name, err := filepath.Rel(repository, path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, filepath.ToSlash(name))
		}
	}
	return pages
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// snippets are the fenced blocks of a page, in order.
func snippets(page, text string) []snippet {
	var found []snippet
	var open *snippet
	reason, indent, n := "", 0, 0
	for line := range strings.Lines(text) {
		n++
		bare := strings.TrimRight(line, "\n")
		if open != nil {
			if strings.TrimSpace(bare) == "```" {
				found = append(found, *open)
				open = nil
				continue
			}
			open.text += bare[min(indent, len(bare)-len(strings.TrimLeft(bare, " "))):] + "\n"
			continue
		}
		if m := fence.FindStringSubmatch(bare); m != nil {
			open = &snippet{page: page, line: n, lang: m[1], words: strings.Fields(m[2]), notRun: reason}
			indent = strings.Index(bare, "`")
		}
		switch m := notRunAbove.FindStringSubmatch(strings.TrimSpace(bare)); {
		case m != nil:
			reason = m[1]
		case strings.TrimSpace(bare) != "":
			reason = ""
		}
	}
	return found
}

func TestSnippetsAreFound(t *testing.T) {
	t.Parallel()
	got := snippets("a.md", "# A\n\n```sh\nls\n```\n\n<!-- not run: needs a cluster -->\n\n```sh\nhelm\n```\n- a\n\n  ```json output\n  {\n    \"a\": 1}\n  ```\n")
	if len(got) != 3 {
		t.Fatalf("found %d snippets, want 3: %+v", len(got), got)
	}
	if s := got[0]; s.lang != "sh" || s.text != "ls\n" || s.line != 3 || s.notRun != "" {
		t.Errorf("the first is %+v", s)
	}
	if s := got[1]; s.notRun != "needs a cluster" {
		t.Errorf("the second is %+v", s)
	}
	if s := got[2]; s.lang != "json" || s.words[0] != "output" || s.text != "{\n  \"a\": 1}\n" || s.notRun != "" {
		t.Errorf("the third is %+v", s)
	}
}
