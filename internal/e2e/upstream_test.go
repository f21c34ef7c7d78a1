package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// playedUpstream answers as written down in testdata/upstream: where sim makes up its answers, this one
// says exactly what a scenario is about, and remembers how it was asked. A prompt names what to play as
// [play:NAME]; the file is NAME.sse for a stream and NAME.json else, or NAME.STATUS.json for a failure.
type playedUpstream struct {
	*httptest.Server

	mu   sync.Mutex
	seen map[string]string // the last body, by endpoint and name of the play
}

// plays is the folder of what each endpoint answers.
var plays = map[string]string{"/v1/chat/completions": "chat", "/v1/messages": "messages"}

var namedPlay = regexp.MustCompile(`\[play:([a-z]+)\]`)

func playUpstream(t testing.TB) *playedUpstream {
	t.Helper()
	u := &playedUpstream{seen: map[string]string{}}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

func (u *playedUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	named := namedPlay.FindAllSubmatch(body, -1)
	folder := plays[r.URL.Path]
	if err != nil || folder == "" || len(named) == 0 {
		http.Error(w, "nothing to play", http.StatusNotFound)
		return
	}
	name := string(named[len(named)-1][1]) // that of the last turn
	u.mu.Lock()
	u.seen[folder+"/"+name] = string(body)
	u.mu.Unlock()
	u.play(w, filepath.Join("testdata", "upstream", folder, name), body)
}

func (u *playedUpstream) play(w http.ResponseWriter, name string, body []byte) {
	status, path, contentType := http.StatusOK, name+".json", "application/json"
	if failures, _ := filepath.Glob(name + ".[45]??.json"); len(failures) == 1 { // the pattern is a good one
		path = failures[0]
		status, _ = strconv.Atoi(strings.TrimPrefix(filepath.Ext(strings.TrimSuffix(path, ".json")), "."))
	} else if bytes.Contains(body, []byte(`"stream":true`)) {
		path, contentType = name+".sse", "text/event-stream"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	// Event by event, as models speak.
	for event := range strings.SplitAfterSeq(string(text), "\n\n") {
		_, _ = io.WriteString(w, event) // whoever left hears nothing
		_ = http.NewResponseController(w).Flush()
	}
}

// asked is the body of the last call for a play, spread over lines.
func (u *playedUpstream) asked(t testing.TB, play string) string {
	t.Helper()
	u.mu.Lock()
	body := u.seen[play]
	u.mu.Unlock()
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(body), "", "  "); err != nil {
		t.Fatalf("%s was asked for with %q: %v", play, body, err)
	}
	return out.String()
}
