package promptsql_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptsql"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

// BenchmarkUpdate accepts one keystroke in a draft of 4 KiB. The metric log-B/op is what the log grows by.
func BenchmarkUpdate(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) (sqldb.Engine, error){
		"sqlite": func(b *testing.B) (sqldb.Engine, error) {
			return sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "penstock.db")})
		},
		"postgres": func(b *testing.B) (sqldb.Engine, error) {
			return postgres.Open(b.Context(), postgres.Config{URL: pgtest.URL(b)})
		},
	} {
		b.Run(name, func(b *testing.B) {
			engine, err := open(b)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = engine.Close() })
			db, err := schema.Open(b.Context(), engine)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkUpdate(b, promptsql.New(db, schematest.Codec(b)), db)
		})
	}
}

func benchmarkUpdate(b *testing.B, s *promptsql.Store, db *sqldb.DB) {
	const tenant penstock.TenantID = "acme"
	var ids penstock.IDs
	actor := penstock.Author{ID: "key:app", Name: "app"}
	text := strings.Repeat("Be kind and brief. ", 215)
	draft := prompt.NewDraft{ID: ids.New(time.Now()), Name: "p", Content: content.Content{Kind: content.KindText, Text: text}, Actor: actor}
	if _, err := s.PutDraft(b.Context(), tenant, draft); err != nil {
		b.Fatal(err)
	}
	open, err := s.Coedit().Shared(b.Context(), tenant, "p")
	if err != nil {
		b.Fatal(err)
	}
	version, length := int64(0), len(text)
	for b.Loop() {
		set, err := changeset.Replace(length, 2000, 2000, "x")
		if err != nil {
			b.Fatal(err)
		}
		_, err = s.Coedit().Submit(b.Context(), tenant, coedit.Submission{Name: "p", Text: open.Texts[0].ID, Client: "c", Version: version, Updates: []changeset.Set{set}, Author: actor})
		if err != nil {
			b.Fatal(err)
		}
		version, length = version+1, length+1
	}
	var stored int64
	err = db.Read(b.Context(), func(tx sqldb.Tx) (err error) {
		stored, _, err = sqldb.QueryOne(b.Context(), tx, sqldb.SQL(`SELECT SUM(LENGTH(changes)) / COUNT(*) FROM prompt_draft_updates`), sqldb.ScanOne[int64])
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(stored), "log-B/op")
}
