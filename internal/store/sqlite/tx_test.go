package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock/internal/store/sqldb"
)

// Bytes that were read are the reader's: neither the next row nor another statement changes them.
func TestBytesStayWhatTheyWere(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var all [][]byte
	read := func(text string) {
		t.Helper()
		err := e.Read(t.Context(), func(tx sqldb.Tx) error {
			return tx.QueryIn(t.Context(), sqldb.IDQuery{SQL: text}, func(row sqldb.Row) error {
				var b []byte
				err := row.Scan(&b)
				all = append(all, b)
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read(`VALUES (x'0102'), (x'0304'), ('text'), ('more'), (NULL), (x'')`)
	read(`VALUES (x'0506'), ('last')`)
	want := [][]byte{{1, 2}, {3, 4}, []byte("text"), []byte("more"), nil, nil, {5, 6}, []byte("last")}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("read (-want +got)\n%s", diff)
	}
}

// TestNumbered holds that no statement has a parameter that SQLite's planner looks at: it would be planned anew whenever
// that is bound.
func TestNumbered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`SELECT a FROM t WHERE b = $1 LIMIT $2`:          `SELECT a FROM t WHERE b = +? LIMIT +?`,
		`SELECT a FROM t WHERE b = $1 OR c = $1`:         `SELECT a FROM t WHERE b = +?1 OR c = +?1`,
		`UPDATE t SET a = a - $2 WHERE b = $1`:           `UPDATE t SET a = a - +?2 WHERE b = +?1`,
		`SELECT key FROM t WHERE key <= $1 || ';' OR $2`: `SELECT key FROM t WHERE key <= +? || ';' OR +?`,
		`SELECT 1`: `SELECT 1`,
	} {
		if got := numbered(text); got != want {
			t.Errorf("numbered(%q) = %q, want %q", text, got, want)
		}
	}
}
