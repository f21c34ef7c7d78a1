package webhooksql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store/sqldb"
	"penstock/internal/webhook"
)

const deliveryColumns = `d.id, d.tenant_id, d.webhook_id, d.job_id, d.event_id, d.type, CASE WHEN d.webhook_id = '' THEN d.url ELSE COALESCE(w.url, '') END,
	d.status, d.error, d.tries, d.attempts, d.not_before, d.created_at, d.delivered_at`

const deliveryTables = ` FROM deliveries d LEFT JOIN webhooks w ON w.tenant_id = d.tenant_id AND w.job_id = '' AND w.id = d.webhook_id`

// deliveryDest are the destinations of deliveryColumns; read decodes the scanned values.
func deliveryDest(d *penstock.Delivery) (dest []any, read func() error) {
	var tries string
	var notBefore, created, delivered int64
	dest = []any{&d.ID, &d.Tenant, &d.Webhook, &d.Job, &d.Event, &d.Type, &d.URL, &d.Status, &d.Error, &tries, &d.Attempts,
		&notBefore, &created, &delivered}
	return dest, func() error {
		if d.Status == penstock.DeliveryPending {
			d.NextAt = sqldb.FromMicros(notBefore)
		}
		d.CreatedAt, d.DeliveredAt = sqldb.FromMicros(created), sqldb.FromMicros(delivered)
		if err := json.Unmarshal([]byte(tries), &d.Tries); err != nil {
			return fmt.Errorf("reading attempts of delivery %s: %w", d.ID, err)
		}
		return nil
	}
}

func scanDelivery(row sqldb.Row) (d penstock.Delivery, err error) {
	dest, read := deliveryDest(&d)
	if err := row.Scan(dest...); err != nil {
		return d, fmt.Errorf("scanning delivery: %w", err)
	}
	return d, read()
}

// Deliveries implements webhook.Endpoints. Deliveries that failed have an index; those of another status are among the newest.
func (s *Store) Deliveries(ctx context.Context, tenant penstock.TenantID, p webhook.DeliveryPage) (all []penstock.Delivery, next penstock.ID, err error) {
	q := deliveryQuery{found: `d.tenant_id = $1 AND d.webhook_id = $2 AND d.id < $3`, foundBy: []any{tenant, p.Webhook, p.After}}
	if p.Job != "" {
		q.found, q.foundBy[1] = `d.tenant_id = $1 AND d.job_id = $2 AND d.job_id <> '' AND d.id < $3`, p.Job // as the condition of the index
	}
	if p.After == "" {
		q.foundBy[2] = "~" // behind every id
	}
	switch p.Status {
	case "":
	case penstock.DeliveryFailed:
		q.found += ` AND d.status = 'failed'` // as the condition of the index
	default:
		q.looks = string(p.Status)
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		next = ""
		if p.Webhook != "" {
			if _, err := findEndpoint(ctx, tx, tenant, p.Webhook); err != nil {
				return err
			}
		}
		if all, err = sqldb.QueryAll(ctx, tx, q.page(p.Limit+1), scanDelivery); err != nil {
			return err
		}
		if len(all) > p.Limit {
			all = all[:p.Limit]
			next = all[len(all)-1].ID
			return nil
		}
		if q.looks == "" {
			return nil
		}
		next, _, err = sqldb.QueryOne(ctx, tx, q.lastRead(), sqldb.ScanOne[penstock.ID])
		return err
	})
	return all, next, err
}

// deliveryQuery finds deliveries for a list.
type deliveryQuery struct {
	found   string // conditions that an index answers
	foundBy []any
	looks   string // the status that the rows are compared with, "" for none
}

// page selects deliveries. Materialized, or PostgreSQL would compare the status before it bounds the rows.
func (q deliveryQuery) page(limit int) sqldb.Query {
	most, where, args := limit, "", q.foundBy
	if q.looks != "" {
		most, where, args = webhook.MaxDeliveryScan, ` WHERE status = $4`, append(slices.Clone(args), q.looks)
	}
	return sqldb.Query{Args: args, SQL: fmt.Sprintf(`WITH found AS MATERIALIZED (SELECT d.id, d.status FROM deliveries d WHERE %s ORDER BY d.id DESC LIMIT %d),
			page AS MATERIALIZED (SELECT id FROM found%s ORDER BY id DESC LIMIT %d)
		SELECT %s%s JOIN page ON page.id = d.id ORDER BY d.id DESC`, q.found, most, where, limit, deliveryColumns, deliveryTables)}
}

// lastRead selects the last delivery that was read for a page, if the page could not read all of them.
func (q deliveryQuery) lastRead() sqldb.Query {
	return sqldb.Query{Args: q.foundBy, SQL: fmt.Sprintf(`SELECT d.id FROM deliveries d WHERE %s ORDER BY d.id DESC LIMIT 1 OFFSET %d`, q.found, webhook.MaxDeliveryScan-1)}
}

func findDelivery(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error) {
	d, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+deliveryColumns+deliveryTables+` WHERE d.id = $1 AND d.tenant_id = $2`, id, tenant), scanDelivery)
	if err == nil && !ok {
		err = penstock.NotFound(penstock.ViewDelivery, id)
	}
	return d, err
}

// Delivery implements webhook.Endpoints.
func (s *Store) Delivery(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (d penstock.Delivery, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		d, err = findDelivery(ctx, tx, tenant, id)
		return err
	})
	return d, err
}

// Redeliver implements webhook.Endpoints.
func (s *Store) Redeliver(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (d penstock.Delivery, err error) {
	find := func(tx sqldb.Tx) (penstock.Delivery, error) { return findDelivery(ctx, tx, tenant, id) }
	err = s.db.Write(ctx, "redeliver", func(tx sqldb.Tx) error {
		if d, err = find(tx); err != nil {
			return err
		}
		if d.Webhook != "" {
			w, err := findEndpoint(ctx, tx, tenant, d.Webhook)
			if penstock.ErrorCode(err) == penstock.CodeNotFound {
				return penstock.Errorf(penstock.CodeConflict, "The endpoint of this delivery was deleted.")
			}
			if err != nil {
				return err
			}
			if !w.DisabledAt.IsZero() {
				return penstock.Errorf(penstock.CodeConflict, "The endpoint is disabled (%s); enable it first.", w.DisabledReason)
			}
		}
		// A runner that attempts it now loses its claim: two attempts would record two results of one delivery.
		err := tx.Do(ctx, `UPDATE deliveries SET status = $2, error = '', round = 0, fence = fence + 1, not_before = $3, delivered_at = 0 WHERE id = $1`,
			id, penstock.DeliveryPending, sqldb.Micros(tx.Now()))
		if err != nil {
			return err
		}
		d, err = find(tx)
		return err
	})
	return d, err
}

// ClaimDeliveries implements webhook.Outbox. Mostly nothing is due; a write transaction begins only when something is.
func (s *Store) ClaimDeliveries(ctx context.Context, w webhook.DeliveryWant) (got webhook.DeliveryClaims, err error) {
	if w.Limit <= 0 {
		return got, nil
	}
	var due []dueDelivery
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		seen, err := scanReceivers(ctx, tx, w.After)
		if err != nil {
			return err
		}
		got = webhook.DeliveryClaims{Next: seen.next, DueIn: seen.dueIn}
		due, err = findDue(ctx, tx, seen.due, w)
		return err
	})
	if err != nil || len(due) == 0 {
		return got, err
	}
	var claims []sealedClaim
	err = s.db.Write(ctx, "delivery_claim", func(tx sqldb.Tx) error {
		claims, err = takeDue(ctx, tx, due, w)
		return err
	})
	if err != nil {
		return webhook.DeliveryClaims{}, err
	}
	for _, c := range claims {
		got.Claims = append(got.Claims, s.unseal(c))
	}
	return got, nil
}

// dueDelivery is a delivery that may be claimed.
type dueDelivery struct {
	id       penstock.ID
	tenant   penstock.TenantID
	receiver string
	probe    bool // its receiver rested: this delivery probes it
}

// dueReceiver is a receiver with a due delivery.
type dueReceiver struct {
	id     string
	rested bool
}

// receivers are those that a claim looked at.
type receivers struct {
	due   []dueReceiver
	next  string        // the receiver behind which there may be more
	dueIn time.Duration // until the next of the other receivers is due, 0 if there is none
}

// receiversSQL walks over the receivers of pending deliveries from one to the next in the index, however many deliveries
// each has.
const receiversSQL = `WITH RECURSIVE seen(id, n) AS (
		SELECT (SELECT MIN(d.receiver_id) FROM deliveries d WHERE d.status = 'pending' AND d.receiver_id > $1), 1
		UNION ALL
		SELECT (SELECT MIN(d.receiver_id) FROM deliveries d WHERE d.status = 'pending' AND d.receiver_id > seen.id), seen.n + 1
		FROM seen WHERE seen.id IS NOT NULL AND seen.n < $2
	)
	SELECT seen.id, COALESCE(r.rest_until, 0), (SELECT MIN(d.not_before) FROM deliveries d WHERE d.status = 'pending' AND d.receiver_id = seen.id) AS due
	FROM seen LEFT JOIN receivers r ON r.id = seen.id WHERE seen.id IS NOT NULL ORDER BY due, seen.id`

func scanReceivers(ctx context.Context, tx sqldb.Tx, after string) (l receivers, err error) {
	now, last, seen, soonest := sqldb.Micros(tx.Now()), "", 0, int64(0)
	err = tx.Ask(ctx, sqldb.Ask(sqldb.SQL(receiversSQL, after, webhook.MaxReceivers), func(row sqldb.Row) error {
		var id string
		var rest, at int64
		if err := row.Scan(&id, &rest, &at); err != nil {
			return err
		}
		last, seen = max(last, id), seen+1
		if at = max(at, rest); at <= now {
			l.due = append(l.due, dueReceiver{id, rest > 0})
		} else if soonest == 0 || at < soonest {
			soonest = at
		}
		return nil
	}))
	if seen == webhook.MaxReceivers {
		l.next = last
	}
	if soonest > 0 {
		l.dueIn = sqldb.FromMicros(soonest).Sub(tx.Now())
	}
	return l, err
}

func findDue(ctx context.Context, tx sqldb.Tx, from []dueReceiver, w webhook.DeliveryWant) (due []dueDelivery, err error) {
	now := sqldb.Micros(tx.Now())
	tenants := map[penstock.TenantID]int{}
	for _, r := range from {
		free := min(w.PerReceiver-w.Busy.Receivers[r.id], w.Limit-len(due))
		if r.rested {
			free = min(free, 1-w.Busy.Receivers[r.id])
		}
		if free <= 0 {
			continue
		}
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, tenant_id FROM deliveries WHERE status = 'pending' AND receiver_id = $1 AND not_before <= $2
			ORDER BY not_before, id LIMIT $3`, r.id, now, free), func(row sqldb.Row) (d dueDelivery, err error) {
			d.receiver, d.probe = r.id, r.rested
			return d, row.Scan(&d.id, &d.tenant)
		})
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if tenants[d.tenant]+w.Busy.Tenants[d.tenant] < w.PerTenant {
				tenants[d.tenant]++
				due = append(due, d)
			}
		}
	}
	return due, nil
}

// sealedClaim is a claim whose secrets are still sealed.
type sealedClaim struct {
	webhook.DeliveryClaim
	secret, oldSecret []byte
}

// takeDue claims the deliveries that are still due. Of several processes, one probes a receiver that rested.
func takeDue(ctx context.Context, tx sqldb.Tx, due []dueDelivery, w webhook.DeliveryWant) ([]sealedClaim, error) {
	now, held := sqldb.Micros(tx.Now()), sqldb.Micros(tx.Now().Add(w.Hold))
	var ids []string
	for _, d := range due {
		if d.probe {
			n, err := tx.Exec(ctx, `UPDATE receivers SET rest_until = $2 WHERE id = $1 AND rest_until > 0 AND rest_until <= $3`, d.receiver, held, now)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				continue
			}
		}
		ids = append(ids, string(d.id))
	}
	if len(ids) == 0 {
		return nil, nil
	}
	taken := []string{}
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: ids, Args: []any{held, now}, SQL: `UPDATE deliveries SET fence = fence + 1, not_before = $2
		WHERE id = /*pg ANY */($1) AND status = 'pending' AND not_before <= $3 RETURNING id`}, func(row sqldb.Row) error {
		var id string
		err := row.Scan(&id)
		taken = append(taken, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	var claims []sealedClaim
	err = tx.QueryIn(ctx, sqldb.IDQuery{IDs: taken, Args: []any{now}, SQL: `SELECT ` + deliveryColumns + `, d.receiver_id, d.fence, d.round, d.body,
			s.secret, CASE WHEN s.old_until > $2 THEN s.old_secret END,
			CASE WHEN d.webhook_id = '' THEN '' WHEN w.id IS NULL THEN 'the endpoint was deleted'
				WHEN w.disabled_at > 0 THEN 'the endpoint is disabled: ' || w.disabled_reason ELSE '' END,
			d.trace_parent` + deliveryTables + `
		LEFT JOIN webhook_secrets s ON s.tenant_id = d.tenant_id AND s.webhook_id = d.webhook_id
		WHERE d.id = /*pg ANY */($1)`}, func(row sqldb.Row) error {
		var c sealedClaim
		dest, read := deliveryDest(&c.Delivery)
		if err := row.Scan(append(dest, &c.Receiver, &c.Fence, &c.Round, &c.Body, &c.secret, &c.oldSecret, &c.Refused, &c.TraceParent)...); err != nil {
			return fmt.Errorf("scanning a claimed delivery: %w", err)
		}
		claims = append(claims, c)
		return read()
	})
	return claims, err
}

// unseal opens the secrets of a claim. A secret that cannot be opened must not delay other deliveries.
func (s *Store) unseal(c sealedClaim) webhook.DeliveryClaim {
	if c.Refused != "" {
		return c.DeliveryClaim
	}
	for _, sealed := range [][]byte{c.secret, c.oldSecret} {
		if len(sealed) == 0 {
			continue
		}
		secret, err := s.codec.Open(secretOwner(c.Tenant, c.Webhook), sealed)
		if err != nil {
			c.Err = errors.Join(c.Err, fmt.Errorf("opening a secret: %w", err))
			continue
		}
		c.Secrets = append(c.Secrets, secret)
	}
	if len(c.Secrets) == 0 && c.Err == nil {
		c.Err = errors.New("there is no secret to sign with")
	}
	return c.DeliveryClaim
}
