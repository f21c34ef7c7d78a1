package admit

import (
	"context"
	"errors"
	"fmt"

	"penstock"
	"penstock/internal/filter"
)

// Judge asks the input filters about inferences. The zero Judge passes all of them.
type Judge struct {
	Filters *filter.Chain
	// Read reads a body of an endpoint that a filter edited.
	Read func(penstock.Endpoint, []byte) (Inference, error)
}

// errUnreadable is the failure of an edit where nothing can read the edited body.
var errUnreadable = errors.New("an input filter edited a body that nothing can read again")

// Inference asks about one inference. It returns the inference as the filters edited it, nil if they left it alone. Codes:
// content_blocked, internal.
func (j *Judge) Inference(ctx context.Context, subject filter.Subject, inf *Inference) (*Inference, error) {
	if j.Filters == nil {
		return nil, nil
	}
	subject.Body = inf.Body
	text, err := j.Filters.Input(ctx, subject)
	if err != nil {
		return nil, err
	}
	if len(text) == len(inf.Body) && (len(text) == 0 || &text[0] == &inf.Body[0]) {
		return nil, nil
	}
	if j.Read == nil {
		return nil, penstock.Internal(errUnreadable)
	}
	edited, err := j.Read(subject.Endpoint, text)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	edited.CustomID = inf.CustomID
	return &edited, nil
}

// judgeRequest asks the input filters about a synchronous call, when its limits have room for it and before the cache is asked. What
// it can cost is counted on the edited inference.
func (s *Service) judgeRequest(ctx context.Context, caller penstock.Caller, o *RequestOrder, targets []*penstock.Target) (*Inference, error) {
	edited, err := s.Judge.Inference(ctx, filter.Subject{ID: o.ID, Tenant: caller.Tenant.ID, Key: caller.Key, Model: o.Model, Endpoint: o.Endpoint}, &o.Inference)
	if err != nil || edited == nil {
		return nil, err
	}
	o.Inference = *edited
	return edited, Fetchable(s.Config.Current(), caller.Tenant, targets, *edited)
}

// judgeJob asks the input filters about each inference of a job, before any of them is written.
func (s *Service) judgeJob(ctx context.Context, caller penstock.Caller, infs []Inference, d *draft) error {
	if s.Judge.Filters == nil {
		return nil
	}
	job, changed := &d.sub.Job, false
	for i := range infs {
		edited, err := s.Judge.Inference(ctx, filter.Subject{
			ID: penstock.ItemID(job.ID, i), Tenant: caller.Tenant.ID, Key: caller.Key, Model: job.Model, Endpoint: job.Endpoint,
		}, &infs[i])
		if err == nil && edited != nil {
			err = Fetchable(s.Config.Current(), caller.Tenant, d.targets, *edited)
		}
		if err != nil {
			return blockedAt(err, i, len(infs))
		}
		if edited != nil {
			infs[i], d.sub.Items[i], changed = *edited, Item(d.targets, *edited, d.terms), true
		}
	}
	if changed {
		d.arrival = arrivalOf(caller.Tenant.ID, d.sub)
	}
	return nil
}

// judgeRetried asks the input filters about an item that is run again in another job: the rules may have changed since, and an item
// that was blocked at its first time has to stay blocked.
func (s *Service) judgeRetried(ctx context.Context, caller penstock.Caller, item filter.Subject, inf *Inference) error {
	item.Tenant, item.Key = caller.Tenant.ID, caller.Key
	edited, err := s.Judge.Inference(ctx, item, inf)
	if err == nil && edited != nil {
		*inf = *edited
	}
	return err
}

// blockedAt names the input that a filter refused, where there are several.
func blockedAt(err error, index, inputs int) error {
	if inputs == 1 {
		return err
	}
	e := *penstock.AsError(err)
	e.Param = fmt.Sprintf("inputs[%d].body", index)
	e.Message = e.Param + ": " + e.Message
	return &e
}
