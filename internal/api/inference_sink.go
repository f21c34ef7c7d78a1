package api

import (
	"bytes"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/request"
	"penstock/internal/sse"
)

// headerTarget names the target that answered, in canonical form.
const headerTarget = "X-Penstock-Target"

// headerUnpriced marks an answer of a target that has no price: its cost is unknown.
const headerUnpriced = "x-penstock-unpriced"

// httpSink passes the answer of a synchronous call on to its HTTP caller. It implements request.Sink.
type httpSink struct {
	*call
	endpoint *inferenceEndpoint
	text     []byte // the body, for endpoints that can answer by themselves; nil once an answer has begun
	stream   bool
	out      *http.ResponseController // of a stream that has begun; nil otherwise
	last     []byte                   // the end of a stream, which is sent when the call is recorded
	cut      bool                     // the answer broke off where no error can be sent any more
}

// Admitted implements request.Sink.
func (s *httpSink) Admitted(waited time.Duration) { s.tellWait(waited) }

// Begin implements request.Sink.
func (s *httpSink) Begin(head request.Head) error {
	s.text = nil
	h := s.w.Header()
	h["Content-Type"], h[headerTarget] = []string{head.Meta.ContentType}, []string{head.Target}
	s.tellCache(head.Cache)
	if head.Unpriced {
		h.Set(headerUnpriced, "true")
	}
	tellBudgets(h, head.Warnings)
	if s.stream {
		h["Cache-Control"], h["X-Accel-Buffering"] = []string{"no-cache"}, []string{"no"}
		s.out = http.NewResponseController(s.w)
	}
	s.w.WriteHeader(head.Meta.StatusCode)
	return nil
}

// Chunk implements request.Sink.
func (s *httpSink) Chunk(c provider.Chunk) error {
	if len(c.Wire) == 0 {
		return nil
	}
	if c.Last && s.out != nil {
		s.last = bytes.Clone(c.Wire)
		return nil
	}
	if _, err := s.w.Write(c.Wire); err != nil || s.out == nil {
		return err
	}
	return s.out.Flush()
}

// Fail implements request.Sink. A stream that has begun ends with a typed error, so that nobody takes it for a whole one. A plain
// answer has no place for an error: its connection is cut instead.
func (s *httpSink) Fail(f request.Failure) (answered bool) {
	s.tellCache(f.Cache)
	if f.Unserved && s.endpoint.estimate != nil && s.endpoint.estimate(s.call, s.text) == nil {
		return true
	}
	s.final = s.final || f.Final
	switch {
	case f.Left:
		s.w.status = statusClientClosed
	case f.Begun && s.out != nil:
		s.last = s.errorEvent(f.Err, s.words.event)
	case f.Begun:
		s.cut = true
	case statuses[f.Err.Code] == http.StatusBadRequest && json.Unmarshal(f.Upstream, &anyObject{}) == nil:
		// The upstream says what is wrong with the caller's own body, in the caller's own dialect.
		h := s.w.Header()
		h.Set("Content-Type", typeJSON)
		h.Set(headerTarget, f.Target)
		h.Set("x-should-retry", "false")
		s.w.WriteHeader(http.StatusBadRequest)
		_, _ = s.w.Write(f.Upstream)
	default:
		s.fail(f.Err)
	}
	return false
}

// End implements request.Sink: it sends the end of the answer. The end of a plain answer is that of the handler, since its length
// is not sent beforehand.
func (s *httpSink) End() {
	if s.cut {
		panic(http.ErrAbortHandler) // the only way to tell a caller that a plain answer is not whole
	}
	if len(s.last) > 0 {
		_, _ = s.w.Write(s.last) // the end of the handler flushes it; a caller who left meanwhile was charged all the same
	}
}

// errorEvent is an error within a stream, as an event of a type; nil for one without.
func (c *call) errorEvent(e *penstock.Error, typ []byte) []byte {
	view, _ := c.errorBody(e)
	text, err := json.Marshal(c.words.inStream(view), lenient)
	if err != nil {
		return nil
	}
	return sse.AppendEvent(nil, sse.Event{Type: typ, Data: text})
}
