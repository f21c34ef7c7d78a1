package app

import (
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/live"
	"penstock/internal/rollup"
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
	kept, _ := l.directory.Tenant(id) // tenants of the configuration file included
	return backlog.Bounds{Items: t.QueuedItems, Bytes: t.QueuedBytes, Tokens: kept.EnqueuedTokens}
}

// objectives are how long items should wait at the most under a configuration.
func objectives(s *config.Snapshot) telemetry.Objectives {
	all := make(telemetry.Objectives, len(penstock.Lanes))
	for _, lane := range penstock.Lanes {
		all[lane] = s.Lanes.Of(lane).SLOWait
	}
	return all
}

// connectLoad creates the views of the load of the queue and of the targets, and the hub of live streams, which shows them.
func (a *app) connectLoad() {
	a.load = backlog.NewLoad(backlog.LoadDeps{
		View: a.backlog, Config: a.live, Controls: a.controls, Targets: a.capacity, Process: a.self,
	})
	a.metrics.CollectLoad(a.load.Metrics)
	a.overviews = rollup.NewOverviews(a.past, facts{a.backlog, a.daily, a.store.changes})
	a.hub = live.New(live.Deps{Source: a.store.changes, Load: a.load, Jobs: a.topics.jobs, Control: a.topics.control, Log: a.log, Clock: time.Now})
}

// self is this process with its slots.
func (a *app) self() backlog.Process {
	work := a.Config.Process.Work
	self := backlog.Process{Name: a.store.process, Works: a.Role.works(), Slots: work.Slots}
	if a.pool != nil {
		self.InUse = a.pool.InUse()
	}
	for _, pool := range work.Pools {
		self.PoolSlots += pool.Slots
	}
	return self
}
