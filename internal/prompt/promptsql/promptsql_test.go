package promptsql_test

import (
	"os"
	"path/filepath"
	"testing"

	"penstock/internal/prompt/coedit/coedittest"
	"penstock/internal/prompt/promptsql"
	"penstock/internal/prompt/prompttest"
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
	prompttest.Run(t, func(t *testing.T) (prompttest.Store, *sqldb.DB) {
		engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
		return open(t, engine, err)
	})
}

func TestConformanceOnPostgres(t *testing.T) {
	t.Parallel()
	prompttest.Run(t, func(t *testing.T) (prompttest.Store, *sqldb.DB) {
		engine, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
		return open(t, engine, err)
	})
}

func TestEditorsOnSQLite(t *testing.T) {
	t.Parallel()
	coedittest.Run(t, func(t *testing.T) (coedittest.Store, *sqldb.DB) {
		engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
		return editors(open(t, engine, err))
	})
}

func TestEditorsOnPostgres(t *testing.T) {
	t.Parallel()
	coedittest.Run(t, func(t *testing.T) (coedittest.Store, *sqldb.DB) {
		engine, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
		return editors(open(t, engine, err))
	})
}

func editors(s prompttest.Store, db *sqldb.DB) (coedittest.Store, *sqldb.DB) {
	c := s.(*promptsql.Store).Coedit()
	return coedittest.Store{Prompts: s, Drafts: s, Shared: c, Log: c, Comments: c, People: c}, db
}

func open(t *testing.T, engine sqldb.Engine, err error) (prompttest.Store, *sqldb.DB) {
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
	return promptsql.New(db, schematest.Codec(t)), db
}
