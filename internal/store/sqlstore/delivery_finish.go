package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
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

func scanHeldDelivery(row Row) (h heldDelivery, err error) {
	var tries string
	if err := row.Scan(&h.tenant, &h.webhook, &h.receiver, &h.status, &h.fence, &h.round, &h.attempts, &tries); err != nil {
		return h, fmt.Errorf("scanning a held delivery: %w", err)
	}
	if err := json.Unmarshal([]byte(tries), &h.tries); err != nil {
		return h, fmt.Errorf("reading attempts: %w", err)
	}
	return h, nil
}

// FinishDelivery implements store.Outbox.
func (s *Store) FinishDelivery(ctx context.Context, r store.DeliveryReport) (v store.DeliveryVerdict, err error) {
	err = s.write(ctx, "delivery_finish", func(tx Tx) error {
		v = store.DeliveryVerdict{}
		h, ok, err := queryOne(ctx, tx, sqlf(`SELECT tenant_id, webhook_id, receiver_id, status, fence, round, attempts, tries FROM deliveries
			WHERE id = $1 /*pg FOR UPDATE */`, r.Delivery), scanHeldDelivery)
		if err != nil || !ok || h.fence != r.Fence || h.status != penstock.DeliveryPending {
			return err
		}
		v.Recorded = true
		if err := h.record(ctx, tx, r); err != nil {
			return err
		}
		switch r.Outcome {
		case store.OutcomeDelivered:
			return tx.Do(ctx, `DELETE FROM receivers WHERE id = $1`, h.receiver)
		case store.OutcomeRetry, store.OutcomeFailed, store.OutcomeGone:
			return s.receiverFailed(ctx, tx, failing{h, r, &v})
		case store.OutcomeRelease:
			// Whoever rested and was to be probed still is.
			return tx.Do(ctx, `UPDATE receivers SET rest_until = $2 WHERE id = $1 AND rest_until > $2`, h.receiver, micros(tx.Now()))
		}
		return nil
	})
	return v, err
}

// record writes what became of the delivery.
func (h heldDelivery) record(ctx context.Context, tx Tx, r store.DeliveryReport) error {
	status, due, delivered, reason := penstock.DeliveryPending, tx.Now(), int64(0), ""
	switch r.Outcome {
	case store.OutcomeDelivered:
		status, delivered = penstock.DeliveryDelivered, micros(tx.Now())
	case store.OutcomeRetry:
		due = due.Add(r.RetryIn)
	case store.OutcomeFailed, store.OutcomeGone, store.OutcomeVoid:
		status, reason = penstock.DeliveryFailed, storable(r.Reason)
	}
	if r.Outcome != store.OutcomeVoid && r.Outcome != store.OutcomeRelease {
		r.Try.Error = storable(r.Try.Error)
		h.round, h.attempts, h.tries = h.round+1, h.attempts+1, append(h.tries, r.Try)
	}
	tries, err := json.Marshal(h.tries[max(0, len(h.tries)-store.MaxDeliveryTries):])
	if err != nil {
		return fmt.Errorf("encoding attempts: %w", err)
	}
	return tx.Do(ctx, `UPDATE deliveries SET status = $2, not_before = $3, delivered_at = $4, error = $5, round = $6, attempts = $7, tries = $8
		WHERE id = $1`, r.Delivery, status, micros(due), delivered, reason, h.round, h.attempts, string(tries))
}

// failing is a delivery that failed, with what is to be told of it.
type failing struct {
	heldDelivery
	report  store.DeliveryReport
	verdict *store.DeliveryVerdict
}

// receiverFailed counts a failure of the receiver, lets it rest if there were many, and disables an endpoint
// that is gone or has failed for too long.
func (s *Store) receiverFailed(ctx context.Context, tx Tx, f failing) error {
	now := tx.Now()
	type row struct{ failures, since int64 }
	r, _, err := queryOne(ctx, tx, sqlf(`INSERT INTO receivers (id, failures, failing_since, rest_until) VALUES ($1, 1, $2, 0)
		ON CONFLICT (id) DO UPDATE SET failures = receivers.failures + 1 RETURNING failures, failing_since`, f.receiver, micros(now)),
		func(scanned Row) (r row, err error) { return r, scanned.Scan(&r.failures, &r.since) })
	if err != nil {
		return err
	}
	f.verdict.Failures = int(r.failures)
	var rest int64
	if d := f.report.Breaker.Rest(int(r.failures)); d > 0 {
		rest = micros(now.Add(d))
	}
	if err := tx.Do(ctx, `UPDATE receivers SET rest_until = $2 WHERE id = $1`, f.receiver, rest); err != nil {
		return err
	}
	reason := ""
	switch failed := now.Sub(fromMicros(r.since)); {
	case f.report.Outcome == store.OutcomeGone:
		reason = "the receiver answered 410 Gone"
	case failed >= f.report.Breaker.DisableAfter:
		reason = fmt.Sprintf("nothing could be delivered for %s", failed.Round(time.Hour))
	}
	if reason == "" || f.webhook == "" {
		return nil
	}
	n, err := tx.Exec(ctx, `UPDATE webhooks SET disabled_at = $3, disabled_reason = $4, updated_at = $3
		WHERE tenant_id = $1 AND job_id = '' AND id = $2 AND disabled_at = 0`, f.tenant, f.webhook, micros(now), reason)
	if err != nil || n == 0 {
		return err
	}
	f.verdict.Disabled = true
	return s.noteWebhook(ctx, tx, webhookNote{f.tenant, f.webhook, store.ActorPenstock, store.ActionDisableWebhook,
		map[string]any{"enabled": true}, map[string]any{"enabled": false, "reason": reason}})
}

// PurgeDeliveries implements store.Outbox. The id of a delivery has the time at which it was written.
func (s *Store) PurgeDeliveries(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, err error) {
	old := aged{`SELECT id FROM deliveries WHERE tenant_id = $1 AND id < $2 AND status <> 'pending' ORDER BY id LIMIT $3`, tenant, p}
	due, err := s.overdue(ctx, old, &done)
	if err != nil || !due {
		return done, err
	}
	err = s.write(ctx, "purge_deliveries", func(tx Tx) error {
		found, err := old.find(ctx, tx, p.Limit)
		if err != nil {
			return err
		}
		done.Removed, done.More = 0, len(found) == p.Limit
		if err := forgetReceivers(ctx, tx, tenant, micros(tx.Now().Add(-p.Kept))); err != nil {
			return err
		}
		return tx.QueryIn(ctx, IDQuery{IDs: plain(found), SQL: `DELETE FROM deliveries WHERE id = /*pg ANY */($1) AND status <> 'pending' RETURNING id`},
			func(row Row) error {
				var id string
				done.Removed++
				return row.Scan(&id)
			})
	})
	return done, err
}

// forgetReceivers removes hosts that jobs sent to, that failed, and that nothing is pending for. Their ids are those
// that begin with the tenant and a space.
func forgetReceivers(ctx context.Context, tx Tx, tenant penstock.TenantID, before int64) error {
	return tx.Do(ctx, `DELETE FROM receivers WHERE id > $1 AND id < $2 AND failing_since < $3
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.status = 'pending' AND d.receiver_id = receivers.id)`,
		string(tenant)+" ", string(tenant)+"!", before)
}

// OutboxDepth implements store.Outbox.
func (s *Store) OutboxDepth(ctx context.Context) (d store.OutboxDepth, err error) {
	err = s.read(ctx, func(tx Tx) error {
		oldest := int64(0)
		d, _, err = queryOne(ctx, tx, sqlf(`SELECT COUNT(*), COALESCE(MIN(created_at), 0) FROM
			(SELECT created_at FROM deliveries WHERE status = 'pending' LIMIT $1) pending`, store.MaxOutboxDepth),
			func(row Row) (d store.OutboxDepth, err error) { return d, row.Scan(&d.Pending, &oldest) })
		if oldest > 0 {
			d.Oldest = tx.Now().Sub(fromMicros(oldest))
		}
		return err
	})
	return d, err
}
