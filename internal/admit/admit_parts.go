package admit

import (
	"context"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/store"
)

// entry is a job that the queue let in and that is being written.
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

// admit asks the queue to let a job in, and gives it its place there. It is to be settled. Codes:
// queue_full, overloaded, too_large.
func (s *Service) admit(a backlog.Arrival, sub *store.Submission) (entry, error) {
	tenant, e := a.Tenant, entry{s.Backlog, a}
	if err := s.Backlog.Admit(e.arrival); err != nil {
		return e, err
	}
	place := s.Backlog.Place(e.arrival, sub.Job.Deadline)
	sub.Job.QueueMark, sub.Job.QueueTokens = place.Mark, e.arrival.Tokens
	if _, held := s.held(demand{tenant, sub.Job.Lane, sub.Job.ModelNames(), sub.Job.Resolved.Targets}); !held {
		sub.Job.PromisedAt = place.Finish // what is held back waits for a person, and nobody knows how long
	}
	return e, nil
}

// settle tells the queue what became of the job, and passes it on.
func (e entry) settle(job Accepted, err error) (Accepted, error) {
	if err != nil || job.Replayed || len(job.Claimed) > 0 { // what begins at once never waits
		e.queue.Dropped(e.arrival)
	} else {
		e.queue.Accepted(e.arrival)
	}
	return job, err
}

// entryOfPart is a further job of a batch that the queue let in.
type entryOfPart struct {
	entry
	sub store.Submission
}

// admitParts admits the parts of an order as if each were one of its own: its model is resolved, limited and paid for
// by itself. All are let in, or none is. Codes: those of Job.
func (s *Service) admitParts(ctx context.Context, caller penstock.Caller, o JobOrder) (parts []entryOfPart, err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, p := range parts {
			p.queue.Dropped(p.arrival)
		}
	}()
	for i := range o.Parts {
		d, err := s.draft(caller, &o.Parts[i])
		if err != nil {
			return parts, err
		}
		d.sub.Batch = nil // it is that of the order
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
