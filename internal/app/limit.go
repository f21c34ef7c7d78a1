package app

import (
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/limit"
	"penstock/internal/store"
)

// connectLimits creates the tracker of the callers' limits. On SQLite only the use of daily limits is stored in the
// database: a restart may forget the use of a minute, but not that of a day.
func (a *app) connectLimits(clock func() time.Time) {
	a.scopes = capacity.New(capacity.Config{Clock: clock, Pools: pools{a}, Alone: a.Config.Process.Database.IsZero(), Log: a.log})
	a.limits = limit.New(a.scopes, a.metrics)
}

// usedByItem counts the use of an item against the daily limits of its tenant, of the key that submitted its job, and of
// its model.
func (a *app) usedByItem(c *store.Claimed, u penstock.Usage) {
	if t, ok := a.directory.Tenant(c.Tenant); ok {
		caller := penstock.Principal{Tenant: t, Key: c.Key, Limits: a.services.Limits(c.Tenant, c.Key)}
		a.limits.Spend(&caller, penstock.ModelNames{Asked: c.Model, Answers: c.Resolved.Model}, u)
	}
}
