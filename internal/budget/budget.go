// Package budget pays for synchronous calls out of memory: it withdraws money from the budgets of tenants ahead
// of the calls, sets the most that a call can cost aside before it runs, and takes back what it did not use.
//
// It owns what this process holds of each budget. It does not own the budgets (package store), nor the
// reservations of jobs, which are a part of their submit. What was withdrawn counts as spent for everybody
// else, so whatever this process does or however it ends, a hard budget is never exceeded: what a process that
// died had withdrawn is forfeit.
//
// A Book is safe for concurrent use. Calls that no budget covers cost it nothing.
package budget

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/telemetry"
)

const (
	// ahead is the part of a budget that is withdrawn at a time, more than is needed: one in so many.
	ahead = 1000
	// idleAfter is how long nobody must have drawn on what is held until it is returned.
	idleAfter = 2 * time.Second
	// lookInterval is how often idle money is looked for.
	lookInterval = time.Second
	// patience bounds a visit to the store.
	patience = 5 * time.Second
)

// Deps are what a Book works with.
type Deps struct {
	Store   store.Budgets
	Lease   func() store.Lease // of this process
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	Clock   func() time.Time
}

// Book is what this process holds of the budgets of all tenants.
type Book struct {
	Deps
	mu       sync.Mutex
	purses   map[penstock.ID]*purse
	visiting sync.Mutex // one withdrawal at a time: those who wait for it find what it brought
}

// New returns an empty book.
func New(d Deps) *Book { return &Book{Deps: d, purses: map[penstock.ID]*purse{}} }

// purse is what is held of one budget under one lease.
type purse struct {
	lease   store.Lease
	free    penstock.NanoUSD // held, and not set aside for any call
	running int              // calls that it pays for
	usedAt  time.Time
	warning string // what there is to say to callers, "" for nothing
}

// Demand is a call that is about to run.
type Demand struct {
	Caller penstock.Caller
	Model  string
	Most   penstock.NanoUSD // that it can cost
}

// Ticket is money that is set aside for a call. The zero Ticket is that of a call without a budget.
type Ticket struct {
	Holding  penstock.Holding
	Warnings []string // of soft budgets that are used up
	Hard     bool     // a hard budget pays: the call must not cost more than was set aside

	book *Book
	most penstock.NanoUSD
}

// Reserve sets the most that a call can cost aside, in every budget that covers it. It is to be settled. Codes:
// budget_exceeded, overloaded.
func (b *Book) Reserve(ctx context.Context, d Demand) (Ticket, error) {
	if len(d.Caller.Tenant.Budgets) == 0 {
		return Ticket{}, nil
	}
	accounts := store.AccountsOf(d.Caller, d.Model, b.Clock())
	if len(accounts) == 0 {
		return Ticket{}, nil
	}
	if t, ok := b.draw(d, accounts); ok {
		return t, nil
	}
	b.visiting.Lock()
	defer b.visiting.Unlock()
	if t, ok := b.draw(d, accounts); ok { // whoever was here before brought enough
		return t, nil
	}
	if err := b.withdraw(ctx, d, accounts); err != nil {
		if penstock.ErrorCode(err) == penstock.CodeBudgetExceeded {
			b.Metrics.BudgetRefused(string(d.Caller.Tenant.ID))
		}
		return Ticket{}, err
	}
	t, ok := b.draw(d, accounts)
	if !ok { // others were quicker to spend it
		return Ticket{}, &penstock.Error{Code: penstock.CodeOverloaded, Message: "The budget is drawn on by many calls at once; try again.", RetryAfter: time.Second}
	}
	return t, nil
}

// draw sets money aside from memory, if there is enough in every purse.
func (b *Book) draw(d Demand, accounts []store.Account) (Ticket, bool) {
	lease := b.Lease()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range accounts {
		if p := b.purses[a.ID(d.Caller.Tenant.ID)]; p == nil || p.lease != lease || p.free < d.Most {
			return Ticket{}, false
		}
	}
	t := Ticket{Holding: penstock.Holding{Process: lease.Process, Epoch: lease.Epoch}, book: b, most: d.Most}
	for _, a := range accounts {
		id := a.ID(d.Caller.Tenant.ID)
		p := b.purses[id]
		p.free -= d.Most
		p.running++
		p.usedAt = b.Clock()
		t.Holding.Budgets = append(t.Holding.Budgets, id)
		t.Hard = t.Hard || a.Hard
		if p.warning != "" {
			t.Warnings = append(t.Warnings, p.warning)
		}
	}
	if len(t.Warnings) > 0 {
		b.Metrics.BudgetWarned(string(d.Caller.Tenant.ID))
	}
	return t, true
}

// withdraw brings what is missing, and a little more, so that the next calls need not wait.
func (b *Book) withdraw(ctx context.Context, d Demand, accounts []store.Account) error {
	tenant := d.Caller.Tenant.ID
	order := store.HoldOrder{Lease: b.Lease()}
	b.mu.Lock()
	for _, a := range accounts {
		need := d.Most
		if p := b.purses[a.ID(tenant)]; p != nil && p.lease == order.Lease {
			need = max(0, need-p.free)
		}
		order.Wants = append(order.Wants, store.HoldWant{Account: a, Need: need, Want: need + a.Limit/ahead})
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	grants, err := b.Store.Hold(ctx, tenant, order)
	if err != nil {
		return busy(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, a := range accounts {
		p := b.purse(a.ID(tenant), order.Lease)
		p.free += grants[i].Amount
		p.usedAt = b.Clock()
		b.warn(ctx, p, tenant, heard{a, grants[i].Balance})
	}
	return nil
}

// heard is what the store said of an account.
type heard struct {
	store.Account
	balance store.Balance
}

// warn notes what callers are told of a soft budget, and tells the operator once.
func (b *Book) warn(ctx context.Context, p *purse, tenant penstock.TenantID, h heard) {
	before := p.warning
	p.warning = ""
	if h.Hard || !h.balance.Over() {
		return
	}
	p.warning = h.Warning(h.balance)
	if before == "" {
		b.Log.WarnContext(ctx, "a soft budget is used up", "tenant", tenant, "budget", h.String(), "limit_usd", h.Limit.Short())
	}
}

// busy is the error of a withdrawal that could not be made for another reason than the budget: the process is
// about to get a new lease.
func busy(err error) error {
	if penstock.ErrorCode(err) != penstock.CodeConflict {
		return err
	}
	return &penstock.Error{Code: penstock.CodeOverloaded, Message: "This server is just starting or lost its database for a moment; try again.", RetryAfter: time.Second, Err: err}
}

// purse finds or makes a purse. What an earlier lease left in it is forfeit.
func (b *Book) purse(id penstock.ID, lease store.Lease) *purse {
	p := b.purses[id]
	if p == nil || p.lease != lease {
		p = &purse{lease: lease}
		b.purses[id] = p
	}
	return p
}

// Settle takes back what a call did not spend. What it spent is booked with its record.
func (t Ticket) Settle(spent penstock.NanoUSD) {
	if t.book == nil {
		return
	}
	lease := store.Lease{Process: t.Holding.Process, Epoch: t.Holding.Epoch}
	t.book.mu.Lock()
	defer t.book.mu.Unlock()
	for _, id := range t.Holding.Budgets {
		p := t.book.purses[id]
		if p == nil || p.lease != lease {
			continue // its lease is gone, and all of it forfeit
		}
		p.running--
		p.free += t.most - spent
	}
}

// Run returns what nobody draws on, until ctx ends. Then it returns all that is left.
func (b *Book) Run(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return b.returnIdle(context.WithoutCancel(ctx), 0)
		case <-tick.C:
			if err := b.returnIdle(ctx, idleAfter); err != nil && ctx.Err() == nil {
				b.Log.WarnContext(ctx, "returning what was withdrawn from budgets", "error", err)
			}
		}
	}
}

// returnIdle gives back what was not drawn on for some time.
func (b *Book) returnIdle(ctx context.Context, idle time.Duration) error {
	lease, returns := b.Lease(), []store.HoldReturn(nil)
	b.mu.Lock()
	for id, p := range b.purses {
		if b.Clock().Sub(p.usedAt) < idle {
			continue
		}
		if p.lease == lease && p.free > 0 {
			returns = append(returns, store.HoldReturn{Budget: id, Amount: p.free})
		}
		p.free = 0
		if p.running == 0 {
			delete(b.purses, id)
		}
	}
	b.mu.Unlock()
	if len(returns) == 0 {
		return nil
	}
	slices.SortFunc(returns, func(a, c store.HoldReturn) int { return cmp.Compare(a.Budget, c.Budget) })
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return b.Store.ReturnHolds(ctx, lease, returns) // what an error leaves behind is forfeit when the lease ends
}
