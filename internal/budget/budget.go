// Package budget pays for synchronous calls out of memory: it withdraws money from the budgets of tenants ahead
// of the calls, sets the most that a call can cost aside before it runs, and takes back what it did not use.
//
// It owns what this process holds of each budget. It does not own the budgets (package store), nor the
// reservations of jobs, which are a part of their submit. What was withdrawn counts as spent for every other process
// else, so whatever this process does or however it ends, a hard budget is never exceeded: what a process that
// died had withdrawn is forfeit.
//
// A Reserver is safe for concurrent use. Calls that no budget covers cost it nothing.
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
	// idleAfter is how long an allowance must be unused until it is returned.
	idleAfter = 2 * time.Second
	// lookInterval is how often idle money is looked for.
	lookInterval = time.Second
	// storeTimeout bounds a visit to the store.
	storeTimeout = 5 * time.Second
)

// Deps are what a Reserver works with.
type Deps struct {
	Store   store.Budgets
	Lease   func() store.Lease // of this process
	Metrics *telemetry.Metrics
	Log     *slog.Logger
	Clock   func() time.Time
}

// Reserver is what this process holds of the budgets of all tenants.
type Reserver struct {
	Deps
	mu         sync.Mutex
	allowances map[account]*allowance
	gates      map[penstock.ID]*gate
	number     int64 // of the last return
}

// New returns a reserver that holds nothing.
func New(d Deps) *Reserver {
	return &Reserver{Deps: d, allowances: map[account]*allowance{}, gates: map[penstock.ID]*gate{}}
}

// account is the identity of an account. Its ID is too, but has to be computed.
type account struct {
	tenant     penstock.TenantID
	key, model string
	tag        string
	period     penstock.Period
	start      int64
}

func accountOf(tenant penstock.TenantID, b *penstock.Budget, start time.Time) account {
	return account{tenant, b.Key, b.Model, b.Tag, b.Period, start.Unix()}
}

// allowance is what is held of one budget under one lease.
type allowance struct {
	id      penstock.ID // of the account
	lease   store.Lease
	free    penstock.NanoUSD // held, and not set aside for any call
	running int              // calls that it pays for
	usedAt  time.Time
	back    penstock.NanoUSD // on its way back to the budget
	number  int64            // of that return
	warning string           // what there is to say to callers, "" for nothing
}

// Demand is a call that is about to run.
type Demand struct {
	Principal penstock.Principal
	Model     penstock.ModelNames
	Tags      map[string]string
	Most      penstock.NanoUSD // that it can cost
	// Less is what it can cost at most on fewer of its targets, the next lower amount first: what is set aside when a hard budget
	// has not as much as Most left. It is asked only then; nil for nothing.
	Less func() []penstock.NanoUSD
}

// Reservation is money that is set aside for a call. The zero Reservation is that of a call without a budget.
type Reservation struct {
	Funding  penstock.Funding
	Warnings []string // of soft budgets that are used up
	Hard     bool     // a hard budget pays: the call must not cost more than was set aside
	Most     penstock.NanoUSD

	reserver   *Reserver
	allowances []*allowance // that it was set aside from; the reserver forgets one whose lease ended
}

// Reserve sets the most that a call can cost aside, in every budget that covers it, on as many of its targets as there is
// money for. It is to be settled. Codes: budget_exceeded, overloaded.
func (b *Reserver) Reserve(ctx context.Context, d Demand) (Reservation, error) {
	if len(d.Principal.Tenant.Budgets) == 0 {
		return Reservation{}, nil
	}
	now := b.Clock()
	if t, ok := b.draw(&d, now); ok {
		return t, nil
	}
	accounts := store.AccountsOf(d.Principal, store.Work{Model: d.Model, Tags: d.Tags}, now)
	leave, err := b.admit(ctx, d, accounts)
	if err != nil {
		return Reservation{}, err
	}
	defer leave()
	t, err := b.take(ctx, d, accounts)
	if penstock.ErrorCode(err) != penstock.CodeBudgetExceeded {
		return t, err
	}
	if d.Less != nil {
		for _, d.Most = range d.Less() {
			if t, err = b.take(ctx, d, accounts); penstock.ErrorCode(err) != penstock.CodeBudgetExceeded {
				return t, err
			}
		}
	}
	b.Metrics.BudgetRefused(string(d.Principal.Tenant.ID))
	return t, err
}

// take sets money aside from memory or from the store.
func (b *Reserver) take(ctx context.Context, d Demand, accounts []store.Account) (Reservation, error) {
	if t, ok := b.draw(&d, b.Clock()); ok { // an earlier call withdrew enough
		return t, nil
	}
	return b.withdraw(ctx, d, accounts)
}

func errBusy() error {
	return &penstock.Error{Code: penstock.CodeOverloaded, Message: "The budget is drawn on by many calls at once; try again.", RetryAfter: time.Second}
}

// draw sets money aside from memory, if there is enough in the local allowance of every budget that covers the call.
func (b *Reserver) draw(d *Demand, now time.Time) (Reservation, bool) {
	lease := b.Lease()
	t := Reservation{Funding: penstock.Funding{Process: lease.Process, Epoch: lease.Epoch}, reserver: b, Most: d.Most}
	var few [8]*allowance // so many cover a call, or fewer
	found := few[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range d.Principal.Tenant.Budgets {
		budget := &d.Principal.Tenant.Budgets[i]
		if !budget.Covers(d.Principal.Key, d.Model, d.Tags) {
			continue
		}
		p := b.allowances[accountOf(d.Principal.Tenant.ID, budget, budget.Period.Start(now))]
		if p == nil || p.lease != lease || p.free < d.Most {
			return Reservation{}, false
		}
		t.Hard = t.Hard || budget.Hard
		found = append(found, p)
	}
	if len(found) == 0 {
		return Reservation{}, true
	}
	for _, p := range found {
		p.free -= d.Most
		p.running++
	}
	b.complete(&t, found, now)
	b.countWarned(d, t)
	return t, true
}

// complete makes a reservation one on the local allowances that pay.
func (b *Reserver) complete(t *Reservation, allowances []*allowance, now time.Time) {
	t.allowances, t.Funding.Budgets = slices.Clone(allowances), make([]penstock.ID, len(allowances))
	for i, p := range allowances {
		p.usedAt = now
		t.Funding.Budgets[i] = p.id
		if p.warning != "" {
			t.Warnings = append(t.Warnings, p.warning)
		}
	}
}

// withdraw sets money aside for a call for which there is too little in the local allowances: what there is, and what is missing
// from the store. A little more comes along, so that the next calls need not wait.
func (b *Reserver) withdraw(ctx context.Context, d Demand, accounts []store.Account) (Reservation, error) {
	tenant, lease := d.Principal.Tenant.ID, b.Lease()
	order := store.BudgetDraw{Lease: lease, Wants: make([]store.BudgetWant, len(accounts))}
	t := Reservation{Funding: penstock.Funding{Process: lease.Process, Epoch: lease.Epoch}, reserver: b, Most: d.Most}
	allowances, taken := make([]*allowance, len(accounts)), make([]penstock.NanoUSD, len(accounts))
	b.mu.Lock()
	for i := range accounts {
		a := &accounts[i]
		p := b.allowance(tenant, a, lease)
		p.running++ // so that it is not forgotten meanwhile
		taken[i] = min(max(0, p.free), d.Most)
		p.free -= taken[i]
		t.Hard, allowances[i] = t.Hard || a.Hard, p
		order.Wants[i] = store.BudgetWant{Account: *a, Need: d.Most - taken[i], Want: d.Most - taken[i] + a.Limit/ahead}
	}
	b.mu.Unlock()
	// A caller who leaves must not leave money behind that the store has given out and this process does not know of.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	grants, err := b.Store.Hold(ctx, tenant, order)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		for i, p := range allowances {
			p.free += taken[i]
			p.running--
		}
		return Reservation{}, busy(err)
	}
	for i, p := range allowances {
		p.free += grants[i].Amount - order.Wants[i].Need
		b.warn(ctx, p, tenant, accountBalance{accounts[i], grants[i].Balance})
	}
	b.complete(&t, allowances, b.Clock())
	b.countWarned(&d, t)
	return t, nil
}

// countWarned counts a call that is admitted although a soft budget is used up.
func (b *Reserver) countWarned(d *Demand, t Reservation) {
	if len(t.Warnings) > 0 {
		b.Metrics.BudgetWarned(string(d.Principal.Tenant.ID))
	}
}

// accountBalance is an account with its balance in the store.
type accountBalance struct {
	store.Account
	balance store.Balance
}

// warn notes the warning of a soft budget for callers, and logs it once for the operator.
func (b *Reserver) warn(ctx context.Context, p *allowance, tenant penstock.TenantID, h accountBalance) {
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

// allowance finds or makes a local allowance. What an earlier lease left in it is forfeit.
func (b *Reserver) allowance(tenant penstock.TenantID, a *store.Account, lease store.Lease) *allowance {
	at := accountOf(tenant, &a.Budget, a.Start)
	p := b.allowances[at]
	if p == nil || p.lease != lease {
		p = &allowance{id: a.ID(tenant), lease: lease}
		b.allowances[at] = p
	}
	return p
}

// Settle takes back what a call did not spend. What it spent is booked with its record. Only the first settling
// of a reservation counts.
func (t *Reservation) Settle(spent penstock.NanoUSD) {
	if t.reserver == nil {
		return
	}
	defer func() { t.reserver = nil }()
	t.reserver.mu.Lock()
	defer t.reserver.mu.Unlock()
	for _, p := range t.allowances { // without its lease nothing uses it any more: all of it is forfeit
		p.running--
		p.free += t.Most - spent
	}
}

// Lose gives up a call whose spending is unknown, unless it is settled: all of it stays withdrawn, and is
// forfeit when the lease ends.
func (t *Reservation) Lose() { t.Settle(t.Most) }

// Run returns idle allowances to the store, until ctx ends. Then it returns all that is left.
func (b *Reserver) Run(ctx context.Context) error {
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

// returnIdle gives back what was not drawn on for some time. A return whose end is not known is made again under the
// same number, which counts once.
func (b *Reserver) returnIdle(ctx context.Context, idle time.Duration) error {
	lease := b.Lease()
	allowances := b.idle(lease, idle)
	if len(allowances) == 0 {
		return nil
	}
	returns := make([]store.BudgetReturn, len(allowances))
	for i, p := range allowances { // nothing else changes an allowance that is being returned
		returns[i] = store.BudgetReturn{Budget: p.id, Amount: p.back, Number: p.number}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := b.Store.ReturnBudgets(ctx, lease, returns); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range allowances {
		p.back = 0
	}
	return nil
}

// idle takes what was not drawn on for some time out of the local allowances, and forgets local allowances of which nothing is left. It
// returns those that have something on its way back.
func (b *Reserver) idle(lease store.Lease, idle time.Duration) (giving []*allowance) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at, p := range b.allowances {
		switch {
		case p.lease != lease: // forfeit, or about to be
			if p.running == 0 {
				delete(b.allowances, at)
			}
			continue
		case b.Clock().Sub(p.usedAt) < idle && p.back == 0:
			continue
		case p.back == 0 && p.free <= 0:
			if p.running == 0 && p.free == 0 {
				delete(b.allowances, at)
			}
			continue
		case p.back == 0:
			p.back, p.free = p.free, 0
			b.number++
			p.number = b.number
		}
		giving = append(giving, p)
	}
	slices.SortFunc(giving, func(p, o *allowance) int { return cmp.Compare(p.id, o.id) })
	return giving
}
