package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"penstock/internal/store/sqldb"
)

// tx is a transaction on this goroutine: Do is not deferred, since nothing is saved by sending
// writes to a library in groups. Rows that are put one after the other are, where one statement takes several.
type tx struct {
	now time.Time // UTC, in microseconds
	db  *prepared
	// once runs statements without keeping them prepared, as those of migrations.
	once bool

	bulk *sqldb.Bulk // of the rows that wait
	rows []any       // their arguments, one row after the other
}

func newTx(now time.Time, db *prepared) *tx {
	return &tx{now: now.UTC().Truncate(time.Microsecond), db: db}
}

func (t *tx) Now() time.Time { return t.now }

// Relax implements sqldb.Tx: the log is flushed for the whole group.
func (t *tx) Relax() {}

func (t *tx) Do(ctx context.Context, text string, args ...any) error {
	_, err := t.Exec(ctx, text, args...)
	return err
}

func (t *tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := t.flush(ctx); err != nil {
		return 0, err
	}
	return t.exec(ctx, text, args)
}

func (t *tx) exec(ctx context.Context, text string, args []any) (int64, error) {
	if t.once && len(args) == 0 {
		if err := t.db.execOnce(ctx, text); err != nil {
			return 0, fmt.Errorf("running %s: %w", sqldb.Brief(text), err)
		}
		return 0, nil
	}
	n, err := t.db.execArgs(ctx, text, args)
	if err != nil {
		return 0, fmt.Errorf("running %s: %w", sqldb.Brief(text), err)
	}
	return n, nil
}

func (t *tx) Query(ctx context.Context, text string, args ...any) (sqldb.Rows, error) {
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	r, err := t.db.rows(ctx, text, args)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", sqldb.Brief(text), err)
	}
	return rows{r}, nil
}

func (t *tx) Put(ctx context.Context, b *sqldb.Bulk, row ...any) error {
	if t.bulk != b {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	if b.Several == "" || b.Strict {
		n, err := t.exec(ctx, b.One, row)
		if err == nil && b.Strict && n != 1 {
			err = sqldb.ErrMissed
		}
		return err
	}
	if t.rows == nil {
		t.rows = make([]any, 0, sqldb.SeveralRows*len(b.Types))
	}
	t.bulk, t.rows = b, append(t.rows, row...)
	if len(t.rows) < sqldb.SeveralRows*len(b.Types) {
		return nil
	}
	_, err := t.exec(ctx, b.Several, t.rows)
	t.rows = t.rows[:0]
	return err
}

// flush writes the rows that wait, which are too few for one statement.
func (t *tx) flush(ctx context.Context) error {
	if len(t.rows) == 0 {
		return nil
	}
	for row := range slices.Chunk(t.rows, len(t.bulk.Types)) {
		if _, err := t.exec(ctx, t.bulk.One, row); err != nil {
			return err
		}
	}
	t.bulk, t.rows = nil, t.rows[:0]
	return nil
}

func (t *tx) QueryIn(ctx context.Context, q sqldb.IDQuery, scan func(sqldb.Row) error) error {
	if err := t.flush(ctx); err != nil {
		return err
	}
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
		return fmt.Errorf("running %s: %w", sqldb.Brief(q.SQL), err)
	}
	for err == nil && r.Next() {
		err = scan(rows{r})
	}
	if err = errors.Join(err, r.Err(), r.Close()); err != nil {
		return fmt.Errorf("reading %s: %w", sqldb.Brief(q.SQL), err)
	}
	return nil
}

func (t *tx) Ask(ctx context.Context, questions ...sqldb.Question) error {
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

// Scan is that of the library, but for bytes.
func (r rows) Scan(dest ...any) error {
	for i, d := range dest {
		if bytes, ok := d.(*[]byte); ok {
			dest[i] = (*bytesOf)(bytes)
		}
	}
	return r.Rows.Scan(dest...)
}

// bytesOf keeps bytes as the driver has copied them out of SQLite's memory, which it does for each value. The library would
// copy them once more, and an input group has a hundred thousand.
type bytesOf []byte

// Scan implements sql.Scanner.
func (b *bytesOf) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*b = nil
	case []byte:
		*b = v
	case string:
		*b = []byte(v)
	default:
		return fmt.Errorf("a %T is not bytes", value)
	}
	return nil
}

func (r rows) Close() { _ = r.Rows.Close() } // what matters is in Err

// numbered turns $1 into SQLite's ?1, or into a bare ? where that says the same: the driver then need not
// ask for the name of every parameter at every call. The plus in front of it changes no value. It keeps SQLite from
// planning a statement anew, which takes longer than to run it, whenever a limit or a constant to compare with is bound.
func numbered(text string) string {
	for n, part := range strings.Split(text, "$") {
		if n > 0 && !inTurn(part, n) {
			return strings.ReplaceAll(text, "$", "+?")
		}
	}
	return parameter.ReplaceAllString(text, "+?")
}

var parameter = regexp.MustCompile(`\$[0-9]+`)

// inTurn reports whether what follows a $ is the n-th parameter.
func inTurn(rest string, n int) bool {
	digits := strconv.Itoa(n)
	after, ok := strings.CutPrefix(rest, digits)
	return ok && (after == "" || after[0] < '0' || after[0] > '9')
}
