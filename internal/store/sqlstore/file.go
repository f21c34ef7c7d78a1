package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// fileBlobs finds which of the given blobs belong to files.
const fileBlobs = `SELECT blob FROM files WHERE blob = /*pg ANY */($1)`

const fileColumns = `id, tenant_id, key_name, purpose, name, bytes, blob, blob_bytes, index_at, lines, tokens, endpoint,
	error_count, created_at, expires_at, media_type, sha256`

// CreateFile implements store.Files.
func (s *Store) CreateFile(ctx context.Context, tenant penstock.TenantID, f store.File) (store.File, error) {
	f.Tenant, f.Name = tenant, sqldb.Storable(f.Name)
	err := s.write(ctx, "create_file", func(tx sqldb.Tx) error {
		f.CreatedAt = tx.Now().Truncate(time.Microsecond)
		if f.Life > 0 {
			f.ExpiresAt = f.CreatedAt.Add(f.Life)
		}
		if err := refuseStored(ctx, tx, tenant, storedMore{f.StoredLimit, f.Bytes}); err != nil {
			return err
		}
		return insertFile(ctx, tx, f)
	})
	if err != nil {
		return store.File{}, err
	}
	return f, nil
}

func insertFile(ctx context.Context, tx sqldb.Tx, f store.File) error {
	errors, err := json.Marshal(f.Errors)
	if err != nil {
		return fmt.Errorf("encoding line errors: %w", err)
	}
	prompts := ""
	if len(f.Prompts) > 0 {
		list, err := json.Marshal(f.Prompts)
		if err != nil {
			return fmt.Errorf("encoding the names of prompts: %w", err)
		}
		prompts = string(list)
	}
	n, err := tx.Exec(ctx, `INSERT INTO files (`+fileColumns+`, errors, prompts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) ON CONFLICT (id) DO NOTHING`,
		f.ID, f.Tenant, sqldb.Storable(f.Key), f.Purpose, sqldb.Storable(f.Name), f.Bytes, f.Blob, f.BlobBytes, f.IndexAt, f.Lines, f.Tokens,
		f.Endpoint, f.ErrorCount, sqldb.Micros(f.CreatedAt), sqldb.Micros(f.ExpiresAt), f.MediaType, f.SHA256, sqldb.Storable(string(errors)), prompts)
	if err == nil && n == 0 {
		err = penstock.Errorf(penstock.CodeConflict, "The id %s is taken.", penstock.ViewFile.Format(f.ID))
	}
	if err == nil {
		err = insertReferences(ctx, tx, f)
	}
	if err != nil {
		return err
	}
	return moveFile(ctx, tx, f, f.Bytes)
}

// moveFile counts a file that was added or removed.
func moveFile(ctx context.Context, tx sqldb.Tx, f store.File, bytes int64) error {
	sums := stored{}
	sums.File(f.Tenant, f.ID, bytes)
	return sums.Save(ctx, tx)
}

// neededFiles finds those of the given files that a job still reads, and those that lines name which a job still reads.
const neededFiles = `SELECT file_id FROM jobs WHERE split < total AND finished_at = 0 AND file_id = /*pg ANY */($1)
	UNION ALL SELECT r.named_id FROM file_references r JOIN jobs j ON j.file_id = r.file_id AND j.split < j.total AND j.finished_at = 0
		WHERE r.named_id = /*pg ANY */($1)`

// lockFile keeps jobs from beginning to read a file, and waits for those that are beginning.
func lockFile(ctx context.Context, tx sqldb.Tx, id penstock.ID) error {
	_, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM files WHERE id = $1 /*pg FOR UPDATE */`, id), sqldb.ScanOne[int64])
	return err
}

// inUse returns those of the given files that a job still reads.
func inUse(ctx context.Context, tx sqldb.Tx, ids []penstock.ID) (map[penstock.ID]bool, error) {
	used := map[penstock.ID]bool{}
	err := tx.QueryIn(ctx, sqldb.IDQuery{SQL: neededFiles, IDs: sqldb.Strings(ids)}, func(row sqldb.Row) error {
		var id penstock.ID
		err := row.Scan(&id)
		used[id] = true
		return err
	})
	return used, err
}

// File implements store.Files.
func (s *Store) File(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (f store.File, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		f, err = findFile(ctx, tx, tenant, id)
		return err
	})
	return f, err
}

// findFile returns a tenant's file, or not_found.
func findFile(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (store.File, error) {
	f, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+fileColumns+`, errors, prompts FROM files WHERE id = $1 AND tenant_id = $2`, id, tenant),
		func(row sqldb.Row) (store.File, error) {
			var errors, prompts string
			f, err := scanFile(row, &errors, &prompts)
			if err == nil {
				err = json.Unmarshal([]byte(errors), &f.Errors)
			}
			if err == nil && prompts != "" {
				err = json.Unmarshal([]byte(prompts), &f.Prompts)
			}
			return f, err
		})
	if err == nil && !ok {
		err = notFound(penstock.ViewFile, id)
	}
	return f, err
}

func scanFile(row sqldb.Row, more ...any) (f store.File, err error) {
	var created, expires int64
	err = row.Scan(append([]any{&f.ID, &f.Tenant, &f.Key, &f.Purpose, &f.Name, &f.Bytes, &f.Blob, &f.BlobBytes, &f.IndexAt, &f.Lines,
		&f.Tokens, &f.Endpoint, &f.ErrorCount, &created, &expires, &f.MediaType, &f.SHA256}, more...)...)
	f.CreatedAt, f.ExpiresAt = sqldb.FromMicros(created), sqldb.FromMicros(expires)
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
	q := sqldb.SQL(`SELECT `+fileColumns+` FROM files WHERE tenant_id = $1 AND id `+compare+` $2 ORDER BY id `+order+` LIMIT $3`, tenant, after, p.Limit)
	if p.Purpose != "" {
		q = sqldb.SQL(`SELECT `+fileColumns+` FROM files WHERE tenant_id = $1 AND id `+compare+` $2 AND purpose = $4 ORDER BY id `+order+` LIMIT $3`,
			tenant, after, p.Limit, string(p.Purpose))
	}
	err = s.read(ctx, func(tx sqldb.Tx) error {
		files, err = sqldb.QueryAll(ctx, tx, q, func(row sqldb.Row) (store.File, error) { return scanFile(row) })
		return err
	})
	return files, err
}

// DeleteFile implements store.Files.
func (s *Store) DeleteFile(ctx context.Context, tenant penstock.TenantID, d store.FileDeletion) error {
	var f store.File
	err := s.write(ctx, "delete_file", func(tx sqldb.Tx) (err error) {
		if f, err = findFile(ctx, tx, tenant, d.File); err != nil {
			return err
		}
		if err := lockFile(ctx, tx, f.ID); err != nil {
			return err
		}
		used, err := inUse(ctx, tx, []penstock.ID{f.ID})
		if err != nil {
			return err
		}
		if used[f.ID] {
			return penstock.Errorf(penstock.CodeConflict, "A job still needs %s, which it reads or which its lines name; cancel the job, or delete the file when it has read all lines.",
				penstock.ViewFile.Format(f.ID))
		}
		if err := deleteReferences(ctx, tx, f.ID); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `DELETE FROM files WHERE id = $1`, f.ID)
		if err == nil && n == 0 {
			err = notFound(penstock.ViewFile, f.ID)
		}
		if err == nil {
			err = moveFile(ctx, tx, f, -f.Bytes)
		}
		if err != nil {
			return err
		}
		return s.audit.Write(ctx, tx, audit.Entry{
			Tenant: tenant, Actor: d.Actor, Action: store.ActionDeleteFile, Subject: penstock.ViewFile.Format(f.ID),
			Before: map[string]any{"purpose": f.Purpose, "bytes": f.Bytes, "created_at": f.CreatedAt}, After: map[string]any{"deleted": true},
		})
	})
	if err == nil {
		s.discard(ctx, placed{Blob: f.Blob})
	}
	return err
}

// PurgeFiles implements store.Retention.
func (s *Store) PurgeFiles(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, err error) {
	const due = ` FROM files WHERE tenant_id = $1 AND (created_at <= $2 OR (expires_at > 0 AND expires_at <= $3))
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.split < j.total AND j.finished_at = 0 AND j.file_id = files.id)
		AND NOT EXISTS (SELECT 1 FROM file_references r JOIN jobs j ON j.file_id = r.file_id AND j.split < j.total AND j.finished_at = 0 WHERE r.named_id = files.id)`
	const refused = ` FROM batches WHERE errors <> '[]' AND tenant_id = $1 AND created_at <= $2`
	args := func(tx sqldb.Tx) []any {
		return []any{tenant, sqldb.Micros(tx.Now().Add(-p.Kept)), sqldb.Micros(tx.Now())}
	}
	var waiting bool
	err = s.read(ctx, func(tx sqldb.Tx) error {
		f, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+fileColumns+due+` ORDER BY created_at LIMIT 1`, args(tx)...),
			func(row sqldb.Row) (store.File, error) { return scanFile(row) })
		if waiting = found; found {
			end := f.CreatedAt.Add(p.Kept)
			if !f.ExpiresAt.IsZero() && f.ExpiresAt.Before(end) {
				end = f.ExpiresAt
			}
			done.Overdue = tx.Now().Sub(end)
		}
		if err != nil || waiting {
			return err
		}
		_, waiting, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1`+refused+` LIMIT 1`, args(tx)[:2]...), sqldb.ScanOne[int64])
		return err
	})
	if err != nil || !waiting {
		return done, err
	}
	var blobs []placed
	err = s.write(ctx, "purge_files", func(tx sqldb.Tx) error {
		blobs, done.More = nil, false
		if err := tx.Do(ctx, `DELETE`+refused, args(tx)[:2]...); err != nil {
			return err
		}
		// Lock the found files first and check them again: a job may just have begun to read one.
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id`+due+` ORDER BY created_at LIMIT $4 /*pg FOR UPDATE SKIP LOCKED */`, append(args(tx), p.Limit)...),
			func(row sqldb.Row) (id penstock.ID, err error) { return id, row.Scan(&id) })
		if err != nil {
			return err
		}
		used, err := inUse(ctx, tx, found)
		if err != nil {
			return err
		}
		sums := stored{}
		for _, id := range found {
			if used[id] {
				continue
			}
			gone, err := purgeFile(ctx, tx, store.File{ID: id, Tenant: tenant}, sums)
			if err != nil {
				return err
			}
			blobs = append(blobs, gone...)
		}
		done.Removed, done.More = len(blobs), len(found) == p.Limit && len(blobs) > 0
		return sums.Save(ctx, tx)
	})
	if err == nil {
		s.discard(ctx, blobs...)
	}
	return done, err
}

// purgeFile removes a file, and returns its blob.
func purgeFile(ctx context.Context, tx sqldb.Tx, f store.File, sums stored) ([]placed, error) {
	if err := deleteReferences(ctx, tx, f.ID); err != nil {
		return nil, err
	}
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`DELETE FROM files WHERE id = $1 RETURNING blob, bytes`, f.ID), func(row sqldb.Row) (b placed, err error) {
		var bytes int64
		err = row.Scan(&b.Blob, &bytes)
		sums.File(f.Tenant, f.ID, -bytes)
		return b, err
	})
}
