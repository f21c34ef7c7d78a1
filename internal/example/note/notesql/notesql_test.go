package notesql_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/example/note"
	"penstock/internal/example/note/notesql"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var (
	acme  = penstock.Principal{Tenant: penstock.Tenant{ID: "acme"}, Key: "app"}
	umbra = penstock.Principal{Tenant: penstock.Tenant{ID: "umbra"}, Key: "spy"}
)

// onEngines runs a test on each engine, with the migrations of all owners and of notes.
func onEngines(t *testing.T, test func(t *testing.T, s *note.Service, db *sqldb.DB)) {
	t.Helper()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		test(t, note.New(notesql.New(db), func() {}, time.Now), db)
	}, notesql.Migrations())
}

func count(t *testing.T, db *sqldb.DB, query string) (n int64) {
	t.Helper()
	err := db.Read(t.Context(), func(tx sqldb.Tx) (err error) {
		n, _, err = sqldb.QueryOne(t.Context(), tx, sqldb.SQL(query), sqldb.ScanOne[int64])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNoteAuditAndEventAreOneTransaction(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *note.Service, db *sqldb.DB) {
		err := db.Write(t.Context(), "subscribe", func(tx sqldb.Tx) error {
			return tx.Do(t.Context(), `INSERT INTO webhooks (tenant_id, job_id, id, url, events, created_at, updated_at)
				VALUES ('acme', '', 'whk', 'https://app.example', '["note.created"]', 1, 1)`)
		})
		if err != nil {
			t.Fatal(err)
		}
		made, err := s.Create(t.Context(), acme, " remember the milk ")
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Note(t.Context(), acme, made.ID)
		if err != nil || read != made || read.Text != "remember the milk" {
			t.Errorf("read %+v, %v", read, err)
		}
		if n := count(t, db, `SELECT COUNT(*) FROM audit WHERE tenant_id = 'acme' AND action = 'note.create'`); n != 1 {
			t.Errorf("%d audit entries", n)
		}
		if n := count(t, db, `SELECT COUNT(*) FROM deliveries WHERE webhook_id = 'whk' AND type = 'note.created'`); n != 1 {
			t.Errorf("%d deliveries", n)
		}

		// The same id again: the insert fails, and neither entry nor event is written.
		if _, err := notesql.New(db).Create(t.Context(), made, "app"); err == nil {
			t.Error("a note was created twice")
		}
		if n := count(t, db, `SELECT (SELECT COUNT(*) FROM audit) + (SELECT COUNT(*) FROM deliveries)`); n != 2 {
			t.Errorf("a failed change left %d entries and events", n-2)
		}
	})
}

func TestNotesBelongToTheirTenant(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *note.Service, _ *sqldb.DB) {
		made, err := s.Create(t.Context(), acme, "mine")
		if err != nil {
			t.Fatal(err)
		}
		probes := map[string]func(context.Context, penstock.Principal) error{
			"Note": func(ctx context.Context, c penstock.Principal) error {
				_, err := s.Note(ctx, c, made.ID)
				return err
			},
			"List": func(ctx context.Context, c penstock.Principal) error {
				all, err := s.List(ctx, c, note.Page{Limit: 10})
				if err == nil && len(all) == 0 {
					err = penstock.NotFound(note.ViewNote, made.ID)
				}
				return err
			},
			"Delete": func(ctx context.Context, c penstock.Principal) error { return s.Delete(ctx, c, made.ID) },
		}
		for _, name := range []string{"Note", "List", "Delete"} {
			if err := probes[name](t.Context(), umbra); penstock.ErrorCode(err) != penstock.CodeNotFound {
				t.Errorf("%s shows a stranger another tenant's note: %v", name, err)
			}
		}
		for _, name := range []string{"Note", "List", "Delete"} {
			if err := probes[name](t.Context(), acme); err != nil {
				t.Errorf("%s does not show the owner its note: %v", name, err)
			}
		}
	})
}

func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	s := note.New(nil, func() {}, time.Now)
	for _, bad := range []string{"", "  ", strings.Repeat("x", note.MaxTextBytes+1)} {
		_, err := s.Create(t.Context(), acme, bad)
		if e, ok := errors.AsType[*penstock.Error](err); !ok || e.Param != "text" {
			t.Errorf("a text of %d bytes: %v", len(bad), err)
		}
	}
}
