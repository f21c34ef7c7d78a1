package admit

import (
	"context"
	"errors"

	"penstock"
	"penstock/internal/store"
)

// Starter has slots for the items of jobs as they are accepted.
type Starter interface {
	// Offer takes slots and room for items, all or none, on behalf of a lease. The function is to be called once
	// with the items that the store gave to the lease, or with why that is not known.
	Offer(items []store.Candidate) (lease store.Lease, taken func([]store.Claimed, error), ok bool)
}

// Entrance is where admitted jobs are written.
type Entrance struct {
	Jobs    Jobs
	Starter Starter // nil where no worker is
}

// Submit has a job accepted. If this process has slots and room for its items, and nothing waits before them, they
// start without waiting for a claim; they are in the receipt then.
func (e Entrance) Submit(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (store.Receipt, error) {
	if e.Starter == nil {
		return e.Jobs.SubmitJob(ctx, tenant, sub)
	}
	items := make([]store.Candidate, len(sub.Items))
	for n, item := range sub.Items {
		items[n] = store.Candidate{
			Item: penstock.ItemID(sub.Job.ID, n), Tenant: tenant, Model: sub.Job.Model, Lane: sub.Job.Lane, Endpoint: sub.Job.Endpoint,
			Estimate: item.EstimateTokens, InputBytes: int64(len(item.Body)),
		}
	}
	lease, taken, ok := e.Starter.Offer(items)
	if !ok {
		return e.Jobs.SubmitJob(ctx, tenant, sub)
	}
	var receipt store.Receipt
	err := errors.New("the submit did not return")
	defer func() { taken(receipt.Claimed, err) }()
	sub.Starter = &lease
	if receipt, err = e.Jobs.SubmitJob(ctx, tenant, sub); err != nil {
		receipt = store.Receipt{} // nobody knows what became of it, so none of it may run
	}
	return receipt, err
}
