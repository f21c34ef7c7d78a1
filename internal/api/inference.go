package api

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/api/dialect"
	"penstock/internal/api/dialect/anthropic"
	"penstock/internal/api/dialect/openai"
	"penstock/internal/attempt"
	"penstock/internal/budget"
	"penstock/internal/config"
	"penstock/internal/deliver"
	"penstock/internal/provider"
	"penstock/internal/rest"
	"penstock/internal/sse"
)

const (
	// capacityWait is how long a synchronous call waits for a target with room before it is refused.
	capacityWait = 2 * time.Second
	// keyedWait is how long a call with an Idempotency-Key waits for the job that it runs as.
	keyedWait = 10 * time.Minute
)

// inferenceEndpoint is an endpoint of inferences: how its bodies are read, and what is particular to it. All of them
// share one way, which is [inference] here and a job's in submitJob.
type inferenceEndpoint struct {
	endpoint penstock.Endpoint
	read     func(text []byte) (dialect.Call, error)
	question func(string) ([]byte, error) // the body that asks one question; nil where no job can name the endpoint
	needs    string                       // members that a job's bodies get when they and its defaults leave them out
	forward  []string                     // headers of the caller's that are the upstream's business
	free     bool                         // nobody charges for it
	silent   bool                         // its answers are never streamed
	// estimate answers when none of the model's targets can be asked; nil where there is no other answer.
	estimate func(c inferences, text []byte) error
}

// inferenceEndpoints are the endpoints that inferences come in by.
var inferenceEndpoints = map[penstock.Endpoint]inferenceEndpoint{
	penstock.EndpointChat:        {endpoint: penstock.EndpointChat, read: openai.ReadChat, question: openai.ChatQuestion},
	penstock.EndpointCompletions: {endpoint: penstock.EndpointCompletions, read: openai.ReadCompletion, question: openai.CompletionQuestion},
	penstock.EndpointEmbeddings:  {endpoint: penstock.EndpointEmbeddings, read: openai.ReadEmbedding, question: openai.InputQuestion, silent: true},
	penstock.EndpointResponses:   {endpoint: penstock.EndpointResponses, read: openai.ReadResponse, question: openai.InputQuestion},
	penstock.EndpointMessages: {endpoint: penstock.EndpointMessages, read: anthropic.ReadMessage, question: anthropic.Question, needs: anthropic.Needs,
		forward: []string{anthropic.HeaderVersion, anthropic.HeaderBeta}},
	penstock.EndpointCountTokens: {endpoint: penstock.EndpointCountTokens, read: anthropic.ReadCount,
		forward: []string{anthropic.HeaderVersion, anthropic.HeaderBeta}, free: true, estimate: inferences.estimateTokens},
}

// inference makes the handler of an endpoint.
func inference(endpoint penstock.Endpoint) func(*rest.Call) error {
	d := inferenceEndpoints[endpoint]
	return on(func(c inferences) error { return c.infer(&d) })
}

// infer answers an inference at once.
func (c inferences) infer(d *inferenceEndpoint) error {
	if err := c.takePermit(); err != nil {
		return err
	}
	text, err := c.readBody()
	if err != nil {
		return err
	}
	return c.inferText(d, text)
}

// takePermit takes the call's place under the concurrency of its tenant and key. Callers are known by their headers, so
// one that is at its limit gets no memory for another body. Codes: rate_limited, overloaded.
func (c *call) takePermit() (err error) {
	c.permit, err = c.Admit.Permit(c.R.Context(), &c.Principal)
	return err
}

// inferText answers the inference of a body.
func (c inferences) inferText(d *inferenceEndpoint, text []byte) error {
	e, err := c.admitInference(d, text)
	if err != nil || e == nil {
		return err
	}
	if e.plan.ttl > 0 {
		return c.runShared(e.plan, &e.task, e.charge)
	}
	return c.runCall(e)
}

// admittedCall is an inference that was admitted.
type admittedCall struct {
	task   attempt.Task
	plan   cachePlan
	charge *charge
	began  time.Time
}

// admitInference reads and admits an inference, and takes the places that it needs. It returns nil when the answer was
// given by other means.
func (c inferences) admitInference(d *inferenceEndpoint, text []byte) (*admittedCall, error) {
	asked, err := d.read(text)
	if err != nil {
		return nil, err
	}
	c.model = asked.Model
	key, err := idempotencyKey(c.R)
	if err != nil {
		return nil, err
	}
	if key != "" && d.question != nil {
		return nil, c.inferAsJob(d, asked, key)
	}
	admitted, err := c.Admit.Request(c.R.Context(), c.Principal, admit.RequestOrder{Model: asked.Model, Inference: inferenceOf(asked), Free: d.free, Try: tryOf(c.R), Permitted: c.permit != nil})
	if err != nil {
		return nil, err
	}
	c.limitHold = admitted.LimitHold
	c.tellWait(admitted.LimitHold.WaitedFor())
	plan, err := c.cachePlan(d, asked, admitted)
	if err != nil {
		return nil, err
	}
	if err := c.Recorder.Place(); err != nil {
		return nil, err
	}
	e := &admittedCall{plan: plan, task: attempt.Task{
		Subject: c.ID, Tenant: c.Principal.Tenant.ID, Owner: c.Principal.Tenant.ID, Model: asked.Model, Lane: penstock.LaneRealtime, Targets: admitted.Targets, Endpoint: d.endpoint,
		Header: d.forwarded(c.R.Header), Body: asked.Object.Text, Object: new(asked.Object), Stream: asked.Stream, IncludeUsage: asked.IncludeUsage,
		Bound: admitted.Bound, Wait: capacityWait, MaxOutputTokens: asked.MaxOutputTokens * asked.Choices,
	}}
	names := penstock.ModelNames{Asked: asked.Model, Answers: admitted.Model.Name}
	e.charge = &charge{inferenceEndpoint: d, permit: c.permit, limitHold: c.limitHold, demand: budget.Demand{Caller: c.Principal, Model: names, Most: admitted.Bound, Less: admitted.Less}}
	return e, nil
}

// inferenceOf is what admission has to know of a body.
func inferenceOf(asked dialect.Call) admit.Inference {
	return admit.Inference{Body: asked.Object.Text, MaxOutputTokens: asked.MaxOutputTokens, Further: asked.Further, Choices: asked.Choices,
		Silent: asked.Silent, Links: asked.Object.Links}
}

// forwarded returns the headers that go on to the upstream.
func (d *inferenceEndpoint) forwarded(from http.Header) http.Header {
	var to http.Header
	for _, name := range d.forward {
		if values := from.Values(name); len(values) > 0 {
			if to == nil {
				to = make(http.Header, len(d.forward))
			}
			to[name] = values
		}
	}
	return to
}

// runCall runs an admitted call up to where its answer begins, and leaves the rest of it to be done.
func (c inferences) runCall(e *admittedCall) error {
	if e.task.Stream {
		c.endWithKey()
	}
	if err := c.open(c.R.Context(), e.charge, &e.task); err != nil {
		c.Recorder.Leave()
		return err
	}
	c.admittedCall, e.began = e, c.Clock()
	sink := &httpSink{w: c.W, stream: e.task.Stream, config: c.Config.Current(), charge: e.charge}
	pass := c.Runner.Begin(c.R.Context(), &e.task, sink)
	if e.task.Body == nil { // a stream goes on without it
		c.memory.Close()
	}
	c.Later = func() error { return c.finish(pass(), sink) }
	return nil
}

// abandon gives back what a call holds that was not settled because of a panic: there is nothing sound to record, and
// nobody knows what was spent.
func (c *call) abandon() {
	c.limitHold.Leave()
	c.permit.Leave()
	if c.admittedCall != nil {
		c.Recorder.Leave()
		c.admittedCall.charge.reservation.Lose()
	}
}

// finish settles a call, answers it if that was not done, and records it, whatever came of it.
func (c inferences) finish(out *attempt.Outcome, sink *httpSink) error {
	e := c.admittedCall
	e.charge.settle(out)
	var err error
	if estimate := e.charge.inferenceEndpoint.estimate; estimate != nil && (errors.Is(out.Err, attempt.ErrNotServed) || unserved(out.Err)) {
		err = estimate(c, e.task.Body)
	} else {
		err = c.conclude(out, sink)
	}
	c.Recorder.Add(c.recordOf(&e.task, out, outcomeOf{began: e.began, err: err, status: c.W.Status, holding: e.charge.reservation.Funding}))
	c.admittedCall = nil
	sink.end()
	return nil
}

// unserved says that a target speaks the dialect, but its server does not have the endpoint.
func unserved(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Kind == provider.KindRejected &&
		slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, e.StatusCode)
}

// headerEstimate marks a number that was not counted.
const headerEstimate = "x-penstock-estimate"

// estimateTokens answers how long a message is by a tokenizer that may not be the upstream's.
func (c inferences) estimateTokens(text []byte) error {
	c.W.Header().Set(headerEstimate, "true")
	return c.JSON(http.StatusOK, anthropic.TokenCount{InputTokens: c.tokens.Body(text)})
}

// conclude answers with the error of a call that failed, and returns it.
func (c inferences) conclude(out *attempt.Outcome, sink *httpSink) error {
	if out.Err == nil {
		return nil
	}
	e := callerError(out.Err)
	if ended := c.keyEnded(); ended != nil {
		e = penstock.AsError(ended)
	} else if c.R.Context().Err() != nil {
		c.W.Status = rest.StatusClientClosed
		return errLeft()
	}
	c.Final = c.Final || out.Final
	switch upstream, ok := errors.AsType[*provider.Error](out.Err); {
	case out.Begun:
		sink.breakOff(c.call, e)
	case ok && rest.Status(e.Code) == http.StatusBadRequest && json.Unmarshal(upstream.Body, &rest.AnyObject{}) == nil:
		// The upstream says what is wrong with the caller's own body, in the caller's own dialect.
		c.W.Header().Set("Content-Type", rest.TypeJSON)
		c.W.Header().Set(headerTarget, out.Target)
		c.W.Header().Set("x-should-retry", "false")
		c.W.WriteHeader(http.StatusBadRequest)
		_, _ = c.W.Write(upstream.Body)
	default:
		c.Fail(e)
	}
	return e
}

// errLeft is the end of a call whose caller did not wait for it.
func errLeft() error {
	return penstock.Errorf(penstock.CodeCancelled, "The caller left before the answer was complete.")
}

// callerError says to the caller what went wrong upstream. An upstream's rate limit is no business of
// the caller's: to them, we are busy.
func callerError(err error) *penstock.Error {
	upstream, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return penstock.AsError(err)
	}
	if full, ok := errors.AsType[*penstock.Error](upstream.Err); ok && upstream.Kind == provider.KindMemory {
		return full
	}
	e := &penstock.Error{Code: upstream.Kind.Policy().Code, Message: upstream.Public(), RetryAfter: upstream.RetryAfter, Err: err}
	if upstream.Kind == provider.KindRateLimited || upstream.Kind == provider.KindOverloaded {
		e.Message = "Every target of this model is busy upstream."
	}
	return e
}

// outcomeOf is what a record adds to the outcome of the attempts.
type outcomeOf struct {
	began  time.Time
	err    error
	status int // that the caller saw
	// holding is what it was paid from.
	holding penstock.Funding
}

func (c inferences) recordOf(task *attempt.Task, out *attempt.Outcome, o outcomeOf) penstock.Request {
	r := penstock.Request{
		ID: c.ID, Tenant: c.Principal.Tenant.ID, Key: c.Principal.Key, Endpoint: task.Endpoint, Model: task.Model, Stream: task.Stream,
		Status: penstock.StatusSucceeded, StatusCode: o.status, Target: out.Target, Usage: out.Usage, Cost: out.Cost,
		Forfeit: out.Forfeit, Funding: o.holding, Attempts: out.Attempts, StartedAt: o.began, FinishedAt: c.Clock(),
	}
	if n := len(out.Attempts); n > 0 {
		r.FirstTokenAt = out.Attempts[n-1].FirstTokenAt
	}
	if o.err != nil {
		e := penstock.AsError(o.err)
		r.Status, r.ErrorCode, r.Error = penstock.StatusFailed, e.Code, e.Message
		if e.Code == penstock.CodeCancelled {
			r.Status = penstock.StatusCancelled
		}
	}
	return r
}

// headerTarget says which target answered, in canonical form.
const headerTarget = "X-Penstock-Target"

// httpSink passes an answer on to the caller as it arrives.
type httpSink struct {
	w      *rest.Response
	out    *http.ResponseController
	stream bool
	config *config.Snapshot
	charge *charge
	last   []byte // the end of a stream, which is sent when the call is recorded
	cut    bool   // the answer broke off where no error can be said any more
}

func (s *httpSink) Begin(target string, meta provider.Meta) error {
	h := s.w.Header()
	h["Content-Type"], h[headerTarget] = []string{meta.ContentType}, []string{target}
	if t := s.config.Targets[target]; t != nil && t.Unpriced {
		h.Set(headerUnpriced, "true")
	}
	tellBudgets(h, s.charge.reservation.Warnings)
	if s.stream {
		h["Cache-Control"], h["X-Accel-Buffering"] = []string{"no-cache"}, []string{"no"}
		s.out = http.NewResponseController(s.w)
	}
	s.w.WriteHeader(meta.StatusCode)
	return nil
}

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

// end sends the end of an answer: a caller who has all of it knows that the call is recorded. The end of a plain answer is that
// of the handler, since its length is not told beforehand.
func (s *httpSink) end() {
	if s.cut {
		panic(http.ErrAbortHandler) // the only way to tell a caller that a plain answer is not whole
	}
	if len(s.last) > 0 {
		_, _ = s.w.Write(s.last) // with the end of the handler it is flushed; a caller who left meanwhile was charged all the same
	}
}

// breakOff ends an answer that cannot be completed with a typed error, so that nobody takes it for a
// whole one. A plain answer has no place for one: the connection is cut instead.
func (s *httpSink) breakOff(c *call, e *penstock.Error) {
	if s.out == nil {
		s.cut = true
		return
	}
	s.last = c.errorEvent(e, c.Words.Event)
}

// errorEvent is an error within a stream, as an event of a type; nil for one without.
func (c *call) errorEvent(e *penstock.Error, typ []byte) []byte {
	view, _ := c.ErrorBody(e)
	text, err := json.Marshal(c.Words.InStream(view), rest.Lenient)
	if err != nil {
		return nil
	}
	return sse.AppendEvent(nil, sse.Event{Type: typ, Data: text})
}

// inferAsJob runs a call that must not run twice as a job, and waits for it.
func (c inferences) inferAsJob(d *inferenceEndpoint, asked dialect.Call, key string) error {
	if asked.Stream {
		return penstock.InvalidParam("Idempotency-Key", "A streamed call cannot be repeated; leave out stream or Idempotency-Key.")
	}
	if c.R.Header.Get(anthropic.HeaderBeta) != "" && slices.Contains(d.forward, anthropic.HeaderBeta) {
		return penstock.InvalidParam("anthropic-beta", "A call with an Idempotency-Key runs as a job, which keeps no headers; leave out one of the two.")
	}
	order := admit.JobOrder{Endpoint: d.endpoint, Model: asked.Model, IdempotencyKey: key, Inferences: []admit.Inference{inferenceOf(asked)}}
	var err error
	if order.BodyHash, err = canonicalHash(c.R.URL.Path, asked.Object.Text); err != nil {
		return err
	}
	order.Lane, order.Scope, order.Try = penstock.LaneRealtime, penstock.ScopeInference, tryOf(c.R)
	c.permit.Leave() // its job takes one, until the job ends
	receipt, err := c.Admit.Job(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	c.tellWait(receipt.Waited)
	receipt.Begin()
	tellBudgets(c.W.Header(), receipt.Warnings)
	if receipt.Replayed {
		c.W.Header().Set("Idempotency-Replayed", "true")
	}
	job, err := c.wait(receipt.Job.ID, deliver.Until{Timeout: keyedWait})
	if err != nil {
		return err
	}
	c.W.Header().Set("Location", "/v1/jobs/"+penstock.ViewJob.Format(job.ID))
	if job.FinishedAt.IsZero() {
		return penstock.Errorf(penstock.CodeOverloaded, "The call still runs as %s; send it again with the same key to wait on.",
			penstock.ViewJob.Format(job.ID))
	}
	item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, penstock.ItemID(job.ID, 0))
	if err != nil {
		return err
	}
	c.Final = true // the same key will always get this answer
	switch item.Status {
	case penstock.StatusSucceeded:
	case penstock.StatusCancelled:
		return penstock.Errorf(penstock.CodeConflict, "The job that this call runs as, %s, was cancelled.", penstock.ViewJob.Format(job.ID))
	default:
		return penstock.Errorf(item.Error.Code, "%s", item.Error.Message)
	}
	c.W.Header().Set("Content-Type", rest.TypeJSON)
	c.W.Header().Set(headerTarget, item.Target)
	c.W.WriteHeader(item.StatusCode)
	_, err = c.W.Write(item.Result)
	return err
}
