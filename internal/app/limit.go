package app

import (
	"time"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/limit"
	"penstock/internal/store"
)

// connectLimits makes the tracker of the callers' limits. On SQLite only what was used of a day is kept in the
// database: a minute's worth may be forgotten by a restart, a day's may not.
func (a *app) connectLimits(clock func() time.Time) {
	a.scopes = capacity.New(capacity.Config{Clock: clock, Pools: pools{a}, Alone: a.Config.Process.Database.IsZero(), Log: a.log})
	a.limits = limit.New(a.scopes, a.metrics)
}

// usedByItem books what an item used against the day of its tenant, of the key that its job was submitted with, and of
// its model.
func (a *app) usedByItem(c *store.Claimed, u penstock.Usage) {
	if t, ok := a.directory.Tenant(c.Tenant); ok {
		caller := penstock.Caller{Tenant: t, Key: c.Key, Limits: a.directory.KeyLimits(c.Tenant, c.Key)}
		a.limits.Spend(&caller, penstock.ModelNames{Asked: c.Model, Answers: c.Resolved.Model}, u)
	}
}
