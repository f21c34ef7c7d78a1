package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"penstock/internal/config"
	"penstock/internal/store/postgres"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
)

// databaseTimeout bounds the check of the database.
const databaseTimeout = 5 * time.Second

// How each engine tells the version of its schema.
const (
	sqliteVersion   = `PRAGMA user_version`
	postgresVersion = `SELECT COALESCE(MAX(version), 0) FROM schema_version`
)

// checkDatabase proves that the database answers and that its schema is up to date.
func checkDatabase(ctx context.Context, p config.Process) finding {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	if !p.Database.IsZero() {
		engine, err := postgres.Open(ctx, postgres.Config{URL: p.Database.Reveal()})
		if err != nil {
			return finding{"database", healthFail, err.Error(), "check that PostgreSQL runs and that database (PENSTOCK_DATABASE_URL) is right"}
		}
		return checkSchema(ctx, engine, "PostgreSQL", postgresVersion)
	}
	path := filepath.Join(p.Data, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return finding{Check: "database", Status: healthOK, Detail: path + ", which the first start will create"}
	}
	engine, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return finding{"database", healthFail, err.Error(), "make " + path + " readable and writable for this user"}
	}
	return checkSchema(ctx, engine, path, sqliteVersion)
}

func checkSchema(ctx context.Context, engine sqlstore.Engine, name, query string) finding {
	at, err := schemaVersion(ctx, engine, query)
	steps, stepsErr := sqlstore.Migrations()
	if err := errors.Join(err, stepsErr, engine.Close()); err != nil {
		return finding{"database", healthFail, name + ": " + err.Error(), "restore it from a backup if it is damaged"}
	}
	detail := fmt.Sprintf("%s, schema version %d", name, at)
	switch latest := int64(len(steps)); {
	case at < latest:
		return finding{"database", healthWarn, fmt.Sprintf("%s of %d", detail, latest), "penstock db migrate, or just start: a server does so by itself"}
	case at > latest:
		return finding{"database", healthWarn, detail + " of a later release", "upgrade this one when you can"}
	}
	return finding{Check: "database", Status: healthOK, Detail: detail}
}

func schemaVersion(ctx context.Context, engine sqlstore.Engine, query string) (at int64, err error) {
	err = engine.Read(ctx, func(tx sqlstore.Tx) error {
		at, err = sqlstore.Version(ctx, tx, query)
		return err
	})
	const undefinedTable = "42P01"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == undefinedTable {
		return 0, nil // nothing was ever migrated
	}
	return at, err
}
