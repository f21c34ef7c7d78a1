package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"penstock/internal/store/sqlstore"
)

// tx is a transaction on this goroutine: Do is not deferred, since nothing is saved by sending
// writes to a library in groups.
type tx struct {
	now time.Time
	db  database
}

// database runs statements, prepared or not.
type database interface {
	execArgs(ctx context.Context, text string, args []any) (sql.Result, error)
	execOnce(ctx context.Context, text string) error
	rows(ctx context.Context, text string, args []any) (*sql.Rows, error)
}

func (t *tx) Now() time.Time { return t.now.UTC().Truncate(time.Microsecond) }

// Relax implements sqlstore.Tx: the log is flushed for the whole group.
func (t *tx) Relax() {}

// Alone implements sqlstore.Tx: there is one writer.
func (t *tx) Alone() bool { return true }

func (t *tx) Do(ctx context.Context, text string, args ...any) error {
	_, err := t.Exec(ctx, text, args...)
	return err
}

func (t *tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	res, err := t.db.execArgs(ctx, text, args)
	if err != nil {
		return 0, fmt.Errorf("running %s: %w", sqlstore.Brief(text), err)
	}
	return res.RowsAffected()
}

func (t *tx) Query(ctx context.Context, text string, args ...any) (sqlstore.Rows, error) {
	r, err := t.db.rows(ctx, text, args)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", sqlstore.Brief(text), err)
	}
	return rows{r}, nil
}

func (t *tx) Put(ctx context.Context, b *sqlstore.Bulk, row ...any) error {
	n, err := t.Exec(ctx, b.One, row...)
	if err == nil && b.Strict && n != 1 {
		err = sqlstore.ErrMissed
	}
	return err
}

func (t *tx) QueryIn(ctx context.Context, q sqlstore.IDQuery, scan func(sqlstore.Row) error) error {
	text, args := q.SQL, q.Args
	if q.IDs != nil {
		ids, err := json.Marshal(q.IDs)
		if err != nil {
			return fmt.Errorf("encoding ids: %w", err)
		}
		text, args = inList.Replace(q.SQL), append([]any{string(ids)}, q.Args...)
	}
	r, err := t.db.rows(ctx, text, args)
	if err != nil {
		return fmt.Errorf("running %s: %w", sqlstore.Brief(q.SQL), err)
	}
	for err == nil && r.Next() {
		err = scan(rows{r})
	}
	if err = errors.Join(err, r.Err(), r.Close()); err != nil {
		return fmt.Errorf("reading %s: %w", sqlstore.Brief(q.SQL), err)
	}
	return nil
}

func (t *tx) Ask(ctx context.Context, questions ...sqlstore.Question) error {
	for _, q := range questions {
		if err := t.QueryIn(ctx, q.IDQuery, q.Scan); err != nil {
			return err
		}
	}
	return nil
}

// inList lets one statement find many ids.
var inList = strings.NewReplacer("= /*pg ANY */($1)", "IN (SELECT value FROM json_each($1))")

type rows struct{ *sql.Rows }

func (r rows) Close() { _ = r.Rows.Close() } // what matters is in Err

// numbered turns $1 into SQLite's ?1, or into a bare ? where that says the same: the driver then need not
// ask for the name of every parameter at every call.
func numbered(text string) string {
	for n, part := range strings.Split(text, "$") {
		if n > 0 && !inTurn(part, n) {
			return strings.ReplaceAll(text, "$", "?")
		}
	}
	return parameter.ReplaceAllString(text, "?")
}

var parameter = regexp.MustCompile(`\$[0-9]+`)

// inTurn reports whether what follows a $ is the n-th parameter.
func inTurn(rest string, n int) bool {
	digits := strconv.Itoa(n)
	after, ok := strings.CutPrefix(rest, digits)
	return ok && (after == "" || after[0] < '0' || after[0] > '9')
}

// prepared keeps the statements of the writing connection ready. The texts are constants of package
// sqlstore, so there are few of them.
//
// It never passes a caller's context on: interrupting a statement would make SQLite roll back the
// whole transaction, and with it the other writes of the group.
type prepared struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newPrepared(conn *sql.Conn) *prepared {
	return &prepared{conn: conn, stmts: make(map[string]*sql.Stmt)}
}

func (p *prepared) stmt(text string) (*sql.Stmt, error) {
	if s, ok := p.stmts[text]; ok {
		return s, nil
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

func (p *prepared) execArgs(_ context.Context, text string, args []any) (sql.Result, error) {
	s, err := p.stmt(text)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), args...)
}

func (p *prepared) execOnce(_ context.Context, text string) error {
	_, err := p.conn.ExecContext(context.Background(), text)
	return err
}

func (p *prepared) rows(_ context.Context, text string, args []any) (*sql.Rows, error) {
	s, err := p.stmt(text)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

func (p *prepared) close() error {
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// plain runs statements of a reading transaction.
type plain struct{ tx *sql.Tx }

func (p plain) execArgs(ctx context.Context, text string, args []any) (sql.Result, error) {
	return p.tx.ExecContext(ctx, numbered(text), args...)
}

func (p plain) execOnce(ctx context.Context, text string) error {
	_, err := p.tx.ExecContext(ctx, text)
	return err
}

func (p plain) rows(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	return p.tx.QueryContext(ctx, numbered(text), args...)
}
