package uploadsql

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
	"penstock/internal/upload"
)

const partColumns = `id, upload_id, tenant_id, bytes, blob, blob_bytes, index_at, created_at`

func scanPart(row sqldb.Row) (p upload.Part, err error) {
	var created int64
	c := &p.Content
	err = row.Scan(&c.ID, &p.Upload, &c.Tenant, &c.Bytes, &c.Blob, &c.BlobBytes, &c.IndexAt, &created)
	p.CreatedAt = sqldb.FromMicros(created)
	return p, err
}

// AddPart implements upload.Parts.
func (s *Store) AddPart(ctx context.Context, tenant penstock.TenantID, p upload.Part) (upload.Part, error) {
	p.Content.Tenant = tenant
	err := s.db.Write(ctx, "add_part", func(tx sqldb.Tx) error {
		u, err := findPending(ctx, tx, tenant, p.Upload)
		if err != nil {
			return err
		}
		if u.Parts >= upload.MaxParts {
			return penstock.Errorf(penstock.CodeTooLarge, "%s has %d parts, the maximum; create a new upload with larger parts.", upload.View.Format(u.ID), u.Parts)
		}
		c := p.Content
		if u.PartBytes+c.Bytes > u.MaxBytes() {
			return penstock.Errorf(penstock.CodeTooLarge, "The parts of %s would have %d bytes; an upload with bytes %d takes at most %d. Complete it with the parts that it has, or create a new upload.", upload.View.Format(u.ID), u.PartBytes+c.Bytes, u.Bytes, u.MaxBytes())
		}
		if p.StoredLimit > 0 {
			var sum store.Stored
			if err := tx.Ask(ctx, storedrow.Ask(tenant, &sum)); err != nil {
				return err
			}
			if err := sum.Refusal(tenant, p.StoredLimit, c.Bytes); err != nil {
				return err
			}
		}
		p.CreatedAt = tx.Now().Truncate(time.Microsecond)
		err = tx.Do(ctx, `INSERT INTO upload_parts (`+partColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			c.ID, u.ID, tenant, c.Bytes, c.Blob, c.BlobBytes, c.IndexAt, sqldb.Micros(p.CreatedAt))
		if err != nil {
			return err
		}
		if err := tx.Do(ctx, `UPDATE uploads SET parts = parts + 1, part_bytes = part_bytes + $2 WHERE id = $1`, u.ID, c.Bytes); err != nil {
			return err
		}
		sums := storedrow.Changes{}
		sums.File(tenant, u.ID, c.Bytes)
		return sums.Save(ctx, tx)
	})
	return p, err
}

// Parts implements upload.Parts.
func (s *Store) Parts(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (parts []upload.Part, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		parts, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+partColumns+` FROM upload_parts WHERE upload_id = $1 AND tenant_id = $2 ORDER BY id`, id, tenant), scanPart)
		return err
	})
	return parts, err
}

// shared marks a choice that several completions made.
const shared = "+"

// Choose implements upload.Parts.
func (s *Store) Choose(ctx context.Context, tenant penstock.TenantID, id penstock.ID, choice string) error {
	return s.db.Write(ctx, "choose_parts", func(tx sqldb.Tx) error {
		u, err := findPending(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		switch u.Chosen {
		case "":
			return tx.Do(ctx, `UPDATE uploads SET chosen = $2 WHERE id = $1`, id, choice)
		case choice:
			return tx.Do(ctx, `UPDATE uploads SET chosen = $2 WHERE id = $1`, id, choice+shared)
		}
		return penstock.Errorf(penstock.CodeConflict, "A call with other parts has begun to complete %s; repeat that call, or create a new upload.", upload.View.Format(id))
	})
}

// Release implements upload.Parts.
func (s *Store) Release(ctx context.Context, tenant penstock.TenantID, id penstock.ID, choice string) error {
	return s.db.Write(ctx, "release_parts", func(tx sqldb.Tx) error {
		return tx.Do(ctx, `UPDATE uploads SET chosen = '' WHERE id = $1 AND tenant_id = $2 AND status = 'pending' AND chosen = $3`, id, tenant, choice)
	})
}

// removeParts removes the parts of an upload, and subtracts their bytes from the tenant's.
func removeParts(ctx context.Context, tx sqldb.Tx, u upload.Upload, sums storedrow.Changes) ([]upload.Part, error) {
	parts, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`DELETE FROM upload_parts WHERE upload_id = $1 RETURNING `+partColumns, u.ID), scanPart)
	for _, p := range parts {
		sums.File(u.Tenant, u.ID, -p.Content.Bytes)
	}
	if err == nil && u.Parts > 0 {
		err = tx.Do(ctx, `UPDATE uploads SET parts = 0, part_bytes = 0 WHERE id = $1`, u.ID)
	}
	return parts, err
}
