package app

import (
	"context"
	"time"

	"penstock/internal/capacity"
	"penstock/internal/store"
)

// newCapacity creates the tracker of the targets' capacity. On SQLite the data directory belongs to this process alone,
// so the pools are in memory.
func (a *app) newCapacity(clock func() time.Time) *capacity.Tracker {
	cfg := capacity.Config{Clock: clock, Log: a.log}
	if !a.Config.Process.Database.IsZero() {
		cfg.Pools = pools{a}
	}
	return capacity.New(cfg)
}

// pools withdraws under the lease of this process.
type pools struct{ *app }

// poolTimeout bounds a withdrawal: a later answer would be too late to use.
const poolTimeout = 5 * time.Second

// Withdraw implements capacity.Pools.
func (b pools) Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error) {
	ctx, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	return b.store.Withdraw(ctx, b.lease.Current(), w)
}
