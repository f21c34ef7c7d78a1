package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/api/dialect/openai"
	"penstock/internal/attempt"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

const (
	// roomWait is how long a synchronous call waits for a target with room before it is refused.
	roomWait = 2 * time.Second
	// keyedWait is how long a call with an Idempotency-Key waits for the job that it runs as.
	keyedWait = 10 * time.Minute
)

// chat answers a chat completion at once.
func (c *call) chat() error {
	text, err := c.readBody()
	if err != nil {
		return err
	}
	chat, err := openai.ReadChat(text)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		return err
	}
	inference := admit.Inference{Body: text, MaxOutputTokens: chat.MaxOutputTokens, Choices: chat.Choices}
	if key != "" {
		return c.chatAsJob(chat, admit.JobOrder{IdempotencyKey: key, Model: chat.Model, Inferences: []admit.Inference{inference}})
	}
	admitted, err := c.Admit.Request(c.caller, admit.RequestOrder{Model: chat.Model, Inference: inference})
	if err != nil {
		return err
	}
	if err := c.Recorder.Place(); err != nil {
		return err
	}
	return c.runCall(chat, attempt.Task{
		Subject: c.id, Model: chat.Model, Lane: penstock.LaneRealtime, Targets: admitted.Targets, Endpoint: penstock.EndpointChat,
		Body: text, Stream: chat.Stream, Bound: admitted.Bound, Wait: roomWait, MaxOutputTokens: chat.MaxOutputTokens * chat.Choices,
	})
}

// runCall runs an admitted call, answers it, and records it whatever came of it.
func (c *call) runCall(chat openai.Call, task attempt.Task) error {
	sink := &httpSink{w: c.w, stream: chat.Stream}
	began := c.Clock()
	recorded := false
	defer func() {
		if !recorded {
			c.Recorder.Leave() // a panic: there is nothing sound to record
		}
	}()
	out := c.Runner.Run(c.r.Context(), task, sink)
	err := c.conclude(out, sink)
	c.Recorder.Add(c.recordOf(chat, out, outcomeOf{began: began, err: err}))
	recorded = true
	if sink.cut {
		panic(http.ErrAbortHandler) // the only way to tell a caller that a plain answer is not whole
	}
	return nil
}

// conclude answers with the error of a call that failed, and returns it.
func (c *call) conclude(out attempt.Outcome, sink *httpSink) error {
	if out.Err == nil {
		return nil
	}
	if c.r.Context().Err() != nil {
		c.w.status = statusClientClosed
		return penstock.Errorf(penstock.CodeCancelled, "The caller left before the answer was complete.")
	}
	e := callerError(out.Err)
	switch upstream, ok := errors.AsType[*provider.Error](out.Err); {
	case out.Begun:
		sink.breakOff(c, e)
	case ok && statuses[e.Code] == http.StatusBadRequest && json.Unmarshal(upstream.Body, &anyObject{}) == nil:
		// The upstream says what is wrong with the caller's own body, in the caller's own dialect.
		c.w.Header().Set("Content-Type", typeJSON)
		c.w.Header().Set("x-penstock-target", out.Target)
		c.w.Header().Set("x-should-retry", "false")
		c.w.WriteHeader(http.StatusBadRequest)
		_, _ = c.w.Write(upstream.Body)
	default:
		c.fail(e)
	}
	return e
}

// callerError says to the caller what went wrong upstream. An upstream's rate limit is no business of
// the caller's: to them, we are busy.
func callerError(err error) *penstock.Error {
	upstream, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return penstock.AsError(err)
	}
	e := &penstock.Error{Code: upstream.Kind.Policy().Code, Message: upstream.Public(), RetryAfter: upstream.RetryAfter, Err: err}
	if upstream.Kind == provider.KindRateLimited || upstream.Kind == provider.KindOverloaded {
		e.Message = "Every target of this model is busy upstream."
	}
	return e
}

// outcomeOf is what a record adds to the outcome of the attempts.
type outcomeOf struct {
	began time.Time
	err   error
}

func (c *call) recordOf(chat openai.Call, out attempt.Outcome, o outcomeOf) penstock.Request {
	r := penstock.Request{
		ID: c.id, Tenant: c.caller.Tenant.ID, Key: c.caller.Key, Endpoint: penstock.EndpointChat, Model: chat.Model, Stream: chat.Stream,
		Status: penstock.StatusSucceeded, StatusCode: c.w.status, Target: out.Target, Usage: out.Usage, Cost: out.Cost,
		Forfeit: out.Forfeit, Attempts: out.Attempts, StartedAt: o.began, FinishedAt: c.Clock(),
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

// httpSink passes an answer on to the caller as it arrives.
type httpSink struct {
	w      *response
	out    *http.ResponseController
	stream bool
	cut    bool // the answer broke off where no error can be said any more
}

func (s *httpSink) Begin(target string, meta provider.Meta) error {
	h := s.w.Header()
	h.Set("Content-Type", meta.ContentType)
	h.Set("x-penstock-target", target)
	if s.stream {
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
		s.out = http.NewResponseController(s.w)
	}
	s.w.WriteHeader(meta.StatusCode)
	return nil
}

func (s *httpSink) Chunk(c provider.Chunk) error {
	if len(c.Wire) == 0 {
		return nil
	}
	if _, err := s.w.Write(c.Wire); err != nil || s.out == nil {
		return err
	}
	return s.out.Flush()
}

// breakOff ends an answer that cannot be completed with a typed error, so that nobody takes it for a
// whole one. A plain answer has no place for one: the connection is cut instead.
func (s *httpSink) breakOff(c *call, e *penstock.Error) {
	if s.out == nil {
		s.cut = true
		return
	}
	view, _ := c.errorView(e)
	text, err := json.Marshal(view, lenient)
	if err != nil {
		return
	}
	_, _ = s.w.Write(sse.AppendEvent(nil, sse.Event{Data: text}))
	_ = s.out.Flush()
}

// chatAsJob runs a call that must not run twice as a job, and waits for it.
func (c *call) chatAsJob(chat openai.Call, order admit.JobOrder) error {
	if chat.Stream {
		return penstock.InvalidParam("Idempotency-Key", "A streamed call cannot be repeated; leave out stream or Idempotency-Key.")
	}
	var err error
	if order.BodyHash, err = canonicalHash(c.r.URL.Path, chat.Object.Text); err != nil {
		return err
	}
	order.Lane, order.Scope = penstock.LaneRealtime, penstock.ScopeInference
	receipt, err := c.Admit.Job(c.r.Context(), c.caller, order)
	if err != nil {
		return err
	}
	if receipt.Replayed {
		c.w.Header().Set("Idempotency-Replayed", "true")
	}
	c.Admit.Wake()
	ctx, cancel := c.patient()
	defer cancel()
	job, err := c.Reader.Wait(ctx, c.caller.Tenant.ID, receipt.Job.ID, keyedWait)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/v1/jobs/"+penstock.ViewJob.Format(job.ID))
	if job.FinishedAt.IsZero() {
		return penstock.Errorf(penstock.CodeOverloaded, "The call still runs as %s; send it again with the same key to wait on.",
			penstock.ViewJob.Format(job.ID))
	}
	item, err := c.Jobs.Item(c.r.Context(), c.caller.Tenant.ID, penstock.ItemID(job.ID, 0))
	if err != nil {
		return err
	}
	c.final = true // the same key will always get this answer
	switch item.Status {
	case penstock.StatusSucceeded:
	case penstock.StatusCancelled:
		return penstock.Errorf(penstock.CodeConflict, "The job that this call runs as, %s, was cancelled.", penstock.ViewJob.Format(job.ID))
	default:
		return penstock.Errorf(item.Error.Code, "%s", item.Error.Message)
	}
	c.w.Header().Set("Content-Type", typeJSON)
	c.w.Header().Set("x-penstock-target", item.Target)
	c.w.WriteHeader(item.StatusCode)
	_, err = c.w.Write(item.Result)
	return err
}

func (c *call) listModels() error {
	return c.json(http.StatusOK, openai.NewModelList(slices.Sorted(maps.Keys(c.Config.Current().Models))))
}

func (c *call) readModel() error {
	name := c.r.PathValue("model")
	if _, ok := c.Config.Current().Models[name]; !ok {
		return penstock.Errorf(penstock.CodeModelNotFound, "There is no model %q; GET /v1/models lists what there is.", clip(name))
	}
	return c.json(http.StatusOK, openai.NewModel(name))
}

func (c *call) healthz() error { return c.json(http.StatusOK, healthView{Status: "ok"}) }

func (c *call) readyz() error {
	if err := c.Ready(c.r.Context()); err != nil {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "Not ready: " + penstock.AsError(err).Message, Err: err}
	}
	// Still ready: who reads, cancels and deletes must get through, all the more when room is short.
	if err := c.Refusing(); err != nil {
		return c.json(http.StatusOK, healthView{Status: "degraded", Reason: text(penstock.AsError(err).Message)})
	}
	return c.json(http.StatusOK, healthView{Status: "ready"})
}

func (c *call) document() error {
	c.w.Header().Set("Content-Type", typeJSON)
	_, err := c.w.Write(c.openAPI)
	return err
}
