package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"penstock"
)

// readyFor is how long the result of a check is cached: readiness probes are not authenticated, and a check
// writes to the disk.
const readyFor = time.Second

// checkTimeout bounds a check.
const checkTimeout = 3 * time.Second

// readiness says whether the process can accept work.
type readiness struct {
	probe func(context.Context) error
	log   *slog.Logger

	stopping chan struct{} // closed by drain

	mu   sync.Mutex
	at   time.Time
	last error
}

func newReadiness(probe func(context.Context) error, log *slog.Logger) *readiness {
	return &readiness{probe: probe, log: log, stopping: make(chan struct{})}
}

// drain makes the process unready for good. It is called once.
func (r *readiness) drain() { close(r.stopping) }

// announceReady calls Ready once the process can do all of its work: it holds its lease, without which budgets and items
// cannot be used, and its readiness probe passes. It returns the error of a lease that cannot be acquired.
func (a *app) announceReady(ctx context.Context, at Addresses) error {
	if err := a.lease.Wait(ctx); err != nil || a.Ready == nil {
		return err
	}
	for a.readiness.check(ctx) != nil {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readyFor):
		}
	}
	if ctx.Err() == nil {
		a.Ready(at)
	}
	return nil
}

// check probes at most once a second. Concurrent callers wait for the same result.
func (r *readiness) check(ctx context.Context) error {
	select {
	case <-r.stopping:
		return penstock.Errorf(penstock.CodeOverloaded, "the process is stopping.")
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) < readyFor {
		return r.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	before := r.last
	r.last, r.at = r.probe(ctx), time.Now()
	switch {
	case r.last != nil && before == nil:
		r.log.WarnContext(ctx, "not ready", "error", r.last)
	case r.last == nil && before != nil:
		r.log.InfoContext(ctx, "ready again")
	}
	return r.last
}
