// Package sqlstore implements the store contract in SQL that two engines share: SQLite on one
// machine, PostgreSQL for many processes.
//
// It owns the schema, the transactions and the order of locks. It does not own connections, commits
// or dialects: those are the [Engine]'s. Payloads are sealed before a transaction begins and opened
// after it ended, so that no lock is held while bytes are compressed or encrypted; those too large
// for a row are blobs, made durable before the transaction that names them.
//
// # Order of locks
//
// Finish, rescue, expire and cancel lock job rows first, by ascending id, and then their items. A
// claim goes the other way, from queued items to their jobs, which is safe because everyone locks
// queued items with SKIP LOCKED: nobody waits for what a claim holds. The shares of tenants come before
// items in a claim and after jobs elsewhere; share.go says why that is safe. The one exception is a stale
// finish of an item that is just being claimed again; the engine breaks that tie and runs one of them
// anew. A retry locks the job that it is of before the dead letters that it takes.
package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/crash"
	"penstock/internal/payload"
	"penstock/internal/store"
)

// Store is the store contract over an engine. It is safe for concurrent use.
type Store struct {
	engine Engine
	codec  *payload.Codec
	blobs  blob.Store
	ids    penstock.IDs
	recent recent

	submits submitQueue
}

var _ store.Store = (*Store)(nil)

// New returns a store whose schema is up to date.
func New(ctx context.Context, engine Engine, codec *payload.Codec, blobs blob.Store) (*Store, error) {
	steps, err := Migrations()
	if err != nil {
		return nil, err
	}
	if err := engine.Migrate(ctx, steps); err != nil {
		return nil, err
	}
	s := &Store{engine: engine, codec: codec, blobs: blobs}
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
	err = s.engine.Write(ctx, func(tx Tx) error {
		if err := tx.Do(ctx, `INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, sealed); err != nil {
			return err
		}
		if err := noteBirth(ctx, tx); err != nil {
			return err
		}
		kept, _, err = queryOne(ctx, tx, sqlf(`SELECT value FROM facts WHERE name = $1`, name),
			func(row Row) (b []byte, err error) { return b, row.Scan(&b) })
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

// Close closes the engine.
func (s *Store) Close() error { return s.engine.Close() }

// Check proves that the database and the blobs can write and read.
func (s *Store) Check(ctx context.Context) error {
	// A lease that expired long ago is a row that every process may write and nobody heeds.
	err := s.engine.Write(ctx, func(tx Tx) error {
		return tx.Do(ctx, `INSERT INTO leases (process_id, epoch, expires_at, started_at) VALUES ('check', 0, 0, $1)
			ON CONFLICT (process_id) DO UPDATE SET started_at = excluded.started_at`, micros(tx.Now()))
	})
	if err != nil {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "the database cannot be written and read.", Err: err}
	}
	if err := s.blobs.Check(ctx); err != nil {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "the blobs cannot be written and read.", Err: err}
	}
	return nil
}

// write runs a named transition. The name is where crash tests strike.
func (s *Store) write(ctx context.Context, name string, fn func(Tx) error) error {
	crash.Point(name + ".begin")
	err := s.engine.Write(ctx, func(tx Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		crash.Point(name + ".written")
		return nil
	})
	if err == nil {
		crash.Point(name + ".committed")
	}
	return hide(err)
}

func (s *Store) read(ctx context.Context, fn func(Tx) error) error {
	return hide(s.engine.Read(ctx, fn))
}

// hide keeps the errors of the contract and puts everything else behind an internal one.
func hide(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*penstock.Error](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "The store did not answer in time; try again.", Err: err}
	}
	if errors.Is(err, ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &penstock.Error{
			Code: penstock.CodeOverloaded, Message: "The server's disk is full and nothing was written; try again when its operator has made room.",
			RetryAfter: fullRetry, Err: fmt.Errorf("%w: %w", store.ErrFull, err),
		}
	}
	if errors.Is(err, ErrAway) {
		return &penstock.Error{
			Code: penstock.CodeOverloaded, Message: "The server cannot reach its store and nothing was written; try again.",
			RetryAfter: awayRetry, Err: fmt.Errorf("%w: %w", store.ErrAway, err),
		}
	}
	return penstock.Internal(err)
}

// awayRetry is what callers are told who came while the store was away: such things are over in seconds, or not soon.
const awayRetry = 5 * time.Second

// fullRetry is what callers are told who found the disk full.
const fullRetry = 30 * time.Second

// storable makes text that came from an upstream fit for both engines: PostgreSQL takes neither broken
// UTF-8 nor a zero byte.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// micros is a time as the database keeps it; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
