package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

// words is the least protocol there can be: an answer is its own text, and a few words mean more.
type words struct{ events int64 }

func (w *words) Plain(body []byte) (Part, error) { return w.read(body) }

func (w *words) Event(ev sse.Event) (Part, error) { return w.read(ev.Data) }

func (w *words) read(text []byte) (Part, error) {
	w.events++
	switch string(text) {
	case "[DONE]":
		return Part{Last: true}, nil
	case "error":
		return Part{Failed: true}, nil
	case "ping":
		return Part{Alive: true}, nil
	case "secret":
		return Part{Hidden: true}, nil
	case "gibberish":
		return Part{}, errors.New("it means nothing")
	}
	return Part{Text: string(text), Failed: bytes.HasPrefix(text, []byte(`{"error":`))}, nil
}

func (w *words) Usage() (penstock.Usage, Reported) {
	reported := ReportedPart
	if w.events > 2 {
		reported = ReportedAll
	}
	return penstock.Usage{OutputTokens: w.events}, reported
}

func (w *words) Complaint(status int, body []byte) Complaint {
	return Complaint{Kind: provider.KindOfStatus(status), Message: string(body), Body: body}
}

// newExchange is an exchange whose answer comes from a body without any network. The channel says
// when it was cancelled.
func newExchange(t *testing.T, contentType string, body io.Reader) (ex *exchange, cancelled <-chan struct{}) {
	ctx, cancel := context.WithCancel(t.Context())
	ex = &exchange{
		ended: t.Context().Err, cancel: cancel, client: newClient(t, Config{}), reader: &words{}, wanted: "words",
		resp: &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: http.NoBody},
	}
	ex.body = newAnswerBody(&download{io.NopCloser(readerUntil{ctx.Done(), body}), ex}, DefaultMaxAnswerBytes)
	ex.watch.abort = cancel
	t.Cleanup(ex.close)
	return ex, ctx.Done()
}

// readerUntil fails once the exchange is cancelled, as the body of a real answer does.
type readerUntil struct {
	cancelled <-chan struct{}
	io.Reader
}

func (r readerUntil) Read(p []byte) (int, error) {
	select {
	case <-r.cancelled:
		return 0, context.Canceled
	default:
		return r.Reader.Read(p)
	}
}

// receiveFrom reads the answer to a stream request from a body.
func receiveFrom(t *testing.T, contentType string, body io.Reader) (provider.Answer, error) {
	t.Helper()
	ex, _ := newExchange(t, contentType, body)
	return ex.receive(new(streamCall()))
}

// collect reads a stream to its end.
func collect(answer provider.Answer) (wire, text string, end error) {
	for {
		chunk, err := answer.Next()
		if err != nil {
			return wire, text, err
		}
		wire += string(chunk.Wire)
		text += chunk.Text
	}
}

// What a reader says of a part decides what becomes of it.
func TestParts(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]struct {
		wire, text string
		end        provider.Kind // "" for a complete answer
		inCall     bool          // returned by the call, before the caller saw anything
	}{
		"data: a\n\ndata: secret\n\ndata: b\n\ndata: [DONE]": {wire: "data: a\n\ndata: b\n\ndata: [DONE]", text: "ab"},
		"data: ping\n\ndata: a\n\ndata: [DONE]\n\n":          {wire: "data: ping\n\ndata: a\n\ndata: [DONE]\n\n", text: "a"},
		"data: ping\n\ndata: error\n\n":                      {end: provider.KindServer, inCall: true},
		"data: ping\n\n":                                     {end: provider.KindTruncated, inCall: true},
		"data: a\n\ndata: error\n\n":                         {wire: "data: a\n\n", text: "a", end: provider.KindServer},
		"data: a\n\ndata: gibberish\n\n":                     {wire: "data: a\n\n", text: "a", end: provider.KindMalformed},
		"data: a\n\ndata: b":                                 {wire: "data: a\n\n", text: "a", end: provider.KindTruncated},
	} {
		answer, err := receiveFrom(t, "text/event-stream", strings.NewReader(stream))
		if (err != nil) != want.inCall {
			t.Errorf("%q: Call says %v", stream, err)
			continue
		}
		var wire, text string
		if err == nil {
			wire, text, err = collect(answer)
		}
		if complete := err == io.EOF; complete != (want.end == "") || (!complete && provider.AsError(err).Kind != want.end) {
			t.Errorf("%q: ends with %v, want %q", stream, err, want.end)
		}
		if wire != want.wire || text != want.text {
			t.Errorf("%q: wire %q, text %q", stream, wire, text)
		}
	}
}

// A chunk says whether the next one has arrived: what is passed on meanwhile is not delayed.
func TestChunksSayWhetherMoreArrived(t *testing.T) {
	t.Parallel()
	first, second := strings.NewReader("data: a\n\ndata: secret\n\n: ping\n\ndata: b\n\n"), strings.NewReader("data: c\n\ndata: [DONE]\n\n: after\n\n")
	answer, err := receiveFrom(t, "text/event-stream", io.MultiReader(first, second))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for _, want := range []provider.Chunk{{Text: "a", More: true}, {More: true}, {More: true}, {Text: "b"}, {Text: "c", More: true}, {Last: true}} {
		if got, err := answer.Next(); err != nil || got.Text != want.Text && want.Text != "" || got.More != want.More || got.Last != want.Last {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

func TestUsageIsToldAsFarAsItCame(t *testing.T) {
	t.Parallel()
	answer, err := receiveFrom(t, "text/event-stream", strings.NewReader("data: a\n\ndata: b\n\ndata: [DONE]\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	if m := answer.Meta(); m.Usage.OutputTokens != 1 || m.UsageKnown {
		t.Errorf("after the first event: %+v", m)
	}
	collect(answer)
	if m := answer.Meta(); m.Usage.OutputTokens != 3 || !m.UsageKnown {
		t.Errorf("at the end: %+v", m)
	}
}

func TestCommentsBeforeTheFirstEventAreBounded(t *testing.T) {
	t.Parallel()
	comment := ": " + strings.Repeat("x", 1000) + "\n\n"
	last := "data: [DONE]\n\n"
	answer, err := receiveFrom(t, "text/event-stream", strings.NewReader(strings.Repeat(comment, 1000)+last))
	if err != nil {
		t.Fatal(err)
	}
	wire, _, end := collect(answer)
	if len(wire) > maxPreambleBytes+len(last) || !strings.HasSuffix(wire, last) || end != io.EOF {
		t.Errorf("%d bytes, %v", len(wire), end)
	}
}

// steps gives one piece of a body per read, each after a pause.
type steps struct {
	cancelled <-chan struct{}
	pause     time.Duration
	pieces    []string
}

func (s *steps) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(s.pause):
	case <-s.cancelled:
		return 0, context.Canceled
	}
	n := copy(p, s.pieces[0])
	s.pieces = s.pieces[1:]
	return n, nil
}

func TestIdleTimeMeasuresTheUpstreamAlone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		pause, reading time.Duration
		wantTimeout    bool
	}{
		{"both quick", time.Second, time.Second, false},
		{"the caller is slow", 2 * time.Second, time.Hour, false},
		{"the upstream is slow", 11 * time.Second, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				body := &steps{pause: tt.pause}
				ex, cancelled := newExchange(t, "text/event-stream", body)
				body.cancelled = cancelled
				for range 20 {
					body.pieces = append(body.pieces, "data: x\n\n")
				}
				body.pieces = append(body.pieces, "data: [DONE]\n\n")
				call := streamCall()
				call.Timeouts.Idle = 10 * time.Second
				answer, err := ex.receive(&call)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Close()
				for err == nil {
					_, err = answer.Next()
					pass(tt.reading)
				}
				if timedOut := err != io.EOF && provider.AsError(err).Kind == provider.KindTimeout; timedOut != tt.wantTimeout {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}

func TestPlainAnswerHoldsNothing(t *testing.T) {
	t.Parallel()
	ex, cancelled := newExchange(t, "application/json", strings.NewReader("Hi"))
	ex.watch.start(phaseFirstToken, time.Hour)
	if _, err := ex.receive(new(plainCall())); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cancelled:
	default:
		t.Error("the context of a finished exchange lives on")
	}
	if ex.watch.timer.Stop() {
		t.Error("the timer of a finished exchange runs on")
	}
}

// onRead does something before each read.
type onRead struct {
	do func()
	io.Reader
}

func (r onRead) Read(p []byte) (int, error) {
	r.do()
	return r.Reader.Read(p)
}

// An exchange that ended while its first event arrived has failed, whatever that event says. Found
// out now, another target can be tried.
func TestFirstEventOfADeadExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := onRead{func() { pass(time.Second) }, strings.NewReader("data: Hi\n\n")}
		ex, _ := newExchange(t, "text/event-stream", late)
		ex.watch.start(phaseFirstToken, time.Second)
		_, err := ex.receive(new(streamCall()))
		if e := provider.AsError(err); e.Kind != provider.KindTimeout || !strings.Contains(e.Message, "first token") {
			t.Errorf("got %v", err)
		}
	})
}

// leaving is a body that ends in good order, but only once our side has given up.
type leaving struct {
	io.Reader
	leave func()
}

func (l leaving) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err == io.EOF {
		l.leave()
	}
	return n, err
}

// A server that sees us go may end its answer, and over TLS that may arrive before the connection is closed. It is no truncation,
// which would be held against its target.
func TestTheEndThatLeavingBringsAbout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ contentType, body string }{
		"plain":               {"application/json", "gibberish"},
		"before an event":     {"text/event-stream", ": wait\n\n"},
		"after an event":      {"text/event-stream", "data: Hi\n\n"},
		"in the middle of it": {"text/event-stream", "data: Hi\n\ndata: th"},
	} {
		for cause, kind := range map[error]provider.Kind{
			context.Canceled: provider.KindCancelled, context.DeadlineExceeded: provider.KindTimeout,
		} {
			var gone error
			ex, _ := newExchange(t, tt.contentType, leaving{strings.NewReader(tt.body), func() { gone = cause }})
			ex.ended = func() error { return gone }
			answer, err := ex.receive(new(streamCall()))
			if err == nil {
				_, _, err = collect(answer)
			}
			if e := provider.AsError(err); e.Kind != kind {
				t.Errorf("%s: %v, want %s", name, e, kind)
			}
		}
	}
}
