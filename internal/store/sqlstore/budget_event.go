package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// budgetEvents is what a message says of a budget.
type budgetEvents struct {
	Key      *string          `json:"key"`
	Model    *string          `json:"model"`
	Period   penstock.Period  `json:"period"`
	StartsAt *time.Time       `json:"starts_at"`
	LimitUSD penstock.NanoUSD `json:"limit_usd"`
	SpentUSD penstock.NanoUSD `json:"spent_usd"`
}

// passed says that more was spent of a soft budget than it has, and nobody was told of it yet.
func passed(b *store.Balance) bool { return !b.Hard && b.Settled > b.Limit && b.ExceededAt.IsZero() }

// tellExceeded tells everyone who wants to know that a soft budget is used up, once in its period: its row is locked,
// and says when that was done.
func tellExceeded(ctx context.Context, tx Tx, id penstock.ID, b *store.Balance) error {
	b.ExceededAt = tx.Now()
	var tenant penstock.TenantID
	a, found, err := queryOne(ctx, tx, sqlf(`UPDATE budgets SET exceeded_at = $2 WHERE id = $1 AND exceeded_at = 0
		RETURNING tenant_id, key_name, model, period, starts_at`, id, micros(tx.Now())), func(row Row) (a store.Account, err error) {
		var start int64
		err = row.Scan(&tenant, &a.Key, &a.Model, &a.Period, &start)
		a.Start = fromMicros(start)
		return a, err
	})
	if err != nil || !found {
		return err
	}
	listeners, err := budgetListeners(ctx, tx, tenant)
	if err != nil || len(listeners) == 0 {
		return err
	}
	var ids penstock.IDs
	event := ids.New(tx.Now())
	outboxEvents := budgetEvents{Key: orNull(a.Key), Model: orNull(a.Model), Period: a.Period, LimitUSD: b.Limit, SpentUSD: b.Settled}
	if !a.Start.IsZero() {
		outboxEvents.StartsAt = &a.Start
	}
	body, err := encodeMessage(message{
		ID: penstock.ViewEvent.Format(event), Type: penstock.EventBudgetExceeded, CreatedAt: tx.Now().UTC().Truncate(time.Microsecond), Data: outboxEvents,
	})
	if err != nil {
		return err
	}
	for _, w := range listeners {
		d := delivery{Delivery: penstock.Delivery{ID: ids.New(tx.Now()), Tenant: tenant, Event: event, Type: penstock.EventBudgetExceeded}, body: body}
		d.address(w)
		if err := d.insert(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// budgetListeners are the endpoints of a tenant that are told of its budgets.
func budgetListeners(ctx context.Context, tx Tx, tenant penstock.TenantID) (all []listener, err error) {
	found, err := queryAll(ctx, tx, sqlf(`SELECT id, url, events FROM webhooks WHERE tenant_id = $1 AND job_id = '' AND disabled_at = 0`, tenant),
		func(row Row) (l listener, err error) {
			l.Tenant = tenant
			var events string
			if err := row.Scan(&l.ID, &l.URL, &events); err != nil {
				return l, err
			}
			if err := json.Unmarshal([]byte(events), &l.Events); err != nil {
				return l, fmt.Errorf("reading events of webhook %s: %w", l.ID, err)
			}
			return l, nil
		})
	for _, l := range found {
		if l.Wants(penstock.EventBudgetExceeded) {
			all = append(all, l)
		}
	}
	return all, err
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
