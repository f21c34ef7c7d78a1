package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// noted is an entry of the audit to be written.
type noted struct {
	tenant  penstock.TenantID
	actor   string
	action  string
	subject string
	before  map[string]any
	after   map[string]any
}

// note writes an entry of the audit with the change that it tells of.
func (s *Store) note(ctx context.Context, tx Tx, n noted) error {
	before, err := json.Marshal(n.before)
	if err != nil {
		return fmt.Errorf("encoding what was: %w", err)
	}
	after, err := json.Marshal(n.after)
	if err != nil {
		return fmt.Errorf("encoding what became of it: %w", err)
	}
	return tx.Do(ctx, `INSERT INTO audit (id, tenant_id, actor, action, subject, before, after, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		s.ids.New(tx.Now()), n.tenant, storable(n.actor), n.action, n.subject, string(before), string(after), micros(tx.Now()))
}

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
	err = s.read(ctx, func(tx Tx) error {
		es, err = queryAll(ctx, tx, sqlf(`SELECT id, actor, action, subject, before, after, created_at FROM audit
			WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, tenant, before, p.Limit), scanAuditEntry)
		return err
	})
	return es, err
}

func scanAuditEntry(row Row) (store.AuditEntry, error) {
	var e store.AuditEntry
	var before, after string
	var created int64
	err := row.Scan(&e.ID, &e.Actor, &e.Action, &e.Subject, &before, &after, &created)
	e.Before, e.After, e.CreatedAt = json.RawMessage(before), json.RawMessage(after), fromMicros(created)
	return e, err
}
