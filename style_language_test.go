package penstock

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bannedWords are metaphors that the code base no longer uses, each with the word of the field.
var bannedWords = map[string]string{
	"door": "API, listener, endpoint", "entrance": "submit, admission", "room": "capacity, space", "purse": "local allowance",
	"seat": "permit", "party": "limit scope", "errand": "admitted call", "ride": "shared call", "rider": "member", "trip": "attempt",
	"crew": "goroutine pool", "bay": "slot pool", "speech": "delta writer", "shelf": "model queue", "haul": "claim batch",
	"reap": "record together", "harvest": "result group", "bundle": "input group", "letter": "upstream request", "ticket": "reservation",
	"tab": "charge", "course": "run", "news": "outbox events",
}

// allowedPhrases are pairs in which a banned second word is a term of the field.
var allowedPhrases = map[string]string{
	"session ticket": "TLS: crypto/tls has SessionTicketsDisabled",
	"dead letter":    "a message that nobody could process",
	"round trip":     "a request and its answer; RoundTrip of net/http",
	"of course":      "a phrase",
	"third party":    "neither caller nor operator",
	"audio speech":   "the name of an OpenAI endpoint",
	"is letter":      "unicode.IsLetter",
}

// word finds the words of text and of identifiers: DeadLetter, dead_letter and "dead letter" are the same two.
var word = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// acronymEnd is where an acronym ends inside an identifier: HTTP and Door in HTTPDoor.
var acronymEnd = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)

// bannedIn reports each use of a banned word, as line number and word.
func bannedIn(text string) map[int]string {
	found := map[int]string{}
	previous := ""
	spaced := acronymEnd.ReplaceAllString(text, "$1 $2")
	for _, at := range word.FindAllStringIndex(spaced, -1) {
		written := strings.ToLower(spaced[at[0]:at[1]])
		w := singular(written)
		if _, banned := bannedWords[w]; banned && allowedPhrases[previous+" "+w] == "" {
			found[1+strings.Count(spaced[:at[0]], "\n")] = w
		}
		previous = written
	}
	return found
}

// wordForms are the forms of banned words that do not just end in s.
var wordForms = map[string]string{
	"parties": "party", "shelves": "shelf", "news": "news", "bundled": "bundle", "harvested": "harvest", "reaped": "reap", "reaper": "reap",
	"hauled": "haul", "seated": "seat",
}

func singular(w string) string {
	if known := wordForms[w]; known != "" {
		return known
	}
	return strings.TrimSuffix(w, "s")
}

// conflict is a mark that Git leaves in a file that it could not merge.
var conflict = regexp.MustCompile(`(?m)^(<{7}|>{7}) .*$`)

func TestBannedWords(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if base := d.Name(); name != "." && (strings.HasPrefix(base, ".") && base != ".ci" || slices.Contains([]string{"testdata", "node_modules", "bin", "dist"}, base)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".md", ".yaml", ".json", ".sql", ""}, path.Ext(name)) || name == "style_language_test.go" || name == "LICENSE" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if unresolved := conflict.Find(text); unresolved != nil {
			t.Errorf("%s has an unresolved merge conflict: %s", name, unresolved)
		}
		for line, w := range bannedIn(string(text)) {
			if w == "tab" && strings.HasPrefix(name, "web/") {
				continue // a part of a page
			}
			t.Errorf("%s:%d says %q; the field says: %s", name, line, w, bannedWords[w])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A check that cannot fail proves nothing.
func TestBannedWordsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"the doors of": "door", "roomFor": "room", "HARVESTS": "harvest", "HTTPDoor": "door", "Dead letters": "", "seat_count": "seat", "parties": "party", "bundled": "bundle",
		"DeadLetter dead_letters dead letter": "", "RoundTrip": "", "of course": "", "classroom restroom staying": "",
	} {
		got := ""
		for _, w := range bannedIn(text) {
			got = w
		}
		if got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}
