package api

import (
	"penstock"
	"penstock/internal/admit"
	"penstock/internal/dialect/catalog"
	"penstock/internal/telemetry"
)

// jobRetry says how a job is retried. All of it may be left out.
type jobRetry struct {
	Resolve penstock.Resolve `json:"resolve,omitzero" about:"same (default) runs on the targets that the first job was resolved to, fresh on those of its model today."`
	Rate    *float64         `json:"rate,omitzero" about:"How many items a second may start at the most, 0.1 to 1000; no such cap when not given."`
}

func (c *call) retryJob() error {
	id, err := c.pathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	text := []byte("{}")
	if c.r.ContentLength != 0 {
		if text, err = c.readBody(); err != nil {
			return err
		}
	}
	var in jobRetry
	if err := decode(text, &in); err != nil {
		return err
	}
	order := admit.RetryOrder{Job: id}
	if order.IdempotencyKey, order.BodyHash, err = c.idempotency(text); err != nil {
		return err
	}
	wait, err := c.preferredWait()
	if err == nil && wait > 0 {
		err = c.stayOpen(openStream) // while it can still be refused
	}
	if err != nil {
		return err
	}
	ctx, span := c.Tracer.StartProducer(c.r.Context(), "retry job")
	order.Terms = in.terms(telemetry.TraceParent(ctx))
	job, err := c.Admit.RetryJob(ctx, c.caller, order)
	span.End(err)
	if err != nil {
		return err
	}
	tellBudgets(c.w.Header(), job.Warnings)
	return c.accepted(job, wait)
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
