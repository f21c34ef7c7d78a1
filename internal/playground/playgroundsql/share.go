package playgroundsql

import (
	"context"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/playground"
	"penstock/internal/store/sqldb"
)

const shareColumns = `id, run_id, kind, role, created_by_id, created_by, created_at, expires_at`

func scanShare(tenant penstock.TenantID) func(sqldb.Row) (playground.Share, error) {
	return func(row sqldb.Row) (s playground.Share, err error) {
		var created, expires int64
		err = row.Scan(&s.ID, &s.Run, &s.Kind, &s.Role, &s.CreatedBy.ID, &s.CreatedBy.Name, &created, &expires)
		s.Tenant, s.CreatedAt, s.ExpiresAt = tenant, sqldb.FromMicros(created), sqldb.FromMicros(expires)
		return s, err
	}
}

// AddShare implements playground.Shares.
func (s *Store) AddShare(ctx context.Context, tenant penstock.TenantID, n playground.NewShare) (share playground.Share, err error) {
	k := rowKey{tenant, n.Run}
	sealed := []byte{}
	if n.Snapshot != nil {
		if sealed, err = s.seal(k.owner(partSnapshot(n.ID)), n.Snapshot); err != nil {
			return share, err
		}
	}
	err = s.db.Write(ctx, "playground_share_add", func(tx sqldb.Tx) error {
		if _, err := find(ctx, tx, k, locked); err != nil {
			return err
		}
		all, err := sharesOf(ctx, tx, k)
		if err != nil {
			return err
		}
		for _, one := range all {
			if n.Kind == playground.ShareRole && one.Kind == n.Kind && one.Role == n.Role {
				share = one
				return nil
			}
		}
		if len(all) >= playground.MaxShares {
			return penstock.Errorf(penstock.CodeConflict, "The run has %d shares, which is the most; delete one first.", len(all))
		}
		share = n.Share
		share.CreatedAt, share.CreatedBy.Name = tx.Now(), name(n.CreatedBy)
		err = tx.Do(ctx, `INSERT INTO playground_shares (tenant_id, id, run_id, kind, role, created_by_id, created_by, created_at, expires_at, body, bytes)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			tenant, n.ID, n.Run, string(n.Kind), string(n.Role), sqldb.Storable(n.CreatedBy.ID), share.CreatedBy.Name, sqldb.Micros(share.CreatedAt), sqldb.Micros(n.ExpiresAt), sealed, len(n.Snapshot))
		if err != nil {
			return err
		}
		if err := grow(ctx, tx, k, growth{n.Stored, int64(len(n.Snapshot))}); err != nil {
			return err
		}
		return s.note(ctx, tx, n.CreatedBy, audit.Entry{Tenant: tenant, Action: playground.ActionShare, Subject: playground.ViewRun.Format(n.Run), After: described(share)})
	})
	return share, err
}

// described is a share in the audit.
func described(s playground.Share) map[string]any {
	d := map[string]any{"share": playground.ViewShare.Format(s.ID), "kind": string(s.Kind)}
	if s.Role != "" {
		d["role"] = string(s.Role)
	}
	if !s.ExpiresAt.IsZero() {
		d["expires_at"] = s.ExpiresAt
	}
	return d
}

// sharesOf reads the shares of a run that have not expired.
func sharesOf(ctx context.Context, tx sqldb.Tx, k rowKey) ([]playground.Share, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+shareColumns+` FROM playground_shares WHERE tenant_id = $1 AND run_id = $2 AND (expires_at = 0 OR expires_at > $3) ORDER BY id`,
		k.tenant, k.id, sqldb.Micros(tx.Now())), scanShare(k.tenant))
}

// findShare reads a share that has not expired. Codes: not_found.
func findShare(ctx context.Context, tx sqldb.Tx, k rowKey) (playground.Share, error) {
	share, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+shareColumns+` FROM playground_shares WHERE tenant_id = $1 AND id = $2 AND (expires_at = 0 OR expires_at > $3)`,
		k.tenant, k.id, sqldb.Micros(tx.Now())), scanShare(k.tenant))
	if err == nil && !ok {
		err = playground.NoShare(k.id)
	}
	return share, err
}

// Share implements playground.Shares.
func (s *Store) Share(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (share playground.Share, snapshot []byte, err error) {
	var sealed []byte
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if share, err = findShare(ctx, tx, rowKey{tenant, id}); err != nil {
			return err
		}
		sealed, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT body FROM playground_shares WHERE tenant_id = $1 AND id = $2`, tenant, id), sqldb.ScanOne[[]byte])
		return err
	})
	if err != nil || len(sealed) == 0 {
		return share, nil, err
	}
	snapshot, err = s.open(rowKey{tenant, share.Run}.owner(partSnapshot(id)), sealed)
	return share, snapshot, err
}

// ListShares implements playground.Shares.
func (s *Store) ListShares(ctx context.Context, tenant penstock.TenantID, run penstock.ID) (all []playground.Share, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		all, err = sharesOf(ctx, tx, rowKey{tenant, run})
		return err
	})
	return all, err
}

// RemoveShare implements playground.Shares.
func (s *Store) RemoveShare(ctx context.Context, tenant penstock.TenantID, d playground.ShareRemoval) error {
	return s.db.Write(ctx, "playground_share_remove", func(tx sqldb.Tx) error {
		share, err := findShare(ctx, tx, rowKey{tenant, d.ID})
		if err != nil {
			return err
		}
		if err := removeShare(ctx, tx, rowKey{tenant, share.Run}, d.ID); err != nil {
			return err
		}
		return s.note(ctx, tx, d.Actor, audit.Entry{Tenant: tenant, Action: playground.ActionRemoveShare, Subject: playground.ViewRun.Format(share.Run), Before: described(share)})
	})
}

// removeShare removes a share of a run. The run is locked first.
func removeShare(ctx context.Context, tx sqldb.Tx, run rowKey, id penstock.ID) error {
	if _, err := find(ctx, tx, run, locked); err != nil {
		return err
	}
	bytes, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT bytes FROM playground_shares WHERE tenant_id = $1 AND id = $2`, run.tenant, id), sqldb.ScanOne[int64])
	if err != nil {
		return err
	}
	if !there {
		return playground.NoShare(id)
	}
	if err := tx.Do(ctx, `DELETE FROM playground_shares WHERE tenant_id = $1 AND id = $2`, run.tenant, id); err != nil {
		return err
	}
	return grow(ctx, tx, run, growth{bytes: -bytes})
}

// expired is a share that has expired.
type expired struct {
	tenant  penstock.TenantID
	id, run penstock.ID
}

// PurgeShares implements playground.Shares.
func (s *Store) PurgeShares(ctx context.Context, limit int) (removed int, err error) {
	query := func(tx sqldb.Tx) ([]expired, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT tenant_id, id, run_id FROM playground_shares WHERE expires_at > 0 AND expires_at <= $1 ORDER BY tenant_id, run_id, id LIMIT $2`,
			sqldb.Micros(tx.Now()), limit), func(row sqldb.Row) (e expired, err error) { return e, row.Scan(&e.tenant, &e.id, &e.run) })
	}
	var found []expired
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found, err = query(tx)
		return err
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	err = s.db.Write(ctx, "purge_playground_shares", func(tx sqldb.Tx) error {
		removed = 0
		again, err := query(tx)
		if err != nil {
			return err
		}
		for _, e := range again {
			err := removeShare(ctx, tx, rowKey{e.tenant, e.run}, e.id)
			if penstock.ErrorCode(err) == penstock.CodeNotFound {
				continue // another process removed it
			}
			if err != nil {
				return err
			}
			removed++
		}
		return nil
	})
	return removed, err
}
