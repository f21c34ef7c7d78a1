// Package postgres is the engine for many processes on one database.
//
// It owns the connection pool, the dialect and the round trips: writes without a result are sent together, and begin, the
// clock and commit travel with other statements. Durability is PostgreSQL's own (synchronous_commit must not be off), and
// so is its group commit.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"penstock"
	"penstock/internal/store/sqldb"
)

const (
	// DefaultMaxConns is how many connections a process opens when the URL does not say.
	DefaultMaxConns = 16
	// lockTimeout is how long a transaction waits for another's rows.
	lockTimeout = "5s"
	// maxTries bounds how often a transaction that lost to a concurrent one is run again.
	maxTries = 5
	// migrationLock is the advisory lock that keeps two processes from migrating at once.
	migrationLock = 0x70656e73746f636b
)

// Config opens an engine.
type Config struct {
	URL   string           // postgres://…; pool_max_conns and the like may be given as parameters
	Clock func() time.Time // nil for the database's clock
}

// Engine is a PostgreSQL database. It is safe for concurrent use.
type Engine struct {
	pool   *pgxpool.Pool
	clock  func() time.Time
	server serverClock
	texts  sync.Map // shared SQL → PostgreSQL's SQL, manyKey → SQL
	differ sync.Map // *sqldb.Bulk → *atomic.Uint64, the columns whose values differed in some transaction
}

// now is the time of a transaction that was not sent yet, false if it is not known.
func (e *Engine) now() (time.Time, bool) {
	if e.clock != nil {
		return e.clock(), true
	}
	return e.server.now()
}

var _ sqldb.Engine = (*Engine)(nil)

// Open connects. Close ends it.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		// pgx redacts the password in its own message.
		return nil, fmt.Errorf("reading the database URL: %w", err)
	}
	if !strings.Contains(cfg.URL, "pool_max_conns") {
		pc.MaxConns = DefaultMaxConns
	}
	params := pc.ConnConfig.RuntimeParams
	// What the URL does not say. No statement here runs for as long as it would take to compile it.
	for name, value := range map[string]string{"application_name": "penstock", "lock_timeout": lockTimeout, "jit": "off"} {
		if params[name] == "" {
			params[name] = value
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	e := &Engine{pool: pool, clock: cfg.Clock}
	if err := e.requireDurable(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return e, nil
}

// requireDurable refuses a server that acknowledges commits which it may forget.
func (e *Engine) requireDurable(ctx context.Context) error {
	var mode string
	if err := e.pool.QueryRow(ctx, `SHOW synchronous_commit`).Scan(&mode); err != nil {
		return fmt.Errorf("connecting to PostgreSQL: %w", err)
	}
	if mode == "off" {
		return errors.New("PostgreSQL runs with synchronous_commit = off and may lose accepted work; " +
			"set it to on for this database: ALTER DATABASE … SET synchronous_commit = on")
	}
	return nil
}

// Close closes all connections.
func (e *Engine) Close() error {
	e.pool.Close()
	return nil
}

const beginRead = "begin isolation level repeatable read read only"

// Read implements sqldb.Engine.
func (e *Engine) Read(ctx context.Context, fn func(sqldb.Tx) error) error {
	return e.transact(ctx, beginRead, func(t *tx) error { return fn(t) })
}

// Ask implements sqldb.Engine. The queries travel between begin and commit.
func (e *Engine) Ask(ctx context.Context, questions ...sqldb.Question) (now time.Time, err error) {
	var asked *tx
	err = e.transact(ctx, beginRead, func(t *tx) error {
		asked = t
		t.queueQuestions(questions)
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	return asked.now, nil
}

// Write implements sqldb.Engine.
func (e *Engine) Write(ctx context.Context, fn func(sqldb.Tx) error) error {
	var err error
	for range maxTries {
		if err = e.transact(ctx, "begin", func(t *tx) error { return fn(t) }); !lostRace(err) {
			break
		}
	}
	switch pgCode(err) {
	case "55P03": // lock_not_available
		return fmt.Errorf("%w: %w", sqldb.ErrLockTimeout, err)
	case missed:
		return fmt.Errorf("%w: %w", sqldb.ErrMissed, err)
	case "23505": // unique_violation
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.TableName == "items" {
			return fmt.Errorf("%w: %w", sqldb.ErrMissed, err) // an item that was thought to have no row
		}
	case "53100": // disk_full
		return fmt.Errorf("%w: %w", penstock.ErrDiskFull, err)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.SeverityUnlocalized == "ERROR" { // FATAL may come behind the commit
		return fmt.Errorf("%w: %w", sqldb.ErrRolledBack, err)
	}
	return err
}

// lostRace reports whether a transaction only has to be run again.
func lostRace(err error) bool {
	code := pgCode(err)
	return code == "40001" || code == "40P01" // serialization_failure, deadlock_detected
}

func pgCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// transact runs fn between begin and commit. Begin and a look at the clock travel with the first statement, and
// the commit with the last writes.
func (e *Engine) transact(ctx context.Context, begin string, fn func(*tx) error) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%w: taking a connection: %w", penstock.ErrUnreachable, err)
	}
	defer conn.Release()
	t := &tx{engine: e, conn: conn.Conn()}
	t.begin(ctx, begin)
	if err = fn(t); err == nil {
		err = t.commit(ctx)
	}
	if err != nil {
		t.rollback(ctx)
	}
	return explained(ctx, err)
}

// explained is an error with the reason why its context ended. The driver ends a statement whose context ends by a deadline on the
// connection. If that interrupts the write of a batch, the driver returns the timeout of the write alone.
func explained(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// Migrate implements sqldb.Engine.
func (e *Engine) Migrate(ctx context.Context, fn func(sqldb.Tx) error) error {
	err := e.transact(ctx, "begin", func(t *tx) error {
		// Another process may take longer to migrate than a lock is usually worth waiting for.
		if _, err := t.Exec(ctx, `SET LOCAL lock_timeout = '60s'`); err != nil {
			return fmt.Errorf("preparing to migrate: %w", err)
		}
		if _, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return fmt.Errorf("waiting for another process to migrate: %w", err)
		}
		// Before there were baselines this table held the schema's version.
		old, _, err := sqldb.QueryOne(ctx, t, sqldb.SQL(`SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_version'`),
			sqldb.ScanOne[int64])
		if err == nil && old > 0 {
			err = sqldb.ErrOldSchema
		}
		if err != nil {
			return err
		}
		return fn(t)
	})
	if pgCode(err) == "42501" { // insufficient_privilege
		return fmt.Errorf("%w: %w", sqldb.ErrNotPermitted, err)
	}
	return err
}

// text brings PostgreSQL's own parts of shared SQL out of their comments, and removes SQLite's.
func (e *Engine) text(shared string) string {
	if t, ok := e.texts.Load(shared); ok {
		return t.(string)
	}
	t := uncomment.Replace(shared)
	e.texts.Store(shared, t)
	return t
}

var uncomment = strings.NewReplacer("/*pg ", "", " */", "", " WITHOUT ROWID", "")
