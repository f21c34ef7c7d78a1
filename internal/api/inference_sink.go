package api

import (
	"bytes"
	"net/http"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/request"
	"penstock/internal/rest"
	"penstock/internal/sse"
)

// headerTarget names the target that answered, in canonical form.
const headerTarget = "X-Penstock-Target"

// headerCost is the cost of a call in dollars, in canonical form.
const headerCost = "X-Penstock-Cost-Usd"

// headerUnpriced marks an answer of a target that has no price: its cost is unknown.
const headerUnpriced = "x-penstock-unpriced"

// headerSkipped names the targets of the model that could not serve the call, if the call moved on from them.
const headerSkipped = "x-penstock-skipped-targets"

// headerDropped names the members of the body that the target has no equivalent for, if they were left out.
const headerDropped = "x-penstock-dropped-fields"

// headerPriceSource names where the price of the target comes from, if that is not the configuration.
const headerPriceSource = "x-penstock-price-source"

// httpSink passes the answer of a synchronous call on to its HTTP caller. It implements request.Sink.
type httpSink struct {
	*call
	endpoint *inferenceEndpoint
	text     []byte // the body, for endpoints that can answer by themselves; nil once an answer has begun
	stream   bool
	begun    bool   // of a stream
	pending  int    // bytes of a stream that were written and not flushed
	numbered int    // events of a stream that were written and have a number, which are those of responses
	last     []byte // the end of a stream, which is sent when the call is recorded
	cut      bool   // the answer broke off where no error can be sent any more
	// A plain answer waits for the cost of its call, which is a header of it, unless the answer is large.
	status   int    // of a plain answer that waits, 0 for none
	held     []byte // its body
	unpriced bool   // the cost is not known
}

// Admitted implements request.Sink.
func (s *httpSink) Admitted(a request.Admittance) {
	s.setWaitHeader(a.Waited)
	setTruncatedHeader(s.W.Header(), a.Truncated)
	setPromptHeader(s.W.Header(), a.Prompt)
	s.model = a.Model
}

// Begin implements request.Sink.
func (s *httpSink) Begin(head request.Head) error {
	s.text = nil
	h := s.W.Header()
	h["Content-Type"], h[headerTarget] = []string{head.Meta.ContentType}, []string{head.Target}
	s.setCacheHeader(head.Cache)
	if s.unpriced = head.Unpriced; head.Unpriced {
		h.Set(headerUnpriced, "true")
	}
	if head.Meta.Skipped != "" {
		h.Set(headerSkipped, head.Meta.Skipped)
	}
	if head.Meta.Dropped != "" {
		h.Set(headerDropped, head.Meta.Dropped)
	}
	if head.PriceSource != "" {
		h.Set(headerPriceSource, head.PriceSource)
	}
	setBudgetWarning(h, head.Warnings)
	if s.stream {
		h["Cache-Control"], h["X-Accel-Buffering"] = []string{"no-cache"}, []string{"no"}
		s.begun = true
		s.W.WriteHeader(head.Meta.StatusCode)
		return nil
	}
	s.status = head.Meta.StatusCode
	return nil
}

// maxHeldBytes is the largest plain answer that waits for its cost. The cost of a larger one is a trailer, as that of a stream is.
const maxHeldBytes = 64 << 10

// hold keeps a part of a plain answer until its cost is known, and reports false for one that has become too large.
func (s *httpSink) hold(wire []byte) bool {
	if s.status == 0 || len(s.held)+len(wire) > maxHeldBytes {
		return false
	}
	s.held = append(s.held, wire...)
	return true
}

// send sends what was held of a plain answer.
func (s *httpSink) send() error {
	if s.status == 0 {
		return nil
	}
	s.W.WriteHeader(s.status)
	s.status = 0
	_, err := s.W.Write(s.held)
	s.held = nil
	return err
}

// maxPendingBytes bounds the chunks that wait for a flush.
const maxPendingBytes = 8 << 10

// Chunk implements request.Sink. Chunks of a stream that arrived together are flushed together: a flush is a system call, which costs
// more than all else that is done for a chunk. Chunks that arrived together with the end of the stream are sent with it.
func (s *httpSink) Chunk(c provider.Chunk) error {
	if s.begun && c.Last {
		s.last = bytes.Clone(c.Wire)
		return nil
	}
	if !s.begun {
		if s.hold(c.Wire) {
			return nil
		}
		if err := s.send(); err != nil {
			return err
		}
	}
	if len(c.Wire) > 0 {
		if err := s.write(c.Wire); err != nil || !s.begun {
			return err
		}
		s.pending += len(c.Wire)
	}
	if c.More && s.pending < maxPendingBytes {
		return nil
	}
	return s.Flush()
}

// sequenceNumber is in every event of a response, and nowhere in the texts of events: there its quotes are escaped.
var sequenceNumber = []byte(`"sequence_number":`)

func (s *httpSink) write(text []byte) (err error) {
	if s.Words == &responsesWording {
		s.numbered += bytes.Count(text, sequenceNumber)
	}
	if s.pending > 0 {
		_, err = s.W.WriteOn(text)
	} else {
		_, err = s.W.Write(text)
	}
	return err
}

// Flush implements attempt.Flusher: it sends the chunks that were written to the caller.
func (s *httpSink) Flush() error {
	if s.pending == 0 {
		return nil
	}
	s.pending = 0
	return s.W.FlushError()
}

// Fail implements request.Sink. A stream that has begun ends with a typed error, so that nobody takes it for a whole one. A plain
// answer has no place for an error: its connection is cut instead.
func (s *httpSink) Fail(f request.Failure) (answered bool) {
	s.setCacheHeader(f.Cache)
	if !f.Left {
		_ = s.Flush() // a caller who left meanwhile is noticed elsewhere
	}
	if f.Unserved && s.endpoint.estimate != nil && s.endpoint.estimate(inferences{s.call}, s.text) == nil {
		return true
	}
	s.Final = s.Final || f.Final
	switch {
	case f.Left:
		s.W.Status = rest.StatusClientClosed
	case f.Begun && s.begun:
		s.last = s.errorEvent(f.Err, s.Words.Event, s.numbered)
	case f.Begun:
		s.cut = true
	case rest.Status(f.Err.Code) == http.StatusBadRequest && json.Unmarshal(f.Upstream, &rest.AnyObject{}) == nil:
		// The upstream says what is wrong with the caller's own body, in the caller's own dialect.
		h := s.W.Header()
		h.Set("Content-Type", rest.TypeJSON)
		h.Set(headerTarget, f.Target)
		h.Set("x-should-retry", "false")
		s.W.WriteHeader(http.StatusBadRequest)
		_, _ = s.W.Write(f.Upstream)
	default:
		s.call.Fail(f.Err)
	}
	return false
}

// End implements request.Sink: it sends the end of the answer. The end of a plain answer is that of the handler, since its length
// is not sent beforehand.
func (s *httpSink) End(cost penstock.NanoUSD) {
	if s.cut {
		panic(http.ErrAbortHandler) // the only way to tell a caller that a plain answer is not whole
	}
	s.tellCost(cost)
	_ = s.send() // a caller who left meanwhile was charged all the same
	if len(s.last) > 0 {
		_, _ = s.W.Write(s.last) // the end of the handler flushes it; a caller who left meanwhile was charged all the same
	}
}

// tellCost reports the cost of a call: in a header of a plain answer, and else in a trailer.
func (s *httpSink) tellCost(cost penstock.NanoUSD) {
	switch {
	case s.unpriced:
	case s.status != 0:
		s.W.Header()[headerCost] = []string{cost.String()}
	case s.begun || s.W.Status == http.StatusOK:
		s.W.Header()[http.TrailerPrefix+headerCost] = []string{cost.String()}
	}
}

// errorEvent is an error within a stream, as an event of a type; nil for one without. In the stream of a response, n is its number.
func (c *call) errorEvent(e *penstock.Error, typ []byte, n int) []byte {
	said, _ := c.ErrorBody(e)
	view := c.Words.InStream(said)
	if v, ok := view.(responseErrorView); ok {
		v.Number = n
		view = v
	}
	text, err := json.Marshal(view, rest.Lenient)
	if err != nil {
		return nil
	}
	return sse.AppendEvent(nil, sse.Event{Type: typ, Data: text})
}
