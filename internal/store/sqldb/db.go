package sqldb

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"penstock"
	"penstock/internal/crash"
)

// DB runs named transactions on an engine and returns errors that callers may see. It is what SQL
// packages work with, and safe for concurrent use.
type DB struct{ engine Engine }

// New returns a DB on an engine whose schema is up to date.
func New(engine Engine) *DB { return &DB{engine} }

// Write runs fn as Engine.Write does. The name is the transition's; crash tests stop the process at its
// points.
func (db *DB) Write(ctx context.Context, name string, fn func(Tx) error) error {
	crash.Point(name + ".begin")
	err := db.engine.Write(ctx, func(tx Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		crash.Point(name + ".written")
		return nil
	})
	if err == nil {
		crash.Point(name + ".committed")
	}
	return PublicError(err)
}

// Read runs fn as Engine.Read does.
func (db *DB) Read(ctx context.Context, fn func(Tx) error) error {
	return PublicError(db.engine.Read(ctx, fn))
}

// Ask runs queries as Engine.Ask does.
func (db *DB) Ask(ctx context.Context, questions ...Question) (time.Time, error) {
	now, err := db.engine.Ask(ctx, questions...)
	return now, PublicError(err)
}

// Close closes the engine.
func (db *DB) Close() error { return db.engine.Close() }

const (
	// unreachableRetry is the Retry-After while the store cannot be reached: such outages end within seconds, or not soon.
	unreachableRetry = 5 * time.Second
	// fullRetry is the Retry-After while the disk is full.
	fullRetry = 30 * time.Second
)

// PublicError keeps a penstock.Error and hides every other error behind one. Codes: overloaded (timeout,
// penstock.ErrDiskFull, penstock.ErrUnreachable), internal.
func PublicError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*penstock.Error](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "The store did not answer in time; try again.", Err: err}
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w: %w", penstock.ErrDiskFull, err)
	}
	switch {
	case errors.Is(err, penstock.ErrDiskFull):
		return &penstock.Error{
			Code: penstock.CodeOverloaded, Message: "The server's disk is full and nothing was written; try again when its operator has freed space.",
			RetryAfter: fullRetry, Err: err,
		}
	case errors.Is(err, penstock.ErrUnreachable):
		return &penstock.Error{
			Code: penstock.CodeOverloaded, Message: "The server cannot reach its store and nothing was written; try again.",
			RetryAfter: unreachableRetry, Err: err,
		}
	}
	return penstock.Internal(err)
}
