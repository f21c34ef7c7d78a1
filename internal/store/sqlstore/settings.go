package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/store"
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

// Depths implements store.Settings. It adds up the counters of open jobs instead of counting items.
func (s *Store) Depths(ctx context.Context) (depths []store.Depth, err error) {
	err = s.read(ctx, func(tx Tx) error {
		depths = nil
		for _, status := range []penstock.Status{penstock.StatusQueued, penstock.StatusRunning} {
			rows, err := queryAll(ctx, tx, sqlf(fmt.Sprintf(`SELECT lane, SUM(%[1]s) /*pg ::bigint */, MIN(created_at) FROM jobs
				WHERE %[1]s > 0 GROUP BY lane ORDER BY lane`, status)), scanDepth(tx, status))
			if err != nil {
				return err
			}
			depths = append(depths, rows...)
		}
		return nil
	})
	return depths, err
}

func scanDepth(tx Tx, status penstock.Status) func(Row) (store.Depth, error) {
	return func(row Row) (store.Depth, error) {
		d := store.Depth{Status: status}
		var oldest int64
		err := row.Scan(&d.Lane, &d.Items, &oldest)
		d.Oldest = tx.Now().Sub(fromMicros(oldest))
		return d, err
	}
}
