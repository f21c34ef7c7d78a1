package api

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/request"
	"penstock/internal/rest"
)

// flushes keeps what was written before each flush.
type flushes struct {
	http.ResponseWriter
	written string
	sent    []string
}

func (f *flushes) Write(b []byte) (int, error) {
	f.written += string(b)
	return len(b), nil
}

func (f *flushes) FlushError() error {
	f.sent, f.written = append(f.sent, f.written), ""
	return nil
}

// newStreamSink is the sink of a stream that has begun.
func newStreamSink(t *testing.T) (*httpSink, *flushes) {
	w := &flushes{ResponseWriter: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	s := &httpSink{call: &call{Call: rest.Call{W: rest.NewResponse(w, r), R: r, Words: &rest.Usual}}, stream: true}
	if err := s.Begin(request.Head{Meta: streamMeta}); err != nil {
		t.Fatal(err)
	}
	return s, w
}

// Chunks that arrived together are sent together. None of them waits for a chunk that has not arrived: the sink is flushed before such
// a chunk is waited for. The end is sent once the call is recorded, together with the chunks that arrived with it.
func TestChunksThatArriveTogether(t *testing.T) {
	t.Parallel()
	type step = func(*httpSink) error
	chunk := func(c provider.Chunk) step { return func(s *httpSink) error { return s.Chunk(c) } }
	more := func(wire string) step { return chunk(provider.Chunk{Wire: []byte(wire), More: true}) }
	alone := func(wire string) step { return chunk(provider.Chunk{Wire: []byte(wire)}) }
	last := func(wire string) step { return chunk(provider.Chunk{Wire: []byte(wire), Last: true}) }
	wait := (*httpSink).Flush
	large := strings.Repeat("x", maxPendingBytes)
	for name, tt := range map[string]struct {
		steps []step
		sent  []string
		end   string // is sent with the end of the handler
	}{
		"one by one":              {[]step{alone("a"), alone("b"), alone("c")}, []string{"a", "b", "c"}, ""},
		"before a wait":           {[]step{more("a"), wait, more("b"), more("c"), wait, wait}, []string{"a", "bc"}, ""},
		"together":                {[]step{more("a"), more("b"), alone("c")}, []string{"abc"}, ""},
		"a hidden one comes last": {[]step{alone("a"), more("b"), more(""), alone("")}, []string{"a", "b"}, ""},
		"hidden ones alone":       {[]step{alone(""), more(""), wait, alone("")}, nil, ""},
		"with the end":            {[]step{alone("a"), more("b"), last("end")}, []string{"a"}, "bend"},
		"before the end":          {[]step{more("a"), more("b"), wait, last("end")}, []string{"ab"}, "end"},
		"large ones":              {[]step{alone("a"), more("b"), more(large), more("c"), alone("d")}, []string{"a", "b" + large, "cd"}, ""},
	} {
		s, w := newStreamSink(t)
		for _, step := range tt.steps {
			if err := step(s); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(w.written, "end") {
			t.Errorf("%s: the end does not wait for the record of the call", name)
		}
		s.End(0)
		if got := strings.Join(w.sent, "|"); got != strings.Join(tt.sent, "|") || w.written != tt.end {
			t.Errorf("%s: sent %q, and %q at the end", name, w.sent, w.written)
		}
	}
}

// However many arrived together, not all of them wait.
func TestManyChunksThatArriveTogether(t *testing.T) {
	t.Parallel()
	s, w := newStreamSink(t)
	for range 2 * maxPendingBytes / 16 {
		if err := s.Chunk(provider.Chunk{Wire: bytes.Repeat([]byte("x"), 16), More: true}); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.sent) != 2 || w.written != "" {
		t.Errorf("sent %q, and %q waits", w.sent, w.written)
	}
}

// A stream that fails sends what came before.
func TestFailureSendsWhatCameBefore(t *testing.T) {
	t.Parallel()
	s, w := newStreamSink(t)
	for _, wire := range []string{"a", "b"} {
		if err := s.Chunk(provider.Chunk{Wire: []byte(wire), More: true}); err != nil {
			t.Fatal(err)
		}
	}
	s.Fail(request.Failure{Begun: true, Err: penstock.Errorf(penstock.CodeUpstreamError, "It broke.")})
	if strings.Join(w.sent, "|") != "ab" || w.written != "" {
		t.Errorf("sent %q, and %q waits", w.sent, w.written)
	}
}
