package admit

import (
	"context"
	"errors"
	"sync"
	"time"

	"penstock"
	"penstock/internal/signal"
	"penstock/internal/store"
)

// Starter starts the items of a job in this process as soon as the job is accepted.
type Starter interface {
	// Offer takes slots and reserves calls for all items or for none, on behalf of a lease, and returns the targets of the
	// reservations. taken is nil if it reserved none. Otherwise the caller calls taken once, with the items that the store
	// claimed for the lease, or with the error of the submit.
	Offer(items []store.Candidate) (lease store.Lease, targets []string, taken func([]*store.Claimed, error))
}

// Submitter writes admitted jobs.
type Submitter struct {
	Jobs    Jobs
	Starter Starter                    // nil in a process without workers
	Work    *signal.Topic[signal.None] // notified when items are ready
}

// Accepted is a job that was accepted.
type Accepted struct {
	store.Receipt
	Waited time.Duration // for capacity under its caller's limits
	// Truncated is what was dropped of the input of a job of one item, nil for nothing, and for a job that was accepted before.
	Truncated *penstock.Truncation
	// Prompt is the prompt in the input of a job of one item, nil for none, and for a job that was accepted before.
	Prompt *penstock.PromptUse
	begin  func()
}

// Begin starts the work, unless it has started already. It is a step of its own so that the caller can get its answer
// before the work competes for the processor.
func (a Accepted) Begin() { a.begin() }

// beginAtLatest is how long the work waits for Begin: sending the answer first may be slow.
const beginAtLatest = 10 * time.Millisecond

// Submit writes a job. If this process has slots and capacity for its items, and no other items wait before them, the
// store claims them in the same transaction; they are in the receipt then.
func (e Submitter) Submit(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (Accepted, error) {
	if e.Starter == nil || len(sub.Items) > store.MaxOffer {
		return e.queue(ctx, tenant, sub)
	}
	items := make([]store.Candidate, len(sub.Items))
	for n, item := range sub.Items {
		items[n] = store.Candidate{
			Item: penstock.ItemID(sub.Job.ID, n), Tenant: tenant, Model: sub.Job.Model, Lane: sub.Job.Lane, Endpoint: sub.Job.Endpoint,
			Estimate: item.EstimateTokens, InputBytes: int64(len(item.Body)),
		}
	}
	lease, targets, taken := e.Starter.Offer(items)
	if taken == nil {
		return e.queue(ctx, tenant, sub)
	}
	var accepted Accepted
	err := errors.New("the submit did not return")
	defer func() {
		if len(accepted.Claimed) == 0 {
			taken(nil, err)
		}
	}()
	sub.Starter, sub.StartTargets = &lease, targets
	if accepted, err = e.queue(ctx, tenant, sub); err != nil {
		return Accepted{}, err // the job may or may not be stored, so none of its items may run
	}
	if claimed := accepted.Claimed; len(claimed) > 0 {
		accepted.begin = sync.OnceFunc(func() { taken(claimed, nil) })
		time.AfterFunc(beginAtLatest, accepted.begin)
	}
	return accepted, nil
}

// queue writes a job whose Begin notifies the workers.
func (e Submitter) queue(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (Accepted, error) {
	receipt, err := e.Jobs.SubmitJob(ctx, tenant, sub)
	if err != nil {
		return Accepted{}, err
	}
	return Accepted{Receipt: receipt, begin: e.Work.Notify}, nil
}
