package sqlstore

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Engine is a database that the shared SQL runs on. SQL is written for both engines: text between
// /*pg and */ is for PostgreSQL alone, parameters are $1, $2, ….
type Engine interface {
	// Read runs fn on a consistent snapshot.
	Read(ctx context.Context, fn func(Tx) error) error

	// Write runs fn in a transaction. When it returns nil, the transaction is on stable storage.
	// When fn fails, nothing is written. An engine may run fn again after a conflict, so fn must
	// set what it captures and not add to it.
	//
	// Waiting too long for another transaction's lock is ErrLockTimeout; no room on the database's disk
	// is ErrFull; a database that no connection can be had to is ErrAway, of Read as well.
	Write(ctx context.Context, fn func(Tx) error) error

	// Migrate brings the schema up to date with the given steps, one process at a time.
	Migrate(ctx context.Context, steps []Migration) error

	Close() error
}

// ErrFull says that the database's disk had no room for a write.
var ErrFull = errors.New("the database's disk is full")

// ErrAway says that the database, or the place where large payloads are kept, could not be reached. Nothing was
// written.
var ErrAway = errors.New("the store is away")

// ErrRolledBack says that a statement failed and that nothing of its transaction was written. An engine need not say so of an
// error that fn returned.
var ErrRolledBack = errors.New("the transaction was rolled back")

// ErrLockTimeout says that a write gave up waiting for another transaction.
var ErrLockTimeout = errors.New("waited too long for another transaction")

// Tx is a transaction. It belongs to the goroutine that fn runs on.
type Tx interface {
	// Now is the database's clock at the start of the transaction.
	Now() time.Time

	// Relax lets the commit be acknowledged before it is on stable storage, at the latest it is there with
	// the next one that is not relaxed. It is for what can be lost without that anybody was promised it.
	Relax()

	// Do writes without waiting for the outcome: an engine may send several writes at once. An
	// error may show up at a later call or at the commit.
	Do(ctx context.Context, sql string, args ...any) error

	// Exec writes and returns how many rows it touched.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)

	// Query reads rows. They must be closed before the next call.
	Query(ctx context.Context, sql string, args ...any) (Rows, error)

	// Put writes a row of a bulk write. Like Do it does not wait for the outcome, and rows that are put
	// one after the other may travel together.
	Put(ctx context.Context, b *Bulk, row ...any) error

	// QueryIn runs a query for all of the given ids, which are compared as = /*pg ANY */($1), and hands
	// over the rows that there are, in any order. Further arguments follow as $2, $3, ….
	QueryIn(ctx context.Context, q IDQuery, scan func(Row) error) error

	// Ask runs several queries in order and in one go: a server is asked only once.
	Ask(ctx context.Context, questions ...Question) error
}

// IDQuery asks for the rows of many ids at once.
type IDQuery struct {
	SQL  string
	IDs  []string
	Args []any
}

// Question is a query with what is done with its rows.
type Question struct {
	IDQuery // with nil IDs it is a query like any other, whose arguments begin at $1
	Scan    func(Row) error
}

// ask makes a question of a query.
func ask(q query, scan func(Row) error) Question {
	return Question{IDQuery{SQL: q.sql, Args: q.args}, scan}
}

// Row is a row that can be scanned.
type Row interface {
	Scan(dest ...any) error
}

// Rows is the outcome of a query.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close()
}

// Migration is a numbered step of the schema. Steps only expand it, so that the release before
// this one keeps working on it.
type Migration struct {
	Version int64
	Name    string
	SQL     string
}

// queryAll collects the rows of a query.
func queryAll[T any](ctx context.Context, tx Tx, q query, scan func(Row) (T, error)) ([]T, error) {
	rows, err := tx.Query(ctx, q.sql, q.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// queryOne returns the first row of a query and whether there was one.
func queryOne[T any](ctx context.Context, tx Tx, q query, scan func(Row) (T, error)) (T, bool, error) {
	all, err := queryAll(ctx, tx, q, scan)
	if err != nil || len(all) == 0 {
		var zero T
		return zero, false, err
	}
	return all[0], true, nil
}

// Brief names a statement in an error, without its many columns.
func Brief(sql string) string {
	words := strings.Fields(sql)
	return strings.Join(words[:min(4, len(words))], " ")
}

// query is SQL with its arguments.
type query struct {
	sql  string
	args []any
}

func sqlf(sql string, args ...any) query { return query{sql, args} }
