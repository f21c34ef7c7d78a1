package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// seenBodies passes requests on to the simulator, and notes their bodies.
type seenBodies struct {
	next http.Handler
	mu   sync.Mutex
	all  strings.Builder
}

func (s *seenBodies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body) // an error of the transport is the caller's to find
	s.mu.Lock()
	s.all.Write(text)
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(text))
	s.next.ServeHTTP(w, r)
}

// take returns the bodies since the last call, one behind the other.
func (s *seenBodies) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.all.Reset()
	return s.all.String()
}

// fileWays are the ways by which a text file comes into a request. Each names the file %[1]s.
var fileWays = []struct{ name, path, body string }{
	{"chat", "/v1/chat/completions", `{"model":"fast","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%[1]s"}}]}]}`},
	{"chat, streamed", "/v1/chat/completions", `{"model":"fast","stream":true,"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%[1]s"}}]}]}`},
	{"chat, translated", "/v1/chat/completions", `{"model":"claude","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%[1]s"}}]}]}`},
	{"message", "/v1/messages", `{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"%[1]s"}}]}]}`},
	{"message, translated", "/v1/messages", `{"model":"fast","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"%[1]s"}}]}]}`},
	{"document in the result of a tool", "/v1/messages", `{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"document","source":{"type":"file","file_id":"%[1]s"}}]}]}]}`},
	{"count of tokens", "/v1/messages/count_tokens", `{"model":"claude","messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"%[1]s"}}]}]}`},
	{"response", "/v1/responses", `{"model":"fast","store":false,"input":[{"role":"user","content":[{"type":"input_file","file_id":"%[1]s"}]}]}`},
	{"response, translated", "/v1/responses", `{"model":"claude","input":[{"role":"user","content":[{"type":"input_file","file_id":"%[1]s"}]}]}`},
	{"response in the background", "/v1/responses", `{"model":"fast","background":true,"input":[{"role":"user","content":[{"type":"input_file","file_id":"%[1]s"}]}]}`},
	{"job", "/v1/jobs", `{"model":"fast","input":{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%[1]s"}}]}]}}`},
	{"job of two", "/v1/jobs", `{"model":"fast","inputs":[{"body":{"messages":[{"role":"user","content":"Hi"}]}},{"body":{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%[1]s"}}]}]}}]}`},
}

// fileLines is a batch whose line names a file.
const fileLines = `{"custom_id":"a","body":{"model":"fast","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"%s"}}]}]}}` + "\n"

// settle waits until the work of an answer has ended.
func (r *filterRig) settle(path string, a filterReply) {
	r.t.Helper()
	switch {
	case path == "/v1/jobs":
		r.await("/v1/jobs/"+a.member(r.t, "id"), "status", "succeeded", "failed")
	case strings.Contains(a.body, `"background":true`):
		r.await("/v1/responses/"+a.member(r.t, "id"), "status", "completed", "failed")
	}
}

// The text of a file is input: a filter edits it on every way in, and the upstream gets the edited text.
func TestFiltersEditFiles(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t, masks{})
	file := r.store("user_data", "The secret is here.")
	edited := func(name string) {
		t.Helper()
		if got := r.seen.take(); strings.Contains(got, "secret") || !strings.Contains(got, "The masked is here.") {
			t.Errorf("%s: the upstream got %s", name, got)
		}
	}
	for _, way := range fileWays {
		r.settle(way.path, r.post(way.path, fmt.Sprintf(way.body, file)))
		edited(way.name)
	}
	r.job(fmt.Sprintf(`{"model":"fast","input_file":%q}`, r.upload(fmt.Sprintf(fileLines, file))))
	edited("line of a batch")
	first := r.post("/v1/responses", fmt.Sprintf(`{"model":"fast","input":[{"role":"user","content":[{"type":"input_file","file_id":"%s"}]}]}`, file))
	edited("response that is stored")
	r.post("/v1/responses", fmt.Sprintf(`{"model":"fast","input":"Go on","previous_response_id":%q}`, first.member(t, "id")))
	edited("response that goes on")
}

// A filter blocks a request by the text of a file on every way in, and no upstream gets it.
func TestFiltersBlockFiles(t *testing.T) {
	t.Parallel()
	r := newFilterRig(t, guardOf{word: "forbidden"})
	file := r.store("user_data", "A forbidden text.")
	for _, way := range fileWays {
		if a := r.do(http.MethodPost, way.path, fmt.Sprintf(way.body, file)); a.status != http.StatusBadRequest || !strings.Contains(a.body, "It holds a forbidden word.") {
			t.Errorf("%s: %d %s", way.name, a.status, a.body)
		}
	}
	job := r.job(fmt.Sprintf(`{"model":"fast","input_file":%q}`, r.upload(fmt.Sprintf(fileLines, file))))
	if results := r.do(http.MethodGet, "/v1/jobs/"+job.member(t, "id")+"/results", ""); !strings.Contains(results.body, "content_blocked") {
		t.Errorf("line of a batch: %s", results.body)
	}
	if got := r.seen.take(); strings.Contains(got, "forbidden") {
		t.Errorf("the upstream got %s", got)
	}
}
