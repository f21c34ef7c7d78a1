// Package schematest runs the tests of a capability's store on both engines.
//
// A test package calls pgtest.Main from its TestMain, as every user of a PostgreSQL server does.
package schematest

import (
	"path/filepath"
	"testing"

	"penstock/internal/payload"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

// OnEngines runs a test on SQLite and on PostgreSQL, each time with a new database. The database has the whole schema, and the tables
// of further sources.
func OnEngines(t *testing.T, test func(t *testing.T, db *sqldb.DB), further ...sqldb.Source) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t, further...))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t, further...))
	})
}

// SQLite returns a new database on SQLite, as OnEngines has it. It lives as long as the test.
func SQLite(t *testing.T, further ...sqldb.Source) *sqldb.DB {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	return migrated(t, engine, further)
}

// Postgres returns a new database on PostgreSQL, as OnEngines has it. It lives as long as the test.
func Postgres(t *testing.T, further ...sqldb.Source) *sqldb.DB {
	t.Helper()
	engine, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	return migrated(t, engine, further)
}

// migrated gives an engine the whole schema, and closes it at the end of the test.
func migrated(t *testing.T, engine sqldb.Engine, further []sqldb.Source) *sqldb.DB {
	t.Helper()
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	steps, err := sqldb.Plan(append(schema.Sources(), further...)...)
	if err == nil {
		err = sqldb.Migrate(t.Context(), engine, steps)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sqldb.New(engine)
}

// Codec returns a codec with keys of its own.
func Codec(t testing.TB) *payload.Codec {
	t.Helper()
	keys, err := payload.LoadOrCreate(filepath.Join(t.TempDir(), "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}
