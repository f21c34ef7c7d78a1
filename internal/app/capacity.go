package app

import (
	"context"
	"time"

	"penstock/internal/capacity"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// newCapacity makes the tracker of the targets' capacity. On SQLite the data directory belongs to this process, so
// there is nobody to share with and the pools stay in memory.
func (a *app) newCapacity(clock func() time.Time) *capacity.Tracker {
	cfg := capacity.Config{Clock: clock, Log: a.log}
	if !a.Config.Process.Database.IsZero() {
		cfg.Pools = pools{a}
	}
	return capacity.New(cfg)
}

// pools withdraws under the lease of this process.
type pools struct{ *app }

// poolTimeout bounds a visit: past it, what it brings would come too late.
const poolTimeout = 5 * time.Second

// Withdraw implements capacity.Pools.
func (b pools) Withdraw(ctx context.Context, w store.Withdrawal) (store.Allotment, error) {
	ctx, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	return b.store.Withdraw(ctx, b.lease.Current(), w)
}

func (a *app) capacityStatus() []telemetry.Capacity {
	var all []telemetry.Capacity
	for _, s := range a.capacity.Status() {
		r := telemetry.Capacity{
			Target: s.Target, Limit: s.Limit, Running: s.Running, RestSeconds: s.Rest.Seconds(), Throttles: s.Throttles,
			Breaker: string(s.Breaker), Opened: s.Opened, RetriesRefused: s.RetriesRefused,
		}
		for _, rate := range s.Rates {
			r.Rates = append(r.Rates, telemetry.CapacityRate{
				Resource: rate.Resource, PerMinute: rate.PerMinute, Learned: rate.Learned, LocalAllowance: rate.LocalAllowance,
			})
		}
		all = append(all, r)
	}
	return all
}
