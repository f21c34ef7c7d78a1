package rollupsql_test

import (
	"os"
	"testing"
	"time"

	"penstock"
	"penstock/internal/rollup"
	"penstock/internal/rollup/rollupsql"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestStore(t *testing.T) {
	t.Parallel()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		s := rollupsql.New(db)
		at := time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)
		row := rollup.Row{Span: rollup.Minute, At: at, Source: "one", Key: rollup.Key{Tenant: "acme", Lane: penstock.LaneBulk}, Sum: rollup.Sum{Jobs: 1, Cost: 9, Latency: rollup.Histogram{3: 4}}}
		other := row
		other.Tenant, other.Source = "umbra", "two"
		save := func(before map[rollup.Span]time.Time, rows ...rollup.Row) {
			t.Helper()
			if err := s.Save(t.Context(), rows, before); err != nil {
				t.Fatal(err)
			}
		}
		read := func(tenant penstock.TenantID, from time.Time) []rollup.Row {
			t.Helper()
			rows, err := s.Rows(t.Context(), rollup.Query{Span: rollup.Minute, From: from, Tenant: tenant})
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		save(nil, row, other)
		row.Jobs = 5
		save(nil, row)
		if got := read("acme", at); len(got) != 1 || got[0] != row {
			t.Errorf("read %+v, want %+v", got, row)
		}
		if got := read("", at); len(got) > 0 {
			t.Errorf("all tenants have %+v", got)
		}
		if got := read("umbra", at.Add(time.Minute)); len(got) > 0 {
			t.Errorf("later there is %+v", got)
		}
		save(map[rollup.Span]time.Time{rollup.Minute: at.Add(time.Minute), rollup.Quarter: at})
		if got := read("acme", at); len(got) > 0 {
			t.Errorf("old rows are left: %+v", got)
		}
	})
}
