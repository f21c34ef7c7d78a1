package app

import (
	"time"

	"penstock"
	"penstock/internal/limit"
	"penstock/internal/room"
	"penstock/internal/store"
)

// connectLimits makes the book of the callers' limits. On SQLite only what was used of a day is kept in the
// database: a minute's worth may be forgotten by a restart, a day's may not.
func (a *app) connectLimits(clock func() time.Time) {
	a.parties = room.New(room.Config{Clock: clock, Bank: bank{a}, Alone: a.Config.Process.Database.IsZero(), Log: a.log})
	a.limits = limit.New(a.parties)
}

// usedByItem books what an item used against its tenant's day.
func (a *app) usedByItem(c store.Claimed, u penstock.Usage) {
	if t, ok := a.directory.Tenant(c.Tenant); ok {
		a.limits.Spend(t, c.Model, u)
	}
}
