// Package control keeps a view of the lanes, models, targets and tenants that operators paused or drain.
//
// It owns the view of this process and refreshes it from the store: every [PollInterval], and earlier after a signal.
// The callers decide what a pause means: admission refuses synchronous calls, claims skip queued items, and routing
// skips targets. Running work is not stopped.
//
// A View is safe for concurrent use. A lookup takes no lock and no allocation, so that hot paths can use it.
package control

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"penstock/internal/signal"
	"penstock/internal/store"
)

const (
	// PollInterval is how often the view is refreshed without a signal.
	PollInterval = 500 * time.Millisecond
	// lookTimeout bounds one refresh, so that a store that hangs does not block the view for ever.
	lookTimeout = 5 * time.Second
)

// Lister is what the view reads.
type Lister interface {
	ListControls(ctx context.Context) ([]store.Control, error)
}

// View is the pauses that this process knows. Before the first refresh there are none.
type View struct {
	Deps
	held atomic.Pointer[held]
}

// Deps are what a view works with.
type Deps struct {
	Store   Lister
	Changes *signal.Topic[signal.None] // notified when an operator changed something; nil for polling alone
	Changed func()                     // called after the view changed, because resumed work may start; may be nil
	Log     *slog.Logger
}

// held is one immutable state of the view.
type held struct {
	controls map[key]store.Control
	names    map[store.ControlKind][]string // in order
}

type key struct {
	kind store.ControlKind
	name string
}

// New returns a view before its first refresh.
func New(d Deps) *View {
	v := &View{Deps: d}
	v.held.Store(&held{})
	return v
}

// Paused returns the control that pauses a name, if there is one. Draining counts as paused.
func (v *View) Paused(kind store.ControlKind, name string) (store.Control, bool) {
	c, ok := v.held.Load().controls[key{kind, name}]
	return c, ok
}

// Names lists the paused names of a kind, in order. The list is shared: it must not be changed.
func (v *View) Names(kind store.ControlKind) []string { return v.held.Load().names[kind] }

// Open are those of the given targets that are not paused, in their order.
func (v *View) Open(targets []string) []string {
	held := func(target string) bool {
		_, ok := v.Paused(store.ControlTarget, target)
		return ok
	}
	if !slices.ContainsFunc(targets, held) {
		return targets
	}
	return slices.DeleteFunc(slices.Clone(targets), held) // the list belongs to the caller
}

// Refresh reads the store now. If it returns nil, the view is at least as new as the call.
func (v *View) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	controls, err := v.Store.ListControls(ctx)
	if err != nil {
		return err
	}
	next := &held{controls: make(map[key]store.Control, len(controls)), names: map[store.ControlKind][]string{}}
	for _, c := range controls {
		next.controls[key{c.Kind, c.Name}] = c
		next.names[c.Kind] = append(next.names[c.Kind], c.Name)
	}
	for _, names := range next.names {
		slices.Sort(names)
	}
	before := v.held.Swap(next)
	if v.Changed != nil && !maps.EqualFunc(before.names, next.names, slices.Equal) {
		v.Changed()
	}
	return nil
}

// Run keeps the view fresh until ctx ends. While the store cannot be read, the last view stays: paused work must not
// start because the database is unreachable.
func (v *View) Run(ctx context.Context) error {
	ticker := time.NewTicker(PollInterval)
	defer ticker.Stop()
	var changes <-chan struct{}
	if v.Changes != nil {
		s := v.Changes.SubscribeAll()
		defer s.Close()
		changes = s.C
	}
	away := false
	for {
		err := v.Refresh(ctx)
		if err != nil && ctx.Err() == nil && !away {
			v.Log.WarnContext(ctx, "looking for what is held back; going by what was known", "error", err)
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		case <-ticker.C:
		}
	}
}
