// Package sqldb is the database layer that every SQL package of Penstock builds on: transactions on
// two engines, bulk writes, and migrations.
//
// SQL is written once for SQLite and PostgreSQL. Text between /*pg and */ is for PostgreSQL alone;
// SQLite reads it as a comment. WITHOUT ROWID is for SQLite alone; the PostgreSQL engine removes it.
// Parameters are $1, $2, …. Times are microseconds since 1970 by the database's clock ([Micros]).
//
// The package owns the contract between SQL and engines ([Engine], [Tx]), the translation of engine
// errors into [penstock.Error] ([DB]), and the order of migrations ([Plan], [Migrate]). It knows no
// table but its own record of applied migrations. Packages sqlite and postgres implement the engines.
//
// A capability keeps its SQL in a package of its own: it takes a *DB, declares its migrations as a
// [Source], and writes audit entries and outbox events through packages audit and outbox in its own
// transactions. docs/how-to/add-a-capability.md shows all files of one.
package sqldb

import (
	"context"
	"errors"
	"time"
)

// Engine is a database. Implementations are safe for concurrent use.
type Engine interface {
	// Read runs fn on a consistent snapshot. It returns penstock.ErrUnreachable if the database cannot be
	// reached.
	Read(ctx context.Context, fn func(Tx) error) error

	// Ask runs queries in order on a consistent snapshot and in one round trip. It returns the database's clock, and the errors
	// of Read.
	Ask(ctx context.Context, questions ...Question) (time.Time, error)

	// Write runs fn in a transaction. When it returns nil, the transaction is on stable storage.
	// When fn fails, nothing is written. An engine may run fn again after a conflict, so fn must
	// assign the variables that it captures and not append to them.
	//
	// It returns ErrLockTimeout if the transaction waited too long for another one's lock,
	// penstock.ErrDiskFull if the database's disk is full, and penstock.ErrUnreachable if the database
	// cannot be reached.
	Write(ctx context.Context, fn func(Tx) error) error

	// Migrate runs fn in a write transaction that may change the schema. Processes that migrate
	// the same database run one after the other. It returns ErrOldSchema for a database that was
	// written before there were baselines, and ErrNotPermitted for a role that may not change the schema.
	Migrate(ctx context.Context, fn func(Tx) error) error

	Close() error
}

// ErrRolledBack means that a statement failed and that nothing of its transaction was written. An engine need not say so of an
// error that fn returned.
var ErrRolledBack = errors.New("the transaction was rolled back")

// ErrLockTimeout means that a write waited too long for another transaction.
var ErrLockTimeout = errors.New("waited too long for another transaction")

// ErrMissed means that a strict bulk write did not find one of its rows.
var ErrMissed = errors.New("a row was not as expected")

// Reader is the part of a transaction that reads.
type Reader interface {
	// Now is the database's clock at the start of the transaction. Before the first statement an engine may compute it from an
	// earlier reading, to some milliseconds.
	Now() time.Time

	// Query reads rows. They must be closed before the next call.
	Query(ctx context.Context, sql string, args ...any) (Rows, error)

	// QueryIn runs a query for all of the given ids, which SQL compares as = /*pg ANY */($1), and
	// passes each row to scan, in any order. Further arguments follow as $2, $3, ….
	QueryIn(ctx context.Context, q IDQuery, scan func(Row) error) error

	// Ask runs several queries in order and in one round trip.
	Ask(ctx context.Context, questions ...Question) error
}

// Tx is a transaction. It belongs to the goroutine that runs fn.
type Tx interface {
	Reader

	// Relax lets the commit be acknowledged before it is on stable storage; it is there at the latest
	// with the next commit that is not relaxed. It is for writes that nobody was promised.
	Relax()

	// Do writes without waiting for the result: an engine may send several writes at once. An
	// error may show up at a later call or at the commit.
	Do(ctx context.Context, sql string, args ...any) error

	// Exec writes and returns the number of affected rows.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)

	// Put adds a row to a bulk write. Like Do it does not wait for the result, and rows that follow
	// each other may travel together.
	Put(ctx context.Context, b *Bulk, row ...any) error
}

// Row is a row that can be scanned.
type Row interface {
	Scan(dest ...any) error
}

// Rows is the result of a query.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close()
}
