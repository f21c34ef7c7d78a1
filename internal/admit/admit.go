// Package admit decides whether work is accepted: it identifies the caller, checks the caller's permissions, resolves
// the model name, and bounds the cost of the work. The resolution is stored with the work and never changes silently.
//
// One transaction of the store admits a job. Synchronous requests are admitted from memory, without a transaction. This
// package runs no inference.
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
	"penstock/internal/attachment"
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
	MaxSubjectBytes    = 512
	MaxCustomIDBytes   = 128
	MaxKeyBytes        = 255
	MaxModelBytes      = 256
)

// Jobs is where admission writes jobs.
type Jobs interface {
	SubmitJob(ctx context.Context, tenant penstock.TenantID, s store.Submission) (store.Receipt, error)
	JobByKey(ctx context.Context, tenant penstock.TenantID, key store.IdempotencyKey) (penstock.Job, error)
}

// Disk says whether there is disk space for new jobs.
type Disk interface {
	Refusal() error // nil while there is space. Codes: overloaded
	Full()          // a write failed because the disk is full
}

// Principals holds the API keys, in memory.
type Principals interface {
	// Principal returns the principal whose secret this is. Codes: invalid_key.
	Principal(secret string) (penstock.Principal, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Config     *config.Live
	Principals Principals
	Jobs       Jobs
	Retries    Retries
	Balances   Balances
	Disk       Disk
	Backlog    *backlog.View
	Work       *signal.Topic[signal.None] // notified when items are ready
	Starter    Starter                    // nil where no worker is
	Controls   Controls
	Limits     *limit.Limiter
	Files      Attachments   // of bodies; nil where no files are
	Filters    *filter.Chain // of inputs; nil for none
	Overflow   *Overflow     // of inputs that are too long; nil to refuse all of them
	Prompts    Prompts       // that bodies name; nil where there are none
	Metrics    *telemetry.Metrics
	Clock      func() time.Time
}

// Service admits work.
type Service struct {
	Deps
	ids penstock.IDs
}

// New returns a service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Authenticate returns the caller that presents a key. Codes: invalid_key.
func (s *Service) Authenticate(secret string) (penstock.Principal, error) {
	if secret == "" {
		return penstock.Principal{}, penstock.Errorf(penstock.CodeInvalidKey,
			"No API key was given; send it as \"Authorization: Bearer psk_…\" or \"x-api-key: psk_…\".")
	}
	return s.Principals.Principal(secret)
}

// Require checks that a caller's key has a scope. People have no scopes: the row of the route has checked their role in the
// tenant. Codes: scope_missing.
func Require(c penstock.Principal, scope penstock.Scope) error {
	if slices.Contains(c.Scopes, scope) || c.Kind == penstock.PrincipalPerson && len(c.Roles) > 0 {
		return nil
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "The key %q lacks the scope %s; it has %s.", c.Key, scope, join(c.Scopes))
}

// JobOrder is the job in a submit call, decoded but not yet admitted. Zero fields take defaults.
type JobOrder struct {
	// Scope is the scope that the caller's key needs. Zero means jobs:write; the inference endpoints set another.
	Scope penstock.Scope

	Endpoint   penstock.Endpoint
	Model      string
	Lane       penstock.Lane
	Inferences []dialect.Inference
	Lines      *Lines // instead of Inferences
	// Parts are orders over other lines of the same batch, each for another model. All of them are accepted together with
	// this order, or none is. A part has neither parts nor an idempotency key.
	Parts       []JobOrder
	Deadline    time.Time
	MaxAttempts int
	ItemTimeout time.Duration
	Tags        map[string]string
	TraceParent string
	Stream      penstock.Stream   // how its answers are streamed
	Webhook     *store.JobWebhook // an endpoint for the events of this job alone, checked by the decoder; nil for none
	Previous    penstock.ID       // the response that it continues, "" for none
	// Conversation is the conversation that a response is a turn of, "" for none. ID is then the id of the job, which the turn has
	// already; otherwise Job makes it.
	Conversation, ID penstock.ID
	Own              int               // the items at the end of its input that the turn adds to the conversation
	Memory           attachment.Memory // for the files that its bodies name; nil for no bounds

	IdempotencyKey string
	BodyHash       []byte // of the canonical body, with IdempotencyKey

	Try store.Try // which try of its caller it is
}

// Job admits a job: the job is accepted when Job returns without an error. A job that an operator has paused is
// accepted and waits, unless its caller waits for the answer. Codes: invalid_request, model_not_found,
// scope_missing, queue_full, too_large, overloaded (for an inference call: the queue is full or paused), and those
// of store.Jobs.SubmitJob.
func (s *Service) Job(ctx context.Context, caller penstock.Principal, o JobOrder) (Accepted, error) {
	job, err := s.submit(ctx, caller, o)
	job, err = s.counted(caller, job, err)
	if err == nil && !job.Replayed {
		for _, p := range o.Parts {
			s.Metrics.JobAccepted(string(job.Job.Tenant), p.Model, job.Job.Lane, p.Lines.File.Lines)
		}
	}
	return job, err
}

// counted records the outcome of an order in the metrics.
func (s *Service) counted(caller penstock.Principal, job Accepted, err error) (Accepted, error) {
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

// Wake notifies the workers of accepted jobs that this process does not start itself.
func (s *Service) Wake() { s.Work.Notify() }

func (s *Service) submit(ctx context.Context, caller penstock.Principal, o JobOrder) (Accepted, error) {
	if err := Require(caller, cmp.Or(o.Scope, penstock.ScopeJobsWrite)); err != nil {
		return Accepted{}, err
	}
	d, err := s.draft(ctx, caller, &o)
	if err == nil {
		err = s.open(caller, o, d)
	}
	if err != nil {
		return s.replay(ctx, caller, o, err)
	}
	// Limits come first: a job that waits for capacity under its limits must not hold a place in the queue.
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
		limitHold.Entrust() // also after an internal error: the job may be accepted, and the store counts it then
	}
	job.Waited = limitHold.WaitedFor()
	if len(d.sub.Items) == 1 && !job.Replayed {
		job.Truncated, job.Prompt = d.sub.Items[0].Truncated, d.sub.Items[0].Prompt
	}
	return job, err
}

// draft is an order as it would be written, and what it adds to the queue.
type draft struct {
	sub     store.Submission
	arrival backlog.Arrival
	pricing
}

// draft completes, checks and resolves an order. Codes: invalid_request, model_not_found, budget_exceeded, and those of prompt and
// attachJob.
func (s *Service) draft(ctx context.Context, caller penstock.Principal, o *JobOrder) (d draft, err error) {
	now := s.Clock()
	setDefault(&o.Endpoint, penstock.EndpointChat)
	pins, err := o.prompt(ctx, s, caller.Tenant.ID)
	if err == nil {
		err = o.complete(caller.Tenant, now)
	}
	if err != nil {
		return d, err
	}
	resolved, targets, err := resolve(s.Config.Current(), o.Model, caller.Tenant)
	if err == nil {
		targets, err = payable(&caller, work{o.Model, o.Tags}, &resolved, targets)
	}
	if err == nil {
		err = s.attachJob(ctx, caller, o)
	}
	if err == nil {
		err = s.Overflow.job(o, shortenOrder(o.Model, s.Config.Current(), &resolved, targets))
	}
	if err != nil {
		return d, err
	}
	resolved.Previous, resolved.Conversation, resolved.Prompts = o.Previous, o.Conversation, pins
	id := o.ID
	if id == "" {
		id = s.ids.New(now)
	}
	d.pricing = pricing{caller.Tenant.ID, make([]quote, len(o.Inferences)), targets, Terms{now, o.Lane}}
	d.sub = store.Submission{
		Job: penstock.Job{
			ID: id, Key: caller.Key, Endpoint: o.Endpoint, Model: o.Model, Lane: o.Lane, Tags: o.Tags,
			MaxAttempts: o.MaxAttempts, ItemTimeout: o.ItemTimeout, Resolved: resolved, TraceParent: o.TraceParent,
			Deadline: o.Deadline, Stream: o.Stream, Call: o.call() && o.Lane == penstock.LaneRealtime,
		},
		DeadlineIn:  DefaultDeadline,
		Items:       make([]store.NewItem, len(o.Inferences)),
		Idempotency: s.idempotency(caller, o.IdempotencyKey, o.BodyHash),
		Accounts:    store.AccountsOf(caller, work{o.Model, o.Tags}.on(&resolved), now),
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

// open refuses an order while the disk is full, and an inference call while an operator has paused it. Codes: overloaded.
func (s *Service) open(caller penstock.Principal, o JobOrder, d draft) error {
	if err := s.Disk.Refusal(); err != nil {
		return err
	}
	if o.Scope != penstock.ScopeInference {
		return nil
	}
	// The caller waits for the answer and should not have to wait for an operator.
	return s.refuseHeld(demand{caller.Tenant.ID, o.Lane, d.sub.Job.ModelNames(), d.sub.Job.Resolved.Targets})
}

// kept returns the outcome of a write unchanged. If the disk was full, it has further jobs refused.
func (s *Service) kept(job Accepted, err error) (Accepted, error) {
	if errors.Is(err, penstock.ErrDiskFull) {
		s.Disk.Full()
	}
	return job, err
}

// idempotency is the key of an order, nil if it has none.
func (s *Service) idempotency(caller penstock.Principal, key string, hash []byte) *store.IdempotencyKey {
	if key == "" {
		return nil
	}
	return &store.IdempotencyKey{Key: key, BodyHash: hash, TTL: cmp.Or(caller.Tenant.Retention.Idempotency, s.Config.Current().Retention.Idempotency)}
}

// replay answers an order that is refused now but may have been accepted before: since then its deadline may have
// passed, its model may have been removed, or the queue or the disk may be full. The idempotency key finds the job.
func (s *Service) replay(ctx context.Context, caller penstock.Principal, o JobOrder, refusal error) (Accepted, error) {
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

// RequestOrder is a synchronous call, not yet admitted.
type RequestOrder struct {
	ID        penstock.ID
	Endpoint  penstock.Endpoint
	Model     string
	Inference dialect.Inference
	Tags      map[string]string // checked by the decoder (see CheckTags)
	Free      bool              // it costs nothing
	Try       store.Try         // which try of its caller it is
	Permitted bool              // it has a permit (see Permit)
	Memory    attachment.Memory // for the files that its body names; nil for no bounds
	Only      []string          // the targets that its caller allows; nil for all of the model
}

// Admitted is a synchronous call that may run.
type Admitted struct {
	Targets []string
	Bound   penstock.NanoUSD // the most that one attempt can cost
	// Less returns the bounds of its cost on fewer targets, in descending order; nil unless a hard budget pays.
	Less func() []penstock.NanoUSD
	// Model is the model of that name, and Resolved its targets for this tenant, paused ones included.
	Model    penstock.Model
	Resolved []string
	// LimitHold is the capacity that it takes from its caller's limits, nil without limits. The caller releases it.
	LimitHold *capacity.LimitHold
	// Edited is the inference with the messages of its prompt and the content of its files, without the turns that are too much for its
	// model, and after the input filters edited it; nil if it is as it was sent.
	Edited *dialect.Inference
}

// Request admits a synchronous call, from memory. Codes: scope_missing, model_not_found,
// invalid_request, rate_limited, overloaded (an operator paused it, or the limits cannot be read), and those of promptcall.Service.Put.
func (s *Service) Request(ctx context.Context, caller penstock.Principal, o RequestOrder) (Admitted, error) {
	if err := Require(caller, penstock.ScopeInference); err != nil {
		return Admitted{}, err
	}
	if err := allowLane(caller.Tenant, penstock.LaneRealtime); err != nil {
		return Admitted{}, err
	}
	prompted, err := o.prompt(ctx, s, caller.Tenant.ID)
	if err == nil {
		err = CheckModel(o.Model)
	}
	if err != nil {
		return Admitted{}, err
	}
	snapshot := s.Config.Current()
	resolved, targets, err := resolve(snapshot, o.Model, caller.Tenant)
	var q quote
	var attached, short *dialect.Inference
	if err == nil {
		attached, err = s.attachRequest(ctx, caller, &o)
	}
	if err == nil && !o.Free {
		targets, err = payable(&caller, work{o.Model, o.Tags}, &resolved, targets)
	}
	if err == nil {
		short, err = s.Overflow.request(&o, shortenOrder(o.Model, snapshot, &resolved, targets), s.Controls)
	}
	if err == nil && !o.Free {
		q, err = quoteOf(resolved, targets, &o.Inference)
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
		Edited:  cmp.Or(edited, short, attached, prompted),
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

// resolve returns the model of a name and its targets for a tenant, which may be limited to some models and some
// regions. The work never runs on a target that is left out here: a region is a promise to the tenant. For a tenant
// that may not use a model, the model does not exist.
func resolve(snapshot *config.Snapshot, name string, tenant penstock.Tenant) (penstock.Resolved, []*penstock.Target, error) {
	model, ok := snapshot.Model(name)
	if !ok || !tenant.MayUse(model.Name) {
		e := penstock.Errorf(penstock.CodeModelNotFound, "There is no model %q; %s.", clip(name), known(snapshot, tenant, name))
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
		Config: snapshot.Hash, Model: model.Name, Policy: string(model.Policy), Targets: allowed, OnOverflow: model.OnOverflow,
	}, targets, err
}

// known lists the models that a caller may use, for a caller who mistyped a name.
func known(snapshot *config.Snapshot, tenant penstock.Tenant, asked string) string {
	names := make([]string, 0, len(snapshot.Models))
	for name := range snapshot.Models {
		if tenant.MayUse(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	const most = 10
	if hint := config.Suggest(asked, names); hint != "" && len(names) > most {
		return fmt.Sprintf("%s GET /v1/models lists all %d", strings.TrimPrefix(hint, "; "), len(names))
	}
	if len(names) > most {
		return fmt.Sprintf("GET /v1/models lists all %d, such as %s", len(names), strings.Join(names[:most], ", "))
	}
	return "the configured models are " + strings.Join(names, ", ")
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

// clip shortens a caller's text before an error message quotes it.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
