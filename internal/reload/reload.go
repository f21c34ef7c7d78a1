// Package reload replaces the configuration of a running process, or refuses the new configuration with a reason.
//
// It owns the order of a reload (read, check, plan, store, record in the audit, swap) and the rule that a reload
// removes no target of open jobs unless it is forced. Package config owns the meaning of a configuration. A reload is
// requested by a signal to the process or by the admin API.
//
// A Reloader is safe for concurrent use: one reload happens at a time.
package reload

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// Store keeps what a reload leaves behind, and knows which jobs are open.
type Store interface {
	NoteReload(ctx context.Context, r store.Reload) error
	OpenResolutions(ctx context.Context) ([]store.Resolution, error)
}

// Deps are what a reloader works with.
type Deps struct {
	Live  *config.Live
	Store Store
	// Load reads the configuration anew; nil when there is nothing to read.
	Load func() (*config.Snapshot, error)
	// Check refuses a configuration that the adapters cannot be made of.
	Check func(*config.Snapshot) error
	// Remember keeps a configuration in the store before it is in force.
	Remember func(context.Context, *config.Snapshot) error
	Log      *slog.Logger
}

// Reloader reloads.
type Reloader struct {
	Deps
	mu sync.Mutex // held while one configuration replaces another
}

// New returns a reloader.
func New(d Deps) *Reloader { return &Reloader{Deps: d} }

// Order is how a reload is asked for.
type Order struct {
	Actor  string
	DryRun bool // only say what it would do
	Force  bool // also if jobs lose a target by it
}

// Reload validates a new configuration and puts it in force, or keeps the old one and says why. The audit names the actor.
// Codes: invalid_request, conflict.
func (r *Reloader) Reload(ctx context.Context, o Order) (Plan, error) {
	if r.Load == nil {
		return Plan{}, penstock.Errorf(penstock.CodeConflict, "This process runs without a configuration file.")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.read()
	if err != nil {
		return Plan{}, &penstock.Error{Code: penstock.CodeInvalidRequest, Message: err.Error(), Err: err}
	}
	plan, err := r.plan(ctx, next)
	if err != nil || o.DryRun {
		return plan, err
	}
	forced := plan.Refusal != ""
	if forced && !o.Force {
		return plan, penstock.Errorf(penstock.CodeConflict, "%s", plan.Refusal)
	}
	if err := r.Remember(ctx, next); err != nil {
		return plan, err
	}
	if err := r.note(ctx, next, o.Actor); err != nil {
		return plan, err
	}
	r.Live.Swap(next)
	r.Log.InfoContext(ctx, "configuration reloaded", "config", next.Hash, "changes", len(plan.Changes), "forced", forced)
	plan.Refusal = ""
	return plan, nil
}

// Follow reloads whenever it receives from asked, until ctx ends.
func (r *Reloader) Follow(ctx context.Context, asked <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-asked:
			if _, err := r.Reload(ctx, Order{Actor: "SIGHUP"}); err != nil {
				r.Log.ErrorContext(ctx, "the new configuration is refused; the old one stays in force", "error", err)
			}
		}
	}
}

// read reads and checks the next configuration.
func (r *Reloader) read() (*config.Snapshot, error) {
	next, err := r.Load()
	if err != nil {
		return nil, err
	}
	if len(next.Tenants) == 0 && len(r.Live.Current().Tenants) > 0 {
		// An editor may just be writing the file: an empty one is valid, but would lock everybody out.
		return nil, errors.New("the file names no tenant; a restart would take it, a reload does not")
	}
	return next, r.Check(next)
}

// maxNotedChanges is how many differences of a configuration the audit has; its snapshots have all of them.
const maxNotedChanges = 100

// note writes to the audit what is about to be put in force, unless nothing changes.
func (r *Reloader) note(ctx context.Context, next *config.Snapshot, actor string) error {
	current := r.Live.Current()
	changes := config.Diff(current, next)
	if len(changes) == 0 {
		return nil
	}
	note := store.Reload{Actor: actor, Before: current.Hash, After: next.Hash}
	for _, c := range changes[:min(len(changes), maxNotedChanges)] {
		note.Changes = append(note.Changes, c.String())
	}
	return r.Store.NoteReload(ctx, note)
}
