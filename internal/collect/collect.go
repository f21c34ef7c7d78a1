// Package collect describes the state of a process to metrics, each time that they are read: the queue, the targets, the
// limits of callers, and the stored bytes of tenants. It decides nothing.
package collect

import (
	"context"

	"penstock/internal/capacity"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

// Queue counts queued items.
type Queue interface {
	Depths(ctx context.Context) ([]store.Depth, error)
	Suspects(ctx context.Context) (int64, error)
}

// Collector describes the state of a process to metrics.
type Collector struct {
	Queue            Queue
	Targets, Callers *capacity.Tracker
	Metrics          *telemetry.Metrics
}

// Register makes metrics ask the collector.
func (c *Collector) Register() {
	c.Metrics.CollectDepths(c.depths)
	c.Metrics.CollectCapacity(c.capacity)
	c.Metrics.CollectLimits(c.limits)
}

// depths describes the queue.
func (c *Collector) depths(ctx context.Context) ([]telemetry.Depth, error) {
	found, err := c.Queue.Depths(ctx)
	if err == nil {
		var suspects int64
		suspects, err = c.Queue.Suspects(ctx)
		c.Metrics.SuspectsWaiting(suspects)
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
func (c *Collector) capacity() []telemetry.Capacity {
	var all []telemetry.Capacity
	for _, s := range c.Targets.Status() {
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
func (c *Collector) limits() (all []telemetry.CallerLimit) {
	for _, p := range c.Callers.LimitScopeStatuses() {
		for _, l := range p.Limits {
			all = append(all, telemetry.CallerLimit{
				Tenant: string(p.Name.Tenant), Scope: string(p.Name.Kind), Resource: l.Resource, Used: l.Used,
			})
		}
	}
	return all
}
