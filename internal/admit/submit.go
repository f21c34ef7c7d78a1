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

// Starter has slots for the items of jobs as they are accepted.
type Starter interface {
	// Offer takes slots and reserves calls for items, all or none, on behalf of a lease, and says at which targets. The function
	// is nil when it could not; otherwise it is to be called once with the items that the store gave to the lease, or with why
	// that is not known.
	Offer(items []store.Candidate) (lease store.Lease, targets []string, taken func([]*store.Claimed, error))
}

// Submitter is where admitted jobs are written.
type Submitter struct {
	Jobs    Jobs
	Starter Starter                    // nil where no worker is
	Work    *signal.Topic[signal.None] // notified when items are ready
}

// Accepted is a job that was accepted.
type Accepted struct {
	store.Receipt
	Waited time.Duration // for its turn under its caller's limits
	begin  func()
}

// Begin lets the work begin, or has begun it already. It is apart from accepting, so that a caller can have its answer
// before the work competes with it for the processor.
func (a Accepted) Begin() { a.begin() }

// beginAtLatest is how long the work waits to be begun: the answer before it may be slow to leave.
const beginAtLatest = 10 * time.Millisecond

// Submit has a job accepted. If this process has slots and room for its items, and nothing waits before them, they
// need not wait for a claim; they are in the receipt then.
func (e Submitter) Submit(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (Accepted, error) {
	if e.Starter == nil {
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
		return Accepted{}, err // nobody knows what became of it, so none of it may run
	}
	if claimed := accepted.Claimed; len(claimed) > 0 {
		accepted.begin = sync.OnceFunc(func() { taken(claimed, nil) })
		time.AfterFunc(beginAtLatest, accepted.begin)
	}
	return accepted, nil
}

// queue has a job accepted that workers are told of.
func (e Submitter) queue(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (Accepted, error) {
	receipt, err := e.Jobs.SubmitJob(ctx, tenant, sub)
	if err != nil {
		return Accepted{}, err
	}
	return Accepted{Receipt: receipt, begin: e.Work.Notify}, nil
}
