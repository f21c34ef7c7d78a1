package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

var addReference = sqldb.InsertInto("file_references", "file_id text, named_id text", "ON CONFLICT (file_id, named_id) DO NOTHING")

// insertReferences writes which files the lines of a batch file name.
func insertReferences(ctx context.Context, tx sqldb.Tx, f store.File) error {
	for _, named := range f.References {
		if err := tx.Put(ctx, addReference, string(f.ID), string(named)); err != nil {
			return err
		}
	}
	return nil
}

// deleteReferences removes the rows that insertReferences wrote.
func deleteReferences(ctx context.Context, tx sqldb.Tx, file penstock.ID) error {
	return tx.Do(ctx, `DELETE FROM file_references WHERE file_id = $1`, file)
}

// holdReferences keeps the files that the lines of a job name from being removed before the job is committed; from then on the
// job itself holds them. Codes: not_found.
func holdReferences(ctx context.Context, tx sqldb.Tx, j penstock.Job) error {
	const usable = `f.tenant_id = $2 AND f.purpose IN ('user_data', 'vision') AND (f.expires_at = 0 OR f.expires_at > $3)`
	now := sqldb.Micros(tx.Now())
	_, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT f.id FROM files f WHERE f.id IN (SELECT named_id FROM file_references WHERE file_id = $1) AND `+usable+`
		ORDER BY f.id /*pg FOR SHARE */`, j.File, j.Tenant, now), sqldb.ScanOne[penstock.ID])
	if err != nil {
		return err
	}
	missing, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT named_id FROM file_references r WHERE r.file_id = $1
		AND NOT EXISTS (SELECT 1 FROM files f WHERE f.id = r.named_id AND `+usable+`) ORDER BY named_id LIMIT 1`, j.File, j.Tenant, now), sqldb.ScanOne[penstock.ID])
	if err == nil && found {
		err = penstock.Errorf(penstock.CodeNotFound, "A line of %s names %s: there is no such file with the purpose user_data or vision.",
			penstock.ViewFile.Format(j.File), penstock.ViewFile.Format(missing))
	}
	return err
}
