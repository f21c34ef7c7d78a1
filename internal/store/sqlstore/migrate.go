package sqlstore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrations returns the steps of the schema in order.
func Migrations() ([]Migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	var steps []Migration
	for _, name := range names {
		number, title, ok := strings.Cut(strings.TrimSuffix(path.Base(name), ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || version != int64(len(steps)+1) {
			return nil, fmt.Errorf("migration %s is not number %d of the sequence", name, len(steps)+1)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", name, err)
		}
		steps = append(steps, Migration{Version: version, Name: title, SQL: string(text)})
	}
	return steps, nil
}

// Version asks a database how far its schema is.
func Version(ctx context.Context, tx Tx, question string) (int64, error) {
	at, _, err := queryOne(ctx, tx, sqlf(question), func(row Row) (n int64, err error) { return n, row.Scan(&n) })
	return at, err
}

// Pending returns the steps after the version that a database is at. A database from a later
// release is not an error: migrations only expand, so this release can work on it.
func Pending(steps []Migration, at int64) []Migration {
	if at >= int64(len(steps)) {
		return nil
	}
	return steps[at:]
}
