// Package sqlite is the embedded engine: one file, one writer, full durability, no setup.
//
// It owns the connections and the commits. Writes are committed in groups: the caller that finds the writing connection
// free runs every write that queued up during the previous commit in one transaction, and flushes the disk once for all
// of them. Neither a timer nor a goroutine is involved: a single write waits for nothing, and concurrent writes share the
// flush. A goroutine copies the write-ahead log into the file while writes go on.
//
// The file belongs to one process at a time; package app holds a lock on the data directory.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	driver "modernc.org/sqlite" // registers itself

	"penstock"
	"penstock/internal/store/sqldb"
)

const (
	// MaxGroup is the most writes that share one commit; it bounds how long the first of them waits for the last.
	MaxGroup = 256
	// MaxQueued is how many writes may wait for their turn; more block their callers.
	MaxQueued = 1024
	// MaxReads is how many reads run at a time.
	MaxReads = 8
)

// Config opens an engine.
type Config struct {
	Path  string           // the database file; its directory must exist
	Clock func() time.Time // nil for the machine's clock
}

// Engine is a SQLite database. It is safe for concurrent use.
type Engine struct {
	clock  func() time.Time
	reads  *readers
	writes *sql.DB
	writer *writer

	checkpointer *checkpointer

	closeOnce sync.Once
	closeErr  error
}

var _ sqldb.Engine = (*Engine)(nil)

// Open opens the file, creating it if needed.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if err := createPrivate(cfg.Path); err != nil {
		return nil, err
	}
	writes, err := sql.Open("sqlite", dsn(cfg.Path, "immediate"))
	if err != nil {
		return nil, fmt.Errorf("opening %s for writing: %w", cfg.Path, err)
	}
	conn, err := writes.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", cfg.Path, err), writes.Close())
	}
	reads, err := sql.Open("sqlite", dsn(cfg.Path, "deferred")+"&_pragma=query_only(true)")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s for reading: %w", cfg.Path, err), conn.Close(), writes.Close())
	}
	copies, err := writes.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", cfg.Path, err), reads.Close(), conn.Close(), writes.Close())
	}
	w := newWriter(conn, cfg.Clock)
	return &Engine{
		clock: cfg.Clock, reads: newReaders(reads, MaxReads), writes: writes, writer: w, checkpointer: startCheckpointer(copies, w),
	}, nil
}

// createPrivate makes sure that a new database can be read by its owner alone.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("creating the database: %w", err)
	}
	return f.Close()
}

// dsn asks for a write-ahead log that is flushed at every commit. Pages are cached up to 16 MiB a connection.
func dsn(path, txLock string) string {
	pragmas := url.Values{"_txlock": {txLock}, "_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)",
		"cache_size(-16384)", fmt.Sprintf("wal_autocheckpoint(%d)", ownCheckpoint), "temp_store(MEMORY)",
	}}
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + pragmas.Encode()
}

// Write implements sqldb.Engine.
func (e *Engine) Write(ctx context.Context, fn func(sqldb.Tx) error) error {
	err := e.writer.submit(ctx, fn)
	const full, primary = 13, 0xff // SQLITE_FULL; what lies above the first byte only refines it
	if e, ok := errors.AsType[*driver.Error](err); ok && e.Code()&primary == full {
		return fmt.Errorf("%w: %w", penstock.ErrDiskFull, err)
	}
	return err
}

// Slack is how many bytes can be written before the file grows: deleted rows leave their pages to later
// ones, and none to the disk.
func (e *Engine) Slack(ctx context.Context) (bytes int64, err error) {
	err = e.Read(ctx, func(t sqldb.Tx) error {
		rows, err := t.Query(ctx, `SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			err = errors.Join(err, rows.Scan(&bytes))
		}
		return errors.Join(err, rows.Err())
	})
	return bytes, err
}

// Read implements sqldb.Engine.
func (e *Engine) Read(ctx context.Context, fn func(sqldb.Tx) error) error {
	db, err := e.reads.take(ctx)
	if err != nil {
		return err
	}
	if err := db.exec("BEGIN DEFERRED"); err != nil {
		e.reads.discard(db)
		return fmt.Errorf("beginning a read: %w", err)
	}
	defer func() {
		if err := db.exec("ROLLBACK"); err != nil { // an interrupt may have ended the snapshot
			e.reads.discard(db)
			return
		}
		e.reads.give(db)
	}()
	return fn(newTx(e.clock(), db))
}

// Ask implements sqldb.Engine.
func (e *Engine) Ask(ctx context.Context, questions ...sqldb.Question) (now time.Time, err error) {
	err = e.Read(ctx, func(t sqldb.Tx) error {
		now = t.Now()
		return t.Ask(ctx, questions...)
	})
	return now, err
}

// Migrate implements sqldb.Engine. The file belongs to one process, so no other one migrates it.
func (e *Engine) Migrate(ctx context.Context, fn func(sqldb.Tx) error) error {
	return e.Write(ctx, func(t sqldb.Tx) error {
		// Before there were baselines the header held the schema's version.
		old, _, err := sqldb.QueryOne(ctx, t, sqldb.SQL(`PRAGMA user_version`), sqldb.ScanOne[int64])
		if err == nil && old > 0 {
			err = fmt.Errorf("%w (schema version %d)", sqldb.ErrOldSchema, old)
		}
		if err != nil {
			return err
		}
		t.(*tx).once = true
		return fn(t)
	})
}

// Close finishes the writes that were handed over and closes the file.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() {
		e.closeErr = errors.Join(e.writer.close(), e.checkpointer.close(), e.reads.close(), e.writes.Close())
	})
	return e.closeErr
}
