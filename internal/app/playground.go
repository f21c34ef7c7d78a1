package app

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/playground"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/request"
	"penstock/internal/token"
)

// newPlayground makes the playground of this process.
func newPlayground(a *app, prompts *prompt.Service, requests *request.Service) *playground.Service {
	s, counter := a.store.runs, new(token.Counter)
	return playground.New(playground.Deps{
		Runs: s, Cells: s, Progress: s, Shares: s, Prompts: columnPrompts{prompts}, Calls: cellCalls{requests}, Balances: a.store, Quote: quoteCell(a.live), Tokens: counter.Body,
		Limits: cellLimits(a.live), Lease: a.lease.Current, Leased: a.lease.Wait, Changed: a.topics.runs, Stops: a.topics.stops, Grace: softStop(a.Config.Process.ShutdownGrace), Log: a.log, Clock: time.Now,
	})
}

// cellLimits are the bounds of the playground, as configured now.
func cellLimits(live *config.Live) func(penstock.TenantID) playground.Limits {
	return func(tenant penstock.TenantID) playground.Limits {
		now := live.Current()
		return playground.Limits{Process: now.Playground.MaxConcurrent, Tenant: now.Playground.MaxTenantConcurrent, Daily: now.PlaygroundDaily(tenant)}
	}
}

// quoteCell finds the most that a call of the playground can use.
func quoteCell(live *config.Live) func(penstock.Tenant, dialect.Inference) (playground.Quote, error) {
	return func(tenant penstock.Tenant, inf dialect.Inference) (q playground.Quote, err error) {
		now := live.Current()
		most, err := admit.Quote(now, tenant, inf, time.Now())
		if err != nil {
			return q, err
		}
		q.Tokens, q.Cost = most.Tokens, most.Cost
		for _, t := range now.TargetsOf(now.Names(inf.Model).Answers) {
			q.Priced = q.Priced || !t.Unpriced
		}
		return q, nil
	}
}

// columnPrompts is the registry as the playground uses it.
type columnPrompts struct{ *prompt.Service }

// Compile implements playground.Prompts.
func (p columnPrompts) Compile(ctx context.Context, tenant penstock.TenantID, c playground.Column) (out playground.Compiled, err error) {
	if c.Content != nil {
		found, err := p.Service.CompileContent(ctx, tenant, *c.Content)
		if err != nil {
			return out, err
		}
		return playground.Compiled{Content: found.Content}, nil
	}
	found, err := p.Service.Compile(ctx, tenant, prompt.Side{Reference: content.Reference{Name: c.Prompt.Name, Label: c.Prompt.Label, Version: c.Prompt.Version}, Draft: c.Prompt.Draft})
	if err != nil {
		return out, err
	}
	return playground.Compiled{Ref: &playground.PromptRef{Name: found.Name, Version: found.Version, SHA256: found.SHA256}, Content: found.Content}, nil
}

// cellCalls makes the calls of cells.
type cellCalls struct{ *request.Service }

// Call implements playground.Calls.
func (c cellCalls) Call(ctx context.Context, principal penstock.Principal, order request.Order, sink request.Sink) (penstock.Request, error) {
	running, err := c.Start(ctx, principal, order, sink)
	if err != nil {
		return penstock.Request{}, err
	}
	defer running.Close(ctx)
	running.Finish(ctx)
	record, err := c.Request(context.WithoutCancel(ctx), principal.Tenant.ID, order.ID)
	if penstock.ErrorCode(err) == penstock.CodeNotFound { // the upstream was never called
		return penstock.Request{ID: order.ID}, nil
	}
	return record, err
}
