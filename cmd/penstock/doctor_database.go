package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"penstock/internal/config"
	"penstock/internal/store/postgres"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

// databaseTimeout bounds the check of the database.
const databaseTimeout = 5 * time.Second

// checkDatabase proves that the database answers and that its schema is up to date.
func checkDatabase(ctx context.Context, p config.Process) finding {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	if !p.Database.IsZero() {
		engine, err := postgres.Open(ctx, postgres.Config{URL: p.Database.Reveal()})
		if err != nil {
			return finding{"database", healthFail, err.Error(), "check that PostgreSQL runs and that database (PENSTOCK_DATABASE_URL) is right"}
		}
		return checkSchema(ctx, engine, "PostgreSQL")
	}
	path := filepath.Join(p.Data, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return finding{Check: "database", Status: healthOK, Detail: path + ", which the first start will create"}
	}
	engine, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return finding{"database", healthFail, err.Error(), "make " + path + " readable and writable for this user"}
	}
	return checkSchema(ctx, engine, path)
}

func checkSchema(ctx context.Context, engine sqldb.Engine, name string) finding {
	has, err := sqldb.Applied(ctx, engine)
	steps, planErr := schema.Plan()
	pending, pendingErr := sqldb.Pending(steps, has)
	if err := errors.Join(err, planErr, pendingErr, engine.Close()); err != nil {
		return finding{"database", healthFail, name + ": " + err.Error(), "restore it from a backup if it is damaged"}
	}
	at := int64(0)
	if len(has) > 0 {
		at = has[len(has)-1].Number
	}
	detail := fmt.Sprintf("%s, schema version %d", name, at)
	switch latest := steps[len(steps)-1].Number; {
	case len(pending) > 0:
		return finding{"database", healthWarn, fmt.Sprintf("%s of %d", detail, latest), "run penstock db migrate, or start a server, which migrates by itself"}
	case at > latest:
		return finding{"database", healthWarn, detail + " of a later release", "upgrade this binary when you can"}
	}
	return finding{Check: "database", Status: healthOK, Detail: detail}
}
