package webhooksql

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/outbox"
	"penstock/internal/store/sqldb"
	"penstock/internal/webhook"
)

const endpointColumns = `w.tenant_id, w.id, w.url, w.description, w.events, w.disabled_at, w.disabled_reason, w.created_at, w.updated_at,
	COALESCE(s.old_until, 0), COALESCE(r.failures, 0), COALESCE(r.failing_since, 0), COALESCE(r.rest_until, 0)`

const endpointTables = ` FROM webhooks w LEFT JOIN webhook_secrets s ON s.tenant_id = w.tenant_id AND s.webhook_id = w.id
	LEFT JOIN receivers r ON r.id = w.id`

func scanEndpoint(now time.Time) func(sqldb.Row) (penstock.Webhook, error) {
	return func(row sqldb.Row) (w penstock.Webhook, err error) {
		var events string
		var disabled, created, updated, oldUntil, failing, rest int64
		err = row.Scan(&w.Tenant, &w.ID, &w.URL, &w.Description, &events, &disabled, &w.DisabledReason, &created, &updated,
			&oldUntil, &w.Failures, &failing, &rest)
		if err != nil {
			return w, fmt.Errorf("scanning webhook: %w", err)
		}
		w.DisabledAt, w.CreatedAt, w.UpdatedAt, w.FailingSince = sqldb.FromMicros(disabled), sqldb.FromMicros(created), sqldb.FromMicros(updated), sqldb.FromMicros(failing)
		if until := sqldb.FromMicros(oldUntil); until.After(now) {
			w.OldSecretUntil = until
		}
		if until := sqldb.FromMicros(rest); until.After(now) {
			w.RestUntil = until
		}
		if err := json.Unmarshal([]byte(events), &w.Events); err != nil {
			return w, fmt.Errorf("reading events of webhook %s: %w", w.ID, err)
		}
		return w, nil
	}
}

func findEndpoint(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Webhook, error) {
	w, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+endpointColumns+endpointTables+`
		WHERE w.tenant_id = $1 AND w.job_id = '' AND w.id = $2`, tenant, id), scanEndpoint(tx.Now()))
	if err == nil && !ok {
		err = penstock.NotFound(penstock.ViewWebhook, id)
	}
	return w, err
}

// lockEndpoint reads an endpoint for a change and locks it. It refuses a version that is not the one its owner knows. Codes:
// not_found, conflict.
func lockEndpoint(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, c webhook.Ref) (w penstock.Webhook, err error) {
	if _, err := findEndpoint(ctx, tx, tenant, c.ID); err != nil {
		return w, err
	}
	// The receiver comes before its endpoint, as in receiverFailed.
	if _, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM receivers WHERE id = $1 /*pg FOR UPDATE */`, c.ID), sqldb.ScanOne[int64]); err != nil {
		return w, err
	}
	_, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM webhooks WHERE tenant_id = $1 AND job_id = '' AND id = $2 /*pg FOR UPDATE */`, tenant, c.ID), sqldb.ScanOne[int64])
	if err == nil && !there {
		err = penstock.NotFound(penstock.ViewWebhook, c.ID)
	}
	if err == nil {
		w, err = findEndpoint(ctx, tx, tenant, c.ID)
	}
	if err != nil {
		return w, err
	}
	if c.IfVersion != 0 && c.IfVersion != w.Version() {
		return w, penstock.Stale("The endpoint")
	}
	return w, nil
}

// Create implements webhook.Endpoints.
func (s *Store) Create(ctx context.Context, tenant penstock.TenantID, n webhook.NewEndpoint) (w penstock.Webhook, err error) {
	sealed, err := s.sealSecret(tenant, n.ID, n.Secret)
	if err != nil {
		return w, err
	}
	events, err := json.Marshal(n.Events)
	if err != nil {
		return w, sqldb.PublicError(fmt.Errorf("encoding events: %w", err))
	}
	err = s.db.Write(ctx, "webhook_create", func(tx sqldb.Tx) error {
		if err := checkCount(ctx, tx, tenant); err != nil {
			return err
		}
		err := tx.Do(ctx, `INSERT INTO webhooks (tenant_id, job_id, id, url, description, events, created_at, updated_at)
			VALUES ($1, '', $2, $3, $4, $5, $6, $6)`, tenant, n.ID, n.URL, sqldb.Storable(n.Description), string(events), sqldb.Micros(tx.Now()))
		if err != nil {
			return err
		}
		err = tx.Do(ctx, `INSERT INTO webhook_secrets (tenant_id, webhook_id, secret) VALUES ($1, $2, $3)`, tenant, n.ID, sealed)
		if err != nil {
			return err
		}
		if w, err = findEndpoint(ctx, tx, tenant, n.ID); err != nil {
			return err
		}
		return s.note(ctx, tx, w.ID, audit.Entry{Tenant: tenant, Actor: n.Actor, Action: webhook.ActionCreate, After: auditFields(w)})
	})
	return w, err
}

func checkCount(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID) error {
	n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM webhooks WHERE tenant_id = $1 AND job_id = ''`, tenant), sqldb.ScanOne[int64])
	if err == nil && n >= webhook.MaxEndpoints {
		err = penstock.Errorf(penstock.CodeConflict, "There are %d endpoints already, which is the most; delete one first.", n)
	}
	return err
}

// note writes the audit entry of a change, whose subject is an endpoint or, without one, the tenant's own secret.
func (s *Store) note(ctx context.Context, tx sqldb.Tx, endpoint penstock.ID, e audit.Entry) error {
	e.Subject = "signing_secret"
	if endpoint != "" {
		e.Subject = penstock.ViewWebhook.Format(endpoint)
	}
	return s.audit.Write(ctx, tx, e)
}

// auditFields are what the audit shows of an endpoint.
func auditFields(w penstock.Webhook) map[string]any {
	return map[string]any{"url": w.URL, "events": w.Events, "enabled": w.DisabledAt.IsZero(), "reason": w.DisabledReason}
}

// List implements webhook.Endpoints.
func (s *Store) List(ctx context.Context, tenant penstock.TenantID, p webhook.Page) (all []penstock.Webhook, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+endpointColumns+endpointTables+` WHERE w.tenant_id = $1 AND w.job_id = '' AND w.id > $2
			ORDER BY w.id LIMIT $3`, tenant, p.After, p.Limit), scanEndpoint(tx.Now()))
		return err
	})
	return all, err
}

// Endpoint implements webhook.Endpoints.
func (s *Store) Endpoint(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (w penstock.Webhook, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		w, err = findEndpoint(ctx, tx, tenant, id)
		return err
	})
	return w, err
}

// disabledByOwner is why an endpoint that its owner disabled is.
const disabledByOwner = "disabled by its owner"

// Change implements webhook.Endpoints.
func (s *Store) Change(ctx context.Context, tenant penstock.TenantID, c webhook.Change) (w penstock.Webhook, err error) {
	err = s.db.Write(ctx, "webhook_change", func(tx sqldb.Tx) error {
		before, err := lockEndpoint(ctx, tx, tenant, c.Ref)
		if err != nil {
			return err
		}
		changed := before
		apply(&changed.URL, c.URL)
		apply(&changed.Description, c.Description)
		if c.Events != nil {
			changed.Events = c.Events
		}
		if c.Enabled != nil && *c.Enabled {
			changed.DisabledAt, changed.DisabledReason = time.Time{}, ""
			if err := tx.Do(ctx, `DELETE FROM receivers WHERE id = $1`, c.ID); err != nil {
				return err
			}
		} else if c.Enabled != nil && before.DisabledAt.IsZero() {
			changed.DisabledAt, changed.DisabledReason = tx.Now(), disabledByOwner
		}
		events, err := json.Marshal(changed.Events)
		if err != nil {
			return fmt.Errorf("encoding events: %w", err)
		}
		err = tx.Do(ctx, `UPDATE webhooks SET url = $3, description = $4, events = $5, disabled_at = $6, disabled_reason = $7, updated_at = $8
			WHERE tenant_id = $1 AND job_id = '' AND id = $2`,
			tenant, c.ID, changed.URL, sqldb.Storable(changed.Description), string(events), sqldb.Micros(changed.DisabledAt), changed.DisabledReason, sqldb.Micros(tx.Now()))
		if err != nil {
			return err
		}
		if w, err = findEndpoint(ctx, tx, tenant, c.ID); err != nil {
			return err
		}
		return s.note(ctx, tx, c.ID, audit.Entry{Tenant: tenant, Actor: c.Actor, Action: webhook.ActionChange, Before: auditFields(before), After: auditFields(w)})
	})
	return w, err
}

func apply[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Delete implements webhook.Endpoints.
func (s *Store) Delete(ctx context.Context, tenant penstock.TenantID, r webhook.Removal) error {
	return s.db.Write(ctx, "webhook_delete", func(tx sqldb.Tx) error {
		before, err := lockEndpoint(ctx, tx, tenant, r.Ref)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			`DELETE FROM webhook_secrets WHERE tenant_id = $1 AND webhook_id = $2`,
			`DELETE FROM webhooks WHERE tenant_id = $1 AND job_id = '' AND id = $2`,
		} {
			if err := tx.Do(ctx, statement, tenant, r.ID); err != nil {
				return err
			}
		}
		if err := tx.Do(ctx, `DELETE FROM receivers WHERE id = $1`, r.ID); err != nil {
			return err
		}
		return s.note(ctx, tx, r.ID, audit.Entry{Tenant: tenant, Actor: r.Actor, Action: webhook.ActionDelete, Before: auditFields(before)})
	})
}

// RotateSecret implements webhook.Endpoints.
func (s *Store) RotateSecret(ctx context.Context, tenant penstock.TenantID, r webhook.Rotation) (until time.Time, err error) {
	sealed, err := s.sealSecret(tenant, r.Webhook.ID, r.Secret)
	if err != nil {
		return until, err
	}
	err = s.db.Write(ctx, "webhook_rotate", func(tx sqldb.Tx) error {
		until = time.Time{}
		if r.Webhook.ID != "" {
			_, err := lockEndpoint(ctx, tx, tenant, r.Webhook)
			if err == nil {
				err = tx.Do(ctx, `UPDATE webhooks SET updated_at = $3 WHERE tenant_id = $1 AND job_id = '' AND id = $2`, tenant, r.Webhook.ID, sqldb.Micros(tx.Now()))
			}
			if err != nil {
				return err
			}
		}
		ends := tx.Now().Add(r.Overlap)
		rotated, err := tx.Exec(ctx, `UPDATE webhook_secrets SET old_secret = secret, old_until = $3, secret = $4
			WHERE tenant_id = $1 AND webhook_id = $2`, tenant, r.Webhook.ID, sqldb.Micros(ends), sealed)
		if err != nil {
			return err
		}
		if rotated > 0 {
			until = ends
		} else if err := tx.Do(ctx, `INSERT INTO webhook_secrets (tenant_id, webhook_id, secret) VALUES ($1, $2, $3)`, tenant, r.Webhook.ID, sealed); err != nil {
			return err
		}
		return s.note(ctx, tx, r.Webhook.ID, audit.Entry{Tenant: tenant, Actor: r.Actor, Action: webhook.ActionRotate, After: map[string]any{"old_until": until}})
	})
	return until, err
}

// Test implements webhook.Endpoints.
func (s *Store) Test(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (out penstock.Delivery, err error) {
	err = s.db.Write(ctx, "webhook_test", func(tx sqldb.Tx) error {
		w, err := findEndpoint(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		if !w.DisabledAt.IsZero() {
			return penstock.Errorf(penstock.CodeConflict, "The endpoint is disabled (%s); enable it first.", w.DisabledReason)
		}
		out, err = outbox.Send(ctx, tx, w, outbox.Event{
			Tenant: tenant, Type: penstock.EventWebhookTest, Data: map[string]string{"webhook_id": penstock.ViewWebhook.Format(id)},
		})
		return err
	})
	return out, err
}
