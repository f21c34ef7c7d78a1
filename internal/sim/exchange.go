package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"time"
)

// endpoint is one inference path.
type endpoint struct {
	path    string
	dialect dialect
	decode  func(body []byte) (*call, error) // the error is a *failure
	// decodeAt is decode for a dialect that names the model in the path; nil for others.
	decodeAt func(r *http.Request, body []byte) (*call, error)
}

// call is a request as its endpoint understood it.
type call struct {
	model     string
	prompt    *prompt // all that is counted, and where directives are looked for
	apart     bool    // each turn of the prompt is a prompt of its own
	n         int     // choices for each prompt; 0 means 1
	maxTokens int     // of a choice; 0: the request sets no maximum
	effort    int     // tokens of thoughts; 0 for none
	tools     tools
	stops     stopList      // that end the text
	format    *outputFormat // of the text; nil for free text
	stream    bool          // only if the responder is a streamer
	silent    bool          // yields no text: an embedding or a count
	dry       bool          // asks about a prompt without running it: costs no tokens and is no execution
	responder responder
}

// choiceCount is how many alternatives the answer has.
func (c *call) choiceCount() int {
	if c.apart {
		return max(c.n, 1) * len(c.prompt.turns)
	}
	return max(c.n, 1)
}

// promptOf is the prompt that the i-th choice answers.
func (c *call) promptOf(i int) *prompt {
	if c.apart {
		i /= max(c.n, 1)
		return &prompt{turns: c.prompt.turns[i : i+1]}
	}
	return c.prompt
}

// responder renders an answer to the request it was decoded from.
type responder interface {
	plain(a *answer) []byte
}

// streamer is a responder that can also stream.
type streamer interface {
	responder
	frames(a *answer) iter.Seq[frame]
}

// frame is one server-sent event.
type frame struct {
	data   []byte
	token  bool // it carries a token, so pace and faults apply to it
	hidden int  // tokens that were generated before it and that no frame carries
}

// exchange is one request on its way through the server.
type exchange struct {
	endpoint   *endpoint
	config     *Config
	rng        *rand.Rand
	id         string
	w          http.ResponseWriter
	call       *call
	directives directives
	key        promptKey
	quota      quota
	answer     *answer
	outcome    outcome
}

// serve returns the handler of an inference endpoint.
func (s *Server) serve(e *endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := s.sequence.Add(1)
		config := &s.settings.Load().config
		x := &exchange{endpoint: e, config: config, rng: numbered(config.Seed, n), id: idOf(config.Seed, n), w: w}
		s.tally.begin(e.path)
		defer func() { s.tally.end(x.outcome) }()

		err := s.run(r, x)
		if f, ok := errors.AsType[*failure](err); ok {
			x.fail(f)
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, errClientLeft):
			x.outcome.cancelled = true
		default: // errClosed, errCut
			panic(http.ErrAbortHandler)
		}
	}
}

// idOf names the n-th request of a seed.
func idOf(seed uint64, n int64) string {
	high := scatter(seed ^ scatter(uint64(n)))
	return fmt.Sprintf("%016x%08x", high, uint32(scatter(high)))
}

// run takes a request from its headers to the end of its answer. Its error is a *failure, errClientLeft,
// errClosed or errCut.
func (s *Server) run(r *http.Request, x *exchange) error {
	ctx := r.Context()
	if err := s.understand(r, x); err != nil {
		return err
	}
	err := x.plan()
	if err != nil {
		return err
	}
	if x.quota, err = s.limiter.take(time.Now(), x.cost()); err != nil {
		return err
	}
	if err := s.gate.start(ctx, s.done); err != nil {
		return err
	}
	defer s.gate.leave()

	if !x.call.dry {
		s.prompts.attempted(x.key)
	}
	if err := s.holds.await(ctx, x.directives.hold, s.done); err != nil {
		return err
	}
	if err := s.chooseFault(r, x); err != nil {
		return err
	}
	if err := s.respond(ctx, x); err != nil {
		return err
	}
	if sound := x.outcome.fault == "" || x.outcome.fault == FaultStall; sound && !x.call.dry {
		s.prompts.completed(x.key)
	}
	return nil
}

// understand checks a request's headers and reads what it asks.
func (s *Server) understand(r *http.Request, x *exchange) error {
	if err := x.endpoint.dialect.check(r.Header, x.config.APIKey); err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.w, r.Body, MaxBodyBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &failure{class: classTooLarge, message: fmt.Sprintf("The request is larger than %d bytes.", MaxBodyBytes)}
	}
	if err != nil {
		return errClientLeft
	}
	if x.endpoint.decodeAt != nil {
		x.call, err = x.endpoint.decodeAt(r, body)
	} else {
		x.call, err = x.endpoint.decode(body)
	}
	if err != nil {
		return err
	}
	last := x.call.prompt.last()
	x.key = keyOf(last)
	directed := last
	if x.call.silent { // every input of a list is a prompt of its own, and may be the one that is at fault
		directed = x.call.prompt.all()
	}
	if x.directives, err = parseDirectives(directed); err != nil {
		return invalid("", err.Error())
	}
	return nil
}

func (x *exchange) cost() rates {
	if x.call.dry {
		return rates{requests: 1}
	}
	return rates{requests: 1, input: x.answer.inputTokens, output: x.answer.outputTokens}
}

// chooseFault decides how the request is to go wrong, if at all. A fault that is a plain failure is returned
// as such.
func (s *Server) chooseFault(r *http.Request, x *exchange) error {
	// Drawn whether used or not, so that what is drawn after it does not depend on the other two sources.
	fault := x.config.Faults.at(x.rng.Float64())
	if name := r.Header.Get(FaultHeader); name != "" {
		var err error
		if fault, err = parseFault(name); err != nil {
			return invalid("", FaultHeader+": "+err.Error())
		}
	} else if d := x.directives; d.fault != "" {
		if d.times == 0 || s.counted.count(x.key) <= d.times {
			fault = d.fault
		}
	}
	x.outcome.fault = fault
	if f, ok := failureOf(fault); ok {
		return f
	}
	return nil
}

// fail answers with an error.
func (x *exchange) fail(f *failure) {
	if f.class == classOversized { // nobody else used any of it
		x.quota.input = gauge{limit: oversizedLimit, remaining: oversizedLimit}
	}
	x.setHeaders(f.retryAfter)
	if f.final {
		x.w.Header().Set("x-should-retry", "false")
	}
	status, body := x.endpoint.dialect.describe(f, x.requestID())
	if f.class == classForbidden {
		status, body = http.StatusForbidden, []byte(firewallPage)
		x.w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		x.outcome.status = status
		x.w.WriteHeader(status)
		x.w.Write(body) // a client that is gone needs no answer
		return
	}
	x.outcome.status = status
	writeJSON(x.w, status, body)
}

func (x *exchange) requestID() string { return "req_" + x.id }

// setHeaders sets what every answer carries, and when to come back unless retryAfter is 0.
func (x *exchange) setHeaders(retryAfter time.Duration) {
	h := x.w.Header()
	h.Set(x.endpoint.dialect.requestIDHeader(), x.requestID())
	x.endpoint.dialect.setLimits(h, x.quota, retryAfter)
}

// wait returns nil once the duration has passed, errClientLeft or errClosed if it ends sooner.
func (s *Server) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errClientLeft
	case <-s.done:
		return errClosed
	}
}
