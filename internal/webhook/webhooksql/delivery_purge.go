package webhooksql

import (
	"context"

	"penstock"
	"penstock/internal/store/sqldb"
	"penstock/internal/webhook"
)

// PurgeDeliveries implements webhook.Outbox. A delivery's id has the time of its creation, so no other index is needed.
// Mostly nothing is due; a write transaction begins only when something is.
func (s *Store) PurgeDeliveries(ctx context.Context, tenant penstock.TenantID, p webhook.Purge) (done webhook.Purged, err error) {
	find := func(tx sqldb.Tx, limit int) ([]penstock.ID, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id FROM deliveries WHERE tenant_id = $1 AND id < $2 AND status <> 'pending' ORDER BY id LIMIT $3`,
			tenant, penstock.FirstID(tx.Now().Add(-p.Kept)), limit), sqldb.ScanOne[penstock.ID])
	}
	var oldest []penstock.ID
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if oldest, err = find(tx, 1); err == nil && len(oldest) > 0 {
			done.Overdue = tx.Now().Sub(oldest[0].Time().Add(p.Kept))
		}
		return err
	})
	if err != nil || len(oldest) == 0 {
		return done, err
	}
	err = s.db.Write(ctx, "purge_deliveries", func(tx sqldb.Tx) error {
		found, err := find(tx, p.Limit)
		if err != nil {
			return err
		}
		done.Removed, done.More = 0, len(found) == p.Limit
		if err := forgetReceivers(ctx, tx, tenant, sqldb.Micros(tx.Now().Add(-p.Kept))); err != nil {
			return err
		}
		return tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(found), SQL: `DELETE FROM deliveries WHERE id = /*pg ANY */($1) AND status <> 'pending' RETURNING id`},
			func(row sqldb.Row) error {
				var id string
				done.Removed++
				return row.Scan(&id)
			})
	})
	return done, err
}

// forgetReceivers removes failed hosts of single jobs' webhooks that have nothing pending. Their ids begin with the
// tenant and a space.
func forgetReceivers(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, before int64) error {
	return tx.Do(ctx, `DELETE FROM receivers WHERE id > $1 AND id < $2 AND failing_since < $3
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.status = 'pending' AND d.receiver_id = receivers.id)`,
		string(tenant)+" ", string(tenant)+"!", before)
}
