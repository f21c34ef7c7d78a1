package app

import (
	"context"

	"penstock/internal/capacity"
	"penstock/internal/telemetry"
)

// collector describes the state of the process to metrics, each time that they are read.
type collector struct {
	store            *Store
	targets, callers *capacity.Tracker
	metrics          *telemetry.Metrics
}

// depths describes the queue.
func (c *collector) depths(ctx context.Context) ([]telemetry.Depth, error) {
	found, err := c.store.Depths(ctx)
	if err == nil {
		var suspects int64
		suspects, err = c.store.Suspects(ctx)
		c.metrics.SuspectsWaiting(suspects)
	}
	depths := make([]telemetry.Depth, len(found))
	for i, d := range found {
		depths[i] = telemetry.Depth{
			Lane: string(d.Lane), Status: string(d.Status), Items: d.Items, OldestSeconds: d.Oldest.Seconds(),
		}
	}
	return depths, err
}

// capacity describes targets.
func (c *collector) capacity() []telemetry.Capacity {
	var all []telemetry.Capacity
	for _, s := range c.targets.Status() {
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

// limits describes the limits of callers.
func (c *collector) limits() (all []telemetry.CallerLimit) {
	for _, p := range c.callers.LimitScopeStatuses() {
		for _, l := range p.Limits {
			all = append(all, telemetry.CallerLimit{
				Tenant: string(p.Name.Tenant), Scope: string(p.Name.Kind), Resource: l.Resource, Used: l.Used,
			})
		}
	}
	return all
}
