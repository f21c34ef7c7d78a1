package audit_test

import (
	"os"
	"testing"
	"time"

	"penstock/internal/audit"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestSearch(t *testing.T) {
	t.Parallel()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		var w audit.Writer
		before := time.Now().Add(-time.Hour)
		for _, e := range []audit.Entry{
			{Tenant: "acme", Actor: "ada", Action: "key.create", Subject: "key_1"},
			{Tenant: "acme", Actor: "bob", Action: "key.revoke", Subject: "key_1", Before: map[string]any{"status": "active"}},
			{Tenant: "umbra", Actor: "ada", Action: "keyring.create", Subject: "x"},
			{Tenant: "-", Actor: "SIGHUP", Action: "config.reload", Subject: "cfg_1"},
			{Tenant: "-", Actor: "Zoë <zoe@example.com> (session ses_01KXB3M9SGQ0VJ8ZC3X1N5T7RE)", Action: "config.reload", Subject: "cfg_2"},
		} {
			if err := db.Write(t.Context(), "fill", func(tx sqldb.Tx) error { return w.Write(t.Context(), tx, e) }); err != nil {
				t.Fatal(err)
			}
		}
		reader := audit.NewReader(db)
		search := func(f audit.Filter) []audit.Record {
			t.Helper()
			found, err := reader.Search(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		all := audit.AllTenants
		for name, tt := range map[string]struct {
			filter audit.Filter
			want   int
		}{
			"all":             {audit.Filter{Tenant: all, Limit: 10}, 5},
			"a page":          {audit.Filter{Tenant: all, Limit: 3}, 3},
			"one tenant":      {audit.Filter{Tenant: "acme", Limit: 10}, 2},
			"no tenant named": {audit.Filter{Limit: 10}, 0},
			"an actor":        {audit.Filter{Tenant: all, Actor: "ada", Limit: 10}, 2},
			"a person":        {audit.Filter{Tenant: all, Actor: "Zoë <zoe@example.com>", Limit: 10}, 1},
			"half a name":     {audit.Filter{Tenant: all, Actor: "Zoë", Limit: 10}, 0},
			"an action":       {audit.Filter{Tenant: all, Action: "key.revoke", Limit: 10}, 1},
			"all on keys":     {audit.Filter{Tenant: all, Action: "key", Limit: 10}, 2},
			"an object":       {audit.Filter{Tenant: all, Subject: "key_1", Limit: 10}, 2},
			"a time":          {audit.Filter{Tenant: all, From: before, Until: before.Add(2 * time.Hour), Limit: 10}, 5},
			"before":          {audit.Filter{Tenant: all, Until: before, Limit: 10}, 0},
			"of another":      {audit.Filter{Tenant: "umbra", Subject: "key_1", Limit: 10}, 0},
		} {
			if got := search(tt.filter); len(got) != tt.want {
				t.Errorf("%s: %+v", name, got)
			}
		}
		newest := search(audit.Filter{Tenant: "acme", Limit: 1})
		if len(newest) != 1 || newest[0].Actor != "bob" || string(newest[0].Before) != `{"status":"active"}` || newest[0].Tenant != "acme" {
			t.Fatalf("the newest is %+v", newest)
		}
		if next := search(audit.Filter{Tenant: "acme", After: newest[0].ID, Limit: 10}); len(next) != 1 || next[0].Actor != "ada" {
			t.Errorf("the next page is %+v", next)
		}
	})
}
