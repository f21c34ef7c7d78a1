package admit

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/filter"
)

// Judge runs the input filters on an inference. It returns the edited inference, nil if no filter edited it. Codes:
// content_blocked, internal.
func Judge(ctx context.Context, filters *filter.Chain, subject filter.Subject, inf *dialect.Inference) (*dialect.Inference, error) {
	if filters == nil {
		return nil, nil
	}
	subject.Body = inf.Body()
	text, err := filters.Input(ctx, subject)
	if err != nil {
		return nil, err
	}
	if len(text) == len(subject.Body) && (len(text) == 0 || &text[0] == &subject.Body[0]) {
		return nil, nil
	}
	edited, err := catalog.Read(subject.Endpoint, text)
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("reading a body that a filter edited: %w", err))
	}
	edited.Keep(inf)
	return &edited, nil
}

// judgeRequest runs the input filters on a synchronous call, after the limits admitted it and before the cache lookup. The
// bound of its cost is computed from the edited inference.
func (s *Service) judgeRequest(ctx context.Context, caller penstock.Principal, o *RequestOrder, targets []*penstock.Target) (*dialect.Inference, error) {
	edited, err := Judge(ctx, s.Filters, filter.Subject{ID: o.ID, Tenant: caller.Tenant.ID, Key: caller.Key, Model: o.Model, Endpoint: o.Endpoint}, &o.Inference)
	if err != nil || edited == nil {
		return nil, err
	}
	o.Inference = *edited
	return edited, Fetchable(s.Config.Current(), caller.Tenant, targets, *edited)
}

// judgeJob runs the input filters on each inference of a job, before any of them is written.
func (s *Service) judgeJob(ctx context.Context, caller penstock.Principal, infs []dialect.Inference, d *draft) error {
	if s.Filters == nil {
		return nil
	}
	job, changed := &d.sub.Job, false
	for i := range infs {
		edited, err := Judge(ctx, s.Filters, filter.Subject{
			ID: penstock.ItemID(job.ID, i), Tenant: caller.Tenant.ID, Key: caller.Key, Model: job.Model, Endpoint: job.Endpoint,
		}, &infs[i])
		if err == nil && edited != nil {
			infs[i], changed = *edited, true
			err = s.replaceItem(caller, d, i, edited)
		}
		if err != nil {
			return inInput(err, i, len(infs))
		}
	}
	if changed {
		d.arrival = arrivalOf(caller.Tenant.ID, d.sub)
	}
	return nil
}

// replaceItem replaces the item of an inference that a filter edited, and computes the bound of its cost again.
func (s *Service) replaceItem(caller penstock.Principal, d *draft, i int, edited *dialect.Inference) error {
	q, err := quoteOf(d.sub.Job.Resolved, d.targets, edited)
	if err != nil {
		return err
	}
	d.quotes[i], d.sub.Items[i] = q, q.item(d.targets, edited, d.terms)
	return Fetchable(s.Config.Current(), caller.Tenant, d.targets, *edited)
}

// judgeAgain runs the input filters on an item that a retry runs again. Their rules may have changed since, and an item that
// was blocked must remain blocked. An edit replaces the inference and its stored text.
func (s *Service) judgeAgain(ctx context.Context, subject filter.Subject, inf *dialect.Inference, text *[]byte) error {
	edited, err := Judge(ctx, s.Filters, subject, inf)
	if edited != nil {
		*inf, *text = *edited, edited.Body()
	}
	return err
}
