package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// SaveSnapshot implements store.Settings.
func (s *Store) SaveSnapshot(ctx context.Context, hash string, body []byte) error {
	return s.write(ctx, "snapshot", func(tx sqldb.Tx) error {
		return tx.Do(ctx, `INSERT INTO config_snapshots (hash, body, created_at) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING`,
			hash, string(body), sqldb.Micros(tx.Now()))
	})
}

// NoteReload implements store.Settings.
func (s *Store) NoteReload(ctx context.Context, r store.Reload) error {
	return s.write(ctx, "reload", func(tx sqldb.Tx) error {
		return s.audit.Write(ctx, tx, audit.Entry{
			Tenant: store.AuditOfOperators, Actor: r.Actor, Action: store.ActionReload, Subject: "config",
			Before: map[string]any{"config": r.Before}, After: map[string]any{"config": r.After, "changes": r.Changes},
		})
	})
}

// SaveTenants implements store.Settings. It writes only tenants that changed, so that the start of a process is no change
// of the directory.
func (s *Store) SaveTenants(ctx context.Context, tenants []penstock.Tenant) error {
	if len(tenants) == 0 {
		return nil
	}
	return s.write(ctx, "tenants", func(tx sqldb.Tx) error {
		version, err := nextVersion(ctx, tx)
		if err != nil {
			return err
		}
		for _, t := range tenants {
			settings, err := encodeSettings(t)
			if err != nil {
				return err
			}
			err = tx.Do(ctx, `INSERT INTO tenants (`+tenantColumns+`) VALUES ($1, 'file', $2, $3, $4, 1, $5, $6, $6)
				ON CONFLICT (id) DO UPDATE SET source = excluded.source, weight = excluded.weight, settings = excluded.settings,
					tier = excluded.tier, enabled = 1, version = excluded.version, updated_at = excluded.updated_at
				WHERE tenants.source <> 'file' OR tenants.enabled <> 1 OR tenants.weight <> excluded.weight
					OR tenants.settings <> excluded.settings OR tenants.tier <> excluded.tier`,
				t.ID, t.Weight, settings, t.Tier, version, sqldb.Micros(tx.Now()))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
