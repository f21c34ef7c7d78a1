package api

import (
	"net/http"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/dialect/catalog"
	"penstock/internal/rest"
	"penstock/internal/telemetry"
)

// jobRetry says how a job is retried. All of it may be left out.
type jobRetry struct {
	Resolve penstock.Resolve `json:"resolve,omitzero" about:"same (default) uses the targets that the first job was resolved to, fresh the current targets of its model."`
	Rate    *float64         `json:"rate,omitzero" about:"The most items that may start per second, 0.1 to 1000; no cap when not given."`
}

// jobRetryOrder asks for a retry, or for its effect.
type jobRetryOrder struct {
	jobRetry
	DryRun bool `json:"dry_run,omitzero" about:"Only report the effect; change nothing."`
}

// retryTrialView is the effect that the retry of a job would have.
type retryTrialView struct {
	Object  string         `json:"object"`
	DryRun  bool           `json:"dry_run"`
	RetryOf string         `json:"retry_of"`
	Items   int            `json:"items" about:"Items that the new job would have."`
	AtMost  trialBoundView `json:"at_most" about:"The amount that would be reserved: the most that one attempt at each item can use."`
}

func (c jobs) retryJob() error {
	id, err := c.PathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	text := []byte("{}")
	if c.R.ContentLength != 0 {
		if text, err = c.readBody(); err != nil {
			return err
		}
	}
	var in jobRetryOrder
	if err := rest.Decode(text, &in); err != nil {
		return err
	}
	if in.DryRun {
		return c.tryRetry(id, in.jobRetry)
	}
	order := admit.RetryOrder{Job: id}
	if order.IdempotencyKey, order.BodyHash, err = c.idempotency(text); err != nil {
		return err
	}
	wait, err := c.preferredWait()
	if err == nil && wait > 0 {
		err = c.stayOpen(openStream) // before anything is accepted
	}
	if err != nil {
		return err
	}
	ctx, span := c.Tracer.StartProducer(c.R.Context(), "retry job")
	order.Terms = in.terms(telemetry.TraceParent(ctx))
	job, err := c.Admit.RetryJob(ctx, c.Principal, order)
	span.End(err)
	if err != nil {
		return err
	}
	setBudgetWarning(c.W.Header(), job.Warnings)
	return c.accepted(job, wait)
}

// tryRetry answers a dry run.
func (c jobs) tryRetry(id penstock.ID, in jobRetry) error {
	would, err := c.Admit.TryRetry(c.R.Context(), c.Principal, id, in.terms(""))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, retryTrialView{
		Object: "job_retry.dry_run", DryRun: true, RetryOf: penstock.ViewJob.Format(id), Items: would.Items,
		AtMost: trialBoundView{would.Most.Tokens, would.Most.Cost.String()},
	})
}

func (in jobRetry) terms(traceParent string) admit.RetryTerms {
	t := admit.RetryTerms{Resolve: in.Resolve, TraceParent: traceParent, Read: catalog.Read}
	if in.Rate != nil {
		t.Rate = *in.Rate
		if t.Rate == 0 {
			t.Rate = -1 // a written 0 is out of bounds, not the default
		}
	}
	return t
}
