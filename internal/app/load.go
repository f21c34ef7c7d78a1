package app

import (
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/queue"
	"penstock/internal/telemetry"
)

// queueLimits are the bounds of the configuration in force.
type queueLimits struct {
	live      *config.Live
	directory *directory.Directory
}

func (l queueLimits) All() backlog.Bounds {
	q := l.live.Current().Queue
	return backlog.Bounds{Items: q.MaxItems, Bytes: q.MaxBytes}
}

func (l queueLimits) Tenant(id penstock.TenantID) backlog.Bounds {
	t := l.live.Current().QueueLimits(id)
	kept, _ := l.directory.Tenant(id) // of the file too
	return backlog.Bounds{Items: t.QueuedItems, Bytes: t.QueuedBytes, Tokens: kept.EnqueuedTokens}
}

// laneWeights are the weights of the configuration in force.
func (a *app) laneWeights() queue.LaneWeights {
	lanes := a.live.Current().Lanes
	weights := make(queue.LaneWeights, len(penstock.Lanes))
	for _, lane := range penstock.Lanes {
		weights[lane] = lanes.Of(lane).Weight
	}
	return weights
}

// objectives are how long items should wait at the most under a configuration.
func objectives(s *config.Snapshot) telemetry.Objectives {
	lanes := s.Lanes
	all := make(telemetry.Objectives, len(penstock.Lanes))
	for _, lane := range penstock.Lanes {
		all[lane] = lanes.Of(lane).SLOWait
	}
	return all
}

// report describes the load to operators.
func (a *app) report() backlog.Report {
	due := objectives(a.live.Current())
	work := a.Config.Process.Work
	self := backlog.Process{Name: a.store.process, Works: a.Role.works(), Slots: work.Slots}
	if a.pool != nil {
		self.InUse = a.pool.InUse()
	}
	for _, pool := range work.Pools {
		self.PoolSlots += pool.Slots
	}
	return a.backlog.Report(self, func(lane penstock.Lane) time.Duration { return due[lane] })
}

// load describes the load to metrics.
func (a *app) load() telemetry.Load {
	report := a.report()
	load := telemetry.Load{DesiredWorkers: report.Workers, Unknown: !report.Current}
	for _, row := range report.Lanes {
		load.Lanes = append(load.Lanes, telemetry.LaneLoad{
			Lane: penstock.Lane(row.Name), DesiredSlots: row.Slots, DrainItemsPerSec: row.DrainPerSecond, ArrivalsPerSecond: row.ArrivalsPerSecond,
		})
	}
	for _, row := range report.Tenants {
		load.Tenants = append(load.Tenants, telemetry.TenantLoad{Tenant: row.Name, Ready: row.Ready, Parked: row.Parked, Running: row.Running})
	}
	return load
}
