package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// onEngines runs a test on an empty database of each engine.
func onEngines(t *testing.T, test func(t *testing.T, open func() sqldb.Engine, catalog []string)) {
	closed := func(t *testing.T, engine sqldb.Engine, err error) sqldb.Engine {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := engine.Close(); err != nil {
				t.Error(err)
			}
		})
		return engine
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, func() sqldb.Engine {
			engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
			return closed(t, engine, err)
		}, sqliteCatalog)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, func() sqldb.Engine {
			engine, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
			return closed(t, engine, err)
		}, postgresCatalog)
	})
}
