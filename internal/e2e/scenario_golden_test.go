package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files of the scenarios, from their run on SQLite")

// transcript is what was said in a scene, as text.
type transcript struct {
	text   strings.Builder
	masked []mask
}

// mask replaces text that differs from run to run.
type mask struct {
	pattern *regexp.Regexp
	by      string // of the part in the pattern's group, or of the whole match
}

// maxShownBody bounds what a golden file shows of a body that a caller sent.
const maxShownBody = 2000

// exchange adds a call and its answer.
func (t *transcript) exchange(title string, c Call, a Answer) {
	fmt.Fprintf(&t.text, "### %s\n%s %s\n", title, c.Method, c.Path)
	for _, name := range slices.Sorted(maps.Keys(c.Header)) {
		fmt.Fprintf(&t.text, "%s: %s\n", name, c.Header[name])
	}
	if c.Body != "" {
		fmt.Fprintf(&t.text, "\n%s\n", shown(c.Body))
	}
	fmt.Fprintf(&t.text, "\n=> %d %s\n", a.Status, http.StatusText(a.Status))
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		// The length says nothing about what the body will be once ids are replaced in it.
		if !slices.Contains(sameEverywhere, name) {
			fmt.Fprintf(&t.text, "%s: %s\n", name, strings.Join(a.Header[name], ", "))
		}
	}
	fmt.Fprintf(&t.text, "\n%s\n", indented(a))
}

// note adds a line about something that is no call.
func (t *transcript) note(format string, args ...any) {
	fmt.Fprintf(&t.text, format+"\n", args...)
}

// mask keeps text out of the golden file that no general rule knows to be volatile.
func (t *transcript) mask(pattern, by string) {
	t.masked = append(t.masked, mask{regexp.MustCompile(pattern), by})
}

// shown is a body as the transcript shows it: whole, unless it is long or no text.
func shown(body string) string {
	if len(body) > maxShownBody {
		return fmt.Sprintf("%.80s… (%d bytes)", body, len(body))
	}
	return strings.ToValidUTF8(body, "\\xff")
}

// indented is the body of an answer, with JSON spread over lines.
func indented(a Answer) string {
	if a.Header.Get("Content-Type") != "application/json" {
		return a.Body
	}
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(a.Body), "", "  "); err != nil {
		return a.Body
	}
	return out.String()
}

var (
	volatileIDs = regexp.MustCompile(`\b(?:(?:job|item|req|att|evt|pmpt|lreq)_[0-9A-HJKMNP-TV-Z]{26}|cfg_[0-9a-f]{12}|chatcmpl-[0-9a-f]{24})\b`)
	idPrefix    = regexp.MustCompile(`^[a-z]+[_-]`)

	volatileText = []mask{
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`), "<time>"},
		{regexp.MustCompile(`("created": ?)[1-9]\d{9}\b`), "${1}<unix time>"},
		// What can be estimated depends on what ran before, and so does when to come back. Transcripts are
		// those of a server that knows nothing yet.
		{regexp.MustCompile(`("estimated_(?:start|finish)_at": ?)"[^"]*"`), "${1}null"},
		{regexp.MustCompile(`("rate":\s?)[0-9.e+-]+`), "${1}<rate>"},
		{regexp.MustCompile(`(Etag: )"\d+-\d+-\d+"`), "${1}<etag>"},
		{regexp.MustCompile(`(=> 202 Accepted\n(?:[^\n]+\n)*?Retry-After: )\d+`), "${1}<when>"},
		{regexp.MustCompile(`\b127\.0\.0\.1:\d+`), "<address>"},
	}
)

// settled is a text with its volatile parts replaced: ids by numbers in the order in which they appear,
// the same id always by the same number.
func settled(text string, more ...mask) string {
	for _, m := range slices.Concat(more, volatileText) {
		text = m.pattern.ReplaceAllString(text, m.by)
	}
	known, count := map[string]string{}, map[string]int{}
	return volatileIDs.ReplaceAllStringFunc(text, func(id string) string {
		if _, ok := known[id]; !ok {
			prefix := idPrefix.FindString(id)
			count[prefix]++
			known[id] = fmt.Sprint(prefix, count[prefix])
		}
		return known[id]
	})
}

// goldenFile is where a scenario's transcript is kept, and the engine that it was just made on.
type goldenFile struct{ name, engine string }

// compare holds the transcript against the golden file. A scenario that tells nothing has none.
func (s *scene) compare(g goldenFile) {
	s.Helper()
	if s.script.text.Len() == 0 {
		return
	}
	got := settled(s.script.text.String(), s.script.masked...)
	path := filepath.Join("testdata", g.name+".golden")
	if *updateGolden {
		// Engines must not differ, so one of them is enough to write; a run without -update compares both.
		if g.engine == "sqlite" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				s.Fatal(err)
			}
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.Fatalf("%v; run the test with -update to write it, and read what it wrote", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.Errorf("the transcript differs from %s (-golden +now):\n%s", path, diff)
	}
}

// sameEverywhere are headers that every answer has, and that say nothing about it.
var sameEverywhere = []string{"Date", "Content-Length", "X-Content-Type-Options"}
