package providertest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"penstock/internal/provider"
)

// callToEnd calls and reads the whole answer. It returns what came and the error that ended it,
// before or after the answer had begun. An adapter that hangs is stopped.
func callToEnd(ctx context.Context, p provider.Provider, call provider.Call) got {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	answer, err := p.Call(ctx, call)
	if err != nil {
		return got{end: err}
	}
	return drain(answer)
}

// mustFail checks that err is an *Error of the given kind and fit to be shown.
func mustFail(t *testing.T, err error, kind provider.Kind) *provider.Error {
	t.Helper()
	e, ok := err.(*provider.Error)
	if !ok {
		t.Fatalf("got %T (%v), want a *provider.Error of kind %s", err, err, kind)
	}
	if e.Kind != kind {
		t.Errorf("kind %s, want %s (%v)", e.Kind, kind, e)
	}
	if e.Message == "" || len(e.Message) > 2<<10 {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
	if strings.Contains(e.Error(), testKey) || bytes.Contains(e.Body, []byte(testKey)) {
		t.Errorf("the error says our API key: %v\n%s", e, e.Body)
	}
	return e
}

// mustFailInCall checks that the error came from Call, while another target could still be tried.
func mustFailInCall(t *testing.T, g got, kind provider.Kind) *provider.Error {
	t.Helper()
	if len(g.chunks) > 0 {
		t.Errorf("the caller was given %q first", g.wire())
	}
	return mustFail(t, g.end, kind)
}

func failureCases(d Dialect) []testCase {
	cases := []testCase{
		{"retry-after as a date", caseRetryAfterDate},
		{"an error as the first event", caseErrorFirst},
		{"an error as a later event", caseErrorLater},
		{"an error as a good plain answer", caseErrorBody},
		{"headers of a good answer say nothing of its error", caseErrorAdvised},
		{"malformed events", caseMalformedFrames},
		{"malformed plain answers", caseMalformedBodies},
		{"an encoded answer", caseEncoded},
		{"a stream that ends early", caseTruncatedStream},
		{"a stream that is cut", caseCutStream},
		{"a plain answer that is cut", caseTruncatedPlain},
		{"an answer that is too large", caseTooLarge},
		{"nobody listens", caseRefused},
		{"the upstream hangs up", caseHangUp},
		{"a redirect", caseRedirect},
		{"an upstream that echoes the key", caseEcho},
	}
	if d.Framing == nil {
		cases = append(cases, testCase{"an error after comments", caseErrorAfterComments})
	}
	for _, f := range d.Failures {
		cases = append(cases, testCase{"status/" + f.Name, func(t *testing.T, h Harness) { caseStatus(t, h, f) }})
	}
	return cases
}

// script answers with the failure.
func (f Failure) script() []Step {
	var header []string
	for name, values := range f.Header {
		header = append(header, name, values[0])
	}
	if f.Header.Get("Content-Type") == "" {
		header = append(header, "Content-Type", "application/json")
	}
	return []Step{Head(f.Status, header...), Send(f.Body)}
}

func caseStatus(t *testing.T, h Harness, f Failure) {
	for _, tr := range []Transcript{h.Dialect.Plain, h.Dialect.Stream} {
		p, _ := h.open(t, f.script()...)
		e := mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(tr)), f.Kind)
		if e.StatusCode != f.Status {
			t.Errorf("status %d, want %d", e.StatusCode, f.Status)
		}
		if e.RetryAfter != f.RetryAfter {
			t.Errorf("retry after %s, want %s", e.RetryAfter, f.RetryAfter)
		}
		if !strings.Contains(e.Message, f.Says) {
			t.Errorf("message %q does not say %q", e.Message, f.Says)
		}
		want := ""
		if f.KeepsBody {
			want = f.Body
		}
		if string(e.Body) != want {
			t.Errorf("body %q, want %q", e.Body, want)
		}
	}
}

func caseRetryAfterDate(t *testing.T, h Harness) {
	for _, f := range h.Dialect.Failures {
		if f.Kind != provider.KindRateLimited {
			continue
		}
		for in, want := range map[time.Duration]time.Duration{
			90 * time.Second: 90 * time.Second, -time.Hour: 0, 1000 * time.Hour: time.Hour,
		} {
			f.Header = http.Header{"Retry-After": {time.Now().Add(in).UTC().Format(http.TimeFormat)}}
			p, _ := h.open(t, f.script()...)
			e := mustFail(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Plain)).end, f.Kind)
			// Dates have whole seconds, and the call itself takes time.
			if e.RetryAfter > want || e.RetryAfter < want-waitLimit {
				t.Errorf("a date %s ahead: retry after %s", in, e.RetryAfter)
			}
		}
		return
	}
	t.Error("the dialect has no rate limit among its failures")
}

func caseErrorFirst(t *testing.T, h Harness) {
	bad := h.Dialect.ErrorFrame
	p, up := h.open(t, h.Dialect.streamHead(), Send(h.Dialect.onWire(bad.Wire)), Hang())
	e := mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Stream)), bad.Kind)
	if e.StatusCode != http.StatusOK {
		t.Errorf("status %d: the upstream said 200", e.StatusCode)
	}
	up.mustSeeClientGo(t)
}

func caseErrorAfterComments(t *testing.T, h Harness) {
	bad := h.Dialect.ErrorFrame
	p, _ := h.open(t, h.Dialect.streamHead(), Send(": waiting\n\n"), Send(": waiting\n\n"), Send(h.Dialect.onWire(bad.Wire)))
	mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Stream)), bad.Kind)
}

func caseErrorLater(t *testing.T, h Harness) {
	bad, first := h.Dialect.ErrorFrame, h.Dialect.Stream.Answer[:1]
	p, up := h.open(t, append(h.Dialect.play(first), Send(h.Dialect.onWire(bad.Wire)), Hang())...)
	answer, err := p.Call(t.Context(), h.Dialect.call(h.Dialect.Stream))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	g := read(answer)
	e := mustFail(t, g.end, bad.Kind)
	checkChunks(t, g, expected(first))
	// Nothing good can come any more, so the connection does not wait for Close.
	up.mustSeeClientGo(t)
	if _, err := answer.Next(); err != e {
		t.Errorf("the error does not stay: %v", err)
	}
}

func caseErrorBody(t *testing.T, h Harness) {
	bad := h.Dialect.ErrorBody
	for _, tr := range []Transcript{h.Dialect.Plain, h.Dialect.Stream} {
		p, _ := h.open(t, plainHead(), Send(bad.Wire))
		mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(tr)), bad.Kind)
	}
}

// Headers are sent before anything goes wrong: what they say of sending the call again is not about the error that follows.
func caseErrorAdvised(t *testing.T, h Harness) {
	bad := h.Dialect.ErrorFrame
	for _, advice := range []string{"true", "false"} {
		p, _ := h.open(t, Head(http.StatusOK, "Content-Type", h.Dialect.streamType(), "X-Should-Retry", advice), Send(h.Dialect.onWire(bad.Wire)))
		mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Stream)), bad.Kind)
	}
}

func caseMalformedFrames(t *testing.T, h Harness) {
	for _, wire := range h.Dialect.MalformedFrames {
		first := h.Dialect.Stream.Answer[:1]
		p, _ := h.open(t, h.Dialect.streamHead(), Send(h.Dialect.onWire(wire)))
		mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Stream)), provider.KindMalformed)

		p, up := h.open(t, append(h.Dialect.play(first), Send(h.Dialect.onWire(wire)), Hang())...)
		g := callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Stream))
		mustFail(t, g.end, provider.KindMalformed)
		checkChunks(t, g, expected(first))
		up.mustSeeClientGo(t)
	}
}

func caseMalformedBodies(t *testing.T, h Harness) {
	for _, body := range append([]string{"", "<html>Sign in</html>"}, h.Dialect.MalformedBodies...) {
		for _, contentType := range []string{"application/json", "text/html"} {
			for _, tr := range []Transcript{h.Dialect.Plain, h.Dialect.Stream} {
				p, _ := h.open(t, Head(http.StatusOK, "Content-Type", contentType), Send(body))
				mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(tr)), provider.KindMalformed)
			}
		}
	}
}

func caseEncoded(t *testing.T, h Harness) {
	p, _ := h.open(t, Head(http.StatusOK, "Content-Type", streamType, "Content-Encoding", "gzip"), Send("\x1f\x8b\x08"))
	mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Stream)), provider.KindMalformed)
}

// A dead upstream behind a proxy looks like one that has finished. Only the terminator tells.
func caseTruncatedStream(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	for n := range len(tr.Answer) {
		p, _ := h.open(t, h.Dialect.play(tr.Answer[:n])...)
		g := callToEnd(t.Context(), p, h.Dialect.call(tr))
		mustFail(t, g.end, provider.KindTruncated)
		checkChunks(t, g, expected(tr.Answer[:n]))
	}
}

func caseCutStream(t *testing.T, h Harness) {
	tr := h.Dialect.Stream
	next := h.Dialect.onWire(tr.Answer[1].Wire)
	for _, n := range []int{0, 1, len(next) / 2, len(next) - 1} {
		p, _ := h.open(t, append(h.Dialect.play(tr.Answer[:1]), Send(next[:n]), Cut())...)
		g := callToEnd(t.Context(), p, h.Dialect.call(tr))
		mustFail(t, g.end, provider.KindTruncated)
		checkChunks(t, g, expected(tr.Answer[:1]))
	}
}

func caseTruncatedPlain(t *testing.T, h Harness) {
	tr := h.Dialect.Plain
	whole := tr.Answer[0].Wire
	half := whole[:len(whole)/2]
	for name, script := range map[string][]Step{
		"less than announced": {Head(200, "Content-Type", "application/json", "Content-Length", fmt.Sprint(len(whole))), Send(half)},
		"connection cut":      {plainHead(), Send(half), Cut()},
		"JSON ends early":     {plainHead(), Send(half)},
	} {
		p, _ := h.open(t, script...)
		g := callToEnd(t.Context(), p, h.Dialect.call(tr))
		if e := mustFailInCall(t, g, provider.KindTruncated); t.Failed() {
			t.Fatalf("%s: %v", name, e)
		}
	}
}

func caseTooLarge(t *testing.T, h Harness) {
	d := h.Dialect
	large := d.LargeFrame(strings.Repeat("x", 64<<10))
	for name, script := range map[string][]Step{
		"plain":           {plainHead(), Send(strings.Repeat(" ", 64<<10))},
		"plain, by size":  {Head(200, "Content-Type", "application/json", "Content-Length", "999999999"), Hang()},
		"one large event": {h.Dialect.streamHead(), Send(d.onWire(large.Wire))},
		"many events":     {h.Dialect.streamHead(), Repeat(d.onWire(d.Stream.Answer[0].Wire)+d.onWire(d.LargeFrame("some text").Wire), time.Microsecond)},
	} {
		tr := d.Stream
		up := h.road.upstream(t, script...)
		p := h.New(t, Config{URL: up.URL, APIKey: testKey, RootCAs: up.rootCAs, MaxAnswerBytes: 32 << 10})
		g := callToEnd(t.Context(), p, d.call(tr))
		if e := mustFail(t, g.end, provider.KindMalformed); !strings.Contains(e.Message, "larger than") {
			t.Errorf("%s: message %q", name, e.Message)
		}
		if len(g.wire()) > 32<<10 {
			t.Errorf("%s: %d bytes came through", name, len(g.wire()))
		}
	}
}

func caseRefused(t *testing.T, h Harness) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	p := h.New(t, Config{URL: h.road.scheme + "://" + addr, APIKey: testKey})
	e := mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Plain)), provider.KindConnect)
	if e.StatusCode != 0 {
		t.Errorf("status %d without an answer", e.StatusCode)
	}
	if strings.Contains(e.Message, addr) {
		t.Errorf("the message shows tenants an address of ours: %q", e.Message)
	}
}

func caseHangUp(t *testing.T, h Harness) {
	p, _ := h.open(t, HangUp())
	mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Plain)), provider.KindNetwork)
}

func caseRedirect(t *testing.T, h Harness) {
	elsewhere := h.road.upstream(t, plainHead(), Send(h.Dialect.Plain.Answer[0].Wire))
	p, _ := h.open(t, Head(http.StatusTemporaryRedirect, "Location", elsewhere.URL+h.Dialect.Path))
	e := mustFailInCall(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Plain)), provider.KindServer)
	if !strings.Contains(e.Message, "base_url") {
		t.Errorf("message %q does not say what to check", e.Message)
	}
	if n := elsewhere.conns.Load(); n != 0 {
		t.Error("our credentials were taken to where the redirect points")
	}
}

func caseEcho(t *testing.T, h Harness) {
	body := h.Dialect.EchoBody("You sent " + testKey + " and " + strings.Repeat("more ", 2000))
	p, _ := h.open(t, Head(http.StatusBadRequest, "Content-Type", "application/json"), Send(body))
	e := mustFail(t, callToEnd(t.Context(), p, h.Dialect.call(h.Dialect.Plain)).end, provider.KindRejected)
	if !strings.Contains(e.Message, "You sent") {
		t.Errorf("message %q does not say what the upstream said", e.Message)
	}
}
