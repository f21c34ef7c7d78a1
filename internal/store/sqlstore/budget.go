package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// Budgets are locked after the jobs and before anything else, by ascending id: two transactions never wait for
// each other's.

// budgetList is a list of budgets as a column keeps it.
func budgetList(ids []penstock.ID) string { return strings.Join(sqldb.Strings(ids), ",") }

func readBudgetList(column string) []penstock.ID {
	var ids []penstock.ID
	for id := range strings.SplitSeq(column, ",") {
		if id != "" {
			ids = append(ids, penstock.ID(id))
		}
	}
	return ids
}

// openAccount locks an account and returns its balance. It creates an account that is not there yet, and updates a limit
// that was changed.
func openAccount(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, a store.Account) (b store.Balance, err error) {
	return b, tx.Ask(ctx, askAccount(tx, tenant, a, &b))
}

// askAccount is openAccount as a question.
func askAccount(tx sqldb.Tx, tenant penstock.TenantID, a store.Account, b *store.Balance) sqldb.Question {
	*b = store.Balance{Limit: a.Limit, Hard: a.Hard}
	return sqldb.Ask(sqldb.SQL(`INSERT INTO budgets (id, tenant_id, key_name, model, period, starts_at, limit_nano_usd, hard, created_at, tag)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (id) DO UPDATE SET limit_nano_usd = excluded.limit_nano_usd, hard = excluded.hard
		RETURNING settled_nano_usd, held_nano_usd`,
		a.ID(tenant), tenant, a.Key, a.Model, a.Period, sqldb.Micros(a.Start), a.Limit, truth(a.Hard).column(), sqldb.Micros(tx.Now()), sqldb.Storable(a.Tag)),
		func(row sqldb.Row) error { return row.Scan(&b.Settled, &b.Held) })
}

var saveBudget = sqldb.Update("budgets", "id text", "settled_nano_usd bigint, held_nano_usd bigint", "")

// reserveSplit sets money aside for as many of a job's next items as every hard budget has enough for, from the
// first on. It returns how many.
func reserveSplit(ctx context.Context, tx sqldb.Tx, j *penstock.Job, split store.Split) (fit int, err error) {
	paid, p, err := payers(ctx, tx, j, split)
	if err != nil || split.AsBefore && len(p) == 0 && j.Resolved.Bounded {
		return 0, err
	}
	fit = len(split.Items)
	for _, b := range p {
		fit = min(fit, b.Fit(split.Items))
	}
	if fit == 0 {
		return 0, nil
	}
	most := submittedItems{items: split.Items[:fit]}.reserved()
	for _, b := range p {
		b.Hold(most, most)
		j.Resolved.Bounded = j.Resolved.Bounded || b.Hard // the budget may be younger than the job
	}
	j.Pay(split.From, paid)
	return fit, p.save(ctx, tx)
}

// payers locks the budgets that a job's next items are paid from, and returns them in the order of their ids.
func payers(ctx context.Context, tx sqldb.Tx, j *penstock.Job, split store.Split) (paid []penstock.ID, p lockedBudgets, err error) {
	if split.AsBefore {
		paid = j.BudgetsOf(split.From)
		p, err = lockBudgets(ctx, tx, slices.Clone(paid))
		return paid, p, err
	}
	p = lockedBudgets{}
	for _, a := range split.Accounts {
		b, err := openAccount(ctx, tx, j.Tenant, a)
		if err != nil {
			return nil, nil, err
		}
		id := a.ID(j.Tenant)
		paid, p[id] = append(paid, id), &b
	}
	return paid, p, nil
}

// stretchList is how a job is paid as its column keeps it.
func stretchList(paid []penstock.Stretch) string {
	if len(paid) == 0 {
		return ""
	}
	text, err := json.Marshal(paid)
	if err != nil {
		panic("sqlstore: encode stretches: " + err.Error()) // they are strings and numbers
	}
	return string(text)
}

func readStretches(column string) (paid []penstock.Stretch, err error) {
	if column == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(column), &paid); err != nil {
		return nil, fmt.Errorf("reading how a job is paid: %w", err)
	}
	return paid, nil
}

// budgets are those that the item is paid from.
func (r itemInJob) budgets() []penstock.ID { return r.job.BudgetsOf(r.Index) }

// lockedBudgets is the budgets that the jobs of a group are paid from, locked. Transitions move them in memory; save
// writes each once.
type lockedBudgets map[penstock.ID]*store.Balance

// lockJobBudgets locks the budgets of jobs.
func lockJobBudgets(ctx context.Context, tx sqldb.Tx, jobs map[penstock.ID]*penstock.Job) (lockedBudgets, error) {
	var ids []penstock.ID
	for _, j := range jobs {
		for _, s := range j.Paid {
			ids = append(ids, s.Budgets...)
		}
	}
	return lockBudgets(ctx, tx, ids)
}

func lockBudgets(ctx context.Context, tx sqldb.Tx, ids []penstock.ID) (lockedBudgets, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	p := lockedBudgets{}
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(slices.Compact(ids)), SQL: `SELECT id, limit_nano_usd, settled_nano_usd, held_nano_usd, hard = 1, exceeded_at
		FROM budgets WHERE id = /*pg ANY */($1) /*pg ORDER BY id FOR UPDATE */`}, func(row sqldb.Row) error {
		var id penstock.ID
		var b store.Balance
		var exceeded int64
		err := row.Scan(&id, &b.Limit, &b.Settled, &b.Held, &b.Hard, &exceeded)
		b.ExceededAt = sqldb.FromMicros(exceeded)
		p[id] = &b
		return err
	})
	return p, err
}

// move records spent money in every budget of a list.
func (p lockedBudgets) move(ids []penstock.ID, freed, spent penstock.NanoUSD) {
	for _, id := range ids {
		if b := p[id]; b != nil {
			b.Spend(freed, spent)
		}
	}
}

// affords reports whether the reservation of a job's open items is within every hard budget, after what was spent: only
// then may another attempt be made.
func (p lockedBudgets) affords(ids []penstock.ID) bool {
	return !slices.ContainsFunc(ids, func(id penstock.ID) bool { b := p[id]; return b != nil && b.Hard && b.Over() })
}

func (p lockedBudgets) save(ctx context.Context, tx sqldb.Tx) error {
	for _, id := range slices.Sorted(maps.Keys(p)) {
		if err := tx.Put(ctx, saveBudget, id, p[id].Settled, p[id].Held); err != nil {
			return err
		}
		if passed(p[id]) {
			if err := publishExceeded(ctx, tx, id, p[id]); err != nil {
				return err
			}
		}
	}
	return nil
}

// unaffordable is the error of an item that could be retried if its budget had money left.
func unaffordable() *penstock.ItemError {
	return &penstock.ItemError{Code: penstock.CodeBudgetExceeded, Message: "The budget has too little left for another attempt."}
}

// forfeit records what a claim may have spent without a report of the upstream: counted, not invoiced.
func (r itemInJob) forfeit(ctx context.Context, tx sqldb.Tx, f *store.Finish, amount penstock.NanoUSD) error {
	if amount == 0 {
		return nil
	}
	r.lockedBudgets.move(r.budgets(), 0, amount)
	return bookOnce(ctx, tx, penstock.LedgerEntry{
		Key: forfeitKey(f.Item, f.Fence), Tenant: f.Tenant, Kind: penstock.EntryForfeit, Subject: f.Item, Job: f.Job,
		Target: f.Target, Cost: amount, PriceVersion: f.PriceVersion, Origin: r.job.Origin(r.Index),
	})
}

// Hold implements store.Budgets.
func (s *Store) Hold(ctx context.Context, tenant penstock.TenantID, o store.BudgetDraw) (grants []store.BudgetGrant, err error) {
	err = s.write(ctx, "draw_budget", func(tx sqldb.Tx) error {
		grants = make([]store.BudgetGrant, len(o.Wants))
		if err := requireLease(ctx, tx, o.Lease); err != nil {
			return err
		}
		for i, w := range o.Wants {
			if grants[i], err = drawBudget(ctx, tx, tenant, drawFor{o.Lease, w}); err != nil {
				return err
			}
		}
		return nil
	})
	return grants, err
}

type drawFor struct {
	store.Lease
	store.BudgetWant
}

func drawBudget(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, w drawFor) (g store.BudgetGrant, err error) {
	if g.Balance, err = openAccount(ctx, tx, tenant, w.Account); err != nil {
		return g, err
	}
	var ok bool
	if g.Amount, ok = g.Balance.Hold(w.Need, w.Want); !ok {
		return g, w.Account.Exceeded(g.Balance, w.Need)
	}
	id := w.Account.ID(tenant)
	if err := tx.Put(ctx, saveBudget, id, g.Balance.Settled, g.Balance.Held); err != nil {
		return g, err
	}
	return g, tx.Do(ctx, `INSERT INTO budget_allowances (budget_id, process_id, epoch, amount_nano_usd, tenant_id) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (budget_id, process_id, epoch) DO UPDATE SET amount_nano_usd = budget_allowances.amount_nano_usd + excluded.amount_nano_usd`,
		id, w.Process, w.Epoch, g.Amount, tenant)
}

// requireLease fails unless a lease is current.
func requireLease(ctx context.Context, tx sqldb.Tx, l store.Lease) error {
	_, current, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT epoch FROM leases WHERE process_id = $1 AND epoch = $2 AND expires_at > $3 /*pg FOR SHARE */`,
		l.Process, l.Epoch, sqldb.Micros(tx.Now())), func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
	if err == nil && !current {
		err = leaseLost(l)
	}
	return err
}

// ReturnBudgets implements store.Budgets.
func (s *Store) ReturnBudgets(ctx context.Context, l store.Lease, returns []store.BudgetReturn) error {
	return s.write(ctx, "return_budgets", func(tx sqldb.Tx) error {
		ids := make([]penstock.ID, len(returns))
		for i, r := range returns {
			ids[i] = r.Budget
		}
		p, err := lockBudgets(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, r := range returns {
			// A hold that was forfeit is counted as spent already.
			n, err := tx.Exec(ctx, `UPDATE budget_allowances SET amount_nano_usd = amount_nano_usd - $4, returns = $5
				WHERE budget_id = $1 AND process_id = $2 AND epoch = $3 AND amount_nano_usd >= $4 AND returns < $5`,
				r.Budget, l.Process, l.Epoch, r.Amount, r.Number)
			if err != nil {
				return err
			}
			if n > 0 {
				p.move([]penstock.ID{r.Budget}, r.Amount, 0)
			}
		}
		return p.save(ctx, tx)
	})
}

// heldAmounts are what processes hold of budgets, while calls are charged to them. The budgets are locked, and so is
// what is held of them.
type heldAmounts struct {
	lockedBudgets
	held map[heldKey]*penstock.NanoUSD // nil for what is not held any more
}

type heldKey struct {
	budget penstock.ID
	lease  store.Lease
}

// lockHeld locks the budgets that calls were paid from.
func lockHeld(ctx context.Context, tx sqldb.Tx, rs []penstock.Request) (t heldAmounts, err error) {
	var ids []penstock.ID
	for _, r := range rs {
		ids = append(ids, r.Funding.Budgets...)
	}
	t.held = map[heldKey]*penstock.NanoUSD{}
	t.lockedBudgets, err = lockBudgets(ctx, tx, ids)
	return t, err
}

// find looks up what a lease holds of a budget, once.
func (t heldAmounts) find(ctx context.Context, tx sqldb.Tx, of heldKey) (*penstock.NanoUSD, error) {
	if held, known := t.held[of]; known {
		return held, nil
	}
	amount, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT amount_nano_usd FROM budget_allowances WHERE budget_id = $1 AND process_id = $2 AND epoch = $3`,
		of.budget, of.lease.Process, of.lease.Epoch), func(row sqldb.Row) (n penstock.NanoUSD, err error) { return n, row.Scan(&n) })
	if err != nil {
		return nil, err
	}
	t.held[of] = nil
	if ok {
		t.held[of] = &amount
	}
	return t.held[of], nil
}

// charge moves what a call spent from what its process held to what is settled. It returns the budgets that the
// call counts against now: what was forfeit meanwhile counts already.
func (t heldAmounts) charge(ctx context.Context, tx sqldb.Tx, r penstock.Request) (charged []penstock.ID, err error) {
	spent := r.Cost.Plus(r.Forfeit)
	for _, id := range r.Funding.Budgets {
		held, err := t.find(ctx, tx, heldKey{id, store.Lease{Process: r.Funding.Process, Epoch: r.Funding.Epoch}})
		if err != nil {
			return nil, err
		}
		if held == nil {
			continue
		}
		drawn := min(*held, spent) // what an upstream charges beyond all bounds was spent all the same
		*held -= drawn
		t.move([]penstock.ID{id}, drawn, spent)
		charged = append(charged, id)
	}
	return charged, nil
}

func (t heldAmounts) save(ctx context.Context, tx sqldb.Tx) error {
	for of, held := range t.held {
		if held == nil {
			continue
		}
		err := tx.Do(ctx, `UPDATE budget_allowances SET amount_nano_usd = $4 WHERE budget_id = $1 AND process_id = $2 AND epoch = $3`,
			of.budget, of.lease.Process, of.lease.Epoch, *held)
		if err != nil {
			return err
		}
	}
	return t.lockedBudgets.save(ctx, tx)
}

// lostFunding is an allowance of a process whose lease ended.
type lostFunding struct {
	budget penstock.ID
	lease  store.Lease
	amount penstock.NanoUSD
	tenant penstock.TenantID
}

// lostFundings finds holds of leases that ended.
func lostFundings(tx sqldb.Tx, limit int) sqldb.Query {
	return sqldb.SQL(`SELECT h.budget_id, h.process_id, h.epoch, h.amount_nano_usd, h.tenant_id FROM budget_allowances h
		LEFT JOIN leases l ON l.process_id = h.process_id
		WHERE l.process_id IS NULL OR l.epoch <> h.epoch OR l.expires_at <= $1
		ORDER BY h.budget_id, h.process_id, h.epoch LIMIT $2`, sqldb.Micros(tx.Now()), limit)
}

func scanLostFunding(row sqldb.Row) (h lostFunding, err error) {
	return h, row.Scan(&h.budget, &h.lease.Process, &h.lease.Epoch, &h.amount, &h.tenant)
}

// ForfeitBudgets implements store.Budgets.
func (s *Store) ForfeitBudgets(ctx context.Context, limit int) (step store.Step, err error) {
	// Nearly always there is none; a write transaction, which costs a disk flush, is only begun when there is.
	var lost []lostFunding
	look := func(tx sqldb.Tx) error {
		lost, err = sqldb.QueryAll(ctx, tx, lostFundings(tx, limit), scanLostFunding)
		return err
	}
	if err := s.read(ctx, look); err != nil || len(lost) == 0 {
		return store.Step{}, err
	}
	err = s.write(ctx, "forfeit_budgets", func(tx sqldb.Tx) error {
		if err := look(tx); err != nil {
			return err
		}
		step = store.Step{Items: len(lost), More: len(lost) == limit}
		return forfeitBudgets(ctx, tx, lost)
	})
	return committed(step, err)
}

func forfeitBudgets(ctx context.Context, tx sqldb.Tx, lost []lostFunding) error {
	ids := make([]penstock.ID, len(lost))
	for i, h := range lost {
		ids[i] = h.budget
	}
	p, err := lockBudgets(ctx, tx, ids)
	if err != nil {
		return err
	}
	for _, h := range lost {
		// The lock may have made us wait while the process booked some of it after all: take what is left.
		left, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`DELETE FROM budget_allowances WHERE budget_id = $1 AND process_id = $2 AND epoch = $3 RETURNING amount_nano_usd`,
			h.budget, h.lease.Process, h.lease.Epoch), func(row sqldb.Row) (n penstock.NanoUSD, err error) { return n, row.Scan(&n) })
		if err != nil {
			return err
		}
		if !found || left == 0 {
			continue
		}
		p.move([]penstock.ID{h.budget}, left, left)
		err = bookOnce(ctx, tx, penstock.LedgerEntry{
			Key: fundingKey(h), Tenant: h.tenant, Kind: penstock.EntryForfeit, Cost: left, Origin: penstock.Origin{Budgets: []penstock.ID{h.budget}},
		})
		if err != nil {
			return err
		}
	}
	if err := p.save(ctx, tx); err != nil {
		return err
	}
	// A lease whose allowances were taken must not be revived by a late heartbeat.
	return tx.Do(ctx, `UPDATE leases SET expires_at = 0 WHERE expires_at <= $1`, sqldb.Micros(tx.Now()))
}

// Balances implements store.Budgets.
func (s *Store) Balances(ctx context.Context, tenant penstock.TenantID, accounts []store.Account) ([]store.Balance, error) {
	found := map[penstock.ID]store.Balance{}
	ids := make([]string, len(accounts))
	for i, a := range accounts {
		ids[i] = string(a.ID(tenant))
	}
	err := s.read(ctx, func(tx sqldb.Tx) error {
		return tx.QueryIn(ctx, sqldb.IDQuery{IDs: ids, SQL: `SELECT id, settled_nano_usd, held_nano_usd, exceeded_at FROM budgets WHERE id = /*pg ANY */($1)`},
			func(row sqldb.Row) error {
				var id penstock.ID
				var b store.Balance
				var exceeded int64
				err := row.Scan(&id, &b.Settled, &b.Held, &exceeded)
				b.ExceededAt = sqldb.FromMicros(exceeded)
				found[id] = b
				return err
			})
	})
	balances := make([]store.Balance, len(accounts))
	for i, a := range accounts {
		balances[i] = found[penstock.ID(ids[i])]
		balances[i].Limit, balances[i].Hard = a.Limit, a.Hard
	}
	return balances, err
}

// BudgetStates implements store.Budgets.
func (s *Store) BudgetStates(ctx context.Context, tenant penstock.TenantID, limit int) (all []store.BudgetState, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, key_name, model, tag, period, starts_at, limit_nano_usd, hard = 1, settled_nano_usd, held_nano_usd
			FROM budgets WHERE tenant_id = $1 ORDER BY starts_at DESC, id LIMIT $2`, tenant, limit), scanBudget)
		return err
	})
	return all, err
}

func scanBudget(row sqldb.Row) (s store.BudgetState, err error) {
	var start int64
	err = row.Scan(&s.ID, &s.Key, &s.Model, &s.Tag, &s.Period, &start, &s.Limit, &s.Hard, &s.Balance.Settled, &s.Balance.Held)
	s.Start, s.Balance.Limit, s.Balance.Hard = sqldb.FromMicros(start), s.Limit, s.Hard
	return s, err
}
