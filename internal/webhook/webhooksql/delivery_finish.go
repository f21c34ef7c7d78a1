package webhooksql

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/store/sqldb"
	"penstock/internal/webhook"
)

// heldDelivery is a delivery whose claim is being ended.
type heldDelivery struct {
	tenant   penstock.TenantID
	webhook  penstock.ID
	receiver string
	status   penstock.DeliveryStatus
	fence    int64
	round    int
	attempts int
	tries    []penstock.DeliveryTry
}

func scanHeldDelivery(row sqldb.Row) (h heldDelivery, err error) {
	var tries string
	if err := row.Scan(&h.tenant, &h.webhook, &h.receiver, &h.status, &h.fence, &h.round, &h.attempts, &tries); err != nil {
		return h, fmt.Errorf("scanning a held delivery: %w", err)
	}
	if err := json.Unmarshal([]byte(tries), &h.tries); err != nil {
		return h, fmt.Errorf("reading attempts: %w", err)
	}
	return h, nil
}

// FinishDelivery implements webhook.Outbox.
func (s *Store) FinishDelivery(ctx context.Context, r webhook.DeliveryReport) (v webhook.DeliveryVerdict, err error) {
	err = s.db.Write(ctx, "delivery_finish", func(tx sqldb.Tx) error {
		v = webhook.DeliveryVerdict{}
		h, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT tenant_id, webhook_id, receiver_id, status, fence, round, attempts, tries FROM deliveries
			WHERE id = $1 /*pg FOR UPDATE */`, r.Delivery), scanHeldDelivery)
		if err != nil || !ok || h.fence != r.Fence || h.status != penstock.DeliveryPending {
			return err
		}
		v.Recorded = true
		if err := h.record(ctx, tx, r); err != nil {
			return err
		}
		switch r.Outcome {
		case webhook.OutcomeDelivered:
			return tx.Do(ctx, `DELETE FROM receivers WHERE id = $1`, h.receiver)
		case webhook.OutcomeRetry, webhook.OutcomeFailed, webhook.OutcomeGone:
			return s.receiverFailed(ctx, tx, failing{h, r, &v})
		case webhook.OutcomeRelease:
			// A receiver that rested is still to be probed.
			return tx.Do(ctx, `UPDATE receivers SET rest_until = $2 WHERE id = $1 AND rest_until > $2`, h.receiver, sqldb.Micros(tx.Now()))
		}
		return nil
	})
	return v, err
}

// record writes the result of the attempt.
func (h heldDelivery) record(ctx context.Context, tx sqldb.Tx, r webhook.DeliveryReport) error {
	status, due, delivered, reason := penstock.DeliveryPending, tx.Now(), int64(0), ""
	switch r.Outcome {
	case webhook.OutcomeDelivered:
		status, delivered = penstock.DeliveryDelivered, sqldb.Micros(tx.Now())
	case webhook.OutcomeRetry:
		due = due.Add(r.RetryIn)
	case webhook.OutcomeFailed, webhook.OutcomeGone, webhook.OutcomeVoid:
		status, reason = penstock.DeliveryFailed, sqldb.Storable(r.Reason)
	}
	if r.Outcome != webhook.OutcomeVoid && r.Outcome != webhook.OutcomeRelease {
		r.Try.Error = sqldb.Storable(r.Try.Error)
		h.round, h.attempts, h.tries = h.round+1, h.attempts+1, append(h.tries, r.Try)
	}
	tries, err := json.Marshal(h.tries[max(0, len(h.tries)-webhook.MaxDeliveryTries):])
	if err != nil {
		return fmt.Errorf("encoding attempts: %w", err)
	}
	return tx.Do(ctx, `UPDATE deliveries SET status = $2, not_before = $3, delivered_at = $4, error = $5, round = $6, attempts = $7, tries = $8
		WHERE id = $1`, r.Delivery, status, sqldb.Micros(due), delivered, reason, h.round, h.attempts, string(tries))
}

// failing is a failed delivery, with the verdict to complete.
type failing struct {
	heldDelivery
	report  webhook.DeliveryReport
	verdict *webhook.DeliveryVerdict
}

// receiverFailed counts a failure of the receiver, lets it rest after many, and disables an endpoint that is gone or has
// failed for too long.
func (s *Store) receiverFailed(ctx context.Context, tx sqldb.Tx, f failing) error {
	now := tx.Now()
	type row struct{ failures, since int64 }
	r, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`INSERT INTO receivers (id, failures, failing_since, rest_until) VALUES ($1, 1, $2, 0)
		ON CONFLICT (id) DO UPDATE SET failures = receivers.failures + 1 RETURNING failures, failing_since`, f.receiver, sqldb.Micros(now)),
		func(scanned sqldb.Row) (r row, err error) { return r, scanned.Scan(&r.failures, &r.since) })
	if err != nil {
		return err
	}
	f.verdict.Failures = int(r.failures)
	var rest int64
	if d := f.report.Breaker.Rest(int(r.failures)); d > 0 {
		rest = sqldb.Micros(now.Add(d))
	}
	if err := tx.Do(ctx, `UPDATE receivers SET rest_until = $2 WHERE id = $1`, f.receiver, rest); err != nil {
		return err
	}
	reason := ""
	switch failed := now.Sub(sqldb.FromMicros(r.since)); {
	case f.report.Outcome == webhook.OutcomeGone:
		reason = "the receiver answered 410 Gone"
	case failed >= f.report.Breaker.DisableAfter:
		reason = fmt.Sprintf("nothing could be delivered for %s", failed.Round(time.Hour))
	}
	if reason == "" || f.webhook == "" {
		return nil
	}
	n, err := tx.Exec(ctx, `UPDATE webhooks SET disabled_at = $3, disabled_reason = $4, updated_at = $3
		WHERE tenant_id = $1 AND job_id = '' AND id = $2 AND disabled_at = 0`, f.tenant, f.webhook, sqldb.Micros(now), reason)
	if err != nil || n == 0 {
		return err
	}
	f.verdict.Disabled = true
	return s.note(ctx, tx, f.webhook, audit.Entry{
		Tenant: f.tenant, Actor: audit.Penstock, Action: webhook.ActionDisable,
		Before: map[string]any{"enabled": true}, After: map[string]any{"enabled": false, "reason": reason},
	})
}

// Depth implements webhook.Outbox.
func (s *Store) Depth(ctx context.Context) (d webhook.Depth, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		oldest := int64(0)
		d, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*), COALESCE(MIN(created_at), 0) FROM
			(SELECT created_at FROM deliveries WHERE status = 'pending' LIMIT $1) pending`, webhook.MaxDepth),
			func(row sqldb.Row) (d webhook.Depth, err error) { return d, row.Scan(&d.Pending, &oldest) })
		if oldest > 0 {
			d.Oldest = tx.Now().Sub(sqldb.FromMicros(oldest))
		}
		return err
	})
	return d, err
}
