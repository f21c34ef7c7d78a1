package api

import (
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

// Chunks that arrived together are sent together. None of them waits for a chunk that has not arrived, and the first waits for none.
func TestChunksThatArriveTogether(t *testing.T) {
	t.Parallel()
	more := func(wire string) provider.Chunk { return provider.Chunk{Wire: []byte(wire), More: true} }
	alone := func(wire string) provider.Chunk { return provider.Chunk{Wire: []byte(wire)} }
	large := strings.Repeat("x", maxPendingBytes)
	for name, tt := range map[string]struct {
		chunks []provider.Chunk
		want   []string
	}{
		"one by one":                 {[]provider.Chunk{alone("a"), alone("b"), alone("c")}, []string{"a", "b", "c"}},
		"the first waits for none":   {[]provider.Chunk{more("a"), more("b"), alone("c")}, []string{"a", "bc"}},
		"a hidden one comes last":    {[]provider.Chunk{alone("a"), more("b"), more(""), alone("")}, []string{"a", "b"}},
		"hidden ones alone":          {[]provider.Chunk{alone(""), more(""), alone("")}, nil},
		"the end waits for its call": {[]provider.Chunk{alone("a"), more("b"), {Wire: []byte("end"), Last: true}}, []string{"a", "b"}},
		"large ones":                 {[]provider.Chunk{alone("a"), more("b"), more(large), more("c"), alone("d")}, []string{"a", "b" + large, "cd"}},
	} {
		s, w := newStreamSink(t)
		for _, c := range tt.chunks {
			if err := s.Chunk(c); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(w.sent, "|"); got != strings.Join(tt.want, "|") || w.written != "" {
			t.Errorf("%s: sent %q, and %q waits", name, w.sent, w.written)
		}
	}
}

// However many arrived together, not all of them wait.
func TestManyChunksThatArriveTogether(t *testing.T) {
	t.Parallel()
	s, w := newStreamSink(t)
	for range 1 + 2*maxPendingChunks {
		if err := s.Chunk(provider.Chunk{Wire: []byte("x"), More: true}); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.sent) != 3 || w.written != "" {
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
	if len(w.sent) != 2 || w.written != "" {
		t.Errorf("sent %q, and %q waits", w.sent, w.written)
	}
}
