package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"penstock"
)

// Budgets are the withdrawals of processes from budgets ahead of synchronous calls. Jobs reserve in SubmitJob.
// RecordRequests and the methods that end items record what was spent. The settled and held amounts of a hard budget
// never exceed its limit together.
type Budgets interface {
	// Hold withdraws money for a lease, from all accounts or none. It stays with the lease until
	// RecordRequests records what was spent of it, ReturnBudgets gives it back, or the lease ends. Codes:
	// budget_exceeded (a hard one has less left than is needed), conflict (the lease is not current).
	Hold(ctx context.Context, tenant penstock.TenantID, o BudgetDraw) ([]BudgetGrant, error)

	// ReturnBudgets gives back money that was not spent. It skips amounts that are not held any more, and amounts that
	// were returned before under the same number.
	ReturnBudgets(ctx context.Context, l Lease, returns []BudgetReturn) error

	// ForfeitBudgets records as forfeit the money that ended leases held, at most limit of them: how much of it their
	// processes spent will never be known.
	ForfeitBudgets(ctx context.Context, limit int) (Step, error)

	// Balances returns the balances of accounts of a tenant, in their order. An account that was never drawn on has
	// nothing settled or held. It writes nothing.
	Balances(ctx context.Context, tenant penstock.TenantID, accounts []Account) ([]Balance, error)

	// BudgetStates returns the budgets of a tenant that were ever drawn on, newest period first, at most limit.
	BudgetStates(ctx context.Context, tenant penstock.TenantID, limit int) ([]BudgetState, error)
}

// Account is a budget in one of its periods.
type Account struct {
	penstock.Budget
	Start time.Time
	id    penstock.ID // of the tenant that AccountsOf was asked for, "" for not worked out yet
}

// ID identifies the account of a tenant.
func (a *Account) ID(tenant penstock.TenantID) penstock.ID {
	if a.id != "" {
		return a.id
	}
	const usual = 128 // bytes, so that it stays on the stack: this is on the way of every call
	text := append(make([]byte, 0, usual), tenant...)
	for _, part := range [...]string{a.Key, a.Model, string(a.Period)} {
		text = append(append(text, 0), part...)
	}
	text = strconv.AppendInt(append(text, 0), a.Start.Unix(), 10)
	if a.Tag != "" { // budgets had no tags once: the ids of those without must stay
		text = append(append(text, 0), a.Tag...)
	}
	sum := sha256.Sum256(text)
	var id [26]byte
	hex.Encode(id[:], sum[:len(id)/2])
	return penstock.ID(id[:])
}

// Work is what decides which budgets some spending counts against.
type Work struct {
	Model penstock.ModelNames
	Tags  map[string]string
}

// AccountsOf are the accounts that a caller's spending on some work counts against now, in lock order.
func AccountsOf(caller penstock.Principal, work Work, now time.Time) []Account {
	n := 0
	for i := range caller.Tenant.Budgets {
		if caller.Tenant.Budgets[i].Covers(caller.Key, work.Model, work.Tags) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	all := make([]Account, 0, n)
	for i := range caller.Tenant.Budgets {
		if b := &caller.Tenant.Budgets[i]; b.Covers(caller.Key, work.Model, work.Tags) {
			a := Account{Budget: *b, Start: b.Period.Start(now)}
			a.id = a.ID(caller.Tenant.ID)
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b Account) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Balance is the state of a budget in one period.
type Balance struct {
	Limit   penstock.NanoUSD
	Settled penstock.NanoUSD // spent
	Held    penstock.NanoUSD // set aside for open work
	Hard    bool
	// ExceededAt is when a soft one was first found used up in its period; zero while it was not.
	ExceededAt time.Time
}

// Left is how much can still be set aside; of a soft budget, before it warns.
func (b *Balance) Left() penstock.NanoUSD { return max(0, b.Limit-b.Settled-b.Held) }

// Over reports whether more is spent or set aside than the limit.
func (b *Balance) Over() bool { return b.Settled+b.Held > b.Limit }

// available is how much more can be set aside: what is left of a hard budget, and of a soft one whatever can be counted. It is
// negative for a hard budget that is exceeded.
func (b *Balance) available() penstock.NanoUSD {
	most := penstock.NanoUSD(math.MaxInt64)
	if b.Hard {
		most = b.Limit
	}
	return most - b.Settled - b.Held
}

// UsedUpAt is when nothing is left of the budget, if spending goes on as it did since the period began. It is the zero time if nothing is left
// already, if that is after the end of the period, and for a period without a beginning.
func (a *Account) UsedUpAt(b Balance, now time.Time) time.Time {
	left, passed := b.Left(), now.Sub(a.Start)
	if a.Start.IsZero() || left <= 0 || b.Settled <= 0 || passed <= 0 {
		return time.Time{}
	}
	seconds := float64(left) / float64(b.Settled) * passed.Seconds()
	if seconds > a.Period.End(now).Sub(now).Seconds() {
		return time.Time{}
	}
	return now.Add(time.Duration(seconds * float64(time.Second)))
}

// Hold sets money aside, as much as wanted but for a budget that has less left. It reports how much, and whether that is
// what is needed; if not, nothing is set aside.
func (b *Balance) Hold(need, want penstock.NanoUSD) (penstock.NanoUSD, bool) {
	available := b.available()
	if available < need || need < 0 {
		return 0, false
	}
	held := min(max(need, want), available)
	b.Held = b.Held.Plus(held)
	return held, true
}

// Fit is how many items, from the first on, there is enough left for.
func (b *Balance) Fit(items []NewItem) int {
	available := b.available()
	if available < 0 {
		return 0
	}
	for i, item := range items {
		if available -= item.Reserved; available < 0 {
			return i
		}
	}
	return len(items)
}

// Spend records what was spent, and releases the amount that was set aside for it.
func (b *Balance) Spend(freed, spent penstock.NanoUSD) {
	b.Held -= freed
	b.Settled = b.Settled.Plus(spent)
}

// Exceeded is the error of a hard budget that has too little left.
func (a Account) Exceeded(b Balance, need penstock.NanoUSD) error {
	return penstock.Errorf(penstock.CodeBudgetExceeded, "The %s is $%s; $%s is spent and $%s set aside, and this may cost up to $%s.",
		a.Budget, b.Limit.Short(), b.Settled.Short(), b.Held.Short(), need.Short())
}

// Warning says that a soft budget is used up.
func (a Account) Warning(b Balance) string {
	return fmt.Sprintf("the %s is $%s; $%s is spent and $%s set aside", a.Budget, b.Limit.Short(), b.Settled.Short(), b.Held.Short())
}

// BudgetDraw is what a process asks of the budgets of a tenant.
type BudgetDraw struct {
	Lease Lease
	Wants []BudgetWant
}

// BudgetWant is what is asked of one account.
type BudgetWant struct {
	Account Account
	Need    penstock.NanoUSD // the least amount that is useful
	Want    penstock.NanoUSD
}

// BudgetGrant is what was withdrawn from one account, in the order of the wants.
type BudgetGrant struct {
	Amount  penstock.NanoUSD
	Balance Balance // afterwards
}

// BudgetReturn is what is given back to one budget.
type BudgetReturn struct {
	Budget penstock.ID
	Amount penstock.NanoUSD
	// Number numbers the returns under a lease, ascending: a number that was used before is skipped.
	Number int64
}

// BudgetState is a budget in one of its periods, with its balance.
type BudgetState struct {
	ID penstock.ID
	Account
	Balance Balance
}
