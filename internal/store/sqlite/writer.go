package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"penstock/internal/store/sqlstore"
)

var errClosed = errors.New("the database is closed")

// write is a transaction waiting for its group.
type write struct {
	ctx  context.Context
	fn   func(sqlstore.Tx) error
	done chan error
}

// writer owns the one connection that writes.
type writer struct {
	conn  *sql.Conn
	db    *prepared
	clock func() time.Time

	queue   chan write
	closing chan struct{}
	closed  chan struct{}
}

func newWriter(conn *sql.Conn, clock func() time.Time) *writer {
	return &writer{
		conn: conn, db: newPrepared(conn), clock: clock,
		queue: make(chan write, MaxQueued), closing: make(chan struct{}), closed: make(chan struct{}),
	}
}

// submit hands a write over and waits until it is committed. Once handed over it is not given up,
// even when ctx ends: the caller must know whether it happened.
func (w *writer) submit(ctx context.Context, fn func(sqlstore.Tx) error) error {
	one := write{ctx: ctx, fn: fn, done: make(chan error, 1)}
	select {
	case w.queue <- one:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	select {
	case err := <-one.done:
		return err
	case <-w.closed:
		// The writer may have taken it just before it stopped.
		select {
		case err := <-one.done:
			return err
		default:
			return errClosed
		}
	}
}

func (w *writer) close() error {
	close(w.closing)
	<-w.closed
	return errors.Join(w.db.close(), w.conn.Close())
}

func (w *writer) run() {
	defer close(w.closed)
	for {
		select {
		case first := <-w.queue:
			w.commit(w.gather(first))
		case <-w.closing:
			for {
				select {
				case first := <-w.queue:
					w.commit(w.gather(first))
				default:
					return
				}
			}
		}
	}
}

// gather takes what queued up while the previous group was being committed.
func (w *writer) gather(first write) []write {
	group := []write{first}
	for len(group) < MaxGroup {
		select {
		case next := <-w.queue:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction and tells every caller how it went.
func (w *writer) commit(group []write) {
	errs := make([]error, len(group))
	if err := w.transact(group, errs); err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	for i, one := range group {
		one.done <- errs[i]
	}
}

// transact fills errs with what each write returned. If it fails itself, nothing of the group was
// written.
func (w *writer) transact(group []write, errs []error) error {
	if err := w.db.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("beginning a write: %w", err)
	}
	for i, one := range group {
		err, broken := w.runOne(one)
		if broken != nil {
			return w.abandon(broken)
		}
		errs[i] = err
	}
	if err := w.db.exec("COMMIT"); err != nil {
		return w.abandon(fmt.Errorf("committing: %w", err))
	}
	return nil
}

// abandon ends a transaction that can no longer be trusted. SQLite may have ended it already, when
// the disk is full for example; then there is nothing left to roll back.
func (w *writer) abandon(cause error) error {
	_ = w.db.exec("ROLLBACK")
	return cause
}

// runOne runs a write in a savepoint, so that its failure undoes it alone. It is broken when the
// savepoint is: the transaction around it is gone.
func (w *writer) runOne(one write) (err, broken error) {
	if err := one.ctx.Err(); err != nil {
		return err, nil // the caller left before its turn came
	}
	if err := w.db.exec("SAVEPOINT one"); err != nil {
		return nil, fmt.Errorf("marking a write: %w", err)
	}
	if err = w.call(one.fn); err != nil {
		if undo := w.db.exec("ROLLBACK TO one"); undo != nil {
			return nil, errors.Join(err, fmt.Errorf("undoing a write: %w", undo))
		}
	}
	if release := w.db.exec("RELEASE one"); release != nil {
		return nil, errors.Join(err, fmt.Errorf("closing a write: %w", release))
	}
	return err, nil
}

// call runs a write and turns a panic into its error: one caller's defect must not end the writer
// that all others depend on.
func (w *writer) call(fn func(sqlstore.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a write panicked: %v", p)
		}
	}()
	return fn(&tx{now: w.clock(), db: w.db})
}
