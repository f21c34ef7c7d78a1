// Package sqlstore implements the store contract in SQL that two engines share: SQLite on one
// machine, PostgreSQL for many processes.
//
// It owns the schema, the transactions and the order of locks. It does not own connections, commits
// or dialects: those are package sqldb's. Payloads are sealed before a transaction begins and opened
// after it ended, so that no lock is held while bytes are compressed or encrypted; those too large
// for a row are blobs, made durable before the transaction that names them.
//
// # Order of locks
//
// Finish, rescue, expire and cancel lock job rows first, by ascending id, and then their items. A
// claim locks in the other order, queued items and then their jobs. That is safe because every transaction locks
// queued items with SKIP LOCKED: none waits for the locks of a claim. The shares of tenants come before items in a
// claim and after jobs elsewhere; share.go says why that is safe. The one exception is a stale finish of an item
// that is being claimed again: the engine detects the deadlock and runs one of the two transactions again. A retry
// locks the job that it retries before its dead letters.
package sqlstore

import (
	"context"
	"embed"
	"fmt"
	"sync"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/blob"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/jobsegment"
	"penstock/internal/store/sqldb"
)

// Store is the store contract over an engine. It is safe for concurrent use.
type Store struct {
	db     *sqldb.DB
	codec  *payload.Codec
	blobs  blob.Store
	ids    penstock.IDs
	audit  audit.Writer
	recent itemstore.Recent
	rows   sync.Pool // of *[]byte: memory for the sealed results of a group

	submits submitQueue

	segmentJobs int // jobs of a new segment
}

var (
	_ store.Store        = (*Store)(nil)
	_ store.JobSummaries = (*Store)(nil)
	_ store.Segments     = (*Store)(nil)
	_ store.ItemSearches = (*Store)(nil)
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "queue", Files: files} }

// New returns a store on a database whose schema is up to date. It refuses a keyset that cannot open the database's
// payloads.
func New(ctx context.Context, db *sqldb.DB, codec *payload.Codec, blobs blob.Store) (*Store, error) {
	s := &Store{db: db, codec: codec, blobs: blobs, segmentJobs: jobsegment.Size}
	return s, s.checkKeyset(ctx)
}

// checkKeyset refuses a keyset that cannot open this database's payloads: a process with the wrong one
// would fail all queued work. The first process leaves a sealed word behind; the others must read it.
func (s *Store) checkKeyset(ctx context.Context) error {
	const name, word = "keyset", "penstock"
	witness := payload.Owner{Tenant: "-", ID: name, Part: "check"}
	sealed, err := s.codec.Seal(witness, []byte(word))
	if err != nil {
		return fmt.Errorf("sealing with the keyset: %w", err)
	}
	var kept []byte
	err = s.db.Write(ctx, "keyset", func(tx sqldb.Tx) error {
		if err := tx.Do(ctx, `INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, sealed); err != nil {
			return err
		}
		if err := noteBirth(ctx, tx); err != nil {
			return err
		}
		kept, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT value FROM facts WHERE name = $1`, name),
			func(row sqldb.Row) (b []byte, err error) { return b, row.Scan(&b) })
		return err
	})
	if err != nil {
		return err
	}
	if plain, err := s.codec.Open(witness, kept); err != nil || string(plain) != word {
		return fmt.Errorf("this keyset does not open the payloads of this database; restore the keyset.json that belongs to it: %w", err)
	}
	return nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Check proves that the database and the blobs can write and read.
func (s *Store) Check(ctx context.Context) error {
	// A lease that expired long ago is a row that every process may write and no process uses.
	err := s.db.Write(ctx, "check", func(tx sqldb.Tx) error {
		return tx.Do(ctx, `INSERT INTO leases (process_id, epoch, expires_at, started_at) VALUES ('check', 0, 0, $1)
			ON CONFLICT (process_id) DO UPDATE SET started_at = excluded.started_at`, sqldb.Micros(tx.Now()))
	})
	if err != nil {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "the database cannot be written and read.", Err: err}
	}
	if err := s.blobs.Check(ctx); err != nil {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "the blobs cannot be written and read.", Err: err}
	}
	return nil
}

func (s *Store) write(ctx context.Context, name string, fn func(sqldb.Tx) error) error {
	return s.db.Write(ctx, name, fn)
}

func (s *Store) read(ctx context.Context, fn func(sqldb.Tx) error) error { return s.db.Read(ctx, fn) }
