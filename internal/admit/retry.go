package admit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/filter"
	"penstock/internal/route"
	"penstock/internal/store"
)

// Bounds of what one call retries or dismisses. A caller that has more calls again.
const (
	MaxRetryJobs  = 32
	MaxRetryItems = 1024 // dead letters; the retry of one job takes as many items as a job has inputs
	MaxDismissals = 1000
	MinRetryRate  = 0.1 // items a second
	MaxRetryRate  = 1000.0

	// retryTries is how often items are selected again when other calls took some of them first.
	retryTries = 3
)

// Retries is what retrying reads and writes.
type Retries interface {
	DeadLetterJobs(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterJobPage) ([]store.DeadLetterJob, error)
	CountDeadLetters(ctx context.Context, tenant penstock.TenantID, f store.DeadLetterFilter) (int, error)
	Retryable(ctx context.Context, tenant penstock.TenantID, s store.RetrySelection) (store.Retryable, error)
	RetryItems(ctx context.Context, tenant penstock.TenantID, r store.Retry) (store.Receipt, error)
	DismissDeadLetters(ctx context.Context, tenant penstock.TenantID, d store.Dismissal) (int, error)
}

// RetryTerms say how items are retried.
type RetryTerms struct {
	Resolve     penstock.Resolve // same when empty
	Rate        float64          // items a second that may start at the most, 0 for no such cap
	TraceParent string
	// Read parses a stored body in the dialect of an endpoint.
	Read func(penstock.Endpoint, []byte) (dialect.Inference, error)
}

func (t *RetryTerms) complete() error {
	setDefault(&t.Resolve, penstock.ResolveSame)
	if !slices.Contains(penstock.Resolves, t.Resolve) {
		return penstock.InvalidParam("resolve", "resolve %q does not exist; it is one of %s.", clip(string(t.Resolve)), join(penstock.Resolves))
	}
	if t.Rate != 0 && !(t.Rate >= MinRetryRate && t.Rate <= MaxRetryRate) {
		return penstock.InvalidParam("rate", "rate must be from %v to %v items a second.", MinRetryRate, MaxRetryRate)
	}
	return nil
}

// startIn is when the k-th item of a call may start.
func (t *RetryTerms) startIn(k int) time.Duration {
	if t.Rate == 0 {
		return 0
	}
	return time.Duration(float64(k) / t.Rate * float64(time.Second))
}

// RetryOrder asks for the items of a job to be retried that did not succeed.
type RetryOrder struct {
	Job            penstock.ID
	Terms          RetryTerms
	IdempotencyKey string
	BodyHash       []byte // of the canonical body, with IdempotencyKey
}

// RetryJob admits a new job over the unsuccessful items of another: accepted when this returns without an
// error. Codes: invalid_request, scope_missing, model_not_found, not_found, gone, queue_full, overloaded,
// conflict (nothing is left to retry, or no target of the first job is configured any more), and those of
// store.Jobs.SubmitJob.
func (s *Service) RetryJob(ctx context.Context, caller penstock.Principal, o RetryOrder) (Accepted, error) {
	if err := Require(caller, penstock.ScopeJobsWrite); err != nil {
		return s.counted(caller, Accepted{}, err)
	}
	if err := cmp.Or(o.Terms.complete(), checkKey(o.IdempotencyKey)); err != nil {
		return s.counted(caller, Accepted{}, err)
	}
	key := s.idempotency(caller, o.IdempotencyKey, o.BodyHash)
	accepted, _, err := s.retry(ctx, caller, retry{RetryTerms: o.Terms, selection: ofJob(o.Job), key: key})
	if err != nil && key != nil {
		// An earlier call with this key may have been accepted and have left nothing to retry.
		job, known := s.Jobs.JobByKey(ctx, caller.Tenant.ID, *key)
		switch penstock.ErrorCode(known) {
		case "":
			accepted, err = s.replayed(job), nil
		case penstock.CodeIdempotencyMismatch, penstock.CodeGone:
			err = known
		}
	}
	return s.counted(caller, accepted, err)
}

// TryRetry reports what RetryJob would do, and changes nothing. Codes: those of RetryJob that do not need a write.
func (s *Service) TryRetry(ctx context.Context, caller penstock.Principal, job penstock.ID, terms RetryTerms) (RetriedJob, error) {
	if err := cmp.Or(Require(caller, penstock.ScopeJobsWrite), terms.complete()); err != nil {
		return RetriedJob{}, err
	}
	would, most, err := s.retry(ctx, caller, retry{RetryTerms: terms, selection: ofJob(job), dryRun: true})
	return RetriedJob{RetryOf: job, Items: would.Job.Counts.Total, Most: most}, err
}

// ofJob selects the items of a job that did not succeed.
func ofJob(job penstock.ID) store.RetrySelection {
	return store.RetrySelection{Job: job, Limit: config.MaxInputs}
}

// DeadLetterOrder selects dead letters to retry or dismiss.
type DeadLetterOrder struct {
	Filter store.DeadLetterFilter
	DryRun bool // only report what would be done
}

// RetryReport is the result of retrying dead letters.
type RetryReport struct {
	Jobs      []RetriedJob
	Skipped   []SkippedJob
	Items     int  // in Jobs
	Most      Most // what one attempt at each item of Jobs can use
	Remaining int  // dead letters of the filter that are left
}

// RetriedJob is a job over items of another.
type RetriedJob struct {
	Job     penstock.ID // "" in a dry run
	RetryOf penstock.ID
	Items   int
	Most    Most
}

// SkippedJob is a job whose dead letters cannot be retried.
type SkippedJob struct {
	Job         penstock.ID
	DeadLetters int
	Reason      *penstock.Error
}

// RetryDeadLetters retries the oldest dead letters of a filter, in one new job for each job that they
// belong to; each new job is accepted on its own. A job that cannot be retried is skipped, with the reason.
// A failure that concerns all jobs ends the call: as an error if nothing was accepted yet, else as the last
// skipped job, so that the report lists what was accepted. Codes: invalid_request, scope_missing, and those of
// store.Jobs.SubmitJob.
func (s *Service) RetryDeadLetters(ctx context.Context, caller penstock.Principal, o DeadLetterOrder, terms RetryTerms) (RetryReport, error) {
	var report RetryReport
	if err := cmp.Or(Require(caller, penstock.ScopeJobsWrite), terms.complete()); err != nil {
		return report, err
	}
	tenant := caller.Tenant.ID
	jobs, err := s.Retries.DeadLetterJobs(ctx, tenant, store.DeadLetterJobPage{Filter: o.Filter, DeadLetters: MaxRetryItems, Jobs: MaxRetryJobs})
	if err != nil {
		return report, err
	}
	for _, j := range jobs {
		if report.Items == MaxRetryItems {
			break
		}
		accepted, most, err := s.retry(ctx, caller, retry{
			RetryTerms: terms, before: report.Items, dryRun: o.DryRun,
			selection: store.RetrySelection{Job: j.Job, DeadLetters: &o.Filter, Limit: MaxRetryItems - report.Items},
		})
		if err == nil {
			n := accepted.Job.Counts.Total
			report.Items += n
			report.Most = report.Most.plus(most)
			report.Jobs = append(report.Jobs, RetriedJob{Job: accepted.Job.ID, RetryOf: j.Job, Items: n, Most: most})
			if !o.DryRun {
				_, _ = s.counted(caller, accepted, nil)
			}
			continue
		}
		passing := ofOneJob[penstock.ErrorCode(err)]
		if !passing && len(report.Jobs) == 0 {
			return report, err
		}
		report.Skipped = append(report.Skipped, SkippedJob{Job: j.Job, DeadLetters: j.DeadLetters, Reason: penstock.AsError(err)})
		if !passing {
			break
		}
	}
	report.Remaining, err = s.Retries.CountDeadLetters(ctx, tenant, o.Filter)
	if o.DryRun {
		report.Remaining -= report.Items
	}
	return report, err
}

// ofOneJob are the errors that concern one job only: other jobs may still be retried.
var ofOneJob = map[penstock.Code]bool{
	penstock.CodeInvalidRequest: true, penstock.CodeModelNotFound: true, penstock.CodeConflict: true, penstock.CodeGone: true,
	penstock.CodeNotFound: true,
}

// DismissDeadLetters marks the oldest dead letters of a filter as dealt with. Codes: scope_missing.
func (s *Service) DismissDeadLetters(ctx context.Context, caller penstock.Principal, o DeadLetterOrder) (dismissed, remaining int, err error) {
	if err := Require(caller, penstock.ScopeJobsWrite); err != nil {
		return 0, 0, err
	}
	tenant := caller.Tenant.ID
	if o.DryRun {
		open, err := s.Retries.CountDeadLetters(ctx, tenant, o.Filter)
		dismissed = min(open, MaxDismissals)
		return dismissed, open - dismissed, err
	}
	dismissed, err = s.Retries.DismissDeadLetters(ctx, tenant, store.Dismissal{Filter: o.Filter, Actor: caller.Actor(), Limit: MaxDismissals})
	if err == nil {
		remaining, err = s.Retries.CountDeadLetters(ctx, tenant, o.Filter)
	}
	return dismissed, remaining, err
}

// retry describes a new job over items of another job.
type retry struct {
	RetryTerms
	selection store.RetrySelection
	before    int // items that the call retried already
	key       *store.IdempotencyKey
	dryRun    bool
}

// retry selects items and submits a job over them. If other calls take some of them first, nothing was
// written and it selects again. It also returns the sum of the reservations.
func (s *Service) retry(ctx context.Context, caller penstock.Principal, r retry) (accepted Accepted, most Most, err error) {
	var lost error
	for range retryTries {
		order, p, err := s.retryOrder(ctx, caller, r)
		if err != nil {
			return Accepted{}, Most{}, err
		}
		most = reservedFor(order.Items)
		if r.dryRun {
			return Accepted{Receipt: store.Receipt{Job: penstock.Job{Counts: penstock.Counts{Total: len(order.Items)}}}}, most, nil
		}
		if err := s.Disk.Refusal(); err != nil {
			return Accepted{}, Most{}, err
		}
		limitHold, err := s.spendSubmit(ctx, caller, JobOrder{Model: order.Job.Model})
		if err != nil {
			return Accepted{}, Most{}, err
		}
		in, err := s.admit(arrivalOf(caller.Tenant.ID, order.Submission), &order.Submission)
		if err != nil {
			limitHold.Release()
			return Accepted{}, Most{}, err
		}
		limitHold.Leave()
		receipt, failure := s.Retries.RetryItems(ctx, caller.Tenant.ID, order)
		if s.narrowed(ctx, &p, &order.Submission, failure) {
			receipt, failure = s.Retries.RetryItems(ctx, caller.Tenant.ID, order)
		}
		accepted, err = s.kept(in.settle(Accepted{Receipt: receipt, begin: s.Work.Notify}, failure))
		accepted.Waited = limitHold.WaitedFor()
		if penstock.ErrorCode(err) != penstock.CodeConflict {
			return accepted, most, err
		}
		lost = err
	}
	return accepted, most, lost
}

// retryOrder reads the items to retry and prices them again.
func (s *Service) retryOrder(ctx context.Context, caller penstock.Principal, r retry) (store.Retry, pricing, error) {
	found, err := s.Retries.Retryable(ctx, caller.Tenant.ID, r.selection)
	if err != nil {
		return store.Retry{}, pricing{}, err
	}
	of := found.Job
	if len(found.Items) == 0 {
		return store.Retry{}, pricing{}, penstock.Errorf(penstock.CodeConflict,
			"%s has no items to retry: its items succeeded, are still open, or were already retried in another job.", penstock.ViewJob.Format(of.ID))
	}
	if err := allowLane(caller.Tenant, of.Lane); err != nil {
		return store.Retry{}, pricing{}, err
	}
	resolved, targets, err := resolveAgain(s.Config.Current(), caller.Tenant, of, r.Resolve)
	if err == nil {
		targets, err = payable(&caller, work{of.Model, of.Tags}, &resolved, targets)
	}
	if err != nil {
		return store.Retry{}, pricing{}, err
	}
	last := r.startIn(r.before + len(found.Items) - 1)
	order := store.Retry{
		Submission: store.Submission{
			Job: penstock.Job{
				ID: s.ids.New(s.Clock()), RetryOf: of.ID, Key: caller.Key, Endpoint: of.Endpoint, Model: of.Model, Lane: of.Lane, Tags: of.Tags,
				MaxAttempts: of.MaxAttempts, ItemTimeout: of.ItemTimeout, Resolved: resolved, TraceParent: r.TraceParent,
				Stream: of.Stream,
			},
			// It has as much time as the first job had, counted from the time at which its last item may start.
			DeadlineIn:  max(of.Deadline.Sub(of.CreatedAt), DefaultDeadline) + last,
			Idempotency: r.key,
			Accounts:    store.AccountsOf(caller, work{of.Model, of.Tags}.on(&resolved), s.Clock()),
			StoredLimit: caller.Tenant.StoredBytes,
		},
		OfDeadLetters: r.selection.DeadLetters != nil, Resolve: r.Resolve,
	}
	if caller.Person != nil {
		order.Actor = caller.Actor() // the job has a shorter name of the person
	}
	p := pricing{tenant: caller.Tenant.ID, targets: targets, terms: Terms{s.Clock(), of.Lane}}
	again := newRereading(s, of, r.RetryTerms)
	for i, item := range found.Items {
		inf, err := again.inference(ctx, &item)
		if err == nil {
			subject := filter.Subject{ID: penstock.ItemID(order.Job.ID, i), Tenant: caller.Tenant.ID, Key: caller.Key, Model: of.Model, Endpoint: of.Endpoint}
			err = s.judgeAgain(ctx, subject, &inf, &item.Body)
		}
		if err == nil && r.Resolve == penstock.ResolveFresh { // the same targets get the same bytes
			err = s.Overflow.again(shortenOrder(of.Model, s.Config.Current(), &resolved, targets), &inf, &item.Body)
		}
		if err == nil {
			err = Fetchable(s.Config.Current(), caller.Tenant, targets, inf)
		}
		if err != nil {
			return store.Retry{}, pricing{}, err
		}
		q, err := quoteOf(resolved, targets, &inf)
		if err != nil {
			return store.Retry{}, pricing{}, err
		}
		p.quotes = append(p.quotes, q)
		bound := q.bound(targets, p.terms)
		order.Retried = append(order.Retried, item.ID)
		order.Items = append(order.Items, store.NewItem{
			CustomID: item.CustomID, Body: item.Body, EstimateTokens: bound.Tokens, Reserved: bound.Cost, StartIn: r.startIn(r.before + i), Truncated: inf.Truncated,
			Prompt: promptAfter(of, &inf, &order.Job.Resolved),
		})
	}
	return order, p, nil
}

// resolveAgain resolves the targets of a retry.
func resolveAgain(snapshot *config.Snapshot, tenant penstock.Tenant, of penstock.Job, how penstock.Resolve) (penstock.Resolved, []*penstock.Target, error) {
	if how == penstock.ResolveFresh {
		resolved, targets, err := resolve(snapshot, of.Model, tenant)
		resolved.Previous, resolved.Prompts = of.Resolved.Previous, of.Resolved.Prompts // the stored inputs have the prompts already
		return resolved, targets, err
	}
	targets, err := route.Candidates(of.Resolved.Targets, snapshot.Targets)
	if err != nil {
		err = penstock.Errorf(penstock.CodeConflict, "None of the targets that %s was resolved to is configured any more; retry it with resolve %q to use the current targets of its model.",
			penstock.ViewJob.Format(of.ID), penstock.ResolveFresh)
	}
	of.Resolved.Conversation = "" // a retry is no turn of it
	return of.Resolved, targets, err
}
