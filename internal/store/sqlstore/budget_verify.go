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

// auditBudgets computes the balance of every budget from the ledger, the open items and the allowances of processes, and
// reports the budgets whose rows differ. The lists of budgets are split here and not in SQL, so that each table is read
// once, however many budgets there are.
func auditBudgets(ctx context.Context, tx sqldb.Tx) ([]string, error) {
	sums := balances{}
	for _, add := range []func(context.Context, sqldb.Tx) error{sums.addLedger, sums.addOpenItems, sums.addFundings} {
		if err := add(ctx, tx); err != nil {
			return nil, fmt.Errorf("adding up budgets: %w", err)
		}
	}
	kept, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, key_name, model, tag, period, starts_at, limit_nano_usd, hard = 1, settled_nano_usd, held_nano_usd
		FROM budgets ORDER BY id`), scanBudget)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, b := range kept {
		want := sums.of(b.ID)
		if b.Balance.Settled != want.Settled {
			problems = append(problems, fmt.Sprintf("budget's settled differs from what was booked against it: %s", b.ID))
		}
		if b.Balance.Held != want.Held {
			problems = append(problems, fmt.Sprintf("budget's held differs from what is set aside: %s", b.ID))
		}
		delete(sums, b.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		if b := sums[id]; b.Settled != 0 || b.Held != 0 {
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

// addLedger adds the ledger entries: reservations hold money, and the entries that end them release it. Synchronous calls
// reserve nothing in the ledger.
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

// addOpenItems adds the cost of open items that were tried before: the ledger has it only when they end.
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

// addFundings adds the money that processes withdrew ahead of calls.
func (b balances) addFundings(ctx context.Context, tx sqldb.Tx) error {
	return tx.Ask(ctx, sqldb.Ask(sqldb.SQL(`SELECT budget_id, amount_nano_usd FROM budget_allowances`), func(row sqldb.Row) error {
		var id penstock.ID
		var amount penstock.NanoUSD
		err := row.Scan(&id, &amount)
		b.add([]penstock.ID{id}, amount, 0)
		return err
	}))
}
