package app

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/lease"
	"penstock/internal/store"
)

// connectLease creates the lease of this process. Its heartbeat reports what other processes need to know of this one.
func (a *app) connectLease() (err error) {
	a.lease, err = lease.New(lease.Config{Process: a.store.process, Timeout: a.Config.Process.Work.LeaseTimeout}, lease.Deps{
		Store: a.store, Report: fleet{a}.report,
		Metrics: a.metrics, Log: a.log, Clock: time.Now,
	})
	return err
}

// fleet describes this process, and all that hold a lease.
type fleet struct{ *app }

// report describes this process to all others and to operators.
func (a fleet) report() store.Renewal {
	r, self := a.waiting.Report(), a.self()
	r.State.Version, r.State.Role, r.State.StartedAt, r.State.ReportedAt = penstock.Version, string(a.Role), a.startedAt, time.Now().UTC()
	r.State.Interval = a.lease.Interval()
	r.State.Slots, r.State.InUse = self.Slots+self.PoolSlots, self.InUse
	select {
	case <-a.readiness.stopping:
		r.State.Draining = true
	default:
	}
	for _, s := range a.capacity.Status() {
		if s.Running > 0 {
			if r.State.Running == nil {
				r.State.Running = map[string]int{}
			}
			r.State.Running[s.Target] = s.Running
		}
	}
	return r
}

// processes are the processes that hold a lease. This process is described as it is now, the others by their last heartbeat.
func (a fleet) processes(ctx context.Context) ([]store.Process, error) {
	all, err := a.store.Processes(ctx)
	for i := range all {
		if all[i].Name == a.store.process {
			all[i].ProcessState = a.report().State
		}
	}
	return all, err
}
