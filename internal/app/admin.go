package app

import (
	"time"

	"penstock/internal/admin"
	"penstock/internal/api"
	"penstock/internal/control"
	"penstock/internal/directory"
	"penstock/internal/reload"
	"penstock/internal/rest"
	"penstock/internal/usage"
)

// connectAdmin creates the admin API and its services.
func (a *app) connectAdmin() error {
	p := a.Config.Process
	documents, err := rest.NewDocuments(api.Surface(), admin.Surface())
	if err != nil {
		return err
	}
	a.admin, err = admin.New(admin.Deps{
		Config: a.live, Directory: a.directory, Tenants: a.store, Keys: a.store, Controls: a.store, Paused: a.controls, Audit: a.store, Balances: a.store, Usage: usage.New(a.store), Reloader: a.reloader,
		Credentials: rest.Credentials{a.services.Operators()},
		Operators:   a.operators, Identity: a.people,
		Editor: directory.NewEditor(directory.EditorDeps{
			Config: a.live, Tenants: a.store, Keys: a.store, Directory: a.directory, Log: a.log, Clock: time.Now,
			Announce: func() { a.topics.callers.Notify() },
		}),
		Switch: control.NewSwitch(control.SwitchDeps{Store: a.store, View: a.controls, Log: a.log, Announce: func() { a.topics.control.Notify() }}),
		Load:   a.load.Report, Ready: a.readiness.check, Hosts: p.Admin.Hosts, MetricsKey: p.Admin.MetricsKey,
		Documents: documents, Metrics: a.metrics, Tracer: a.tracer, Log: a.log, Clock: time.Now,
	})
	return err
}

// connectReloader creates the reloader.
func (a *app) connectReloader() {
	a.reloader = reload.New(reload.Deps{
		Live: a.live, Store: a.store, Load: a.Load, Check: a.providers.check, Remember: a.remember, Log: a.log,
	})
}
