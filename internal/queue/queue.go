// Package queue keeps accepted work moving: it decides when an item is retried, takes items from
// dead workers, and expires and cancels items that must not run any more.
//
// It owns the policy of retries, the policies by which lanes share slots, and the maintenance of the queue. The order of
// claims is a query of the store, and package work runs items. Policies are pure functions. Maintenance is a bounded
// step in a loop, and any number of processes may run it at once.
package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/chore"
	"penstock/internal/signal"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// StepItems bounds a step of maintenance, so that no step keeps accepts waiting for long.
const StepItems = 200

// stepTimeout bounds a round, so that a store that hangs does not end maintenance for good.
const stepTimeout = 30 * time.Second

// Publisher wakes the readers of jobs that changed.
type Publisher interface {
	Publish(jobs ...penstock.ID)
}

// MaintainerDeps are the dependencies of a Maintainer.
type MaintainerDeps struct {
	Store    store.Queue
	Budgets  store.Budgets
	Work     *signal.Topic[signal.None] // notified when items are ready
	Jobs     Publisher
	Metrics  *telemetry.Metrics
	Log      *slog.Logger
	Interval time.Duration // between two rounds that found nothing to do
}

// Maintainer runs the maintenance of the queue.
type Maintainer struct{ MaintainerDeps }

// NewMaintainer returns a maintainer.
func NewMaintainer(d MaintainerDeps) (*Maintainer, error) {
	if d.Interval <= 0 {
		return nil, errors.New("maintenance needs a positive interval")
	}
	return &Maintainer{d}, nil
}

// Run runs maintenance until ctx ends. Errors are logged: the next round finds the same work.
func (m *Maintainer) Run(ctx context.Context) error {
	chore.Chore{Interval: m.Interval, Round: m.runOnce, Failed: func(ctx context.Context, err error) {
		m.Log.ErrorContext(ctx, "maintaining the queue", "error", err)
	}}.Run(ctx)
	return nil
}

// runOnce does one bounded step of each kind and reports whether there is more to do.
func (m *Maintainer) runOnce(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	rescued, rescueErr := m.Store.RescueItems(ctx, StepItems)
	expired, expireErr := m.Store.ExpireItems(ctx, StepItems)
	cancelled, cancelErr := m.Store.CancelItems(ctx, StepItems)
	forfeited, forfeitErr := m.Budgets.ForfeitBudgets(ctx, StepItems)

	m.Metrics.Rescued(rescued.Items)
	m.Metrics.Expired(expired.Items)
	if rescued.Items > 0 {
		m.Log.WarnContext(ctx, "took items from dead workers", "items", rescued.Items, "queued_again", rescued.Queued)
	}
	if rescued.Queued > 0 {
		m.Work.Notify()
	}
	for _, step := range []store.Step{rescued, expired, cancelled} {
		m.Jobs.Publish(step.Finished...)
		more = more || step.More
	}
	if forfeited.Items > 0 {
		m.Log.WarnContext(ctx, "booked what dead processes had withdrawn from budgets", "budget_allowances", forfeited.Items)
	}
	return more || forfeited.More, errors.Join(rescueErr, expireErr, cancelErr, forfeitErr)
}
