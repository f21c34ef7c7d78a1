package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

// fileBlobs finds which of the given blobs belong to files.
const fileBlobs = `SELECT blob FROM files WHERE blob = /*pg ANY */($1)`

const fileColumns = `id, tenant_id, key_name, purpose, name, bytes, blob, blob_bytes, index_at, lines, tokens, endpoint,
	error_count, created_at, expires_at`

// CreateFile implements store.Files.
func (s *Store) CreateFile(ctx context.Context, tenant penstock.TenantID, f store.File) (store.File, error) {
	errors, err := json.Marshal(f.Errors)
	if err != nil {
		return store.File{}, hide(fmt.Errorf("encoding line errors: %w", err))
	}
	f.Tenant, f.Name = tenant, storable(f.Name)
	err = s.write(ctx, "create_file", func(tx Tx) error {
		f.CreatedAt = tx.Now().Truncate(time.Microsecond)
		n, err := tx.Exec(ctx, `INSERT INTO files (`+fileColumns+`, errors)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (id) DO NOTHING`,
			f.ID, f.Tenant, storable(f.Key), f.Purpose, f.Name, f.Bytes, f.Blob, f.BlobBytes, f.IndexAt, f.Lines, f.Tokens,
			f.Endpoint, f.ErrorCount, micros(f.CreatedAt), micros(f.ExpiresAt), storable(string(errors)))
		if err == nil && n == 0 {
			err = penstock.Errorf(penstock.CodeConflict, "The id %s is taken.", penstock.ViewFile.Format(f.ID))
		}
		return err
	})
	if err != nil {
		return store.File{}, err
	}
	return f, nil
}

// File implements store.Files.
func (s *Store) File(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (f store.File, err error) {
	err = s.read(ctx, func(tx Tx) error {
		f, err = findFile(ctx, tx, tenant, id)
		return err
	})
	return f, err
}

// findFile returns a tenant's file, or not_found.
func findFile(ctx context.Context, tx Tx, tenant penstock.TenantID, id penstock.ID) (store.File, error) {
	f, ok, err := queryOne(ctx, tx, sqlf(`SELECT `+fileColumns+`, errors FROM files WHERE id = $1 AND tenant_id = $2`, id, tenant),
		func(row Row) (store.File, error) {
			var errors string
			f, err := scanFile(row, &errors)
			if err == nil {
				err = json.Unmarshal([]byte(errors), &f.Errors)
			}
			return f, err
		})
	if err == nil && !ok {
		err = notFound(penstock.ViewFile, id)
	}
	return f, err
}

func scanFile(row Row, more ...any) (f store.File, err error) {
	var created, expires int64
	err = row.Scan(append([]any{&f.ID, &f.Tenant, &f.Key, &f.Purpose, &f.Name, &f.Bytes, &f.Blob, &f.BlobBytes, &f.IndexAt, &f.Lines,
		&f.Tokens, &f.Endpoint, &f.ErrorCount, &created, &expires}, more...)...)
	f.CreatedAt, f.ExpiresAt = fromMicros(created), fromMicros(expires)
	return f, err
}

// ListFiles implements store.Files.
func (s *Store) ListFiles(ctx context.Context, tenant penstock.TenantID, p store.FilePage) (files []store.File, err error) {
	compare, order, after := "<", "DESC", p.After
	if p.Direction == store.Ascending {
		compare, order = ">", "ASC"
	} else if after == "" {
		after = "~" // behind every id
	}
	q := sqlf(`SELECT `+fileColumns+` FROM files WHERE tenant_id = $1 AND id `+compare+` $2 AND ($3 = '' OR purpose = $3)
		ORDER BY id `+order+` LIMIT $4`, tenant, after, string(p.Purpose), p.Limit)
	err = s.read(ctx, func(tx Tx) error {
		files, err = queryAll(ctx, tx, q, func(row Row) (store.File, error) { return scanFile(row) })
		return err
	})
	return files, err
}

// DeleteFile implements store.Files.
func (s *Store) DeleteFile(ctx context.Context, tenant penstock.TenantID, d store.FileDeletion) error {
	var f store.File
	err := s.write(ctx, "delete_file", func(tx Tx) (err error) {
		if f, err = findFile(ctx, tx, tenant, d.File); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `DELETE FROM files WHERE id = $1`, f.ID)
		if err == nil && n == 0 {
			err = notFound(penstock.ViewFile, f.ID)
		}
		if err != nil {
			return err
		}
		return s.note(ctx, tx, noted{
			tenant: tenant, actor: d.Actor, action: store.ActionDeleteFile, subject: penstock.ViewFile.Format(f.ID),
			before: map[string]any{"purpose": f.Purpose, "bytes": f.Bytes, "created_at": f.CreatedAt}, after: map[string]any{"deleted": true},
		})
	})
	if err == nil {
		s.discard(ctx, placed{blob: f.Blob})
	}
	return err
}

// PurgeFiles implements store.Retention.
func (s *Store) PurgeFiles(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, err error) {
	const due = ` FROM files WHERE tenant_id = $1 AND (created_at <= $2 OR (expires_at > 0 AND expires_at <= $3))`
	args := func(tx Tx) []any { return []any{tenant, micros(tx.Now().Add(-p.Kept)), micros(tx.Now())} }
	var waiting bool
	err = s.read(ctx, func(tx Tx) error {
		f, found, err := queryOne(ctx, tx, sqlf(`SELECT `+fileColumns+due+` ORDER BY created_at LIMIT 1`, args(tx)...),
			func(row Row) (store.File, error) { return scanFile(row) })
		if waiting = found; found {
			end := f.CreatedAt.Add(p.Kept)
			if !f.ExpiresAt.IsZero() && f.ExpiresAt.Before(end) {
				end = f.ExpiresAt
			}
			done.Overdue = tx.Now().Sub(end)
		}
		return err
	})
	if err != nil || !waiting {
		return done, err
	}
	var blobs []placed
	err = s.write(ctx, "purge_files", func(tx Tx) error {
		blobs, err = queryAll(ctx, tx, sqlf(`DELETE FROM files WHERE id IN (SELECT id`+due+` ORDER BY created_at LIMIT $4) RETURNING blob`,
			append(args(tx), p.Limit)...), func(row Row) (b placed, err error) { return b, row.Scan(&b.blob) })
		done.Removed, done.More = len(blobs), len(blobs) == p.Limit
		return err
	})
	if err == nil {
		s.discard(ctx, blobs...)
	}
	return done, err
}
