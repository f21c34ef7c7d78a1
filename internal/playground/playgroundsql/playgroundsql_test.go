package playgroundsql_test

import (
	"os"
	"testing"

	"penstock/internal/playground/playgroundsql"
	"penstock/internal/playground/playgroundtest"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestConformanceOnSQLite(t *testing.T) {
	t.Parallel()
	playgroundtest.Run(t, func(t *testing.T) (playgroundtest.Store, *sqldb.DB) {
		return open(t, schematest.SQLite(t))
	})
}

func TestConformanceOnPostgres(t *testing.T) {
	t.Parallel()
	playgroundtest.Run(t, func(t *testing.T) (playgroundtest.Store, *sqldb.DB) {
		return open(t, schematest.Postgres(t))
	})
}

func open(t *testing.T, db *sqldb.DB) (playgroundtest.Store, *sqldb.DB) {
	t.Helper()
	return playgroundsql.New(db, schematest.Codec(t)), db
}
