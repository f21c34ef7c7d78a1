package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/payload"
	"penstock/internal/store"
)

const webhookColumns = `w.tenant_id, w.id, w.url, w.description, w.events, w.disabled_at, w.disabled_reason, w.created_at, w.updated_at,
	COALESCE(s.old_until, 0), COALESCE(r.failures, 0), COALESCE(r.failing_since, 0), COALESCE(r.rest_until, 0)`

const webhookTables = ` FROM webhooks w LEFT JOIN webhook_secrets s ON s.tenant_id = w.tenant_id AND s.webhook_id = w.id
	LEFT JOIN receivers r ON r.id = w.id`

func scanWebhook(now time.Time) func(Row) (penstock.Webhook, error) {
	return func(row Row) (w penstock.Webhook, err error) {
		var events string
		var disabled, created, updated, oldUntil, failing, rest int64
		err = row.Scan(&w.Tenant, &w.ID, &w.URL, &w.Description, &events, &disabled, &w.DisabledReason, &created, &updated,
			&oldUntil, &w.Failures, &failing, &rest)
		if err != nil {
			return w, fmt.Errorf("scanning webhook: %w", err)
		}
		w.DisabledAt, w.CreatedAt, w.UpdatedAt, w.FailingSince = fromMicros(disabled), fromMicros(created), fromMicros(updated), fromMicros(failing)
		if until := fromMicros(oldUntil); until.After(now) {
			w.OldSecretUntil = until
		}
		if until := fromMicros(rest); until.After(now) {
			w.RestUntil = until
		}
		if err := json.Unmarshal([]byte(events), &w.Events); err != nil {
			return w, fmt.Errorf("reading events of webhook %s: %w", w.ID, err)
		}
		return w, nil
	}
}

func findWebhook(ctx context.Context, tx Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Webhook, error) {
	w, ok, err := queryOne(ctx, tx, sqlf(`SELECT `+webhookColumns+webhookTables+`
		WHERE w.tenant_id = $1 AND w.job_id = '' AND w.id = $2`, tenant, id), scanWebhook(tx.Now()))
	if err == nil && !ok {
		err = notFound(penstock.ViewWebhook, id)
	}
	return w, err
}

// lockWebhook finds an endpoint that is to be changed, if it is the version that its owner knows, and keeps it from changing
// otherwise. Codes: not_found, conflict.
func lockWebhook(ctx context.Context, tx Tx, tenant penstock.TenantID, c store.WebhookRef) (w penstock.Webhook, err error) {
	if _, err := findWebhook(ctx, tx, tenant, c.ID); err != nil {
		return w, err
	}
	// Receivers come before endpoints, as where a delivery fails.
	if _, _, err := queryOne(ctx, tx, sqlf(`SELECT 1 FROM receivers WHERE id = $1 /*pg FOR UPDATE */`, c.ID), scanInt); err != nil {
		return w, err
	}
	_, there, err := queryOne(ctx, tx, sqlf(`SELECT 1 FROM webhooks WHERE tenant_id = $1 AND job_id = '' AND id = $2 /*pg FOR UPDATE */`, tenant, c.ID), scanInt)
	if err == nil && !there {
		err = notFound(penstock.ViewWebhook, c.ID)
	}
	if err == nil {
		w, err = findWebhook(ctx, tx, tenant, c.ID)
	}
	if err != nil {
		return w, err
	}
	return w, checkVersion("The endpoint", w.Version(), store.Condition{IfVersion: c.IfVersion})
}

// sealSecret binds a secret to the endpoint whose it is; the tenant's own to none.
func (s *Store) sealSecret(tenant penstock.TenantID, webhook penstock.ID, secret []byte) ([]byte, error) {
	sealed, err := s.codec.Seal(secretOwner(tenant, webhook), secret)
	if err != nil {
		return nil, fmt.Errorf("sealing a secret: %w", err)
	}
	return sealed, nil
}

func secretOwner(tenant penstock.TenantID, webhook penstock.ID) payload.Owner {
	return payload.Owner{Tenant: string(tenant), ID: "webhook/" + string(webhook), Part: "secret"}
}

// CreateWebhook implements store.Webhooks.
func (s *Store) CreateWebhook(ctx context.Context, tenant penstock.TenantID, n store.NewWebhook) (w penstock.Webhook, err error) {
	sealed, err := s.sealSecret(tenant, n.ID, n.Secret)
	if err != nil {
		return w, hide(err)
	}
	events, err := json.Marshal(n.Events)
	if err != nil {
		return w, hide(fmt.Errorf("encoding events: %w", err))
	}
	err = s.write(ctx, "webhook_create", func(tx Tx) error {
		if err := checkWebhooks(ctx, tx, tenant); err != nil {
			return err
		}
		err := tx.Do(ctx, `INSERT INTO webhooks (tenant_id, job_id, id, url, description, events, created_at, updated_at)
			VALUES ($1, '', $2, $3, $4, $5, $6, $6)`, tenant, n.ID, n.URL, storable(n.Description), string(events), micros(tx.Now()))
		if err != nil {
			return err
		}
		err = tx.Do(ctx, `INSERT INTO webhook_secrets (tenant_id, webhook_id, secret) VALUES ($1, $2, $3)`, tenant, n.ID, sealed)
		if err != nil {
			return err
		}
		if w, err = findWebhook(ctx, tx, tenant, n.ID); err != nil {
			return err
		}
		return s.noteWebhook(ctx, tx, webhookNote{w.Tenant, w.ID, n.Actor, store.ActionCreateWebhook, nil, webhookFields(w)})
	})
	return w, err
}

func checkWebhooks(ctx context.Context, tx Tx, tenant penstock.TenantID) error {
	n, _, err := queryOne(ctx, tx, sqlf(`SELECT COUNT(*) FROM webhooks WHERE tenant_id = $1 AND job_id = ''`, tenant),
		func(row Row) (n int64, err error) { return n, row.Scan(&n) })
	if err == nil && n >= store.MaxWebhooks {
		err = penstock.Errorf(penstock.CodeConflict, "There are %d endpoints already, which is the most; delete one first.", n)
	}
	return err
}

// webhookNote is an entry of the audit about an endpoint.
type webhookNote struct {
	tenant        penstock.TenantID
	webhook       penstock.ID
	actor, action string
	before, after map[string]any
}

func (s *Store) noteWebhook(ctx context.Context, tx Tx, n webhookNote) error {
	subject := "signing_secret"
	if n.webhook != "" {
		subject = penstock.ViewWebhook.Format(n.webhook)
	}
	return s.audit.Write(ctx, tx, audit.Entry{Tenant: n.tenant, Actor: n.actor, Action: n.action, Subject: subject, Before: n.before, After: n.after})
}

// webhookFields is an endpoint in the audit.
func webhookFields(w penstock.Webhook) map[string]any {
	return map[string]any{"url": w.URL, "events": w.Events, "enabled": w.DisabledAt.IsZero(), "reason": w.DisabledReason}
}

// ListWebhooks implements store.Webhooks.
func (s *Store) ListWebhooks(ctx context.Context, tenant penstock.TenantID, p store.WebhookPage) (all []penstock.Webhook, err error) {
	err = s.read(ctx, func(tx Tx) error {
		all, err = queryAll(ctx, tx, sqlf(`SELECT `+webhookColumns+webhookTables+` WHERE w.tenant_id = $1 AND w.job_id = '' AND w.id > $2
			ORDER BY w.id LIMIT $3`, tenant, p.After, p.Limit), scanWebhook(tx.Now()))
		return err
	})
	return all, err
}

// Webhook implements store.Webhooks.
func (s *Store) Webhook(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (w penstock.Webhook, err error) {
	err = s.read(ctx, func(tx Tx) error {
		w, err = findWebhook(ctx, tx, tenant, id)
		return err
	})
	return w, err
}

// disabledByOwner is why an endpoint that its owner disabled is.
const disabledByOwner = "disabled by its owner"

// ChangeWebhook implements store.Webhooks.
func (s *Store) ChangeWebhook(ctx context.Context, tenant penstock.TenantID, c store.WebhookChange) (w penstock.Webhook, err error) {
	err = s.write(ctx, "webhook_change", func(tx Tx) error {
		before, err := lockWebhook(ctx, tx, tenant, c.WebhookRef)
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
			tenant, c.ID, changed.URL, storable(changed.Description), string(events), micros(changed.DisabledAt), changed.DisabledReason, micros(tx.Now()))
		if err != nil {
			return err
		}
		if w, err = findWebhook(ctx, tx, tenant, c.ID); err != nil {
			return err
		}
		return s.noteWebhook(ctx, tx, webhookNote{tenant, c.ID, c.Actor, store.ActionChangeWebhook, webhookFields(before), webhookFields(w)})
	})
	return w, err
}

func apply[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// DeleteWebhook implements store.Webhooks.
func (s *Store) DeleteWebhook(ctx context.Context, tenant penstock.TenantID, r store.WebhookRemoval) error {
	return s.write(ctx, "webhook_delete", func(tx Tx) error {
		before, err := lockWebhook(ctx, tx, tenant, r.WebhookRef)
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
		return s.noteWebhook(ctx, tx, webhookNote{tenant, r.ID, r.Actor, store.ActionDeleteWebhook, webhookFields(before), nil})
	})
}

// RotateSecret implements store.Webhooks.
func (s *Store) RotateSecret(ctx context.Context, tenant penstock.TenantID, r store.SecretRotation) (until time.Time, err error) {
	sealed, err := s.sealSecret(tenant, r.Webhook.ID, r.Secret)
	if err != nil {
		return until, hide(err)
	}
	err = s.write(ctx, "webhook_rotate", func(tx Tx) error {
		until = time.Time{}
		if r.Webhook.ID != "" {
			_, err := lockWebhook(ctx, tx, tenant, r.Webhook)
			if err == nil {
				err = tx.Do(ctx, `UPDATE webhooks SET updated_at = $3 WHERE tenant_id = $1 AND job_id = '' AND id = $2`, tenant, r.Webhook.ID, micros(tx.Now()))
			}
			if err != nil {
				return err
			}
		}
		ends := tx.Now().Add(r.Overlap)
		rotated, err := tx.Exec(ctx, `UPDATE webhook_secrets SET old_secret = secret, old_until = $3, secret = $4
			WHERE tenant_id = $1 AND webhook_id = $2`, tenant, r.Webhook.ID, micros(ends), sealed)
		if err != nil {
			return err
		}
		if rotated > 0 {
			until = ends
		} else if err := tx.Do(ctx, `INSERT INTO webhook_secrets (tenant_id, webhook_id, secret) VALUES ($1, $2, $3)`, tenant, r.Webhook.ID, sealed); err != nil {
			return err
		}
		return s.noteWebhook(ctx, tx, webhookNote{tenant, r.Webhook.ID, r.Actor, store.ActionRotateSecret, nil, map[string]any{"old_until": until}})
	})
	return until, err
}

// TestWebhook implements store.Webhooks.
func (s *Store) TestWebhook(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (out penstock.Delivery, err error) {
	err = s.write(ctx, "webhook_test", func(tx Tx) error {
		w, err := findWebhook(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		if !w.DisabledAt.IsZero() {
			return penstock.Errorf(penstock.CodeConflict, "The endpoint is disabled (%s); enable it first.", w.DisabledReason)
		}
		d := delivery{Delivery: penstock.Delivery{ID: s.ids.New(tx.Now()), Tenant: tenant, Event: s.ids.New(tx.Now()), Type: penstock.EventWebhookTest}}
		d.address(listener{Webhook: w})
		d.body, err = encodeMessage(message{
			ID: penstock.ViewEvent.Format(d.Event), Type: d.Type, CreatedAt: tx.Now().UTC().Truncate(time.Microsecond),
			Data: map[string]string{"webhook_id": penstock.ViewWebhook.Format(id)},
		})
		if err != nil {
			return err
		}
		if err := d.insert(ctx, tx); err != nil {
			return err
		}
		out = d.Delivery
		out.URL = w.URL
		return nil
	})
	return out, err
}
