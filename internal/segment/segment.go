// Package segment keeps the segments of jobs up to date, by which lists and summaries find jobs among millions.
//
// It owns the pace: tenants take turns, and after each segment it pauses [Rest] times as long as the segment took, so that on an
// engine with one writer it uses a small part of it. The store knows which segments are due. Any number of processes may
// build at the same time.
package segment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"penstock"
	"penstock/internal/chore"
	"penstock/internal/store"
)

const (
	// Interval is the time between two rounds without work.
	Interval = 30 * time.Second
	// Rest is how many times longer than a segment the pause after it is.
	Rest = 9
	// TurnSegments is how many segments are built for one tenant before the next tenant.
	TurnSegments = 16

	tenantPage = 100
	// stepTimeout bounds a step, so that a store that hangs does not end the work for good.
	stepTimeout = 30 * time.Second
)

// Tenants lists tenants.
type Tenants interface {
	TenantIDs(ctx context.Context, p store.TenantPage) ([]penstock.TenantID, error)
}

// Deps are what a Builder works with.
type Deps struct {
	Tenants  Tenants
	Segments store.Segments
	Log      *slog.Logger
	Clock    func() time.Time
}

// Builder builds segments.
type Builder struct{ Deps }

// New returns a builder.
func New(d Deps) (*Builder, error) {
	if d.Tenants == nil || d.Segments == nil || d.Log == nil || d.Clock == nil {
		return nil, errors.New("a builder of segments needs tenants, segments, a log and a clock")
	}
	return &Builder{d}, nil
}

// Run builds segments until ctx ends. Errors are logged: the next round finds the same work.
func (b *Builder) Run(ctx context.Context) error {
	chore.Chore{Interval: Interval, Round: b.runOnce, Failed: func(ctx context.Context, err error) {
		b.Log.ErrorContext(ctx, "building segments of jobs", "error", err)
	}}.Run(ctx)
	return nil
}

// runOnce is one round: a turn of every tenant. It reports whether there is more to do.
func (b *Builder) runOnce(ctx context.Context) (more bool, err error) {
	page := store.TenantPage{Limit: tenantPage}
	for {
		ids, err := b.Tenants.TenantIDs(ctx, page)
		if err != nil {
			return more, fmt.Errorf("listing tenants: %w", err)
		}
		for _, id := range ids {
			left, err := b.turn(ctx, id)
			if err != nil {
				return more, fmt.Errorf("tenant %s: %w", id, err)
			}
			more = more || left
		}
		if len(ids) < page.Limit {
			return more, nil
		}
		page.After = ids[len(ids)-1]
	}
}

// turn builds a bounded number of segments of a tenant, with a pause after each.
func (b *Builder) turn(ctx context.Context, tenant penstock.TenantID) (more bool, err error) {
	for range TurnSegments {
		began := b.Clock()
		if more, err = b.step(ctx, tenant); err != nil || !more {
			return false, err
		}
		timer := time.NewTimer(Rest * b.Clock().Sub(began))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false, ctx.Err()
		case <-timer.C:
		}
	}
	return true, nil
}

func (b *Builder) step(ctx context.Context, tenant penstock.TenantID) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return b.Segments.BuildSegment(ctx, tenant)
}
