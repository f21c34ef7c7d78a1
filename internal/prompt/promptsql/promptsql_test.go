package promptsql_test

import (
	"os"
	"testing"

	"penstock/internal/prompt/coedit/coedittest"
	"penstock/internal/prompt/promptsql"
	"penstock/internal/prompt/prompttest"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestConformanceOnSQLite(t *testing.T) {
	t.Parallel()
	prompttest.Run(t, func(t *testing.T) (prompttest.Store, *sqldb.DB) {
		return open(t, schematest.SQLite(t))
	})
}

func TestConformanceOnPostgres(t *testing.T) {
	t.Parallel()
	prompttest.Run(t, func(t *testing.T) (prompttest.Store, *sqldb.DB) {
		return open(t, schematest.Postgres(t))
	})
}

func TestEditorsOnSQLite(t *testing.T) {
	t.Parallel()
	coedittest.Run(t, func(t *testing.T) (coedittest.Store, *sqldb.DB) {
		return editors(open(t, schematest.SQLite(t)))
	})
}

func TestEditorsOnPostgres(t *testing.T) {
	t.Parallel()
	coedittest.Run(t, func(t *testing.T) (coedittest.Store, *sqldb.DB) {
		return editors(open(t, schematest.Postgres(t)))
	})
}

func editors(s prompttest.Store, db *sqldb.DB) (coedittest.Store, *sqldb.DB) {
	c := s.(*promptsql.Store).Coedit()
	return coedittest.Store{Prompts: s, Drafts: s, Shared: c, Log: c, Comments: c, People: c}, db
}

func open(t *testing.T, db *sqldb.DB) (prompttest.Store, *sqldb.DB) {
	t.Helper()
	return promptsql.New(db, schematest.Codec(t)), db
}
