// Package retain removes expired data: finished jobs with their items and results, the deltas of their events, records
// of synchronous calls, responses, conversations, files, uploads, runs of the playground, webhook deliveries, expired idempotency keys, and blobs that no row names.
//
// It owns the order and the pace of the sweep. The configuration sets how long data is kept, and the store knows which
// rows belong together. A step is one short transaction of at most [StepRows] rows, followed by a pause that is [Rest]
// times as long. So on an engine with one writer the sweep uses at most a fifth of it, and less when submits make it
// wait. Tenants take turns. The only state of the sweep is its position among the blobs, so any number of processes may
// sweep at the same time.
package retain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/chore"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

const (
	// StepRows bounds a step, so that no step delays submits for long.
	StepRows = 200
	// StepBlobs is how many blobs are checked in a step.
	StepBlobs = 500
	// Rest is how many times longer than a step the pause after it is.
	Rest = 4
	// TurnSteps is how many steps are made for one tenant before the next tenant.
	TurnSteps = 20
	// Interval is the time between two rounds without work.
	Interval = time.Minute
	// BlobGrace is how old a blob must be before it can be an orphan: the transaction that refers to it may still run.
	// The age of a blob may count from the beginning of its upload, which can take an hour.
	BlobGrace = 6 * time.Hour
	// WalkInterval is the time between two walks over all blobs. Only crashes leave orphans, so they are few.
	WalkInterval = time.Hour

	tenantPage = 100
	// stepTimeout bounds a step, so that a store that hangs does not end the sweep for good.
	stepTimeout = 30 * time.Second
)

// Deps are what a Sweeper works with.
type Deps struct {
	Store   store.Retention
	Outbox  Outbox
	Logs    Logs
	Turns   Turns
	Uploads Uploads
	Runs    Runs
	Windows func(penstock.TenantID) penstock.Retention // as configured now
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	Clock   func() time.Time
}

// Outbox removes old webhook deliveries.
type Outbox interface {
	PurgeDeliveries(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error)
}

// Logs removes the stored events of finished jobs.
type Logs interface {
	PurgeEvents(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error)
}

// Turns removes old responses and conversations.
type Turns interface {
	PurgeResponses(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error)
	PurgeConversations(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error)
}

// Uploads ends uploads that have expired, and removes old ones.
type Uploads interface {
	Purge(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error)
}

// Runs removes old runs of the playground.
type Runs interface {
	PurgeRuns(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error)
}

// uploadsKept is how long an upload that ended is remembered, so that a repeated call gets the same answer.
const uploadsKept = 24 * time.Hour

// Sweeper removes expired data.
type Sweeper struct {
	Deps
	overdue map[telemetry.SweptKind]time.Duration // in this round

	blobAfter string // where the walk over blobs is
	nextWalk  time.Time
}

// New returns a sweeper. Its first walk over the blobs begins at a random blob, so that all blobs are checked even if
// no process lives long enough for a whole walk.
func New(d Deps) (*Sweeper, error) {
	if d.Store == nil || d.Outbox == nil || d.Logs == nil || d.Turns == nil || d.Uploads == nil || d.Runs == nil || d.Windows == nil || d.Metrics == nil || d.Log == nil || d.Clock == nil {
		return nil, errors.New("a sweeper needs a store, an outbox, logs, turns, uploads, runs, windows, metrics, a log and a clock")
	}
	return &Sweeper{Deps: d, blobAfter: blob.NewName()}, nil
}

// Run sweeps until ctx ends. Errors are logged and tried again: the next round finds the same work.
func (s *Sweeper) Run(ctx context.Context) error {
	chore.Chore{Interval: Interval, Round: s.runOnce, Failed: func(ctx context.Context, err error) {
		s.Metrics.SweepFailed()
		s.Log.ErrorContext(ctx, "sweeping", "error", err)
	}}.Run(ctx)
	return nil
}

// runOnce is one round: a turn of every kind, and of every tenant. It reports whether there is more to do.
func (s *Sweeper) runOnce(ctx context.Context) (more bool, err error) {
	s.overdue = map[telemetry.SweptKind]time.Duration{}
	var errs []error
	for _, part := range []func(context.Context) (bool, error){s.items, s.tenants, s.keys, s.blobs} {
		left, err := part(ctx)
		more = more || left
		errs = append(errs, err)
	}
	for _, kind := range telemetry.SweptKinds {
		s.Metrics.SweepOverdue(kind, s.overdue[kind])
	}
	return more, errors.Join(errs...)
}

// items removes the remaining rows of large jobs.
func (s *Sweeper) items(ctx context.Context) (bool, error) {
	return s.turn(ctx, telemetry.SweptItems, func(ctx context.Context) (store.Purged, error) {
		return s.Store.PurgeItems(ctx, StepRows)
	})
}

// tenants removes the old jobs, calls and files of each tenant.
func (s *Sweeper) tenants(ctx context.Context) (more bool, err error) {
	page := store.TenantPage{Limit: tenantPage}
	for {
		ids, err := s.Store.TenantIDs(ctx, page)
		if err != nil {
			return more, fmt.Errorf("listing tenants: %w", err)
		}
		for _, id := range ids {
			left, err := s.tenant(ctx, id)
			if err != nil {
				return more, fmt.Errorf("sweeping tenant %s: %w", id, err)
			}
			more = more || left
		}
		if len(ids) < page.Limit {
			return more, nil
		}
		page.After = ids[len(ids)-1]
	}
}

func (s *Sweeper) tenant(ctx context.Context, id penstock.TenantID) (more bool, err error) {
	windows := s.Windows(id)
	for _, part := range []struct {
		kind telemetry.SweptKind
		kept time.Duration
		step func(context.Context, penstock.TenantID, store.Purge) (store.Purged, error)
	}{
		{telemetry.SweptJobs, windows.Results, s.Store.PurgeJobs},
		{telemetry.SweptRequests, windows.Results, s.Store.PurgeRequests},
		{telemetry.SweptEvents, windows.Events, s.Logs.PurgeEvents},
		{telemetry.SweptFiles, windows.Files, s.Store.PurgeFiles},
		{telemetry.SweptDeliveries, windows.Results, s.Outbox.PurgeDeliveries},
		{telemetry.SweptResponses, windows.Results, s.Turns.PurgeResponses},
		{telemetry.SweptConversations, windows.Results, s.Turns.PurgeConversations},
		{telemetry.SweptUploads, uploadsKept, s.Uploads.Purge},
		{telemetry.SweptRuns, windows.Results, s.Runs.PurgeRuns},
	} {
		left, err := s.turn(ctx, part.kind, func(ctx context.Context) (store.Purged, error) {
			return part.step(ctx, id, store.Purge{Kept: part.kept, Limit: StepRows})
		})
		if err != nil {
			return more, err
		}
		more = more || left
	}
	return more, nil
}

func (s *Sweeper) keys(ctx context.Context) (bool, error) {
	return s.turn(ctx, telemetry.SweptKeys, func(ctx context.Context) (store.Purged, error) {
		return s.Store.PurgeKeys(ctx, StepRows)
	})
}

// blobs continues the walk over all blobs, if one is due.
func (s *Sweeper) blobs(ctx context.Context) (bool, error) {
	if s.Clock().Before(s.nextWalk) {
		return false, nil
	}
	more, err := s.turn(ctx, telemetry.SweptBlobs, func(ctx context.Context) (store.Purged, error) {
		done, err := s.Store.PurgeBlobs(ctx, store.BlobPage{
			After: s.blobAfter, StoredBefore: s.Clock().Add(-BlobGrace), Limit: StepBlobs,
		})
		if err == nil {
			s.blobAfter = done.Next
		}
		return done.Purged, err
	})
	if err == nil && !more {
		s.nextWalk = s.Clock().Add(WalkInterval)
	}
	return more, err
}

// turn makes a bounded number of steps while there is more to do, with a pause after each.
func (s *Sweeper) turn(ctx context.Context, kind telemetry.SweptKind, step func(context.Context) (store.Purged, error)) (bool, error) {
	for range TurnSteps {
		began := s.Clock()
		done, err := s.step(ctx, step)
		s.overdue[kind] = max(s.overdue[kind], done.Overdue)
		if err != nil {
			return false, err
		}
		s.Metrics.Swept(kind, done.Removed)
		if !rest(ctx, Rest*s.Clock().Sub(began)) {
			return false, ctx.Err()
		}
		if !done.More {
			return false, nil
		}
	}
	return true, nil
}

func (s *Sweeper) step(ctx context.Context, step func(context.Context) (store.Purged, error)) (store.Purged, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return step(ctx)
}

// rest waits, unless ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
