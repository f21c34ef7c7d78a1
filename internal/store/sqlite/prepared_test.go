package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

// number reads the only value of a statement.
func number(ctx context.Context, e *sqlite.Engine, text string) (n int64, err error) {
	err = e.Read(ctx, func(tx sqldb.Tx) error {
		rows, err := tx.Query(ctx, text)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			err = errors.Join(err, rows.Scan(&n))
		}
		return errors.Join(err, rows.Err())
	})
	return n, err
}

// Readers that were interrupted, or that prepared more than they keep, read on.
func TestReadersGoOn(t *testing.T) {
	t.Parallel()
	e, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const endless = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT COUNT(*) FROM c`
	for range 2 * sqlite.MaxReads {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := number(ctx, e, endless); err == nil {
			t.Fatal("an endless statement ended")
		}
		cancel()
	}
	for n := range int64(2000) {
		got, err := number(t.Context(), e, fmt.Sprintf(`SELECT %d`, n))
		if err != nil || got != n {
			t.Fatalf("read %d for %d: %v", got, n, err)
		}
	}
}

// A read after the end fails, instead of waiting for a connection that is never given back.
func TestReadAfterClose(t *testing.T) {
	t.Parallel()
	e, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := number(t.Context(), e, `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := number(t.Context(), e, `SELECT 1`); err == nil {
		t.Error("a closed database was read")
	}
}
