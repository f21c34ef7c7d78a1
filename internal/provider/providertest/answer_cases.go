package providertest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock/internal/provider"
)

// got is what an answer gave.
type got struct {
	chunks []provider.Chunk // copies: a chunk is valid until the next one only
	meta   provider.Meta
	end    error
}

// wire is what a caller of the same dialect received.
func (g got) wire() string {
	var all strings.Builder
	for _, c := range g.chunks {
		all.Write(c.Wire)
	}
	return all.String()
}

func (g got) text() string {
	var all strings.Builder
	for _, c := range g.chunks {
		all.WriteString(c.Text)
	}
	return all.String()
}

// drain reads an answer to its end and closes it.
func drain(answer provider.Answer) got {
	defer answer.Close()
	return read(answer)
}

// read reads an answer to its end.
func read(answer provider.Answer) got {
	var g got
	for {
		chunk, err := answer.Next()
		if err != nil {
			g.end, g.meta = err, answer.Meta()
			return g
		}
		chunk.Wire = append([]byte(nil), chunk.Wire...)
		g.chunks = append(g.chunks, chunk)
	}
}

// mustCall calls and reads the whole answer, which must be complete.
func mustCall(t *testing.T, p provider.Provider, call provider.Call) got {
	t.Helper()
	g := callToEnd(t.Context(), p, call)
	if g.end != io.EOF {
		t.Fatalf("the answer ends with %v, want io.EOF", g.end)
	}
	return g
}

// expected is what the caller of a transcript must get, frame by frame.
func expected(frames []Frame) (chunks []provider.Chunk) {
	for _, f := range frames {
		c := provider.Chunk{Wire: []byte(f.Wire), Text: f.Text}
		if f.Hidden {
			c.Wire = nil
		}
		chunks = append(chunks, c)
	}
	return chunks
}

func checkMeta(t *testing.T, meta provider.Meta, want provider.Meta) {
	t.Helper()
	want.StatusCode, want.UpstreamID = http.StatusOK, upstreamID
	meta.Sent = false // a server with HTTP/2 may answer before it has read the request
	if diff := cmp.Diff(want, meta); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
}

// checkChunks compares chunk by chunk, and as a whole first, which reads better.
func checkChunks(t *testing.T, g got, want []provider.Chunk) {
	t.Helper()
	if diff := cmp.Diff(got{chunks: want}.wire(), g.wire()); diff != "" {
		t.Fatalf("what the caller gets (-want +got):\n%s", diff)
	}
	same := cmp.Comparer(func(a, b provider.Chunk) bool { return string(a.Wire) == string(b.Wire) && a.Text == b.Text })
	if diff := cmp.Diff(want, g.chunks, same); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

func answerCases(d Dialect) []testCase {
	cases := []testCase{
		{"plain", casePlain},
		{"the request is forwarded to the byte", caseRequest},
		{"the caller's headers travel, credentials do not", caseHeaders},
		{"byte by byte", caseByteByByte},
		{"large events", caseLargeFrames},
		{"a plain answer to a stream request", casePlainForStream},
		{"the end stays the end", caseAfterTheEnd},
	}
	if d.Framing == nil {
		cases = append(cases, testCase{"CRLF", caseCRLF}, testCase{"comments", caseComments})
	}
	for name, tr := range map[string]Transcript{"stream": d.Stream, "stream with hidden chunks": d.StreamHidden} {
		if len(tr.Answer) > 0 {
			cases = append(cases, testCase{name, func(t *testing.T, h Harness) { caseStream(t, h, tr) }})
		}
	}
	return cases
}

func casePlain(t *testing.T, h Harness) {
	tr := h.Dialect.Plain
	p, _ := h.open(t, plainHead(), Send(tr.Answer[0].Wire))
	g := mustCall(t, p, h.Dialect.call(tr))
	checkChunks(t, g, expected(tr.Answer))
	checkMeta(t, g.meta, provider.Meta{ContentType: "application/json", Usage: tr.Usage, UsageKnown: true})
}

func caseStream(t *testing.T, h Harness, tr Transcript) {
	p, up := h.open(t, h.Dialect.play(tr.Answer)...)
	g := mustCall(t, p, h.Dialect.call(tr))
	checkChunks(t, g, expected(tr.Answer))
	checkMeta(t, g.meta, provider.Meta{ContentType: streamType, Usage: tr.Usage, UsageKnown: true})
	if sent := up.request(t).Body; sent != tr.Sent {
		t.Errorf("the upstream received\n%s\nwant\n%s", sent, tr.Sent)
	}
}

func caseRequest(t *testing.T, h Harness) {
	tr := h.Dialect.Plain
	p, up := h.open(t, plainHead(), Send(tr.Answer[0].Wire))
	call := h.Dialect.call(tr)
	mustCall(t, p, call)
	r := up.request(t)
	if r.Body != tr.Sent {
		t.Errorf("the upstream received\n%s\nwant\n%s", r.Body, tr.Sent)
	}
	if string(call.Body) != tr.Body {
		t.Errorf("the caller's body was changed to %s", call.Body)
	}
	if r.Path != h.Dialect.Path {
		t.Errorf("path %s, want %s", r.Path, h.Dialect.Path)
	}
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	if ua := r.Header.Get("User-Agent"); !strings.HasPrefix(ua, "penstock/") {
		t.Errorf("user agent %q", ua)
	}
	if enc := r.Header.Get("Accept-Encoding"); enc != "identity" {
		t.Errorf("accepts encoding %q: the answer would not be the upstream's bytes", enc)
	}
}

func caseHeaders(t *testing.T, h Harness) {
	tr := h.Dialect.Plain
	p, up := h.open(t, plainHead(), Send(tr.Answer[0].Wire))
	call := h.Dialect.call(tr)
	name, value := h.Dialect.Credentials(testKey)
	call.Header = http.Header{"Traceparent": {"00-1-2-01"}, http.CanonicalHeaderKey(name): {"the caller's own"}}
	mustCall(t, p, call)
	r := up.request(t)
	if tp := r.Header.Get("Traceparent"); tp != "00-1-2-01" {
		t.Errorf("traceparent %q", tp)
	}
	if cred := r.Header.Values(name); len(cred) != 1 || cred[0] != value {
		t.Errorf("%s: %q, want %q alone", name, cred, value)
	}
	keyless := h.New(t, Config{URL: up.URL, RootCAs: up.rootCAs})
	mustCall(t, keyless, call)
	if cred := up.request(t).Header.Values(name); len(cred) != 0 {
		t.Errorf("without an API key, %s: %q", name, cred)
	}
}

func caseByteByByte(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	script := []Step{h.Dialect.streamHead()}
	for _, f := range tr.Answer {
		for _, b := range []byte(h.Dialect.onWire(f.Wire)) {
			script = append(script, Send(string([]byte{b})))
		}
	}
	p, _ := h.open(t, script...)
	g := mustCall(t, p, h.Dialect.call(tr))
	checkChunks(t, g, expected(tr.Answer))
}

func caseCRLF(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	var frames []Frame
	for _, f := range tr.Answer {
		f.Wire = strings.ReplaceAll(f.Wire, "\n", "\r\n")
		frames = append(frames, f)
	}
	p, _ := h.open(t, h.Dialect.play(frames)...)
	g := mustCall(t, p, h.Dialect.call(tr))
	checkChunks(t, g, expected(frames))
}

// A comment keeps the caller's connection open as much as ours, so it is forwarded.
func caseComments(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	const comment = ": keep-alive\n\n"
	frames := []Frame{{Wire: comment}, {Wire: comment}}
	for _, f := range tr.Answer {
		frames = append(frames, f, Frame{Wire: comment})
	}
	// What comes after the terminator is no part of the answer.
	frames = frames[:len(frames)-1]
	p, _ := h.open(t, h.Dialect.play(frames)...)
	g := mustCall(t, p, h.Dialect.call(tr))
	want := got{chunks: expected(frames)}
	if g.wire() != want.wire() {
		t.Errorf("the caller gets\n%s\nwant\n%s", g.wire(), want.wire())
	}
	if g.text() != want.text() || g.meta.Usage != tr.Usage {
		t.Errorf("text %q, usage %+v", g.text(), g.meta.Usage)
	}
}

func caseLargeFrames(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	large := h.Dialect.LargeFrame(strings.Repeat("0123456789abcdef", 3<<20/16))
	last := len(tr.Answer) - 1
	frames := []Frame{tr.Answer[0], large, large, tr.Answer[last]}
	p, _ := h.open(t, h.Dialect.play(frames)...)
	g := mustCall(t, p, h.Dialect.call(tr))
	if want := (got{chunks: expected(frames)}); g.wire() != want.wire() || g.text() != want.text() {
		t.Errorf("%d bytes on the wire and %d of text, want %d and %d", len(g.wire()), len(g.text()), len(want.wire()), len(want.text()))
	}
}

func casePlainForStream(t *testing.T, h Harness) {
	tr := h.Dialect.Plain
	p, _ := h.open(t, plainHead(), Send(tr.Answer[0].Wire))
	g := mustCall(t, p, h.Dialect.call(h.Dialect.Stream))
	checkChunks(t, g, expected(tr.Answer))
	checkMeta(t, g.meta, provider.Meta{ContentType: "application/json", Usage: tr.Usage, UsageKnown: true})
}

func caseAfterTheEnd(t *testing.T, h Harness) {
	for name, tr := range map[string]Transcript{"plain": h.Dialect.Plain, "stream": h.Dialect.Stream} {
		whole := tr.Answer[0].Wire
		if len(tr.Answer) > 1 {
			whole = ""
			for _, f := range tr.Answer {
				whole += h.Dialect.onWire(f.Wire)
			}
		}
		p, _ := h.open(t, Head(http.StatusOK, "Content-Type", h.Dialect.contentType(tr)), Send(whole))
		answer, err := p.Call(t.Context(), h.Dialect.call(tr))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		g := drain(answer)
		if chunk, err := answer.Next(); !errors.Is(err, io.EOF) || chunk.Wire != nil {
			t.Errorf("%s: after the end %q, %v", name, chunk.Wire, err)
		}
		if err := answer.Close(); err != nil {
			t.Errorf("%s: closing twice: %v", name, err)
		}
		if answer.Meta().Usage != tr.Usage || g.end != io.EOF {
			t.Errorf("%s: usage %+v, end %v", name, answer.Meta().Usage, g.end)
		}
	}
}

func (d Dialect) contentType(tr Transcript) string {
	if len(tr.Answer) > 1 {
		return d.streamType()
	}
	return "application/json"
}
