package penstock

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are all pages of documentation, by their path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "node_modules"}, d.Name())):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".md"), strings.HasSuffix(name, "/LICENSES.md"): // licences are texts of others
			return nil
		}
		text, err := os.ReadFile(name)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The bound on sentences: longer ones are read twice.
const (
	maxSentenceWords   = 30
	minShortSentences  = 0.95 // of all pages together
	minShortOfOnePage  = 0.85
	pageOfFewSentences = 20 // below this many sentences a page is judged only together with the others
)

func TestSentencesAreShort(t *testing.T) {
	t.Parallel()
	short, all := 0, 0
	for name, text := range pages(t) {
		found := sentences(text)
		shortHere := 0
		for _, s := range found {
			if len(strings.Fields(s)) <= maxSentenceWords {
				shortHere++
			} else {
				t.Logf("%s: %d words: %s", name, len(strings.Fields(s)), s)
			}
		}
		short, all = short+shortHere, all+len(found)
		if part := float64(shortHere) / float64(len(found)); len(found) >= pageOfFewSentences && part < minShortOfOnePage {
			t.Errorf("%s: %.0f %% of its %d sentences have at most %d words, want %.0f %%", name, 100*part, len(found), maxSentenceWords, 100*minShortOfOnePage)
		}
	}
	if part := float64(short) / float64(all); part < minShortSentences {
		t.Errorf("%.1f %% of %d sentences have at most %d words, want %.0f %%", 100*part, all, maxSentenceWords, 100*minShortSentences)
	}
}

var (
	codeBlock   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	inlineCode  = regexp.MustCompile("`[^`]*`")
	listItem    = regexp.MustCompile(`^\s*([-*]|\d+\.)\s`)
	sentenceEnd = regexp.MustCompile(`[.!?][)*"”]*\s+`)
)

// sentences are those of a page's prose: without code blocks, tables and headings. Code inside a sentence is one word.
func sentences(page string) []string {
	page = htmlComment.ReplaceAllString(codeBlock.ReplaceAllString(page, ""), "")
	page = linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(page, "code"), "]")
	var found, paragraph []string
	end := func() {
		for _, s := range sentenceEnd.Split(strings.Join(paragraph, " "), -1) {
			if strings.TrimSpace(s) != "" {
				found = append(found, strings.TrimSpace(s))
			}
		}
		paragraph = nil
	}
	for line := range strings.Lines(page) {
		text := strings.TrimSpace(line)
		switch {
		case text == "", strings.HasPrefix(text, "|"), strings.HasPrefix(text, "#"):
			end()
			continue
		case listItem.MatchString(line):
			end()
			text = listItem.ReplaceAllString(line, "")
		}
		paragraph = append(paragraph, strings.TrimSpace(text))
	}
	end()
	return found
}

// A check that cannot fail proves nothing.
func TestSentencesAreFound(t *testing.T) {
	t.Parallel()
	page := "# A heading. With two\n\nOne is\nhere. Two `a.b. c` is too!\n\n| a. table | b. c |\n\n- three [x](y. z)\n- four\n\n```sh\nls. la\n```\n1. five\n"
	want := []string{"One is here", "Two code is too!", "three [x]", "four", "five"}
	if got := sentences(page); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLeadSomewhere holds that every link between pages names a file that exists, and a heading in it.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all, headings := pages(t), map[string][]string{}
	for name, text := range all {
		headings[name] = anchors(text)
	}
	for name, text := range all {
		for _, m := range pageLink.FindAllStringSubmatch(inlineCode.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "code"), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
				continue
			}
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if anchor != "" && !slices.Contains(headings[target], anchor) {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

// anchors are the fragments that a page's headings have on a forge.
func anchors(page string) []string {
	var found []string
	for _, m := range pageHeading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		text := strings.ToLower(linkTarget.ReplaceAllString(m[1], "]"))
		anchor := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.TrimSpace(text), ""), " ", "-")
		found = append(found, anchor)
	}
	return found
}

// TestEveryPageIsOnTheMap holds that a reader who begins at docs/README.md finds every page in one step.
func TestEveryPageIsOnTheMap(t *testing.T) {
	t.Parallel()
	all := pages(t)
	linked := map[string]bool{}
	for _, m := range pageLink.FindAllStringSubmatch(all["docs/README.md"], -1) {
		file, _, _ := strings.Cut(m[1], "#")
		linked[path.Join("docs", file)] = true
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/decisions/0") && name != "docs/README.md" && !linked[name] {
			t.Errorf("docs/README.md does not link to %s", name)
		}
	}
}

const securityPage = "docs/explanation/security.md"

// TestSecurityPageNamesTests holds that every test which the security page names exists: each promise needs its test.
func TestSecurityPageNamesTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(securityPage)
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
			t.Errorf("%s names %s, which does not exist", securityPage, m[1])
		}
	}
	if len(named) < 30 {
		t.Errorf("%s names %d tests only", securityPage, len(named))
	}
}
