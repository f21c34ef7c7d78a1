package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
)

// SaveSnapshot implements store.Settings.
func (s *Store) SaveSnapshot(ctx context.Context, hash string, body []byte) error {
	return s.write(ctx, "snapshot", func(tx Tx) error {
		return tx.Do(ctx, `INSERT INTO config_snapshots (hash, body, created_at) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING`,
			hash, string(body), micros(tx.Now()))
	})
}

// SaveTenants implements store.Settings.
func (s *Store) SaveTenants(ctx context.Context, tenants []penstock.Tenant) error {
	return s.write(ctx, "tenants", func(tx Tx) error {
		for _, t := range tenants {
			settings, err := json.Marshal(map[string]any{"lanes": t.Lanes})
			if err != nil {
				return fmt.Errorf("encoding settings of tenant %s: %w", t.ID, err)
			}
			err = tx.Do(ctx, `INSERT INTO tenants (id, source, weight, settings, created_at, updated_at)
				VALUES ($1, 'file', $2, $3, $4, $4)
				ON CONFLICT (id) DO UPDATE SET source = excluded.source, weight = excluded.weight,
					settings = excluded.settings, updated_at = excluded.updated_at`,
				t.ID, t.Weight, string(settings), micros(tx.Now()))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
