package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/store"
	"penstock/internal/store/promptrow"
	"penstock/internal/store/sqldb"
)

// TenantIDs implements store.Retention.
func (s *Store) TenantIDs(ctx context.Context, p store.TenantPage) (ids []penstock.TenantID, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		ids, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id FROM tenants WHERE id > $1 ORDER BY id LIMIT $2`, p.After, p.Limit),
			func(row sqldb.Row) (id penstock.TenantID, err error) { return id, row.Scan(&id) })
		return err
	})
	return ids, err
}

// PurgeRequests implements store.Retention. The id of a call has the time of its start, so no other index
// is needed to find old ones.
func (s *Store) PurgeRequests(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, err error) {
	old := aged{`SELECT id FROM requests WHERE tenant_id = $1 AND id < $2 ORDER BY id LIMIT $3`, tenant, p}
	due, err := s.overdue(ctx, old, &done)
	if err != nil || !due {
		return done, err
	}
	err = s.write(ctx, "purge_requests", func(tx sqldb.Tx) error {
		found, err := old.find(ctx, tx, p.Limit)
		if err != nil {
			return err
		}
		removed, err := removeRequests(ctx, tx, found)
		if err != nil {
			return err
		}
		done.Removed, done.More = removed.subjects, len(found) == p.Limit
		return forget(ctx, tx, forgotten{tenant, "request", removed})
	})
	return done, err
}

// aged finds objects of a tenant that are past their retention, where the id holds the time of the beginning.
type aged struct {
	sql    string // selects ids of $1 below $2, oldest first, at most $3
	tenant penstock.TenantID
	purge  store.Purge
}

func (a aged) find(ctx context.Context, tx sqldb.Tx, limit int) ([]penstock.ID, error) {
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(a.sql, a.tenant, penstock.FirstID(tx.Now().Add(-a.purge.Kept)), limit),
		func(row sqldb.Row) (id penstock.ID, err error) { return id, row.Scan(&id) })
}

// overdue reports without a write whether there is anything to remove, and how long ago the oldest should have been removed.
func (s *Store) overdue(ctx context.Context, a aged, done *store.Purged) (due bool, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		oldest, err := a.find(ctx, tx, 1)
		if due = len(oldest) > 0; due {
			done.Overdue = tx.Now().Sub(oldest[0].Time().Add(a.purge.Kept))
		}
		return err
	})
	return due, err
}

// removeRequests removes calls and their attempts. Of two processes that try, one does.
func removeRequests(ctx context.Context, tx sqldb.Tx, ids []penstock.ID) (sum tally, err error) {
	for _, id := range ids {
		if err := tx.Do(ctx, `DELETE FROM attempts WHERE subject_id = $1`, id); err != nil {
			return sum, err
		}
		if err := tx.Do(ctx, `DELETE FROM attached_files WHERE subject_id = $1`, id); err != nil {
			return sum, err
		}
		if err := tx.Do(ctx, `DELETE FROM truncations WHERE subject_id = $1`, id); err != nil {
			return sum, err
		}
	}
	if err := promptrow.RemoveCalls(ctx, tx, ids); err != nil {
		return sum, err
	}
	if err := removeRequestTags(ctx, tx, ids); err != nil {
		return sum, err
	}
	q := sqldb.IDQuery{SQL: `DELETE FROM requests WHERE id = /*pg ANY */($1) RETURNING cost_nano_usd`, IDs: sqldb.Strings(ids)}
	err = tx.QueryIn(ctx, q, func(row sqldb.Row) error {
		var cost penstock.NanoUSD
		err := row.Scan(&cost)
		sum.subjects, sum.cost = sum.subjects+1, sum.cost+cost
		return err
	})
	return sum, err
}

// removeRequestTags removes the rows by which calls are found by their tags. Nearly all calls have none.
func removeRequestTags(ctx context.Context, tx sqldb.Tx, ids []penstock.ID) error {
	var tagged []penstock.Request
	q := sqldb.IDQuery{SQL: `SELECT id, tenant_id, tags FROM requests WHERE id = /*pg ANY */($1) AND tags <> '{}'`, IDs: sqldb.Strings(ids)}
	err := tx.QueryIn(ctx, q, func(row sqldb.Row) error {
		var r penstock.Request
		var tags string
		if err := row.Scan(&r.ID, &r.Tenant, &tags); err != nil {
			return err
		}
		tagged = append(tagged, r)
		return json.Unmarshal([]byte(tags), &tagged[len(tagged)-1].Tags)
	})
	if err != nil {
		return err
	}
	for _, r := range tagged {
		for name, value := range r.Tags {
			err := tx.Do(ctx, `DELETE FROM request_tags WHERE tenant_id = $1 AND name = $2 AND value = $3 AND request_id = $4`,
				r.Tenant, sqldb.Storable(name), sqldb.Storable(value), r.ID)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// PurgeKeys implements store.Retention.
func (s *Store) PurgeKeys(ctx context.Context, limit int) (done store.Purged, err error) {
	var due bool
	err = s.read(ctx, func(tx sqldb.Tx) error {
		oldest, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT expires_at FROM idempotency_keys WHERE expires_at <= $1
			ORDER BY expires_at LIMIT 1`, sqldb.Micros(tx.Now())), func(row sqldb.Row) (at int64, err error) { return at, row.Scan(&at) })
		if due = found; found {
			done.Overdue = tx.Now().Sub(sqldb.FromMicros(oldest))
		}
		return err
	})
	if err != nil || !due {
		return done, err
	}
	err = s.write(ctx, "purge_keys", func(tx sqldb.Tx) error {
		// A submit may be taking an expired key anew while this waits for its row: the second look at
		// expires_at spares it.
		n, err := tx.Exec(ctx, `DELETE FROM idempotency_keys WHERE expires_at <= $1 AND (tenant_id, key) IN
			(SELECT tenant_id, key FROM idempotency_keys WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`, sqldb.Micros(tx.Now()), limit)
		done.Removed, done.More = int(n), int(n) == limit
		return err
	})
	return done, err
}

// PurgeBlobs implements store.Retention.
func (s *Store) PurgeBlobs(ctx context.Context, p store.BlobPage) (done store.PurgedBlobs, err error) {
	page, err := s.blobs.List(ctx, blob.Query{After: p.After, OlderThan: p.StoredBefore, Limit: p.Limit})
	if err != nil {
		return done, sqldb.PublicError(err)
	}
	orphans, err := s.orphans(ctx, page)
	if err != nil {
		return done, err
	}
	for _, name := range orphans {
		if err := s.blobs.Delete(ctx, name); err != nil {
			return done, sqldb.PublicError(fmt.Errorf("removing an orphaned blob: %w", err))
		}
		done.Removed++
	}
	if done.More = len(page) == p.Limit; done.More {
		done.Next = page[len(page)-1].Name
	}
	return done, nil
}

// orphans returns the names of blobs that no row has. A blob that is older than this database may belong
// to another one that shared the data directory: it is left alone.
func (s *Store) orphans(ctx context.Context, page []blob.Info) (names []string, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		names = nil
		born, err := birth(ctx, tx)
		if err != nil {
			return err
		}
		named := map[string]bool{}
		q := sqldb.IDQuery{SQL: `SELECT input_blob FROM items WHERE input_blob <> '' AND input_blob = /*pg ANY */($1)
			UNION ALL SELECT name FROM input_blobs WHERE name = /*pg ANY */($1)
			UNION ALL SELECT result_blob FROM items WHERE result_blob <> '' AND result_blob = /*pg ANY */($1)
			UNION ALL ` + fileBlobs, IDs: []string{}}
		for _, b := range page {
			q.IDs = append(q.IDs, b.Name)
		}
		err = tx.QueryIn(ctx, q, func(row sqldb.Row) error {
			var name string
			err := row.Scan(&name)
			named[name] = true
			return err
		})
		for _, b := range page {
			if !named[b.Name] && sqldb.Micros(b.StoredAt) > born {
				names = append(names, b.Name)
			}
		}
		return err
	})
	return names, err
}

const birthFact = "born"

// noteBirth records when the database was first opened.
func noteBirth(ctx context.Context, tx sqldb.Tx) error {
	return tx.Do(ctx, `INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
		birthFact, strconv.AppendInt(nil, sqldb.Micros(tx.Now()), 10))
}

func birth(ctx context.Context, tx sqldb.Tx) (int64, error) {
	text, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT value FROM facts WHERE name = $1`, birthFact),
		func(row sqldb.Row) (b []byte, err error) { return b, row.Scan(&b) })
	if err != nil {
		return 0, err
	}
	born, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading when the database was made: %w", err)
	}
	return born, nil
}
