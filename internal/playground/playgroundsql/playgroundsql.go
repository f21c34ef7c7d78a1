// Package playgroundsql stores the runs of the playground: it implements the stores of package playground over package sqldb.
//
// It owns the tables playground_runs, playground_inputs, playground_cells, playground_chunks, playground_marks and
// playground_shares, and their migrations. Setups, rendered bodies, outputs, comments and snapshots are sealed for their row. The
// bytes of a run count towards the tenant's quota with those of jobs. It reads the leases of processes.
//
// Order of locks: every change locks the row of the run first, runs in the order of their ids, and the sums of stored bytes last.
package playgroundsql

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/payload"
	"penstock/internal/playground"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "playground", Files: files} }

// Store is the storage of the playground. It is safe for concurrent use.
type Store struct {
	db    *sqldb.DB
	codec *payload.Codec
	audit audit.Writer
}

var (
	_ playground.Runs     = (*Store)(nil)
	_ playground.Cells    = (*Store)(nil)
	_ playground.Progress = (*Store)(nil)
	_ playground.Shares   = (*Store)(nil)
)

// New returns a store on a database whose schema is up to date.
func New(db *sqldb.DB, codec *payload.Codec) *Store { return &Store{db: db, codec: codec} }

// rowKey names a run.
type rowKey struct {
	tenant penstock.TenantID
	id     penstock.ID
}

// owner binds a sealed text to a part of a run.
func (k rowKey) owner(part string) payload.Owner {
	return payload.Owner{Tenant: string(k.tenant), ID: string(k.id), Part: part}
}

// The parts of a run.
const partSetup = "setup"

func partInput(at playground.CellPlace) string { return fmt.Sprintf("input %d %d", at.Column, at.Row) }

func partResult(n int, attempt int64) string { return fmt.Sprintf("result %d %d", n, attempt) }

func partChunk(n int, seq int64) string { return fmt.Sprintf("chunk %d %d", n, seq) }

func partMark(n int, author string) string { return fmt.Sprintf("mark %d %s", n, author) }

func partSnapshot(id penstock.ID) string { return "snapshot " + string(id) }

func (s *Store) seal(o payload.Owner, plain []byte) ([]byte, error) {
	sealed, err := s.codec.Seal(o, plain)
	return sealed, sqldb.PublicError(err)
}

func (s *Store) sealJSON(o payload.Owner, v any) (sealed []byte, size int64, err error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, 0, penstock.Internal(fmt.Errorf("encoding a part of a run: %w", err))
	}
	sealed, err = s.seal(o, plain)
	return sealed, int64(len(plain)), err
}

func (s *Store) open(o payload.Owner, sealed []byte) ([]byte, error) {
	plain, err := s.codec.Open(o, sealed)
	if err != nil {
		return nil, sqldb.PublicError(fmt.Errorf("opening a stored run: %w", err))
	}
	return plain, nil
}

func (s *Store) openJSON(o payload.Owner, sealed []byte, into any) error {
	plain, err := s.open(o, sealed)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return sqldb.PublicError(fmt.Errorf("decoding a stored run: %w", err))
	}
	return nil
}

// growth is how many bytes are to be stored, with the quota.
type growth struct{ limit, bytes int64 }

// grow changes the bytes of a run and of its tenant. Codes: quota_exceeded.
func grow(ctx context.Context, tx sqldb.Tx, k rowKey, by growth) error {
	if by.bytes == 0 {
		return nil
	}
	if by.limit > 0 && by.bytes > 0 {
		var sum store.Stored
		if err := tx.Ask(ctx, storedrow.Ask(k.tenant, &sum)); err != nil {
			return err
		}
		if err := sum.Refusal(k.tenant, by.limit, by.bytes); err != nil {
			return err
		}
	}
	if err := tx.Do(ctx, `UPDATE playground_runs SET bytes = bytes + $3 WHERE tenant_id = $1 AND id = $2`, k.tenant, k.id, by.bytes); err != nil {
		return err
	}
	changes := storedrow.Changes{}
	changes.Job(k.tenant, k.id, by.bytes)
	return changes.Save(ctx, tx)
}

// note writes the audit entry of a change.
func (s *Store) note(ctx context.Context, tx sqldb.Tx, by penstock.Author, e audit.Entry) error {
	e.Actor = by.Audit
	return s.audit.Write(ctx, tx, e)
}

// name shortens the name of an actor to what a column takes.
func name(a penstock.Author) string {
	return sqldb.Storable(a.Name[:min(len(a.Name), playground.MaxActorNameBytes)])
}
