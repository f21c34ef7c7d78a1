package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
)

// maxPrepared is the most statements that a connection keeps prepared. Nearly all texts are constants of SQL packages, so
// there are few; combinations of filters and orders might be many.
const maxPrepared = 512

// prepared is a connection that keeps its statements prepared: preparing a statement takes as long as running it.
type prepared struct {
	conn    *sql.Conn
	queries map[string]*sql.Stmt
	// writes go to the driver directly. The checks, conversions and copies that database/sql makes of every argument cost a
	// tenth of a bulk insert.
	writes map[string]driver.Stmt
	args   []driver.NamedValue // of the write that runs; kept for the next one
	// uncancelled statements run to their end even when their caller is cancelled: interrupting a write would make
	// SQLite roll back the whole transaction, and with it the other writes of the group.
	uncancelled bool
}

func newPrepared(conn *sql.Conn) *prepared {
	return &prepared{conn: conn, queries: make(map[string]*sql.Stmt), writes: make(map[string]driver.Stmt)}
}

func (p *prepared) context(ctx context.Context) context.Context {
	if p.uncancelled {
		return context.Background()
	}
	return ctx
}

func (p *prepared) query(text string) (*sql.Stmt, error) {
	if s, ok := p.queries[text]; ok {
		return s, nil
	}
	if len(p.queries) >= maxPrepared {
		if err := p.forgetQueries(); err != nil {
			return nil, err
		}
	}
	s, err := p.conn.PrepareContext(context.Background(), numbered(text))
	if err == nil {
		p.queries[text] = s
	}
	return s, err
}

// write prepares a statement on the driver's connection.
func (p *prepared) write(conn any, text string) (driver.StmtExecContext, error) {
	s, ok := p.writes[text]
	if !ok {
		if len(p.writes) >= maxPrepared {
			if err := p.forgetWrites(); err != nil {
				return nil, err
			}
		}
		var err error
		if s, err = conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), numbered(text)); err != nil {
			return nil, err
		}
		p.writes[text] = s
	}
	return s.(driver.StmtExecContext), nil
}

func (p *prepared) exec(text string) error {
	_, err := p.execArgs(context.Background(), text, nil)
	return err
}

// execArgs runs a write and returns the number of affected rows.
func (p *prepared) execArgs(ctx context.Context, text string, args []any) (affected int64, err error) {
	err = p.conn.Raw(func(conn any) error {
		s, err := p.write(conn, text)
		if err != nil {
			return err
		}
		if err := p.bind(args); err != nil {
			return err
		}
		defer clear(p.args) // a large payload must not stay in memory until the next write
		res, err := s.ExecContext(p.context(ctx), p.args)
		if err != nil {
			return err
		}
		affected, err = res.RowsAffected()
		return err
	})
	return affected, err
}

// bind makes the arguments of a write those that the driver takes. Only types with a name of their own have to be converted.
func (p *prepared) bind(args []any) error {
	p.args = p.args[:0]
	for i, arg := range args {
		value := arg
		switch arg.(type) {
		case string, int64, []byte:
		default:
			var err error
			if value, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
				return fmt.Errorf("argument %d: %w", i+1, err)
			}
		}
		p.args = append(p.args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	return nil
}

func (p *prepared) execOnce(ctx context.Context, text string) error {
	_, err := p.conn.ExecContext(p.context(ctx), text)
	return err
}

func (p *prepared) rows(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	s, err := p.query(text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(p.context(ctx), args...)
}

// forgetQueries closes the statements that read. One whose rows are still being read is closed with them.
func (p *prepared) forgetQueries() error {
	var errs []error
	for _, s := range p.queries {
		errs = append(errs, s.Close())
	}
	clear(p.queries)
	return errors.Join(errs...)
}

// forgetWrites closes the statements that write.
func (p *prepared) forgetWrites() error {
	var errs []error
	for _, s := range p.writes {
		errs = append(errs, s.Close())
	}
	clear(p.writes)
	return errors.Join(errs...)
}

func (p *prepared) close() error {
	forget := func(any) error { return p.forgetWrites() }
	return errors.Join(p.forgetQueries(), p.conn.Raw(forget), p.conn.Close())
}

// readers are the connections that read, opened when they are first needed. The one that was used last is used next:
// its cache is warm, and connections that only many concurrent reads need stay unopened.
type readers struct {
	db      *sql.DB
	lent    chan struct{} // a token for each that is in use
	closing chan struct{}

	mu   sync.Mutex
	idle []*prepared
}

func newReaders(db *sql.DB, n int) *readers {
	return &readers{db: db, lent: make(chan struct{}, n), closing: make(chan struct{})}
}

// take waits for a connection, which is to be given back.
func (r *readers) take(ctx context.Context) (*prepared, error) {
	select {
	case <-r.closing:
		return nil, errClosed
	default:
	}
	select {
	case r.lent <- struct{}{}:
	case <-r.closing:
		return nil, errClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a connection: %w", ctx.Err())
	}
	if p := r.pop(); p != nil {
		return p, nil
	}
	conn, err := r.db.Conn(ctx)
	if err != nil {
		<-r.lent
		return nil, fmt.Errorf("taking a connection: %w", err)
	}
	return newPrepared(conn), nil
}

// pop returns the connection that was used last, nil if none is idle.
func (r *readers) pop() *prepared {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.idle) - 1
	if last < 0 {
		return nil
	}
	p := r.idle[last]
	r.idle = r.idle[:last]
	return p
}

func (r *readers) give(p *prepared) {
	r.mu.Lock()
	r.idle = append(r.idle, p)
	r.mu.Unlock()
	<-r.lent
}

// discard closes a connection that is not to be used again.
func (r *readers) discard(p *prepared) {
	_ = p.close() // whatever is wrong with it, the caller knows already
	<-r.lent
}

// close waits for what is being read.
func (r *readers) close() error {
	close(r.closing)
	for range cap(r.lent) {
		r.lent <- struct{}{}
	}
	var errs []error
	for p := r.pop(); p != nil; p = r.pop() {
		errs = append(errs, p.close())
	}
	return errors.Join(append(errs, r.db.Close())...)
}
