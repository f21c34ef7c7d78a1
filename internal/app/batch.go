package app

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/api"
	"penstock/internal/batch"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/file"
	"penstock/internal/filter"
	"penstock/internal/store"
)

// connectBatches makes what carries jobs over files. Splitting is for processes that work; their results are written by others
// too while no worker is there, such as after the last one was scaled away.
func (a *app) connectBatches() (err error) {
	if a.splitter, err = batch.NewSplitter(batch.SplitterDeps{
		Store: a.store, Files: a.files, Composer: composer{a.live, a.directory, a.judge()}, Ring: a.bell.Ring, Wake: a.bell.Listen(),
		Announce: announcer{a.hub, a.webhooks}, Log: a.log, Clock: time.Now,
	}); err != nil {
		return err
	}
	a.finisher, err = batch.NewFinisher(batch.FinisherDeps{
		Store: a.store, Artifacts: a.files, Writer: api.ResultWriter{}, Announce: announcer{a.hub, a.webhooks}, Needed: a.finishes, Log: a.log, Clock: time.Now,
	})
	return err
}

// composer makes items of lines as admission makes them of inputs.
type composer struct {
	live      *config.Live
	directory *directory.Directory
	judge     admit.Judge
}

// judge asks the input filters of the process.
func (a *app) judge() admit.Judge { return admit.Judge{Filters: a.Filters, Read: api.ReadInference} }

// Accounts implements batch.Composer. A tenant that may not call any more has no budgets to look up; what was
// accepted of it goes on, within those that it had.
func (c composer) Accounts(j penstock.Job) (accounts []store.Account, known bool) {
	tenant, ok := c.directory.Tenant(j.Tenant)
	if !ok {
		return nil, false
	}
	return store.AccountsOf(penstock.Caller{Tenant: tenant, Key: j.Key}, j.ModelNames(), time.Now()), true
}

func (c composer) Compose(ctx context.Context, u store.Unsplit) (func(file.Line) store.NewItem, error) {
	form, err := api.FormOf(u.Job, u.Defaults)
	if err != nil {
		return nil, err
	}
	snapshot := c.live.Current()
	targets := admit.ResolvedTargets(snapshot, u.Job)
	tenant, known := c.directory.Tenant(u.Job.Tenant)
	if !known { // nobody says any more what may be fetched for it
		tenant.MediaHosts = []string{penstock.MediaNone}
	}
	return func(l file.Line) store.NewItem {
		inf, err := form.Line(l, snapshot.Process.Limits.MaxBodyBytes)
		if err != nil {
			e := penstock.AsError(err)
			return store.NewItem{CustomID: l.CustomID, Body: l.Body, Refusal: &penstock.ItemError{Code: e.Code, Message: e.Message}}
		}
		subject := filter.Subject{Tenant: u.Job.Tenant, Key: u.Job.Key, Model: u.Job.Model, Endpoint: u.Job.Endpoint}
		if edited, err := c.judge.Inference(ctx, subject, &inf); err != nil {
			// The text of the line is not written: only its file, which was received before, has it.
			e := penstock.AsError(err)
			return store.NewItem{CustomID: l.CustomID, Body: []byte("{}"), Refusal: &penstock.ItemError{Code: e.Code, Message: e.Message}}
		} else if edited != nil {
			inf = *edited
		}
		if err := admit.Fetchable(snapshot, tenant, targets, inf); err != nil {
			return store.NewItem{CustomID: l.CustomID, Body: l.Body, Refusal: &penstock.ItemError{Code: penstock.CodeInvalidRequest, Message: penstock.AsError(err).Message}}
		}
		return admit.Item(targets, inf, admit.Terms{From: time.Now(), Lane: u.Job.Lane})
	}, nil
}
