package sqlstore

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/outbox"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// budgetState is what a message says of a budget.
type budgetState struct {
	Key      *string          `json:"key"`
	Model    *string          `json:"model"`
	Tag      *string          `json:"tag,omitempty"` // absent for a budget without a tag
	Period   penstock.Period  `json:"period"`
	StartsAt *time.Time       `json:"starts_at"`
	LimitUSD penstock.NanoUSD `json:"limit_usd"`
	SpentUSD penstock.NanoUSD `json:"spent_usd"`
}

// passed reports whether more was spent of a soft budget than it has, without an event so far.
func passed(b *store.Balance) bool { return !b.Hard && b.Settled > b.Limit && b.ExceededAt.IsZero() }

// publishExceeded publishes that a soft budget is used up, once in its period: the budget's row is locked and holds when
// that was done.
func publishExceeded(ctx context.Context, tx sqldb.Tx, id penstock.ID, b *store.Balance) error {
	b.ExceededAt = tx.Now()
	var tenant penstock.TenantID
	a, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`UPDATE budgets SET exceeded_at = $2 WHERE id = $1 AND exceeded_at = 0
		RETURNING tenant_id, key_name, model, tag, period, starts_at`, id, sqldb.Micros(tx.Now())), func(row sqldb.Row) (a store.Account, err error) {
		var start int64
		err = row.Scan(&tenant, &a.Key, &a.Model, &a.Tag, &a.Period, &start)
		a.Start = sqldb.FromMicros(start)
		return a, err
	})
	if err != nil || !found {
		return err
	}
	state := budgetState{Key: orNull(a.Key), Model: orNull(a.Model), Tag: orNull(a.Tag), Period: a.Period, LimitUSD: b.Limit, SpentUSD: b.Settled}
	if !a.Start.IsZero() {
		state.StartsAt = &a.Start
	}
	return outbox.Publish(ctx, tx, outbox.Event{Tenant: tenant, Type: penstock.EventBudgetExceeded, Data: state})
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
