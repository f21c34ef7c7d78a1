package admit

import (
	"context"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/store"
)

// entry is a job that the queue admitted and that is being written.
type entry struct {
	queue   *backlog.View
	arrival backlog.Arrival
}

// arrivalOf is what the items of a submission add to the queue.
func arrivalOf(tenant penstock.TenantID, sub store.Submission) backlog.Arrival {
	a := backlog.Arrival{Lane: sub.Job.Lane, Tenant: tenant, Model: sub.Job.Model, Items: len(sub.Items)}
	for _, item := range sub.Items {
		a.Tokens += item.EstimateTokens
		a.Bytes += int64(len(item.Body))
	}
	return a
}

// admit admits a job to the queue and sets its position there. The caller settles the entry. Codes:
// queue_full, overloaded, too_large.
func (s *Service) admit(a backlog.Arrival, sub *store.Submission) (entry, error) {
	tenant, e := a.Tenant, entry{s.Backlog, a}
	if err := s.Backlog.Admit(e.arrival); err != nil {
		return e, err
	}
	place := s.Backlog.Place(e.arrival, sub.Job.Deadline)
	sub.Job.QueueMark, sub.Job.QueueTokens = place.Mark, e.arrival.Tokens
	if _, held := s.held(demand{tenant, sub.Job.Lane, sub.Job.ModelNames(), sub.Job.Resolved.Targets}); !held {
		sub.Job.PromisedAt = place.Finish // a paused job waits for an operator, for an unknown time
	}
	return e, nil
}

// settle reports the outcome of the write to the queue, and returns it.
func (e entry) settle(job Accepted, err error) (Accepted, error) {
	if err != nil || job.Replayed || len(job.Claimed) > 0 { // items that start at once never wait in the queue
		e.queue.Dropped(e.arrival)
	} else {
		e.queue.Accepted(e.arrival)
	}
	return job, err
}

// entryOfPart is a further job of a batch that the queue admitted.
type entryOfPart struct {
	entry
	sub store.Submission
}

// admitParts admits each part of an order like an order of its own, with its own model, limits and budgets. It admits all
// parts or none. Codes: those of Job.
func (s *Service) admitParts(ctx context.Context, caller penstock.Principal, o JobOrder) (parts []entryOfPart, err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, p := range parts {
			p.queue.Dropped(p.arrival)
		}
	}()
	for i := range o.Parts {
		d, err := s.draft(ctx, caller, &o.Parts[i])
		if err != nil {
			return parts, err
		}
		d.sub.Batch = nil // the order itself carries the batch
		limitHold, err := s.spendSubmit(ctx, caller, o.Parts[i])
		if err != nil {
			return parts, err
		}
		limitHold.Leave()
		e, err := s.admit(d.arrival, &d.sub)
		if err != nil {
			return parts, err
		}
		parts = append(parts, entryOfPart{e, d.sub})
	}
	return parts, nil
}
