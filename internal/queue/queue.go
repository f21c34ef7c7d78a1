// Package queue keeps accepted work moving: it decides when an item is tried again, takes items from
// dead workers, expires and cancels what must not run any more, and rings when there is work.
//
// It owns the policy of retries and the housekeeping steps. The order of claims is a query of the
// store, and running items is package work. Policies are pure functions; housekeeping is a bounded
// step in a loop, and any number of processes may run it at once.
package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/chore"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// StepItems bounds a step of housekeeping, so that no step keeps accepts waiting for long.
const StepItems = 200

// stepTimeout bounds a round, so that a store that hangs does not end housekeeping for good.
const stepTimeout = 30 * time.Second

// Announcer is told which jobs changed.
type Announcer interface {
	Announce(jobs ...penstock.ID)
}

// MaintainerDeps are what a Keeper works with.
type MaintainerDeps struct {
	Store    store.Queue
	Budgets  store.Budgets
	Bell     *Bell
	Announce Announcer
	Metrics  *telemetry.Metrics
	Log      *slog.Logger
	Interval time.Duration // between two rounds that found nothing to do
}

// Maintainer does the housekeeping of the queue.
type Maintainer struct{ MaintainerDeps }

// NewMaintainer returns a housekeeper.
func NewMaintainer(d MaintainerDeps) (*Maintainer, error) {
	if d.Interval <= 0 {
		return nil, errors.New("housekeeping needs a positive interval")
	}
	return &Maintainer{d}, nil
}

// Run keeps house until ctx ends. Errors are logged and tried again: the next round finds the same
// work.
func (k *Maintainer) Run(ctx context.Context) error {
	chore.Chore{Interval: k.Interval, Round: k.runOnce, Failed: func(ctx context.Context, err error) {
		k.Log.ErrorContext(ctx, "keeping house", "error", err)
	}}.Run(ctx)
	return nil
}

// runOnce does one bounded step of each kind and reports whether there is more to do.
func (k *Maintainer) runOnce(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	rescued, rescueErr := k.Store.RescueItems(ctx, StepItems)
	expired, expireErr := k.Store.ExpireItems(ctx, StepItems)
	cancelled, cancelErr := k.Store.CancelItems(ctx, StepItems)
	forfeited, forfeitErr := k.Budgets.ForfeitBudgets(ctx, StepItems)

	k.Metrics.Rescued(rescued.Items)
	k.Metrics.Expired(expired.Items)
	if rescued.Items > 0 {
		k.Log.WarnContext(ctx, "took items from dead workers", "items", rescued.Items, "queued_again", rescued.Queued)
	}
	if rescued.Queued > 0 {
		k.Bell.Ring()
	}
	for _, step := range []store.Step{rescued, expired, cancelled} {
		k.Announce.Announce(step.Finished...)
		more = more || step.More
	}
	if forfeited.Items > 0 {
		k.Log.WarnContext(ctx, "booked what dead processes had withdrawn from budgets", "budget_allowances", forfeited.Items)
	}
	return more || forfeited.More, errors.Join(rescueErr, expireErr, cancelErr, forfeitErr)
}
