package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// auditBudgets adds up what the ledger, what runs and what processes hold say of every budget, and tells of those that
// come to something else. The lists of budgets are taken apart here, so that each table is read once, however many
// budgets there are.
func auditBudgets(ctx context.Context, tx sqldb.Tx) ([]string, error) {
	books := balances{}
	for _, add := range []func(context.Context, sqldb.Tx) error{books.addLedger, books.addOpenItems, books.addFundings} {
		if err := add(ctx, tx); err != nil {
			return nil, fmt.Errorf("adding up budgets: %w", err)
		}
	}
	kept, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, key_name, model, period, starts_at, limit_nano_usd, hard = 1, settled_nano_usd, held_nano_usd
		FROM budgets ORDER BY id`), scanBudget)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, b := range kept {
		want := books.of(b.ID)
		if b.Balance.Settled != want.Settled {
			problems = append(problems, fmt.Sprintf("budget's settled differs from what was booked against it: %s", b.ID))
		}
		if b.Balance.Held != want.Held {
			problems = append(problems, fmt.Sprintf("budget's held differs from what is set aside: %s", b.ID))
		}
		delete(books, b.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(books)) {
		if b := books[id]; b.Settled != 0 || b.Held != 0 {
			problems = append(problems, fmt.Sprintf("entries count against a budget that is not there: %s", id))
		}
	}
	return problems, nil
}

// balances are the sums that budgets should have.
type balances map[penstock.ID]*store.Balance

func (b balances) of(id penstock.ID) *store.Balance {
	if b[id] == nil {
		b[id] = &store.Balance{}
	}
	return b[id]
}

func (b balances) add(ids []penstock.ID, held, settled penstock.NanoUSD) {
	for _, id := range ids {
		of := b.of(id)
		of.Held = of.Held.Plus(held)
		of.Settled = of.Settled.Plus(settled)
	}
}

// addLedger adds what was booked: reservations set aside, and whatever ends them sets free. Calls reserve nothing here.
func (b balances) addLedger(ctx context.Context, tx sqldb.Tx) error {
	return tx.Ask(ctx, sqldb.Ask(sqldb.SQL(`SELECT budgets, kind, SUM(reserved_nano_usd) /*pg ::bigint */, SUM(cost_nano_usd) /*pg ::bigint */
		FROM ledger WHERE budgets <> '' GROUP BY budgets, kind`), func(row sqldb.Row) error {
		var list string
		var kind penstock.EntryKind
		var reserved, cost penstock.NanoUSD
		err := row.Scan(&list, &kind, &reserved, &cost)
		if kind != penstock.EntryReserve {
			reserved = -reserved
		}
		b.add(readBudgetList(list), reserved, cost)
		return err
	}))
}

// addOpenItems adds what items spent that are still to be tried again: it is booked when they end.
func (b balances) addOpenItems(ctx context.Context, tx sqldb.Tx) error {
	return tx.Ask(ctx, sqldb.Ask(sqldb.SQL(`SELECT j.budgets, i.n, i.cost_nano_usd FROM items i JOIN jobs j ON j.id = i.job_id
		WHERE i.status IN ('queued', 'running') AND i.cost_nano_usd <> 0 AND j.budgets <> ''`), func(row sqldb.Row) error {
		var list string
		var n int
		var cost penstock.NanoUSD
		if err := row.Scan(&list, &n, &cost); err != nil {
			return err
		}
		paid, err := readStretches(list)
		j := penstock.Job{Paid: paid}
		b.add(j.BudgetsOf(n), 0, cost)
		return err
	}))
}

// addFundings adds what processes withdrew ahead of calls.
func (b balances) addFundings(ctx context.Context, tx sqldb.Tx) error {
	return tx.Ask(ctx, sqldb.Ask(sqldb.SQL(`SELECT budget_id, amount_nano_usd FROM budget_allowances`), func(row sqldb.Row) error {
		var id penstock.ID
		var amount penstock.NanoUSD
		err := row.Scan(&id, &amount)
		b.add([]penstock.ID{id}, amount, 0)
		return err
	}))
}
