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
	steps, err := sqldb.Plan(append(schema.Sources(), further...)...)
	if err != nil {
		t.Fatal(err)
	}
	on := func(name string, open func(t *testing.T) (sqldb.Engine, error)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := engine.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := sqldb.Migrate(t.Context(), engine, steps); err != nil {
				t.Fatal(err)
			}
			test(t, sqldb.New(engine))
		})
	}
	on("sqlite", func(t *testing.T) (sqldb.Engine, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	})
	on("postgres", func(t *testing.T) (sqldb.Engine, error) {
		return postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
	})
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
