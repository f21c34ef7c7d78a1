package app

import (
	"crypto/rand"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/live/livesql"
	"penstock/internal/rollup"
	"penstock/internal/usage"
)

// facts are the figures of overviews that are not sums of the past.
type facts struct {
	*backlog.View
	*usage.Daily
	*livesql.Store
}

// newRecorder returns a recorder of the recent past, which counts from now on.
func newRecorder(a *app) *rollup.Recorder {
	past := rollup.New(rollup.Deps{
		Store: a.store.past, Source: rand.Text(), Depths: func() map[rollup.Key]int64 { return depths(a.backlog) }, Log: a.log, Clock: time.Now,
	})
	a.metrics.Observe(past)
	return past
}

// depths are the queued items of lanes, and of tenants in them.
func depths(queue *backlog.View) map[rollup.Key]int64 {
	all := map[rollup.Key]int64{}
	for _, lane := range queue.Shares(func(penstock.TenantID) int { return 1 }) {
		name := penstock.Lane(lane.Name)
		all[rollup.Key{Lane: name}] = lane.Queued()
		for _, t := range lane.Tenants {
			all[rollup.Key{Tenant: t.Tenant, Lane: name}] = t.Queued()
		}
	}
	return all
}

// Figures are the stored figures of the recent past.
func (s *Store) Figures() rollup.Store { return s.past }
