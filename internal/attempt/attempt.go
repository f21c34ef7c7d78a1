// Package attempt runs one inference: it chooses a target, calls the provider of the target, passes the answer on and meters it.
// Jobs and synchronous calls use the same code; only their [Sink] differs.
//
// It owns fallback: until the caller has seen a part of the answer, another target may be tried. It does not own retries over time
// (package queue) nor the record of attempts (package store): it returns an [Outcome], and writes nothing itself.
//
// Calls for embeddings that differ in their inputs alone share a call upstream: see shared_call.go.
//
// A Runner is safe for concurrent use. It starts a goroutine for each call that several tasks share, and no
// others. A panic below it ends the attempt and not the process.
package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/crash"
	"penstock/internal/dialect"
	"penstock/internal/dialect/edit"
	"penstock/internal/drain"
	"penstock/internal/fan"
	"penstock/internal/filter"
	"penstock/internal/inflight"
	"penstock/internal/microbatch"
	"penstock/internal/outbound"
	"penstock/internal/overflow"
	"penstock/internal/provider"
	"penstock/internal/route"
	"penstock/internal/telemetry"
)

// Sink receives an answer while it arrives.
type Sink interface {
	// Begin is called once, before the first chunk. From then on the answer cannot be replaced by
	// another target's.
	Begin(target string, meta provider.Meta) error
	// Chunk receives a part of the answer. The bytes are valid until it returns.
	Chunk(provider.Chunk) error
}

// Flusher is a Sink that may keep a chunk back while more chunks arrive: see provider.Chunk.More.
type Flusher interface {
	// Flush is called before the next chunk is waited for.
	Flush() error
}

// Deps are what a Runner works with.
type Deps struct {
	Config    *config.Live
	Providers outbound.Providers
	// Translator helps where a target speaks another dialect than the caller; nil for no help.
	Translator outbound.Translator
	Router     *route.Router
	Filters    *filter.Chain    // of answers; nil for none
	Overflow   *overflow.Cutter // counts inputs; nil to estimate all of them
	Answers    *inflight.Pool   // the memory of answers; nil for no bounds
	Metrics    *telemetry.Metrics
	Tracer     *telemetry.Tracer
	Log        *slog.Logger
	Clock      func() time.Time
}

// Runner runs inferences.
type Runner struct {
	Deps
	ids     penstock.IDs
	batches *microbatch.Batcher[kind, *sharedTask]
	runs    sync.Pool // of *Run, each zero: a run is larger than all else that a plain answer allocates
}

// New returns a runner.
func New(d Deps) *Runner {
	r := &Runner{Deps: d}
	r.runs.New = func() any { return new(Run) }
	r.batches = microbatch.New(r.runBatch)
	return r
}

// Task is one inference to run.
type Task struct {
	Subject  penstock.ID // the item or request
	Fence    int64       // the claim of an item
	Model    string      // public name, for metrics and traces
	Lane     penstock.Lane
	Targets  []string // what the model resolved to, in order
	Endpoint penstock.Endpoint
	Body     []byte
	Added    int // bytes of Body that Penstock added and no model reads
	// Inference is Body as it was read, nil until the body is parsed (see Task.read).
	Inference *dialect.Inference
	Header    http.Header // the caller's own, for upstreams of the same dialect; nil for none
	Stream    bool
	// IncludeUsage says that the caller of an OpenAI stream asked for usage at its end.
	IncludeUsage bool
	// MaxAttempts is how many attempts may be made that count; 0 for as many as there are targets.
	MaxAttempts int
	MaxTargets  int // how many targets may be tried, the first included; 0 for all
	// Tries is how many attempts were made in earlier claims: with any, this one is a retry.
	Tries int
	// Owner is whose inference it is. Calls of one owner may be put together; one without an owner is made alone.
	Owner penstock.TenantID
	// Key is the name of the key that asked for the inference, "" for none.
	Key string
	// Bound is the most that one attempt can cost. It is forfeit when the upstream does not report
	// what it charged.
	Bound penstock.NanoUSD
	// Bounded says that a hard budget pays: the task may not cost more than Bound, all attempts together.
	Bounded bool
	// Timeout is how long one attempt may take, beside the target's own bound; 0 for that alone.
	Timeout time.Duration
	// Wait is how long to wait for a target with capacity.
	Wait time.Duration
	// MaxOutputTokens is the most that the body lets the model generate, 0 when that is not known.
	MaxOutputTokens int64
	// OnOverflow is what admission did with inputs that are too long. Inputs that may have been shortened are counted.
	OnOverflow penstock.OnOverflow
	// Tenant is whose synchronous call it is, "" for the item of a job: those have had their turn in the queue.
	Tenant penstock.TenantID
	// Choice is capacity that was taken for the first attempt beforehand; nil for none. The runner gives it back.
	Choice *route.Choice

	// InputBytes is the length of a body that this process does not read, for AnswerElsewhere.
	InputBytes int64
	// Reason is why its target was chosen, where another process chose it; "" otherwise.
	Reason string
	// Learned is called with the result of each attempt, as the capacity of the target learns it; may be nil.
	Learned func(capacity.Result)

	price *taskPrice                 // of a bounded task; nil until it is asked for
	parts bool                       // its answer is divided and judged by the part: see shared_attempt.go
	needs *route.Needs               // of what was merged into Body; nil to read them from it
	began func(try penstock.Attempt) // is called with each attempt; may be nil
}

// Outcome is the result of a task.
type Outcome struct {
	Attempts []penstock.Attempt // the last one is not complete before the task is over
	// Err is nil after a complete answer. It is a *provider.Error when an upstream was called, and
	// a *penstock.Error when none could be. Of several failures it is the last that a later retry may not repeat.
	Err error
	// Final says that the same task would fail again: every target that can serve it was tried, and none may do better later.
	Final bool
	// Begun says that the sink has seen the answer begin.
	Begun        bool
	Counted      int    // attempts that the upstream worked on; those that it turned away for lack of capacity do not count
	Target       string // of the last attempt
	StatusCode   int
	Usage        penstock.Usage   // of all attempts, estimated where an upstream did not report it
	Cost         penstock.NanoUSD // what that usage costs
	Forfeit      penstock.NanoUSD // upper bound of the cost that no upstream reported
	PriceVersion string
	Unpriced     bool // a target was used that has no price

	prices []penstock.Price // of the attempts of a call whose answer is divided
}

// tryOn prepares a try on the capacity that was chosen for it.
func (r *Runner) tryOn(t *try, task *Task, choice *route.Choice) (err error) {
	*t = try{}
	t.runner, t.task, t.choice, t.target, t.probe = r, task.capped(choice.Target), choice, choice.Target, choice.Probe()
	if priced, _ := task.priced(choice.Target); priced != nil { // nil for a target that is no candidate
		t.target = priced
	}
	if t.request, err = r.requestTo(t.task, choice.Target); err != nil {
		return err
	}
	t.task.clamp(&t.request)
	return nil
}

// choose finds a target with capacity, or takes the one that was found beforehand.
func (c *Run) choose(ctx context.Context) (*route.Choice, error) {
	if c.deferred {
		if first := c.chooseFirst(); first != nil {
			return first, nil
		}
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	if c.task.Choice != nil && len(c.query.Tried) == 0 {
		if held := c.task.takeChoice(&c.query); held != nil {
			return held, nil
		}
	}
	return c.runner.Router.Choose(ctx, c.query)
}

// takeChoice is the capacity that was taken beforehand, nil if it cannot be used and is given back.
func (t *Task) takeChoice(q *route.Query) *route.Choice {
	resolved := func(target *penstock.Target) bool { return target.Name == t.Choice.Target.Name }
	if !slices.ContainsFunc(q.Candidates, resolved) || !q.Serves(t.Choice.Target) {
		// The model has other targets by now than when the task was resolved, or the claim that chose
		// for it did not know what its body asks for.
		t.Choice.Release()
		return nil
	}
	held, ok := t.Choice.Take()
	if !ok || (q.Retry && !held.MakeRetry()) {
		return nil
	}
	held.Amend(q.InputTokens, q.MaxOutputTokens)
	return &held
}

// add adds a try to the outcome.
func (o *Outcome) add(t *try, failure *provider.Error) {
	o.Err = decisive(o.Err, failure)
	if failure == nil || !t.free(failure.Kind) {
		o.Counted++
	}
	o.Begun = o.Begun || t.begun
	o.Target, o.StatusCode = t.record.Target, t.record.StatusCode
	o.Usage = o.Usage.Plus(t.record.Usage)
	o.Cost = o.Cost.Plus(t.record.Cost)
	o.Forfeit = o.Forfeit.Plus(t.forfeit)
	o.PriceVersion = t.record.PriceVersion
	o.Unpriced = o.Unpriced || t.target.Unpriced
	if t.task.parts {
		price, _ := t.target.PriceAt(t.record.StartedAt)
		o.prices = append(o.prices, price)
	}
}

// try is one attempt while it runs.
type try struct {
	runner    *Runner
	task      *Task
	request   outbound.Request
	choice    *route.Choice // the capacity that it runs on
	target    *penstock.Target
	sink      Sink
	flusher   Flusher           // the sink; nil for a sink that keeps nothing back
	flushErr  error             // how Flush failed; nil while it has not
	record    *penstock.Attempt // of it, in the outcome
	given     bool              // its capacity was given back
	probe     bool              // it finds out whether a target that was out of order works again
	span      telemetry.Span
	answer    provider.Answer // nil until there is one
	several   *fan.Answer     // the same, if it takes several calls; nil otherwise
	chunk     provider.Chunk  // between its arrival and take
	begun     bool
	err       error         // how the answer ended, io.EOF after all of it; nil until then
	meta      provider.Meta // of the answer, as far as it came
	textBytes int64         // bytes of text that arrived
	weight    *weight       // of bodies that were dropped; nil before
	forfeit   penstock.NanoUSD
	// implausible is the impossible usage that the upstream reported, "" for none.
	implausible string
	drain       *drain.Drain   // nil unless its stream may outlive its caller
	filtered    *filter.Answer // nil where no filter judges the answer
	form        edit.Form      // of the answer, for the filters
	blocked     bool           // a filter kept the answer from the caller
	skipped     string         // the targets that could not serve the call, for the caller; "" for none
	memory      answerMemory
}

// open makes a try on the capacity that was chosen for it, up to where the sink has seen the answer begin.
func (r *Runner) open(ctx context.Context, t *try) (failure *provider.Error) {
	defer t.rescue(&failure)
	ctx, t.span = r.startSpan(ctx, t)
	ctx = t.outlive(ctx)
	t.memory = answerMemory{r.Answers.Open(t.task.Owner), ctx}
	if !t.task.parts {
		t.filtered = r.Filters.Begin(t.task.subject())
	}
	answer, err := r.ask(ctx, t)
	if err != nil {
		return t.judgeFailure(ctx, t.request.Failure(err))
	}
	t.answer = answer
	if t.filtered != nil {
		t.form = formOf(answer.Meta())
	}
	if t.err = t.step(ctx); t.err == nil || errors.Is(t.err, io.EOF) {
		return nil
	}
	return t.ending(ctx)
}

// close ends a try, and completes its record. It returns the failure of the try, nil for none.
func (r *Runner) close(ctx context.Context, t *try, failure *provider.Error) *provider.Error {
	defer t.release() // should anything here panic
	if broken := t.shut(); failure == nil {
		failure = broken
	}
	t.memory.Close()
	t.drain.End()
	t.record.FinishedAt = r.Clock()
	t.checkUsage()
	t.knowSearches()
	t.giveBack(failure)
	r.conclude(ctx, t, failure)
	r.endSpan(t, failure)
	r.observe(ctx, t)
	return failure
}

// shut closes the answer.
func (t *try) shut() (failure *provider.Error) {
	defer t.rescue(&failure)
	if t.answer != nil {
		t.answer.Close()
	}
	return nil
}

// release gives back capacity that was taken beforehand. It has no effect once an attempt was made on it.
func (t *Task) release() {
	if t.Choice != nil {
		t.Choice.Release()
	}
}

// release gives the capacity of a try back if that was not done.
func (t *try) release() {
	t.memory.Close()
	if !t.given {
		t.choice.Release()
	}
}

// giveBack gives the capacity of a try back, with the result that the target learns from.
func (t *try) giveBack(failure *provider.Error) {
	result := t.result(&t.meta, failure)
	if t.several == nil { // else each call returned its own
		t.choice.Done(result)
	}
	t.given = true
	if t.task.Learned != nil {
		t.task.Learned(result)
	}
}

func (r *Runner) startSpan(ctx context.Context, t *try) (context.Context, telemetry.Span) {
	if !r.Tracer.Enabled() {
		return ctx, telemetry.Span{}
	}
	ctx = telemetry.WithIDs(ctx, telemetry.IDs{Attempt: t.record.ID})
	genAI := t.genAI()
	return r.Tracer.StartClient(ctx, genAI.SpanName(), telemetry.String("penstock.target", t.target.Name))
}

func (r *Runner) endSpan(t *try, failure *provider.Error) {
	if !r.Tracer.Enabled() {
		return
	}
	genAI := t.genAI()
	genAI.Usage = t.meta.Usage
	if traced := t.meta.Traced; traced != nil {
		genAI.ResponseModel, genAI.FinishReasons = traced.Model, traced.FinishReasons
	}
	if failure != nil {
		genAI.ErrorType = string(failure.Kind)
	}
	t.span.SetGenAI(genAI)
	t.span.End(nil)
}

// genAI describes a try in traces.
func (t *try) genAI() telemetry.GenAI {
	return telemetry.GenAI{Operation: telemetry.OperationOf(t.task.Endpoint), Provider: t.target.Provider, RequestModel: outbound.UpstreamModel(t.task.Model, t.target)}
}

// conclude completes the record of a try.
func (r *Runner) conclude(ctx context.Context, t *try, failure *provider.Error) {
	t.meta.Usage = t.usage(&t.meta, failure)
	t.meter(&t.meta, failure)
	t.remark(&t.meta, failure)
	if failure != nil || t.implausible != "" {
		r.logFailure(ctx, t, failure)
	}
	if failure != nil {
		t.record.ErrorKind, t.record.ErrorMessage = string(failure.Kind), failure.Public()
		t.record.StatusCode = cmp.Or(failure.StatusCode, t.record.StatusCode)
	}
}

// rescue makes a panic an error like any other.
func (t *try) rescue(failure **provider.Error) {
	if p := recover(); p != nil {
		*failure = &provider.Error{Kind: provider.KindInternal, Message: "The attempt broke on our side.",
			Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
	}
}

// ask calls the upstream. It returns when the first part of a valid answer has arrived.
func (r *Runner) ask(ctx context.Context, t *try) (provider.Answer, error) {
	if t.request.Upstream == nil {
		return nil, &provider.Error{Kind: provider.KindConnect, Message: "Its provider is not configured any more."}
	}
	crash.Body(t.request.Body)
	if t.request.Parts.Calls > 1 {
		if t.several = r.several(ctx, t); t.several.Begun() {
			t.record.FirstTokenAt = r.Clock()
		}
		return t.several, nil
	}
	answer, err := t.request.Upstream.Call(ctx, t.call(ctx))
	if err != nil {
		return nil, err
	}
	t.record.FirstTokenAt = r.Clock()
	if t.task.Stream {
		t.choice.Begun(t.record.FirstTokenAt.Sub(t.record.StartedAt))
	}
	if t.request.Translated() { // few are
		answer = t.request.Answer(answer, t.asked(), &t.memory)
	}
	return answer, nil
}

// keep records the meta of an answer at its end.
func (t *try) keep() {
	if lost := outbound.Losses(t.answer); len(lost) > 0 {
		t.addReason("dropped " + strings.Join(lost, ", "))
	}
	t.meta = t.answer.Meta()
	t.record.StatusCode = t.meta.StatusCode
}

// callerLimitsTime reports whether the caller allows less time than the target.
func (t *try) callerLimitsTime() bool {
	return t.task.Timeout > 0 && (t.target.TotalTimeout == 0 || t.task.Timeout < t.target.TotalTimeout)
}

// deadline is when the tighter of what the caller and the target allow is over, zero for never.
func (t *try) deadline() time.Time {
	bound := t.target.TotalTimeout
	if t.callerLimitsTime() {
		bound = t.task.Timeout
	}
	if bound <= 0 {
		return time.Time{}
	}
	return time.Now().Add(bound)
}

func (t *try) call(ctx context.Context) provider.Call {
	// The first chunk of a plain answer is all of it, so its time is the total.
	firstToken := t.target.FirstTokenTimeout
	if !t.task.Stream {
		firstToken = 0
	}
	return provider.Call{
		Endpoint: t.request.Endpoint, Body: t.request.Body, Object: t.request.Object, UpstreamModel: outbound.UpstreamModel(t.task.Model, t.target), Stream: t.task.Stream,
		Timeouts: provider.Timeouts{
			Connect: t.target.ConnectTimeout, FirstToken: firstToken, Idle: t.target.IdleTimeout,
		},
		Waiting: t.waiting(), Deadline: t.deadline(), Memory: &t.memory, Header: telemetry.Inject(ctx, t.request.Header), Traced: t.span.Recording(),
	}
}

// asked is the part of the request that the translation of an answer needs.
func (t *try) asked() dialect.Asked {
	return dialect.Asked{Model: t.task.Model, Stream: t.task.Stream, IncludeUsage: t.task.IncludeUsage, At: t.record.StartedAt, ID: string(t.task.Subject), Origin: outbound.Origin(t.task.Model, t.target), Body: t.task.Body}
}

// pass hands the rest of an answer to the sink.
func (t *try) pass(ctx context.Context) (failure *provider.Error) {
	defer t.rescue(&failure)
	for t.err == nil {
		t.err = t.step(ctx)
	}
	return t.ending(ctx)
}

// step hands the next chunk of an answer to the sink. It returns io.EOF when there was none left.
//
// A stream waits here for its next chunk, so its frame is kept small: the chunk goes by way of the try, and take is not inlined.
func (t *try) step(ctx context.Context) (err error) {
	if t.chunk, err = t.answer.Next(); err != nil {
		return cmp.Or(t.flushErr, err)
	}
	return t.take(ctx)
}

// take asks the filters about the chunk, and hands it to the sink.
//
//go:noinline
func (t *try) take(ctx context.Context) error {
	chunk := t.chunk
	t.chunk = provider.Chunk{}
	arrived := int64(len(chunk.Text))
	if t.filtered != nil {
		if err := t.judge(ctx, &chunk); err != nil {
			t.textBytes += arrived
			return err
		}
	}
	if !t.begun {
		if err := t.begin(); err != nil {
			return refused(err)
		}
	}
	t.textBytes += arrived
	if err := t.hand(chunk); err != nil {
		return refused(err)
	}
	return nil
}

// begin announces the answer to the sink.
func (t *try) begin() error {
	t.begun = true
	t.drain.Begin()
	meta := t.answer.Meta()
	if meta.Skipped = t.skipped; len(t.request.Dropped) > 0 {
		meta.Dropped = route.HeaderText(t.request.Dropped)
	}
	return t.sink.Begin(t.target.Name, meta)
}

// ending is how an answer ended: nil after all of it.
func (t *try) ending(ctx context.Context) *provider.Error {
	t.keep()
	if errors.Is(t.err, io.EOF) {
		return t.drained()
	}
	return t.judgeFailure(ctx, t.request.Failure(t.err))
}

// refused is the failure of a sink that accepts no more: its own error, or that its reader left.
func refused(err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return &provider.Error{Kind: provider.KindCancelled, Message: "The caller left before the answer was complete.", Err: err}
}

// meter prices the usage, and the rest that the upstream may have charged without a report.
func (t *try) meter(meta *provider.Meta, failure *provider.Error) {
	t.record.Usage, t.record.UsageKnown = meta.Usage, meta.UsageKnown
	charge := penstock.Charge{Usage: meta.Usage, Lane: t.task.Lane}
	if meta.UsageKnown || meta.Usage != (penstock.Usage{}) {
		charge.Calls, charge.Images = t.extras()
		charge.Searches = t.task.ranking().Charged(meta.SearchUnits)
	}
	price, version := t.target.PriceAt(t.record.StartedAt)
	t.record.Cost, t.record.PriceVersion = min(price.Charge(charge), penstock.MaxCost), version
	if t.task.Bounded && t.record.Cost > t.task.Bound {
		// The request bounded the answer, and a hard budget pays no more.
		t.record.Cost = t.task.Bound
		t.addReason("it cost more than was reserved; a hard budget pays no more than the reservation")
	}
	if !meta.UsageKnown && (t.begun || t.blocked || failure == nil || failure.Kind.Policy().Billable || meta.Owed) {
		t.forfeit = max(0, t.task.Bound-t.record.Cost)
	}
}

// extras are the calls and images that are charged for beside tokens. A count of tokens is free.
func (t *try) extras() (calls, images int64) {
	if t.task.Endpoint == penstock.EndpointCountTokens {
		return 0, 0
	}
	calls = t.calls()
	if t.target.ChargesImages() {
		images = t.weigh().images * calls
	}
	return calls, images
}

// knowSearches makes the usage of a call known whose upstream reports search units and charges for nothing else. Its tokens are
// estimated.
func (t *try) knowSearches() {
	if t.meta.SearchUnits > 0 && !t.meta.UsageKnown && t.implausible == "" && t.target.BySearch() {
		t.meta.UsageKnown, t.meta.Usage.InputTokens = true, cmp.Or(t.meta.Usage.InputTokens, t.weigh().tokens)
	}
}

// result is the result of a try that the capacity of its target learns from.
func (t *try) result(meta *provider.Meta, failure *provider.Error) capacity.Result {
	res := capacity.ResultOf(meta, failure)
	res.Took, res.Calls = t.record.FinishedAt.Sub(t.record.StartedAt), t.calls()
	if !t.record.FirstTokenAt.IsZero() {
		res.FirstToken = t.record.FirstTokenAt.Sub(t.record.StartedAt)
	}
	if t.task.Endpoint == penstock.EndpointCountTokens {
		res.Took, res.FirstToken = 0, 0 // nothing was generated: its duration is not that of an inference
	}
	if failure == nil {
		return res
	}
	if failure.Kind == provider.KindRateLimited && t.task.Endpoint == penstock.EndpointCountTokens {
		res.Quota.Plenty = true // counting has limits of its own
	}
	if failure.Kind == provider.KindTimeout && t.callerLimitsTime() {
		// The short timeout of a caller is no evidence against the target: else one tenant could take its capacity away from all.
		res.Kind = provider.KindCancelled
	}
	return res
}

// logFailure logs the failures that callers do not see: errors about the account at the upstream, and defects.
func (r *Runner) logFailure(ctx context.Context, t *try, failure *provider.Error) {
	ctx = telemetry.WithIDs(ctx, telemetry.IDs{Attempt: t.record.ID})
	if t.implausible != "" {
		r.Log.WarnContext(ctx, "a target reported impossible usage; the reservation is forfeit", "target", t.target.Name, "reported", t.implausible)
	}
	switch {
	case failure == nil:
	case failure.Kind == provider.KindInternal:
		r.Log.ErrorContext(ctx, "an attempt broke on our side", "target", t.target.Name, "error", failure)
	case failure.Public() != failure.Message:
		r.Log.WarnContext(ctx, "a target refuses us", "target", t.target.Name, "kind", failure.Kind, "error", failure)
	}
}

func (r *Runner) observe(ctx context.Context, t *try) {
	o := telemetry.AttemptObservation{
		Tenant: telemetry.Tenant(ctx), Model: t.task.Model, Target: t.target.Name, Kind: t.record.ErrorKind, Stream: t.task.Stream,
		Total: t.record.FinishedAt.Sub(t.record.StartedAt), Usage: t.record.Usage, Cost: t.record.Cost,
		Unpriced: t.target.Unpriced, Implausible: t.implausible != "",
	}
	if !t.record.FirstTokenAt.IsZero() {
		o.FirstToken = t.record.FirstTokenAt.Sub(t.record.StartedAt)
	}
	r.Metrics.AttemptFinished(o)
}
