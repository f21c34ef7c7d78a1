package batch

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/attachment"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/dialect/line"
	"penstock/internal/file"
	"penstock/internal/filter"
	"penstock/internal/store"
)

// Tenants finds tenants by ID.
type Tenants interface {
	Tenant(id penstock.TenantID) (penstock.Tenant, bool)
}

// ComposerDeps are the dependencies of a composer.
type ComposerDeps struct {
	Config   *config.Live
	Tenants  Tenants
	Files    admit.Attachments // of bodies; nil where no files are
	Filters  *filter.Chain     // of inputs; nil for none
	Overflow *admit.Overflow   // of inputs that are too long; nil to refuse all of them
	Prompts  admit.Prompts     // that bodies name; nil where there are none
	Clock    func() time.Time
}

// composer makes items of lines with the checks that admission makes on inputs.
type composer struct{ ComposerDeps }

// NewComposer returns a Composer that applies the configuration in force.
func NewComposer(d ComposerDeps) Composer { return composer{d} }

// Accounts implements Composer. A disabled tenant has no budgets in the configuration; its accepted jobs are paid from
// the budgets that they were accepted with.
func (c composer) Accounts(j penstock.Job) (accounts []store.Account, known bool) {
	tenant, ok := c.Tenants.Tenant(j.Tenant)
	if !ok {
		return nil, false
	}
	return store.AccountsOf(penstock.Principal{Tenant: tenant, Key: j.Key}, store.Work{Model: j.ModelNames(), Tags: j.Tags}, c.Clock()), true
}

// Compose implements Composer.
func (c composer) Compose(ctx context.Context, u store.Unsplit) (func(file.Line) (store.NewItem, error), error) {
	form, err := line.FormOf(u.Job, u.Defaults)
	if err != nil {
		return nil, err
	}
	snapshot := c.Config.Current()
	targets := admit.ResolvedTargets(snapshot, u.Job)
	tenant, known := c.Tenants.Tenant(u.Job.Tenant)
	if !known { // the tenant's media hosts are unknown
		tenant.MediaHosts = []string{penstock.MediaNone}
	}
	prompts := admit.PromptOrder(snapshot, u.Job.Tenant)
	prompts.Endpoint, prompts.Model, prompts.Accepted, prompts.Pins = u.Job.Endpoint, u.Job.Model, true, u.Job.Resolved.Prompts
	return func(l file.Line) (store.NewItem, error) {
		inf, err := form.Line(line.Line{CustomID: l.CustomID, Endpoint: l.Endpoint, Body: l.Body, Variables: l.Variables}, snapshot.Process.Limits.MaxBodyBytes)
		if err != nil {
			return refused(l, err), nil
		}
		if inf.Prompt != nil && c.Prompts != nil {
			l.Body = inf.Body() // with its variables, so that a retry of a refused line can render it
			if inf, err = c.Prompts.Put(ctx, prompts, inf); err != nil {
				return refusedUnlessPassing(l, err)
			}
		}
		if inf, err = c.attach(ctx, u.Job, inf); err != nil {
			return refusedUnlessPassing(l, err)
		}
		if short, err := c.Overflow.Shorten(admit.ShortenOrder{
			Asked: u.Job.Model, Snapshot: snapshot, Model: u.Job.Resolved.Model, Policy: u.Job.Resolved.OnOverflow, Targets: targets,
		}, &inf); err != nil {
			return refused(l, err), nil
		} else if short != nil {
			inf = *short
		}
		subject := filter.Subject{Tenant: u.Job.Tenant, Key: u.Job.Key, Model: u.Job.Model, Endpoint: u.Job.Endpoint}
		if edited, err := admit.Judge(ctx, c.Filters, subject, &inf); err != nil {
			// The item does not repeat the text of the line, which its file has.
			return refused(file.Line{CustomID: l.CustomID, Body: []byte("{}")}, err), nil
		} else if edited != nil {
			inf = *edited
		}
		if err := admit.Fetchable(snapshot, tenant, targets, inf); err != nil {
			return refused(l, err), nil
		}
		item, err := admit.Item(admit.ItemOrder{Job: u.Job, Targets: targets, Now: c.Clock()}, &inf)
		if err != nil {
			return refused(l, err), nil
		}
		return item, nil
	}, nil
}

// attach puts the files that a line names into its body. The job was accepted with the files: they are held until its last line is
// read. Memory is bounded by the size of a step, and by one body.
func (c composer) attach(ctx context.Context, j penstock.Job, inf dialect.Inference) (dialect.Inference, error) {
	if c.Files == nil {
		return inf, nil
	}
	return c.Files.Attach(ctx, attachment.Order{
		Tenant: j.Tenant, Endpoint: j.Endpoint, MaxBytes: c.Config.Current().Process.Limits.MaxBodyBytes, Accepted: true,
	}, inf)
}

// refusedUnlessPassing is the item of a line that cannot be run, or the error if it may be possible later.
func refusedUnlessPassing(l file.Line, why error) (store.NewItem, error) {
	if code := penstock.ErrorCode(why); code == penstock.CodeInternal || code == penstock.CodeOverloaded {
		return store.NewItem{}, why
	}
	return refused(l, why), nil
}

// refused is the item of a line that cannot be run.
func refused(l file.Line, why error) store.NewItem {
	e := penstock.AsError(why)
	return store.NewItem{CustomID: l.CustomID, Body: l.Body, Refusal: &penstock.ItemError{Code: e.Code, Message: e.Message}}
}
