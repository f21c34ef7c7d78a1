package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/config"
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
			if _, err := a.reload(ctx); err != nil {
				a.log.ErrorContext(ctx, "the new configuration is refused; the old one stays in force", "error", err)
			}
		}
	}
}

// reload validates a new configuration and puts it in force, or keeps the old one and says why.
// Codes: invalid_request.
func (a *app) reload(ctx context.Context) ([]config.Change, error) {
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
	changes := a.live.Swap(next)
	a.log.InfoContext(ctx, "configuration reloaded", "config", next.Hash, "changes", len(changes))
	return changes, nil
}
