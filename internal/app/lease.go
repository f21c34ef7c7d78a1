package app

import (
	"time"

	"penstock/internal/lease"
	"penstock/internal/store"
)

// connectLease creates the lease of this process. Its heartbeat reports what other processes need to know of this one.
func (a *app) connectLease() (err error) {
	a.lease, err = lease.New(lease.Config{Process: a.store.process, Timeout: a.Config.Process.Work.LeaseTimeout}, lease.Deps{
		Store: a.store, Report: func() store.Renewal { return a.waiting.Report() },
		Metrics: a.metrics, Log: a.log, Clock: time.Now,
	})
	return err
}
