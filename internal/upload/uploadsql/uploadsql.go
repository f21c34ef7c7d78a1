// Package uploadsql stores uploads and their parts: it implements the stores of package upload over package sqldb.
//
// It owns the tables uploads and upload_parts, and their migrations. The bytes of parts count towards the tenant's quota with those of
// files. The blobs of parts need no protection from the sweep of blobs: that spares every blob for longer than an upload lives.
package uploadsql

import (
	"context"
	"embed"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
	"penstock/internal/upload"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "upload", Files: files} }

// Store is the storage of uploads. It is safe for concurrent use.
type Store struct{ db *sqldb.DB }

var (
	_ upload.Uploads = (*Store)(nil)
	_ upload.Parts   = (*Store)(nil)
)

// New returns a store on a database whose schema is up to date.
func New(db *sqldb.DB) *Store { return &Store{db} }

const columns = `id, tenant_id, key_name, file_id, name, purpose, bytes, file_life, status, chosen, parts, part_bytes, created_at, expires_at`

// scanUpload reads an upload. One that is pending after its time is expired, whether the sweep has seen it or not.
func scanUpload(now time.Time) func(sqldb.Row) (upload.Upload, error) {
	return func(row sqldb.Row) (u upload.Upload, err error) {
		var life, created, expires int64
		err = row.Scan(&u.ID, &u.Tenant, &u.Key, &u.File, &u.Name, &u.Purpose, &u.Bytes, &life, &u.Status, &u.Chosen, &u.Parts, &u.PartBytes, &created, &expires)
		u.Chosen = strings.TrimSuffix(u.Chosen, shared)
		u.FileLife, u.CreatedAt, u.ExpiresAt = time.Duration(life)*time.Microsecond, sqldb.FromMicros(created), sqldb.FromMicros(expires)
		if u.Status == upload.Pending && !now.Before(u.ExpiresAt) {
			u.Status = upload.Expired
		}
		return u, err
	}
}

// CreateUpload implements upload.Uploads.
func (s *Store) CreateUpload(ctx context.Context, u upload.Upload) (upload.Upload, error) {
	u.Name = sqldb.Storable(u.Name)
	err := s.db.Write(ctx, "create_upload", func(tx sqldb.Tx) error {
		u.CreatedAt = tx.Now().Truncate(time.Microsecond)
		u.ExpiresAt = u.CreatedAt.Add(upload.Life)
		n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM uploads WHERE tenant_id = $1 AND expires_at > $2 AND status = 'pending'`,
			u.Tenant, sqldb.Micros(tx.Now())), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if n >= upload.MaxPending {
			return penstock.Errorf(penstock.CodeRateLimited, "Tenant %s has %d pending uploads, which is the maximum; complete or cancel one, or wait until one expires.", u.Tenant, n)
		}
		return tx.Do(ctx, `INSERT INTO uploads (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', 0, 0, $10, $11)`, u.ID, u.Tenant, sqldb.Storable(u.Key), u.File, u.Name,
			u.Purpose, u.Bytes, u.FileLife.Microseconds(), u.Status, sqldb.Micros(u.CreatedAt), sqldb.Micros(u.ExpiresAt))
	})
	return u, err
}

// Upload implements upload.Uploads.
func (s *Store) Upload(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (u upload.Upload, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		u, err = find(ctx, tx, tenant, id)
		return err
	})
	return u, err
}

func find(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (upload.Upload, error) {
	return found(id)(sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+columns+` FROM uploads WHERE id = $1 AND tenant_id = $2`, id, tenant), scanUpload(tx.Now())))
}

// findPending returns a pending upload, and keeps other transactions from changing it. Codes: not_found, conflict.
func findPending(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (upload.Upload, error) {
	u, err := findLocked(ctx, tx, tenant, id)
	if err == nil && u.Status != upload.Pending {
		err = upload.Ended(u)
	}
	return u, err
}

// findLocked returns an upload, and keeps other transactions from changing it. Codes: not_found.
func findLocked(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (upload.Upload, error) {
	return found(id)(sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+columns+` FROM uploads WHERE id = $1 AND tenant_id = $2 /*pg FOR UPDATE */`, id, tenant), scanUpload(tx.Now())))
}

// found makes an error of an upload that is not there.
func found(id penstock.ID) func(upload.Upload, bool, error) (upload.Upload, error) {
	return func(u upload.Upload, there bool, err error) (upload.Upload, error) {
		if err == nil && !there {
			err = penstock.NotFound(upload.View, id)
		}
		return u, err
	}
}

// EndUpload implements upload.Uploads.
func (s *Store) EndUpload(ctx context.Context, tenant penstock.TenantID, id penstock.ID, as upload.Status) (u upload.Upload, parts []upload.Part, err error) {
	err = s.db.Write(ctx, "end_upload", func(tx sqldb.Tx) error {
		if u, err = findLocked(ctx, tx, tenant, id); err != nil {
			return err
		}
		late := u.Status == upload.Expired && as == upload.Completed // an expired upload is pending in its row
		if u.Status != upload.Pending && !late {
			return upload.Ended(u)
		}
		sums := storedrow.Changes{}
		if parts, err = removeParts(ctx, tx, u, sums); err != nil {
			return err
		}
		u.Status = as
		if err := tx.Do(ctx, `UPDATE uploads SET status = $2 WHERE id = $1`, id, as); err != nil {
			return err
		}
		return sums.Save(ctx, tx)
	})
	if err != nil {
		return u, nil, err
	}
	return u, parts, nil
}

// PurgeUploads implements upload.Uploads.
func (s *Store) PurgeUploads(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, parts []upload.Part, err error) {
	// An upload has up to MaxParts parts, so a step ends few of them.
	limit := max(1, p.Limit/20)
	const due = ` FROM uploads WHERE tenant_id = $1 AND (expires_at <= $2 OR (expires_at <= $3 AND parts > 0 AND status = 'pending'))`
	args := func(tx sqldb.Tx) []any {
		return []any{tenant, sqldb.Micros(tx.Now().Add(-p.Kept)), sqldb.Micros(tx.Now())}
	}
	var waiting bool
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		_, waiting, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1`+due+` LIMIT 1`, args(tx)...), sqldb.ScanOne[int64])
		return err
	})
	if err != nil || !waiting {
		return done, nil, err
	}
	err = s.db.Write(ctx, "purge_uploads", func(tx sqldb.Tx) error {
		parts, done = nil, store.Purged{}
		found, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+columns+due+` ORDER BY expires_at, id LIMIT $4 /*pg FOR UPDATE SKIP LOCKED */`, append(args(tx), limit)...), scanUpload(tx.Now()))
		if err != nil {
			return err
		}
		sums := storedrow.Changes{}
		for _, u := range found {
			gone, err := removeParts(ctx, tx, u, sums)
			if err == nil && !u.ExpiresAt.After(tx.Now().Add(-p.Kept)) {
				err = tx.Do(ctx, `DELETE FROM uploads WHERE id = $1`, u.ID)
			}
			if err != nil {
				return err
			}
			parts = append(parts, gone...)
		}
		done.Removed, done.More = len(found), len(found) == limit
		return sums.Save(ctx, tx)
	})
	if err != nil {
		return store.Purged{}, nil, err
	}
	return done, parts, nil
}
