package request

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/attempt"
	"penstock/internal/budget"
	"penstock/internal/cache"
	"penstock/internal/capacity"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

// Running is a synchronous call that was started. Finish ends it; Close gives it up.
//
// The two steps are an explicit type because of stacks: all functions that lead to the beginning of an answer have returned
// when Finish waits for the next event of a stream. The runtime then shrinks the stack of the goroutine, which matters to a
// process that holds ten thousand streams.
type Running struct {
	service   *Service
	principal penstock.Principal
	id        penstock.ID
	endpoint  penstock.Endpoint
	model     string
	stream    bool
	labels    penstock.Labels
	files     []penstock.AttachedFile // in the body
	truncated *penstock.Truncation    // of the body; nil for nothing
	prompted  *dialect.Prompted       // in the body; nil for none
	sink      Sink
	flusher   attempt.Flusher // the sink; nil for one that keeps nothing back
	began     time.Time

	held    held
	run     *attempt.Run   // of a call that does not use the cache
	reading *cache.Reading // of a call that does
	leader  *leader        // of a call that made the call upstream for the cache; nil for all others

	closed   bool
	finished bool // Finish has returned
	begun    bool // the sink has seen the answer begin
	sent     bool // all of the request by then
	status   int  // of the answer that has begun
}

// held is what a call holds until it is settled or abandoned.
type held struct {
	free        bool                // nobody charges for the call
	permit      *capacity.LimitHold // under the concurrency of tenant and key; nil without limits
	limits      *capacity.LimitHold
	reservation budget.Reservation // zero until the call goes upstream
	place       bool               // among the records
}

// Start admits a call and runs it up to where its answer begins, or nothing is left to be tried. The call has to be finished with
// the same context, or closed. After an error nothing is held and the sink has seen no answer. Codes: those of
// admit.Service.Request, budget_exceeded, overloaded.
func (s *Service) Start(ctx context.Context, principal penstock.Principal, order Order, sink Sink) (_ *Running, err error) {
	r := &Running{
		service: s, principal: principal, id: order.ID, endpoint: order.Endpoint, model: order.Inference.Model, stream: order.Inference.Stream, labels: order.Labels, sink: sink,
		held: held{free: order.Free, permit: order.Permit},
	}
	r.flusher, _ = sink.(attempt.Flusher)
	started := false
	defer func() {
		if !started { // an error or a panic
			r.Close(ctx)
		}
	}()
	if err := r.start(ctx, &order); err != nil {
		return nil, err
	}
	started = true
	return r, nil
}

func (r *Running) start(ctx context.Context, order *Order) error {
	s := r.service
	admitted, err := s.Admit.Request(ctx, r.principal, admit.RequestOrder{
		ID: order.ID, Endpoint: order.Endpoint, Model: order.Inference.Model, Inference: *order.Inference, Tags: order.Labels.Tags, Free: order.Free, Try: order.Try, Permitted: order.Permit != nil, Memory: order.Memory, Only: order.Overrides.Targets,
	})
	if err != nil {
		return err
	}
	r.held.limits = admitted.LimitHold
	if admitted.Edited != nil {
		order.Inference = admitted.Edited
	}
	r.model, r.files, r.truncated, r.prompted = order.Inference.Model, order.Inference.Files, order.Inference.Truncated, order.Inference.Prompted
	r.sink.Admitted(r.admittance(admitted.LimitHold.WaitedFor()))
	if err := order.Overrides.narrow(order.Inference.Model, &admitted); err != nil {
		return err
	}
	plan := s.plan(&r.principal, order, &admitted)
	if err := s.Recorder.Place(); err != nil {
		return err
	}
	r.held.place = true
	if plan.ttl > 0 {
		r.ask(ctx, plan, newTask(r, order, &admitted))
		return nil
	}
	task := newTask(r, order, &admitted)
	if err := r.held.reserve(ctx, r.service.Budgets, &task); err != nil {
		return err
	}
	r.began = s.Clock()
	r.run = s.Runner.Begin(ctx, &task.Task, (*answer)(r))
	return nil
}

// admittance is what is known of an admitted call.
func (r *Running) admittance(waited time.Duration) Admittance {
	a := Admittance{Waited: waited, Truncated: r.truncated, Model: r.model}
	if r.prompted != nil {
		a.Prompt = &r.prompted.PromptUse
	}
	return a
}

// task is a call that was admitted, ready to run.
type task struct {
	attempt.Task
	demand budget.Demand
}

func newTask(r *Running, order *Order, a *admit.Admitted) task {
	tenant, inf := r.principal.Tenant.ID, order.Inference
	return task{
		Task: attempt.Task{
			Subject: order.ID, Tenant: tenant, Owner: tenant, Key: r.principal.Key, Model: inf.Model, Lane: penstock.LaneRealtime, Targets: a.Targets, Endpoint: order.Endpoint,
			Header: order.Header, Body: inf.Body(), Inference: inf, Stream: inf.Stream, IncludeUsage: inf.IncludeUsage,
			Bound: a.Bound, Wait: capacityWait, MaxTargets: order.Overrides.MaxTargets, MaxOutputTokens: inf.MaxOutputTokens * inf.Choices, OnOverflow: a.Model.OnOverflow,
		},
		demand: budget.Demand{Principal: r.principal, Model: penstock.ModelNames{Asked: inf.Model, Answers: a.Model.Name}, Tags: order.Labels.Tags, Most: a.Bound, Less: a.Less},
	}
}

// reserve sets aside the most that a call can cost, and bounds its task by it where a hard budget pays. Codes: budget_exceeded,
// overloaded.
func (h *held) reserve(ctx context.Context, budgets Budgets, t *task) (err error) {
	if h.free {
		return nil
	}
	h.reservation, err = budgets.Reserve(ctx, t.demand)
	if h.reservation.Hard {
		t.Bounded, t.Bound = true, h.reservation.Most
	}
	return err
}

// Streaming reports that a stream has begun: nothing needs the body of the call any more.
func (r *Running) Streaming() bool { return r.stream && r.begun }

// Released reports whether nothing reads the body of the order any more, so that its memory can be used for another call: the
// call is finished, or it is a stream whose request was sent. It stays false for a call whose answer others may share, because
// the call upstream goes on for them, and for a call that broke.
func (r *Running) Released() bool {
	return r != nil && r.run.Alone() && (r.finished || r.Streaming() && r.sent)
}

// Finish passes the rest of the answer on, settles the call, and records it.
func (r *Running) Finish(ctx context.Context) {
	defer r.Close(ctx)
	if r.reading != nil {
		r.finishShared(ctx)
	} else {
		r.finishAlone(ctx, r.run.Finish(ctx))
	}
	r.finished = true
}

// finishAlone settles a call that was made for one caller, and records it. What it spent is known by then, so it is recorded also when
// the sink panics.
func (r *Running) finishAlone(ctx context.Context, out *attempt.Outcome) {
	r.held.settle(out)
	end := ending{began: r.began, status: r.status, err: penstock.Errorf(penstock.CodeInternal, "The answer could not be passed on.")}
	defer func() {
		if r.held.place { // a panic
			end.funding = r.held.reservation.Funding
			r.record(out, end)
		}
	}()
	end = r.conclude(ctx, out)
	end.funding = r.held.reservation.Funding
	r.record(out, end)
	r.sink.End(out.Cost)
}

// Close gives back what the call still holds. It has no effect on a call that was finished. What was spent by a call that broke
// off is unknown: its reservation is lost, and no record of it would be sound.
func (r *Running) Close(ctx context.Context) {
	if r == nil || r.closed {
		return
	}
	r.closed = true
	defer r.held.abandon(r.service.Recorder)
	if r.reading != nil {
		r.reading.Close()
	}
	r.run.Close(ctx)
}

// settle gives back what a call did not use.
func (h *held) settle(out *attempt.Outcome) {
	h.permit.Leave()
	h.settleLimits(out)
	h.permit, h.limits = nil, nil
	h.reservation.Settle(out.Cost.Plus(out.Forfeit))
}

// settleLimits gives the limit hold back, for the usage of the call.
func (h *held) settleLimits(out *attempt.Outcome) {
	if h.free {
		h.limits.Done(penstock.Usage{})
		return
	}
	for i := range out.Attempts {
		if !out.Attempts[i].UsageKnown && out.Forfeit > 0 {
			h.limits.Leave() // an upstream may have worked and not reported it: the estimate stands
			return
		}
	}
	h.limits.Done(out.Usage)
}

// abandon gives back all that was not settled.
func (h *held) abandon(records Recorder) {
	h.permit.Leave()
	h.limits.Leave()
	h.reservation.Lose()
	if h.place {
		h.place = false
		records.Leave()
	}
}

// answer is a Running as the sink of its attempts.
type answer Running

// Begin implements attempt.Sink.
func (a *answer) Begin(target string, meta provider.Meta) error {
	head := Head{Target: target, Meta: meta, Warnings: a.held.reservation.Warnings}
	if t := a.service.Config.Current().Targets[target]; t != nil {
		head.Unpriced, head.PriceSource = t.Unpriced, t.PriceSource
	}
	if a.reading != nil {
		head.Cache = a.reading.Source
	}
	if a.leader != nil {
		head.Warnings = a.leader.held.reservation.Warnings
	}
	a.begun, a.sent, a.status = true, meta.Sent, meta.StatusCode
	return a.sink.Begin(head)
}

// Chunk implements attempt.Sink.
func (a *answer) Chunk(c provider.Chunk) error { return a.sink.Chunk(c) }

// Flush implements attempt.Flusher.
func (a *answer) Flush() error {
	if a.flusher == nil {
		return nil
	}
	return a.flusher.Flush()
}
