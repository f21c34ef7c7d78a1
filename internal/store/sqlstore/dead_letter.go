package sqlstore

import (
	"context"
	"encoding/json"
	"math"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// A row of dead_letters is an item that did not succeed. The row is open as long as the item is a dead letter; a
// resolved row records the item's later outcome. Items that were cancelled or expired have no row until they are retried.
//
// openDeadLetters is the condition on the open rows that a filter selects; deadLetterArgs are its arguments,
// $1 to $10. The text is the same for every filter, so that statements can be kept prepared. The index serves a
// range of item ids: the items of a job are one range. Rows of a large deleted job may remain for a while; they
// do not count.
const openDeadLetters = `d.tenant_id = $1 AND d.resolved_at = 0 AND d.item_id > $2 AND d.item_id <= $3
	AND ($4 = '' OR d.model = $4) AND ($5 = '' OR d.error_code = $5) AND ($6 = '' OR d.error_kind = $6)
	AND ($7 = '' OR d.fingerprint = $7) AND d.created_at > $8 AND d.created_at <= $9
	AND (CAST($10 AS TEXT) = '' OR d.item_id IN (SELECT x.key FROM json_each(CAST($10 AS TEXT) /*pg ::json */) x))
	AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = d.job_id)`

// lastItem is the number of the last item that a job can have.
const lastItem = 1<<32 - 2

func deadLetterArgs(tenant penstock.TenantID, f store.DeadLetterFilter, after penstock.ID) []any {
	last := penstock.ID("~") // behind every id
	if f.Job != "" {
		after, last = max(after, f.Job), penstock.ItemID(f.Job, lastItem)
	}
	until := int64(math.MaxInt64)
	if !f.CreatedUntil.IsZero() {
		until = sqldb.Micros(f.CreatedUntil)
	}
	return []any{tenant, after, last, sqldb.Storable(f.Model), sqldb.Storable(string(f.Code)), sqldb.Storable(f.Kind), sqldb.Storable(f.Fingerprint),
		sqldb.Micros(f.CreatedAfter), until, itemKeys(f.Items)}
}

// itemKeys are items as the keys of an object, which both engines can read; "" for every item.
func itemKeys(items []penstock.ID) string {
	if len(items) == 0 {
		return ""
	}
	keys := map[penstock.ID]bool{}
	for _, id := range items {
		keys[id] = true
	}
	text, _ := json.Marshal(keys) // a map of booleans always has a form
	return string(text)
}

const deadLetterColumns = `d.item_id, d.job_id, d.model, d.error_code, d.error_kind, i.error_message, i.target, d.fingerprint, d.created_at`

func deadLetterDest(d *store.DeadLetter, created *int64) []any {
	return []any{&d.Item, &d.Job, &d.Model, &d.Code, &d.Kind, &d.Message, &d.Target, &d.Fingerprint, created}
}

func scanDeadLetter(row sqldb.Row) (store.DeadLetter, error) {
	var d store.DeadLetter
	var created int64
	err := row.Scan(deadLetterDest(&d, &created)...)
	d.CreatedAt = sqldb.FromMicros(created)
	return d, err
}

// DeadLetterJobs implements store.Retries.
func (s *Store) DeadLetterJobs(ctx context.Context, tenant penstock.TenantID, p store.DeadLetterJobPage) (js []store.DeadLetterJob, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		js, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT l.job_id, COUNT(*) FROM (
				SELECT d.job_id FROM dead_letters d WHERE `+openDeadLetters+` ORDER BY d.item_id LIMIT $11) l
			GROUP BY l.job_id ORDER BY l.job_id LIMIT $12`,
			append(deadLetterArgs(tenant, p.Filter, ""), p.DeadLetters, p.Jobs)...),
			func(row sqldb.Row) (j store.DeadLetterJob, err error) { return j, row.Scan(&j.Job, &j.DeadLetters) })
		return err
	})
	return js, err
}

// CountDeadLetters implements store.Retries.
func (s *Store) CountDeadLetters(ctx context.Context, tenant penstock.TenantID, f store.DeadLetterFilter) (n int, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		n, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM dead_letters d WHERE `+openDeadLetters, deadLetterArgs(tenant, f, "")...),
			func(row sqldb.Row) (n int, err error) { return n, row.Scan(&n) })
		return err
	})
	return n, err
}

// DismissDeadLetters implements store.Retries.
func (s *Store) DismissDeadLetters(ctx context.Context, tenant penstock.TenantID, d store.Dismissal) (dismissed int, err error) {
	err = s.write(ctx, "dismiss", func(tx sqldb.Tx) error {
		// Materialized, or PostgreSQL may look for the oldest anew with every row that it updates.
		n, err := tx.Exec(ctx, `WITH oldest AS MATERIALIZED (
				SELECT d.item_id FROM dead_letters d WHERE `+openDeadLetters+` ORDER BY d.item_id LIMIT $11 /*pg FOR UPDATE */)
			UPDATE dead_letters SET resolved_at = $12, resolution = 'dismissed'
			WHERE resolved_at = 0 AND item_id IN (SELECT item_id FROM oldest)`,
			append(deadLetterArgs(tenant, d.Filter, ""), d.Limit, sqldb.Micros(tx.Now()))...)
		dismissed = int(n)
		if err != nil || n == 0 {
			return err
		}
		return s.audit.Write(ctx, tx, audit.Entry{
			Tenant: tenant, Actor: d.Actor, Action: store.ActionDismissDeadLetters, Subject: "dead_letters",
			Before: map[string]any{"filter": describeFilter(d.Filter), "open": n}, After: map[string]any{"dismissed": n},
		})
	})
	if err != nil {
		return 0, err
	}
	return dismissed, nil
}
