package sqlite

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"penstock/internal/store/sqldb"
)

// openTable opens a database with one table of payloads, and returns a function that adds a payload of some pages.
func openTable(t *testing.T) (e *Engine, add func(pages int)) {
	t.Helper()
	e, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	write := func(text string, args ...any) {
		if err := e.Write(context.Background(), func(tx sqldb.Tx) error { return tx.Do(context.Background(), text, args...) }); err != nil {
			t.Error(err)
		}
	}
	write(`CREATE TABLE payloads (n INTEGER PRIMARY KEY, payload BLOB)`)
	return e, func(pages int) {
		write(`INSERT INTO payloads (payload) VALUES ($1)`, bytes.Repeat([]byte{1}, pages*4096))
	}
}

// The log starts anew after a checkpoint, and has little left to copy.
func TestLogStartsAnew(t *testing.T) {
	t.Parallel()
	e, add := openTable(t)
	add(300)
	if left, err := e.checkpointer.pass(); err != nil || left != 0 {
		t.Fatalf("%d pages are left while no write runs (%v)", left, err)
	}
	add(300)
	if err := e.checkpointer.checkpoint(); err != nil {
		t.Fatal(err)
	}
	add(1)
	var busy, log, copied int
	if err := e.checkpointer.db.QueryRowContext(t.Context(), `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &log, &copied); err != nil {
		t.Fatal(err)
	}
	if log > 100 {
		t.Errorf("the log has %d pages after a write of one: it did not start anew", log)
	}
}

// A long log makes a checkpoint due; a short one does not. The writer here has no checkpointer, so the test alone takes the signal.
func TestLongLogMakesACheckpointDue(t *testing.T) {
	t.Parallel()
	e, _ := openTable(t)
	conn, err := e.writes.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(conn, time.Now)
	t.Cleanup(func() { w.close() })
	due := func(pages int) bool {
		err := w.submit(t.Context(), func(tx sqldb.Tx) error {
			return tx.Do(t.Context(), `INSERT INTO payloads (payload) VALUES ($1)`, bytes.Repeat([]byte{1}, pages*4096))
		})
		if err != nil {
			t.Fatal(err)
		}
		// The count happens after the caller has its answer, but before the writer is free.
		w.pause()
		defer w.resume()
		select {
		case <-w.checkpointDue:
			return true
		default:
			return false
		}
	}
	const some = checkpointPages / 4
	for n := range 2 {
		if due(some) {
			t.Errorf("a checkpoint is due after %d pages", (n+1)*some)
		}
	}
	if !due(3 * some) {
		t.Errorf("no checkpoint is due after %d pages", 5*some)
	}
	if due(some) {
		t.Error("a checkpoint is due again after few pages")
	}
}

// Writes go on during checkpoints, and none of them is lost.
func TestWritesDuringCheckpoints(t *testing.T) {
	t.Parallel()
	e, add := openTable(t)
	const writers, each = 4, 50
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				add(20)
			}
		})
	}
	for range 20 {
		if err := e.checkpointer.checkpoint(); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	var rows int64
	var sound string
	err := e.Read(t.Context(), func(tx sqldb.Tx) error {
		return tx.Ask(t.Context(),
			sqldb.Ask(sqldb.SQL(`SELECT COUNT(*) FROM payloads WHERE LENGTH(payload) = 20 * 4096`), func(r sqldb.Row) error { return r.Scan(&rows) }),
			sqldb.Ask(sqldb.SQL(`PRAGMA integrity_check`), func(r sqldb.Row) error { return r.Scan(&sound) }))
	})
	if err != nil || rows != writers*each || sound != "ok" {
		t.Errorf("%d rows, want %d; integrity %q (%v)", rows, writers*each, sound, err)
	}
}
