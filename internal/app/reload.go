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
			if _, err := a.reload(ctx, reloadOrder{actor: "SIGHUP"}); err != nil {
				a.log.ErrorContext(ctx, "the new configuration is refused; the old one stays in force", "error", err)
			}
		}
	}
}

// reloadAsked is a reload that an operator asks for.
func (a *app) reloadAsked(w http.ResponseWriter, r *http.Request) {
	order, err := reloadOrderOf(r)
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	done, err := a.reload(r.Context(), order)
	if err != nil {
		a.adminError(w, r, err)
		return
	}
	adminJSON(w, http.StatusOK, done)
}

// reload validates a new configuration and puts it in force, or keeps the old one and says why. The audit tells who
// asked for it. Codes: invalid_request, conflict.
func (a *app) reload(ctx context.Context, o reloadOrder) (*reloadView, error) {
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
	view, err := a.planReload(ctx, next)
	if err != nil || o.dryRun {
		view.Status, view.DryRun = "dry_run", o.dryRun
		return view, err
	}
	if view.Refusal != nil && !o.force {
		return nil, penstock.Errorf(penstock.CodeConflict, "%s", *view.Refusal)
	}
	if err := a.remember(ctx, next); err != nil {
		return nil, err
	}
	if err := a.noteReload(ctx, next, o.actor); err != nil {
		return nil, err
	}
	a.live.Swap(next)
	a.log.InfoContext(ctx, "configuration reloaded", "config", next.Hash, "changes", len(view.Changes), "forced", view.Refusal != nil)
	view.Refusal = nil
	return view, nil
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
