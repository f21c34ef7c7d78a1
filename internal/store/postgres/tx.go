package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"penstock/internal/store/sqldb"
)

// tx is an open transaction. Writes without a result gather in pending and travel with the next statement that needs an
// answer.
type tx struct {
	engine  *Engine
	conn    *pgx.Conn
	now     time.Time
	pending *pgx.Batch
	rows    []*gathered // of bulk writes that are pending as well
	sentAt  time.Time   // when the server was first told of it; zero for not yet
	closed  bool

	start  func()
	failed error // why start did
}

// Now implements sqldb.Tx. Before anything was sent, it computes the time from the last reading of the server's clock. Without a
// recent reading it waits for the transaction to begin.
func (t *tx) Now() time.Time {
	if t.now.IsZero() {
		if now, ok := t.engine.now(); ok {
			t.setNow(now)
		} else {
			t.start()
		}
	}
	return t.now
}

func (t *tx) setNow(now time.Time) { t.now = now.UTC().Truncate(time.Microsecond) }

// begin lets the transaction begin with the first statement that is sent. If the time is needed before that, and is not known, it
// begins by itself; the next statement returns the error of that.
func (t *tx) begin(ctx context.Context, begin string) {
	t.start = func() { t.failed = t.flush(ctx) }
	t.queue(begin, nil)
	t.queue(`SELECT clock_timestamp()`, nil).QueryRow(func(row pgx.Row) error {
		var server time.Time
		err := row.Scan(&server)
		if err != nil {
			return err
		}
		t.engine.server.read(reading{t.sentAt, server})
		if t.now.IsZero() {
			if t.engine.clock != nil {
				server = t.engine.clock()
			}
			t.setNow(server)
		}
		return nil
	})
}

// queue adds a statement to what travels next.
func (t *tx) queue(text string, args []any) *pgx.QueuedQuery {
	if t.pending == nil {
		t.pending = &pgx.Batch{}
	}
	return t.pending.Queue(t.engine.text(text), args...)
}

// queueRows lets the gathered rows travel next.
func (t *tx) queueRows() {
	for _, g := range t.rows {
		text, args := g.query(t.engine)
		t.queue(text, args)
	}
	t.rows = nil
}

// flush sends what is pending and waits for all of it.
func (t *tx) flush(ctx context.Context) error {
	t.queueRows()
	if t.pending == nil || t.failed != nil {
		return t.failed
	}
	batch := t.pending
	t.pending = nil
	if t.sentAt.IsZero() {
		t.sentAt = time.Now()
	}
	return t.conn.SendBatch(ctx, batch).Close()
}

func (t *tx) commit(ctx context.Context) error {
	t.queueRows()
	t.queue("commit", nil)
	if err := t.flush(ctx); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	t.closed = true
	return nil
}

// rollback leaves the connection clean for its next user. A connection that is broken is thrown away
// by the pool, and the server rolls back by itself.
func (t *tx) rollback(ctx context.Context) {
	if t.sentAt.IsZero() || t.closed || t.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "rollback"); err != nil {
		_ = t.conn.Close(ctx)
	}
}

// Relax implements sqldb.Tx.
func (t *tx) Relax() { t.queue("set local synchronous_commit = off", nil) }

func (t *tx) Do(_ context.Context, text string, args ...any) error {
	t.queueRows() // a lock that is meant to be taken last must not be taken before them
	t.queue(text, args)
	return nil
}

func (t *tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	tag, err := t.conn.Exec(ctx, t.engine.text(text), args...)
	if err != nil {
		return 0, fmt.Errorf("running %s: %w", sqldb.Brief(text), err)
	}
	return tag.RowsAffected(), nil
}

func (t *tx) Query(ctx context.Context, text string, args ...any) (sqldb.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	rows, err := t.conn.Query(ctx, t.engine.text(text), args...)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", sqldb.Brief(text), err)
	}
	return rows, nil
}

func (t *tx) Put(_ context.Context, b *sqldb.Bulk, row ...any) error {
	at := slices.IndexFunc(t.rows, func(g *gathered) bool { return g.bulk == b })
	if at < 0 {
		at = len(t.rows)
		t.rows = append(t.rows, gather(b))
	}
	return t.rows[at].add(row)
}

func (t *tx) QueryIn(ctx context.Context, q sqldb.IDQuery, scan func(sqldb.Row) error) error {
	return t.Ask(ctx, sqldb.Question{IDQuery: q, Scan: scan})
}

func (t *tx) Ask(ctx context.Context, questions ...sqldb.Question) error {
	t.queueRows()
	t.queueQuestions(questions)
	if err := t.flush(ctx); err != nil {
		return fmt.Errorf("running %s: %w", sqldb.Brief(questions[0].SQL), err)
	}
	return nil
}

// queueQuestions lets queries travel next.
func (t *tx) queueQuestions(questions []sqldb.Question) {
	for _, q := range questions {
		args := q.Args
		if q.IDs != nil {
			args = append([]any{q.IDs}, q.Args...)
		}
		t.queue(q.SQL, args).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := q.Scan(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
}
