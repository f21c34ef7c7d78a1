package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// remember keeps a configuration in the store, so that whatever runs under it can be explained later,
// and admits its names as metric labels.
func (a *app) remember(ctx context.Context, s *config.Snapshot) error {
	if err := a.store.SaveSnapshot(ctx, s.Hash, s.Body); err != nil {
		return fmt.Errorf("keeping the configuration: %w", err)
	}
	if err := a.store.SaveTenants(ctx, slices.Collect(maps.Values(s.Tenants))); err != nil {
		return fmt.Errorf("keeping the tenants: %w", err)
	}
	names := telemetry.Names{
		Models: slices.Sorted(maps.Keys(s.Models)), Targets: slices.Sorted(maps.Keys(s.Targets)),
	}
	for _, t := range slices.Sorted(maps.Keys(s.Tenants)) {
		names.Tenants = append(names.Tenants, string(t))
	}
	a.metrics.Admit(names)
	a.metrics.SetObjectives(objectives(s))
	a.metrics.ConfigActive(s.Hash)
	for _, name := range slices.Sorted(maps.Keys(s.Targets)) {
		if s.Targets[name].Unpriced {
			a.log.WarnContext(ctx, "a target has no price: what it costs is not known; set one, \"0\" if it is free", "target", name)
		}
	}
	return nil
}

// reloads swaps the configuration whenever somebody asks.
func (a *app) reloads(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.Reload:
			if _, err := a.reload(ctx, "SIGHUP"); err != nil {
				a.log.ErrorContext(ctx, "the new configuration is refused; the old one stays in force", "error", err)
			}
		}
	}
}

// reloadAsked is a reload that an operator asks for.
func (a *app) reloadAsked(w http.ResponseWriter, r *http.Request) {
	who, err := actor(r, r.URL.Query().Get("actor"))
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	changes, err := a.reload(r.Context(), who)
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	lines := make([]string, len(changes))
	for i, c := range changes {
		lines[i] = c.String()
	}
	adminJSON(w, http.StatusOK, map[string]any{"status": "reloaded", "config": a.live.Current().Hash, "changes": lines})
}

// reload validates a new configuration and puts it in force, or keeps the old one and says why. The audit tells who
// asked for it. Codes: invalid_request.
func (a *app) reload(ctx context.Context, actor string) ([]config.Change, error) {
	if a.Load == nil {
		return nil, penstock.Errorf(penstock.CodeConflict, "This process runs without a configuration file.")
	}
	a.reloading.Lock()
	defer a.reloading.Unlock()
	next, err := a.Load()
	if err == nil && len(next.Tenants) == 0 && len(a.live.Current().Tenants) > 0 {
		// An editor may just be writing the file: an empty one is valid, but would lock everybody out.
		err = errors.New("the file names no tenant; a restart would take it, a reload does not")
	}
	if err == nil {
		err = a.providers.check(next)
	}
	if err != nil {
		return nil, &penstock.Error{Code: penstock.CodeInvalidRequest, Message: err.Error(), Err: err}
	}
	if err := a.remember(ctx, next); err != nil {
		return nil, err
	}
	if err := a.noteReload(ctx, next, actor); err != nil {
		return nil, err
	}
	changes := a.live.Swap(next)
	a.log.InfoContext(ctx, "configuration reloaded", "config", next.Hash, "changes", len(changes))
	return changes, nil
}

// maxNotedChanges is how many differences of a configuration the audit tells; its snapshots have all of them.
const maxNotedChanges = 100

// noteReload writes to the audit what is about to be put in force, unless nothing changes.
func (a *app) noteReload(ctx context.Context, next *config.Snapshot, actor string) error {
	current := a.live.Current()
	changes := config.Diff(current, next)
	if len(changes) == 0 {
		return nil
	}
	r := store.Reload{Actor: actor, Before: current.Hash, After: next.Hash}
	for _, c := range changes[:min(len(changes), maxNotedChanges)] {
		r.Changes = append(r.Changes, c.String())
	}
	return a.store.NoteReload(ctx, r)
}
