package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/telemetry"
)

// remember stores a configuration, so that the work that runs under it can be explained later, and allows its
// names as metric labels.
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
	a.logNotices(ctx, s)
	return nil
}

// logNotices logs where prices come from and which models end. Hard budgets rely on prices, so the first is then a warning.
func (a *app) logNotices(ctx context.Context, s *config.Snapshot) {
	level := slog.LevelInfo
	for _, t := range s.Tenants {
		if slices.ContainsFunc(t.Budgets, func(b penstock.Budget) bool { return b.Hard }) {
			level = slog.LevelWarn
		}
	}
	for _, notice := range s.Notices(time.Now()) {
		a.log.Log(ctx, level, notice)
	}
}
