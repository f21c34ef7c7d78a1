package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// describeFilter is a filter with only what it asks for.
func describeFilter(f store.DeadLetterFilter) map[string]any {
	asked := map[string]any{}
	add := func(name, value string) {
		if value != "" {
			asked[name] = value
		}
	}
	if f.Job != "" {
		add("job_id", penstock.ViewJob.Format(f.Job))
	}
	add("model", f.Model)
	add("code", string(f.Code))
	add("error_kind", f.Kind)
	add("fingerprint", f.Fingerprint)
	if len(f.Items) > 0 {
		items := make([]string, len(f.Items))
		for i, id := range f.Items {
			items[i] = penstock.ViewItem.Format(id)
		}
		asked["item_ids"] = items
	}
	for name, t := range map[string]time.Time{"created_after": f.CreatedAfter, "created_before": f.CreatedUntil} {
		if !t.IsZero() {
			asked[name] = t
		}
	}
	if len(asked) == 0 {
		asked["all"] = true
	}
	return asked
}

// AuditEntries implements store.Audit.
func (s *Store) AuditEntries(ctx context.Context, tenant penstock.TenantID, p store.AuditPage) (es []store.AuditEntry, err error) {
	before := p.After
	if before == "" {
		before = "~" // behind every id
	}
	err = s.read(ctx, func(tx sqldb.Tx) error {
		es, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, actor, action, subject, before, after, created_at FROM audit
			WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, tenant, before, p.Limit), scanAuditEntry)
		return err
	})
	return es, err
}

func scanAuditEntry(row sqldb.Row) (store.AuditEntry, error) {
	var e store.AuditEntry
	var before, after string
	var created int64
	err := row.Scan(&e.ID, &e.Actor, &e.Action, &e.Subject, &before, &after, &created)
	e.Before, e.After, e.CreatedAt = json.RawMessage(before), json.RawMessage(after), sqldb.FromMicros(created)
	return e, err
}
