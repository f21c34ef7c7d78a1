// Package admit decides whether work may enter: who asks, what they may do, which model answers for
// the name they gave, and what the work can cost at most. What it resolves is stored with the work
// and never changes silently.
//
// Jobs are admitted by one transaction of the store; synchronous requests from memory, without any.
// Nothing here runs an inference.
//
// A Service is safe for concurrent use.
package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/filter"
	"penstock/internal/limit"
	"penstock/internal/route"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// Bounds and defaults of a job.
const (
	DefaultDeadline    = 24 * time.Hour
	MaxDeadline        = 30 * 24 * time.Hour
	DefaultAttempts    = 4
	MaxAttempts        = 20
	DefaultItemTimeout = 5 * time.Minute
	MinItemTimeout     = time.Second
	MaxItemTimeout     = time.Hour
	MaxTags            = 16
	MaxTagKeyBytes     = 64
	MaxTagValueBytes   = 256
	MaxCustomIDBytes   = 128
	MaxKeyBytes        = 255
	MaxModelBytes      = 256
)

// Jobs is what admission writes.
type Jobs interface {
	SubmitJob(ctx context.Context, tenant penstock.TenantID, s store.Submission) (store.Receipt, error)
	JobByKey(ctx context.Context, tenant penstock.TenantID, key store.IdempotencyKey) (penstock.Job, error)
}

// Room knows whether new jobs can be kept.
type Room interface {
	Refusal() error // nil while there is room. Codes: overloaded
	Full()          // a write found that there is none
}

// Callers knows the keys. It answers from memory.
type Callers interface {
	// Caller returns who a secret belongs to. Codes: invalid_key.
	Caller(secret string) (penstock.Caller, error)
}

// Deps are what a Service works with.
type Deps struct {
	Config   *config.Live
	Callers  Callers
	Jobs     Jobs
	Retries  Retries
	Balances Balances
	Room     Room
	Backlog  *backlog.View
	Work     *signal.Topic[signal.None] // notified when items are ready
	Starter  Starter                    // nil where no worker is
	Controls Controls
	Limits   *limit.Limiter
	Filters  *filter.Chain // of inputs; nil for none
	Metrics  *telemetry.Metrics
	Clock    func() time.Time
}

// Service admits work.
type Service struct {
	Deps
	ids penstock.IDs
}

// New returns a service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Authenticate finds out who presents a key. Codes: invalid_key.
func (s *Service) Authenticate(secret string) (penstock.Caller, error) {
	if secret == "" {
		return penstock.Caller{}, penstock.Errorf(penstock.CodeInvalidKey,
			"No API key was given; send it as \"Authorization: Bearer psk_…\" or \"x-api-key: psk_…\".")
	}
	return s.Callers.Caller(secret)
}

// Require checks that a caller may do something. Codes: scope_missing.
func Require(c penstock.Caller, scope penstock.Scope) error {
	if slices.Contains(c.Scopes, scope) {
		return nil
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "The key %q lacks the scope %s; it has %s.", c.Key, scope, join(c.Scopes))
}

// JobOrder is a job that a caller asks for, decoded but not yet judged. Zero fields take defaults.
type JobOrder struct {
	// Scope is what the caller's key needs; jobs:write unless the order comes through another door.
	Scope penstock.Scope

	Endpoint   penstock.Endpoint
	Model      string
	Lane       penstock.Lane
	Inferences []dialect.Inference
	Lines      *Lines // instead of Inferences
	// Parts are orders over other lines of the same batch, each for a model of its own: they are accepted with it, or none
	// is. They have no parts and no key.
	Parts       []JobOrder
	Deadline    time.Time
	MaxAttempts int
	ItemTimeout time.Duration
	Tags        map[string]string
	TraceParent string
	Stream      penstock.Stream   // how its answers are shown while they arrive
	Webhook     *store.JobWebhook // where its events are sent, nil for nowhere; checked by who decoded it
	Previous    penstock.ID       // the response that it goes on from, "" for none

	IdempotencyKey string
	BodyHash       []byte // of the canonical body, with IdempotencyKey

	Try store.Try // which try of its caller it is
}

// Job admits a job: it is accepted when this returns without an error. What an operator holds back is
// accepted and waits, unless its caller waits for the answer. Codes: invalid_request, model_not_found,
// scope_missing, queue_full, too_large, overloaded (the queue is full, or held back, through another
// door), and those of store.Jobs.SubmitJob.
func (s *Service) Job(ctx context.Context, caller penstock.Caller, o JobOrder) (Accepted, error) {
	job, err := s.submit(ctx, caller, o)
	job, err = s.counted(caller, job, err)
	if err == nil && !job.Replayed {
		for _, p := range o.Parts {
			s.Metrics.JobAccepted(string(job.Job.Tenant), p.Model, job.Job.Lane, p.Lines.File.Lines)
		}
	}
	return job, err
}

// counted counts what became of an order.
func (s *Service) counted(caller penstock.Caller, job Accepted, err error) (Accepted, error) {
	if err != nil {
		if penstock.ErrorCode(err) == penstock.CodeBudgetExceeded {
			s.Metrics.BudgetRefused(string(caller.Tenant.ID))
		}
		s.Metrics.JobRejected(penstock.ErrorCode(err))
		return job, err
	}
	if len(job.Warnings) > 0 {
		s.Metrics.BudgetWarned(string(job.Job.Tenant))
	}
	if !job.Replayed {
		j := job.Job
		s.Metrics.JobAccepted(string(j.Tenant), j.Model, j.Lane, j.Counts.Total)
	}
	return job, nil
}

// Wake tells the workers that jobs were accepted which nobody begins.
func (s *Service) Wake() { s.Work.Notify() }

func (s *Service) submit(ctx context.Context, caller penstock.Caller, o JobOrder) (Accepted, error) {
	if err := Require(caller, cmp.Or(o.Scope, penstock.ScopeJobsWrite)); err != nil {
		return Accepted{}, err
	}
	d, err := s.draft(caller, &o)
	if err == nil {
		err = s.open(caller, o, d)
	}
	if err != nil {
		return s.replay(ctx, caller, o, err)
	}
	// Limits come first: what waits for its turn must not hold a place in the queue.
	limitHold, err := s.spendSubmit(ctx, caller, o)
	if err != nil {
		return s.replay(ctx, caller, o, err)
	}
	defer limitHold.Leave()
	if err := s.judgeJob(ctx, caller, o.Inferences, &d); err != nil {
		limitHold.Release()
		return s.replay(ctx, caller, o, err)
	}
	entry, err := s.admit(d.arrival, &d.sub)
	if err != nil {
		limitHold.Release()
		return s.replay(ctx, caller, o, err)
	}
	parts, err := s.admitParts(ctx, caller, o)
	if err != nil {
		entry.queue.Dropped(entry.arrival)
		return s.replay(ctx, caller, o, err)
	}
	for _, p := range parts {
		d.sub.Parts = append(d.sub.Parts, p.sub)
	}
	submitter := Submitter{s.Jobs, s.Starter, s.Work}
	job, err := submitter.Submit(ctx, caller.Tenant.ID, d.sub)
	if s.narrowed(ctx, &d.pricing, &d.sub, err) {
		job, err = submitter.Submit(ctx, caller.Tenant.ID, d.sub)
	}
	job, err = s.kept(entry.settle(job, err))
	for _, p := range parts {
		_, _ = p.settle(job, err)
	}
	if d.sub.Job.Call && !job.Replayed && (err == nil || penstock.ErrorCode(err) == penstock.CodeInternal) {
		limitHold.Entrust() // also where nobody knows whether it was accepted: the store does
	}
	job.Waited = limitHold.WaitedFor()
	return job, err
}

// draft is an order as it would be written, and what it adds to the queue.
type draft struct {
	sub     store.Submission
	arrival backlog.Arrival
	pricing
}

// draft completes, checks and resolves an order. Codes: invalid_request, model_not_found, budget_exceeded.
func (s *Service) draft(caller penstock.Caller, o *JobOrder) (d draft, err error) {
	now := s.Clock()
	if err := o.complete(caller.Tenant, now); err != nil {
		return d, err
	}
	resolved, targets, err := resolve(s.Config.Current(), o.Model, caller.Tenant)
	if err == nil {
		targets, err = payable(&caller, o.Model, &resolved, targets)
	}
	if err != nil {
		return d, err
	}
	resolved.Previous = o.Previous
	d.pricing = pricing{caller.Tenant.ID, make([]quote, len(o.Inferences)), targets, Terms{now, o.Lane}}
	d.sub = store.Submission{
		Job: penstock.Job{
			ID: s.ids.New(now), Key: caller.Key, Endpoint: o.Endpoint, Model: o.Model, Lane: o.Lane, Tags: o.Tags,
			MaxAttempts: o.MaxAttempts, ItemTimeout: o.ItemTimeout, Resolved: resolved, TraceParent: o.TraceParent,
			Deadline: o.Deadline, Stream: o.Stream, Call: o.call() && o.Lane == penstock.LaneRealtime,
		},
		DeadlineIn:  DefaultDeadline,
		Items:       make([]store.NewItem, len(o.Inferences)),
		Idempotency: s.idempotency(caller, o.IdempotencyKey, o.BodyHash),
		Accounts:    store.AccountsOf(caller, penstock.ModelNames{Asked: o.Model, Answers: resolved.Model}, now),
		Webhook:     o.Webhook,
		StoredLimit: caller.Tenant.StoredBytes,
	}
	for i, inf := range o.Inferences {
		q, err := quoteOf(resolved, targets, &inf)
		if err != nil {
			return d, inInput(err, i, len(o.Inferences))
		}
		d.quotes[i] = q
		if err := Fetchable(s.Config.Current(), caller.Tenant, targets, inf); err != nil {
			return d, inInput(err, i, len(o.Inferences))
		}
		d.sub.Items[i] = q.item(targets, &inf, d.terms)
	}
	d.arrival = arrivalOf(caller.Tenant.ID, d.sub)
	if o.Lines != nil {
		o.Lines.submit(targets, &d.sub, &d.arrival)
	}
	return d, nil
}

// open refuses what cannot be taken in at this moment, whatever it is. Codes: overloaded.
func (s *Service) open(caller penstock.Caller, o JobOrder, d draft) error {
	if err := s.Room.Refusal(); err != nil {
		return err
	}
	if o.Scope != penstock.ScopeInference {
		return nil
	}
	// Its caller waits for the answer, and should not wait for an operator.
	return s.refuseHeld(demand{caller.Tenant.ID, o.Lane, d.sub.Job.ModelNames(), d.sub.Job.Resolved.Targets})
}

// kept passes on what became of a job that was to be kept, and closes the door if there was no room.
func (s *Service) kept(job Accepted, err error) (Accepted, error) {
	if errors.Is(err, store.ErrFull) {
		s.Room.Full()
	}
	return job, err
}

// idempotency is the key of an order, nil if it has none.
func (s *Service) idempotency(caller penstock.Caller, key string, hash []byte) *store.IdempotencyKey {
	if key == "" {
		return nil
	}
	return &store.IdempotencyKey{Key: key, BodyHash: hash, TTL: cmp.Or(caller.Tenant.Retention.Idempotency, s.Config.Current().Retention.Idempotency)}
}

// replay answers for an order that is refused today but may have been accepted before: its deadline
// passed meanwhile, its model is gone, the queue is full, or there is no room for new ones. The key says so.
func (s *Service) replay(ctx context.Context, caller penstock.Caller, o JobOrder, refusal error) (Accepted, error) {
	if o.IdempotencyKey == "" || checkKey(o.IdempotencyKey) != nil {
		return Accepted{}, refusal
	}
	job, err := s.Jobs.JobByKey(ctx, caller.Tenant.ID, store.IdempotencyKey{Key: o.IdempotencyKey, BodyHash: o.BodyHash})
	if err != nil {
		return Accepted{}, refusal
	}
	return s.replayed(job), nil
}

// replayed is a job that was accepted before.
func (s *Service) replayed(job penstock.Job) Accepted {
	return Accepted{Receipt: store.Receipt{Job: job, Replayed: true}, begin: s.Work.Notify}
}

// RequestOrder is a synchronous call that a caller asks for.
type RequestOrder struct {
	ID        penstock.ID
	Endpoint  penstock.Endpoint
	Model     string
	Inference dialect.Inference
	Free      bool      // nobody charges for it
	Try       store.Try // which try of its caller it is
	Permitted bool      // it has a permit (see Permit)
}

// Admitted is a synchronous call that may run.
type Admitted struct {
	Targets []string
	Bound   penstock.NanoUSD // the most that one attempt can cost
	// Less says what it can cost at most on fewer targets, the next lower amount first; nil unless a hard budget pays.
	Less func() []penstock.NanoUSD
	// Model is what answers for the name, and Resolved what it means to this tenant, paused targets included.
	Model    penstock.Model
	Resolved []string
	// LimitHold is its room under its caller's limits, nil without any. It is to be given back.
	LimitHold *capacity.LimitHold
	// Edited is the inference as the input filters edited it, nil if they left it alone.
	Edited *dialect.Inference
}

// Request admits a synchronous call, from memory. Codes: scope_missing, model_not_found,
// invalid_request, rate_limited, overloaded (an operator holds it back, or limits cannot be looked at).
func (s *Service) Request(ctx context.Context, caller penstock.Caller, o RequestOrder) (Admitted, error) {
	if err := Require(caller, penstock.ScopeInference); err != nil {
		return Admitted{}, err
	}
	if err := allowLane(caller.Tenant, penstock.LaneRealtime); err != nil {
		return Admitted{}, err
	}
	if err := checkModel(o.Model); err != nil {
		return Admitted{}, err
	}
	snapshot := s.Config.Current()
	resolved, targets, err := resolve(snapshot, o.Model, caller.Tenant)
	var q quote
	if err == nil && !o.Free {
		if targets, err = payable(&caller, o.Model, &resolved, targets); err == nil {
			q, err = quoteOf(resolved, targets, &o.Inference)
		}
	}
	if err == nil {
		err = Fetchable(snapshot, caller.Tenant, targets, o.Inference)
	}
	if err != nil {
		return Admitted{}, err
	}
	names := penstock.ModelNames{Asked: o.Model, Answers: resolved.Model}
	if err := s.refuseHeld(demand{caller.Tenant.ID, penstock.LaneRealtime, names, resolved.Targets}); err != nil {
		return Admitted{}, err
	}
	use := useOf(o.Inference)
	use.Free, use.Try, use.Permitted = o.Free, o.Try, o.Permitted
	limitHold, err := s.Limits.Admit(ctx, &caller, names, use)
	if err != nil {
		return Admitted{}, err
	}
	edited, err := s.judgeRequest(ctx, caller, &o, targets)
	if err != nil {
		limitHold.Release()
		return Admitted{}, err
	}
	a := Admitted{
		Edited:  edited,
		Targets: s.Controls.Open(resolved.Targets), LimitHold: limitHold, Model: snapshot.Models[resolved.Model], Resolved: resolved.Targets,
	}
	if !o.Free {
		terms := Terms{s.Clock(), penstock.LaneRealtime}
		a.Bound = q.bound(targets, terms).Cost
		if resolved.Bounded && len(targets) > 1 {
			a.Less = q.lesser(a.Bound, targets, terms)
		}
	}
	return a, nil
}

// resolve finds the model that answers for a name and notes what it means today, to a tenant who may use some
// models only, and whose work may run in some regions only. What is left out here is never called: a region is
// a promise. A model that the tenant may not use does not exist for it.
func resolve(snapshot *config.Snapshot, name string, tenant penstock.Tenant) (penstock.Resolved, []*penstock.Target, error) {
	model, ok := snapshot.Model(name)
	if !ok || !tenant.MayUse(model.Name) {
		e := penstock.Errorf(penstock.CodeModelNotFound, "There is no model %q; %s.", clip(name), known(snapshot, tenant))
		e.Param = "model"
		return penstock.Resolved{}, nil, e
	}
	allowed, targets, err := model.Targets, snapshot.TargetsOf(model.Name), error(nil)
	if len(tenant.Regions) > 0 {
		if allowed, err = inRegions(model, snapshot.Targets, tenant.Regions); err != nil {
			return penstock.Resolved{}, nil, err
		}
		targets, err = route.Candidates(allowed, snapshot.Targets)
	}
	return penstock.Resolved{
		Config: snapshot.Hash, Model: model.Name, Policy: string(model.Policy), Targets: allowed,
	}, targets, err
}

// known helps a caller who mistyped a model's name.
func known(snapshot *config.Snapshot, tenant penstock.Tenant) string {
	names := make([]string, 0, len(snapshot.Models))
	for name := range snapshot.Models {
		if tenant.MayUse(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("GET /v1/models lists all %d, such as %s", len(names), strings.Join(names[:most], ", "))
	}
	return "those are configured: " + strings.Join(names, ", ")
}

func join[T ~string](list []T) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// clip shortens what a caller sent before it is quoted back.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
