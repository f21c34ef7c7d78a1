package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"time"

	"penstock/internal/store/sqldb"
)

var errClosed = errors.New("the database is closed")

// write is a transaction waiting for its group.
type write struct {
	ctx  context.Context
	fn   func(sqldb.Tx) error
	done chan error
}

// writer owns the one connection that writes. It has no goroutine of its own: the caller that finds it free commits its
// own write and all that wait beside it.
type writer struct {
	db    *prepared
	clock func() time.Time

	queue   chan write
	turn    chan struct{} // holds a token while a caller commits
	closing chan struct{}
	closed  chan struct{}

	pages         int           // written to the log since the last checkpoint began
	checkpointDue chan struct{} // has a value if the log is long enough
}

func newWriter(conn *sql.Conn, clock func() time.Time) *writer {
	db := newPrepared(conn)
	db.uncancelled = true
	return &writer{
		db: db, clock: clock,
		queue: make(chan write, MaxQueued), turn: make(chan struct{}, 1),
		closing: make(chan struct{}), closed: make(chan struct{}), checkpointDue: make(chan struct{}, 1),
	}
}

// submit gets a write committed, by this caller or by another. A queued write is not given up, even when ctx ends: the
// caller must know whether it happened.
func (w *writer) submit(ctx context.Context, fn func(sqldb.Tx) error) error {
	one := write{ctx: ctx, fn: fn, done: make(chan error, 1)}
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	select {
	case w.queue <- one:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
	for {
		select {
		case err := <-one.done:
			return err
		case w.turn <- struct{}{}:
			w.commitGroup()
			<-w.turn
		case <-w.closed:
			select {
			case err := <-one.done:
				return err
			default:
				return errClosed // it was queued too late
			}
		}
	}
}

// close lets the queued writes finish and closes the connection. It never gives the turn back.
func (w *writer) close() error {
	close(w.closing)
	w.turn <- struct{}{}
	for len(w.queue) > 0 {
		w.commitGroup()
	}
	close(w.closed)
	return w.db.close()
}

// commitGroup commits what queued up while the previous group was being committed. The callers of that group may be about to
// write again: they get a processor first, so that fewer and larger groups are committed under load. Without load the yield
// costs nothing.
func (w *writer) commitGroup() {
	runtime.Gosched()
	var group []write
	for len(group) < MaxGroup {
		select {
		case next := <-w.queue:
			group = append(group, next)
			continue
		default:
		}
		break
	}
	if len(group) > 0 {
		w.commit(group)
	}
}

// commit runs a group in one transaction and hands every caller its error.
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
	w.countPages()
}

// transact fills errs with the error of each write. If it fails itself, nothing of the group was written.
//
// Nearly always no write fails, and then none needs to be undone apart from the others: savepoints, for
// which every page is copied, are only set when the group is run again because one did.
func (w *writer) transact(group []write, errs []error) error {
	err := w.together(func() error {
		for _, one := range group {
			if err := w.call(one); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || len(group) == 1 {
		return err
	}
	return w.together(func() error { return w.runAll(group, errs) })
}

// together runs a group in one transaction.
func (w *writer) together(run func() error) error {
	if err := w.db.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("beginning a write: %w", err)
	}
	if err := run(); err != nil {
		return w.abandon(err)
	}
	if err := w.db.exec("COMMIT"); err != nil {
		return w.abandon(fmt.Errorf("committing: %w", err))
	}
	return nil
}

// runAll runs the writes of a group one after the other. It fails when the transaction around them is
// gone.
func (w *writer) runAll(group []write, errs []error) error {
	for i, one := range group {
		err, broken := w.runOne(one)
		if broken != nil {
			return broken
		}
		errs[i] = err
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
	if err := w.db.exec("SAVEPOINT one"); err != nil {
		return nil, fmt.Errorf("marking a write: %w", err)
	}
	if err = w.call(one); err != nil {
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
func (w *writer) call(one write) (err error) {
	if err := one.ctx.Err(); err != nil {
		return err // the caller left while its write was queued
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a write panicked: %v", p)
		}
	}()
	t := newTx(w.clock(), w.db)
	if err := one.fn(t); err != nil {
		return err
	}
	if err := t.flush(one.ctx); err != nil {
		return fmt.Errorf("%w: %w", sqldb.ErrRolledBack, err)
	}
	return nil
}
