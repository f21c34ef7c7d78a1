package api

import (
	"time"

	"penstock"
	"penstock/internal/dialect/native"
)

// healthView is the health of the process.
type healthView struct {
	Status string  `json:"status"`
	Reason *string `json:"reason,omitzero" about:"Why it is degraded."`
}

// deletedView names the deleted object.
type deletedView struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// jobView is a job as callers see it.
type jobView struct {
	ID                string              `json:"id"`
	Object            string              `json:"object"`
	Status            penstock.Status     `json:"status"`
	Outcome           *penstock.Outcome   `json:"outcome" about:"null until every item is terminal, then all_succeeded, mixed or none_succeeded."`
	Endpoint          penstock.Endpoint   `json:"endpoint"`
	Model             string              `json:"model"`
	Lane              penstock.Lane       `json:"lane"`
	Key               *string             `json:"key" about:"The name of the key that submitted it; null if it is not known."`
	MaxAttempts       int                 `json:"max_attempts" about:"The most attempts of an item."`
	Stream            bool                `json:"stream" about:"Whether its events have the answers as item.delta."`
	Tags              map[string]string   `json:"tags"`
	Counts            penstock.Counts     `json:"counts" about:"Always exact; the statuses add up to total."`
	Usage             usageView           `json:"usage"`
	CreatedAt         time.Time           `json:"created_at"`
	StartedAt         *time.Time          `json:"started_at"`
	FinishedAt        *time.Time          `json:"finished_at"`
	Deadline          time.Time           `json:"deadline"`
	ItemsPerSecond    *float64            `json:"items_per_second" about:"Items that ended per second since the first one started; null until one has ended."`
	EstimatedStartAt  *time.Time          `json:"estimated_start_at" about:"When its first item will start, by the current state of the queue; null once it has started, or while that is unknown."`
	EstimatedFinishAt *time.Time          `json:"estimated_finish_at" about:"When its last item will end, by the current state of the queue; null once it has ended, or while that is unknown."`
	ResultsExpireAt   *time.Time          `json:"results_expire_at" about:"When the job is deleted with its inputs, results and events; null until it has finished."`
	CancelRequestedAt *time.Time          `json:"cancel_requested_at"`
	InputFile         *string             `json:"input_file" about:"The file whose lines are its items."`
	RetryOf           *string             `json:"retry_of" about:"The job whose unsuccessful items it runs again."`
	WaitingOn         *penstock.Reason    `json:"waiting_on" about:"Why queued items do not start. paused: an operator paused them. budget: a hard budget has too little left for them. workers: no worker is running. capacity: every target runs as many calls as it may. rate_limit: every target is at its rate limit. provider: every target fails. retry: they failed, and their next attempt is not due. null: they only wait for their turn."`
	Resolved          resolvedView        `json:"resolved" about:"The decision of admission: the configuration and the targets of the model. Retries use the same."`
	ErrorCode         *penstock.Code      `json:"error_code,omitzero" about:"In lists only: the error code of the first item that failed."`
	Error             *penstock.ItemError `json:"error" about:"Why the job itself could not run; the errors of items are in their results."`
	Result            *resultView         `json:"result" about:"The result of a job with one item, once it is finished; null in lists, for keys without jobs:read, and for people unless they reveal it."`
}

type resolvedView struct {
	Config  string          `json:"config"`
	Prompt  *string         `json:"prompt" about:"The prompt of every item, as NAME@VERSION; null if there is none or the items differ."`
	Arm     *string         `json:"arm"`
	Targets []string        `json:"targets"`
	Prompts []promptUseView `json:"prompts,omitzero" about:"The prompts that its inputs name, with the versions that they meant when the job was accepted."`
	Unpaid  []string        `json:"unpaid,omitzero" about:"Targets that were left out because a hard budget had too little left for them when the job was accepted."`
}

// usageView is usage with its cost.
type usageView = native.Usage

// jobView encodes the current state of a job: with what it waits on, its estimates, and its expiry.
func (c jobs) jobView(j penstock.Job) jobView {
	v := newJobView(j)
	if on := c.waitingOn(j); on != "" {
		v.WaitingOn = &on
	}
	e := c.estimate(j)
	v.EstimatedStartAt, v.EstimatedFinishAt = optional(e.Start), optional(e.Finish)
	v.ItemsPerSecond = rateOf(j, c.Clock())
	if v.ItemsPerSecond != nil && j.FinishedAt.IsZero() && v.EstimatedFinishAt == nil && v.WaitingOn == nil {
		v.EstimatedFinishAt = optional(byRate(j, *v.ItemsPerSecond, c.Clock()))
	}
	if !j.FinishedAt.IsZero() {
		v.ResultsExpireAt = optional(j.FinishedAt.Add(c.Principal.Tenant.Retention.Results))
	}
	return v
}

func newJobView(j penstock.Job) jobView {
	v := jobView{
		ID: penstock.ViewJob.Format(j.ID), Object: "job", Status: j.Status(), Endpoint: j.Endpoint, Model: j.Model, Lane: j.Lane, Key: text(j.Key), MaxAttempts: j.MaxAttempts, Stream: j.Stream == penstock.StreamText,
		Tags: j.Tags, Counts: j.Counts, Usage: usageView{Usage: j.Usage, Cost: j.Cost}, CreatedAt: j.CreatedAt,
		StartedAt: optional(j.StartedAt), FinishedAt: optional(j.FinishedAt), Deadline: j.Deadline,
		CancelRequestedAt: optional(j.CancelRequestedAt), Resolved: newResolvedView(&j.Resolved),
	}
	if o := j.Counts.Outcome(); o != "" {
		v.Outcome = &o
	}
	if j.File != "" {
		v.InputFile = text(penstock.ViewFile.Format(j.File))
	}
	if j.RetryOf != "" {
		v.RetryOf = text(penstock.ViewJob.Format(j.RetryOf))
	}
	return v
}

func newResolvedView(r *penstock.Resolved) resolvedView {
	v := resolvedView{Config: r.Config, Targets: r.Targets, Unpaid: r.Unpaid, Prompts: newPinViews(r.Prompts)}
	if use := r.PromptOf(); use != nil {
		v.Prompt = text(use.String())
	}
	return v
}

// optional is a time that may be missing.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = stamp(t)
	return &t
}

// stamp truncates a time to the precision of the store, so that it is the same before and after it was stored.
func stamp(t time.Time) time.Time { return native.Stamp(t) }

// resultView is an item and its outcome.
type resultView = native.Result

func newResultView(i penstock.Item) resultView { return native.NewResult(i) }

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// itemView is an item with its history.
type itemView struct {
	resultView
	Object    string          `json:"object"`
	JobID     string          `json:"job_id"`
	History   []attemptView   `json:"history" about:"All attempts, in order."`
	Files     []attachedView  `json:"files,omitzero" about:"The files that the body named, with the hash of the content that the item runs with."`
	Truncated *truncationView `json:"truncated,omitzero" about:"What was dropped of a conversation that was longer than the context of its model."`
	Prompt    *promptUseView  `json:"prompt,omitzero" about:"The prompt whose messages are in the body."`
}

// attemptView is one attempt on one target.
type attemptView struct {
	ID           string     `json:"id"`
	Number       int        `json:"number"`
	Target       *string    `json:"target"`
	Reason       *string    `json:"reason" about:"Why this target was chosen."`
	Config       string     `json:"config"`
	Isolated     bool       `json:"isolated" about:"true if the attempt ran in a child process of the worker, because the item was in flight when several workers crashed."`
	ErrorKind    *string    `json:"error_kind" about:"The kind of the upstream's error, or one of Penstock's own. worker_lost: the worker crashed, which does not count against the item. child_died: the child process of an isolated attempt crashed and its worker did not; the second time the item fails as poison."`
	ErrorMessage *string    `json:"error_message"`
	StatusCode   *int       `json:"status_code"`
	Usage        usageView  `json:"usage"`
	UsageKnown   bool       `json:"usage_known" about:"false when the upstream did not report its usage in full: usage is then estimated from the answer, and the rest of the bound of its cost is counted against the budget, not invoiced."`
	StartedAt    *time.Time `json:"started_at"`
	FirstTokenAt *time.Time `json:"first_token_at"`
	FinishedAt   *time.Time `json:"finished_at"`
}

func newAttemptViews(as []penstock.Attempt) []attemptView {
	views := make([]attemptView, len(as))
	for i, a := range as {
		views[i] = attemptView{
			ID: penstock.ViewAttempt.Format(a.ID), Number: a.Number, Target: text(a.Target), Reason: text(a.Reason), Config: a.Config, Isolated: a.Isolated,
			ErrorKind: text(a.ErrorKind), ErrorMessage: text(a.ErrorMessage), Usage: usageView{Usage: a.Usage, Cost: a.Cost}, UsageKnown: a.UsageKnown,
			StartedAt: optional(a.StartedAt), FirstTokenAt: optional(a.FirstTokenAt), FinishedAt: optional(a.FinishedAt),
		}
		if a.StatusCode != 0 {
			views[i].StatusCode = &a.StatusCode
		}
	}
	return views
}
