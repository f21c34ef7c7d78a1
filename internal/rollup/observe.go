package rollup

import (
	"penstock"
	"penstock/internal/telemetry"
)

// JobAccepted counts a job that was accepted. It implements telemetry.Observer, with the following methods.
func (r *Recorder) JobAccepted(tenant penstock.TenantID, lane penstock.Lane) {
	own, all := both(tenant, lane)
	r.count(func(s *Sum) { s.Jobs++ }, own, all)
}

// ItemFinished counts an item that reached its outcome.
func (r *Recorder) ItemFinished(o telemetry.ItemObservation) {
	own, all := both(o.Tenant, o.Lane)
	r.count(func(s *Sum) {
		switch o.Status {
		case penstock.StatusSucceeded:
			s.Succeeded++
			s.Latency.add(o.Total)
		case penstock.StatusFailed, penstock.StatusExpired:
			s.Failed++
		}
	}, own, all)
}

// AttemptFinished counts an attempt of a target, and its cost. The lane of an attempt is not known, so that cost is no part of the
// sums of lanes.
func (r *Recorder) AttemptFinished(o telemetry.AttemptObservation) {
	r.count(func(s *Sum) {
		if o.Kind == "" {
			s.Succeeded++
			s.Latency.add(o.Total)
		} else {
			s.Failed++
		}
		s.Cost = s.Cost.Plus(o.Cost)
	}, Key{Target: o.Target})
	if o.Cost > 0 {
		r.count(func(s *Sum) { s.Cost = s.Cost.Plus(o.Cost) }, Key{Tenant: o.Tenant}, Key{})
	}
}

// RequestEnded counts a synchronous call that ended.
func (r *Recorder) RequestEnded(q penstock.Request) {
	own, all := both(q.Tenant, penstock.LaneRealtime)
	r.count(func(s *Sum) {
		s.Requests++
		if q.Status != penstock.StatusSucceeded {
			s.Failed++
			return
		}
		s.Succeeded++
		s.Latency.add(q.FinishedAt.Sub(q.StartedAt))
	}, own, all)
}
