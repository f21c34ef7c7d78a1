package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// maxPrepared is the most statements that a connection keeps prepared. Nearly all texts are constants of SQL packages, so
// there are few; combinations of filters and orders might be many.
const maxPrepared = 512

// prepared is a connection that keeps its statements prepared: preparing a statement takes as long as running it.
type prepared struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	// uncancelled statements run to their end even when their caller is cancelled: interrupting a write would make
	// SQLite roll back the whole transaction, and with it the other writes of the group.
	uncancelled bool
}

func newPrepared(conn *sql.Conn) *prepared {
	return &prepared{conn: conn, stmts: make(map[string]*sql.Stmt)}
}

func (p *prepared) context(ctx context.Context) context.Context {
	if p.uncancelled {
		return context.Background()
	}
	return ctx
}

func (p *prepared) stmt(text string) (*sql.Stmt, error) {
	if s, ok := p.stmts[text]; ok {
		return s, nil
	}
	if len(p.stmts) >= maxPrepared {
		if err := p.forget(); err != nil {
			return nil, err
		}
	}
	s, err := p.conn.PrepareContext(context.Background(), numbered(text))
	if err == nil {
		p.stmts[text] = s
	}
	return s, err
}

func (p *prepared) exec(text string) error {
	_, err := p.execArgs(context.Background(), text, nil)
	return err
}

func (p *prepared) execArgs(ctx context.Context, text string, args []any) (sql.Result, error) {
	s, err := p.stmt(text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(p.context(ctx), args...)
}

func (p *prepared) execOnce(ctx context.Context, text string) error {
	_, err := p.conn.ExecContext(p.context(ctx), text)
	return err
}

func (p *prepared) rows(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	s, err := p.stmt(text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(p.context(ctx), args...)
}

// forget closes the statements. One whose rows are still being read is closed with them.
func (p *prepared) forget() error {
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	clear(p.stmts)
	return errors.Join(errs...)
}

func (p *prepared) close() error { return errors.Join(p.forget(), p.conn.Close()) }

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
