package playgroundsql_test

import (
	"os"
	"path/filepath"
	"testing"

	"penstock/internal/playground/playgroundsql"
	"penstock/internal/playground/playgroundtest"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestConformanceOnSQLite(t *testing.T) {
	t.Parallel()
	playgroundtest.Run(t, func(t *testing.T) (playgroundtest.Store, *sqldb.DB) {
		engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
		return open(t, engine, err)
	})
}

func TestConformanceOnPostgres(t *testing.T) {
	t.Parallel()
	playgroundtest.Run(t, func(t *testing.T) (playgroundtest.Store, *sqldb.DB) {
		engine, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
		return open(t, engine, err)
	})
}

func open(t *testing.T, engine sqldb.Engine, err error) (playgroundtest.Store, *sqldb.DB) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	db, err := schema.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	return playgroundsql.New(db, schematest.Codec(t)), db
}
