package schema_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlstore"
	"penstock/internal/webhook"
	"penstock/internal/webhook/webhooksql"
)

// The numbers of all owners have no gap, so that two branches that take the same one notice it in review.
func TestNumbersHaveNoGap(t *testing.T) {
	t.Parallel()
	steps, err := schema.Plan() // fails on a step that does more than expand
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range steps {
		if m.Number != int64(i+1) {
			t.Errorf("step %d of the schema is %s", i+1, m)
		}
	}
}

// An upgraded database has the schema of a new one. A step that was edited after it was applied somewhere shows here.
func TestUpgradedSchemaIsTheNewSchema(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, open func() sqldb.Engine, catalog []string) {
		fresh := open()
		if _, err := schema.Open(t.Context(), fresh); err != nil {
			t.Fatal(err)
		}
		want := describe(t, fresh, catalog)
		for _, f := range fixtures(t) {
			engine := open()
			f.restore(t, engine)
			if _, err := schema.Open(t.Context(), engine); err != nil {
				t.Fatalf("upgrading %s: %v", f.dir, err)
			}
			for _, line := range missingLines(want, describe(t, engine, catalog)) {
				t.Errorf("%s: only one of the upgraded and the new schema has %s", f.dir, line)
			}
		}
	})
}

func missingLines(a, b string) (only []string) {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for line := range strings.Lines(pair[0]) {
			if !strings.Contains("\n"+pair[1], "\n"+line) {
				only = append(only, line)
			}
		}
	}
	return only
}

// Every table of a baseline has rows in its fixture.
func TestFixturesFillEveryTable(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures(t) {
		for _, m := range f.steps(t) {
			for line := range strings.Lines(m.SQL) {
				if name, ok := strings.CutPrefix(line, "CREATE TABLE "); ok {
					if table := strings.Fields(name)[0]; len(f.tables[table]) == 0 {
						t.Errorf("%s has no row of %s", f.dir, table)
					}
				}
			}
		}
	}
}

// A database of an earlier version is upgraded, read and worked on through the stores.
func TestFixturesAreUpgradedAndRead(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, open func() sqldb.Engine, _ []string) {
		for _, f := range fixtures(t) {
			t.Run(filepath.Base(f.dir), func(t *testing.T) {
				engine := open()
				f.restore(t, engine)
				db, err := schema.Open(t.Context(), engine)
				if err != nil {
					t.Fatal(err)
				}
				codec := f.codec(t)
				blobs, err := dir.New(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				s, err := sqlstore.New(t.Context(), db, codec, blobs)
				if err != nil {
					t.Fatal(err)
				}
				readBack(t, s)
				workOn(t, s)
				readWebhooks(t, webhooksql.New(db, codec))
			})
		}
	})
}

func (f fixture) codec(t *testing.T) *payload.Codec {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "keyset.json")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := payload.LoadOrCreate(copied)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

// readBack reads the finished work of the fixture.
func readBack(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	jobs, err := s.ListJobs(t.Context(), fixtureTenant, store.JobFilter{Limit: 10})
	if err != nil || len(jobs.Jobs) != 2 {
		t.Fatalf("%d jobs, %v", len(jobs.Jobs), err)
	}
	done := jobs.Jobs[1]
	results, _, err := s.Results(t.Context(), fixtureTenant, done.ID, store.ResultPage{Limit: 10})
	if err != nil || len(results) != 2 || !strings.Contains(string(results[0].Result), "answer") {
		t.Errorf("the results are %+v, %v", results, err)
	}
	input, err := s.ItemInput(t.Context(), fixtureTenant, penstock.ItemID(done.ID, 0))
	if err != nil || !strings.Contains(string(input), "question") {
		t.Errorf("the input is %s, %v", input, err)
	}
	found, _, err := s.DeadLetters(t.Context(), fixtureTenant, store.DeadLetterPage{Limit: 10})
	if err != nil || len(found) != 1 {
		t.Errorf("the dead letters are %+v, %v", found, err)
	}
	entries, err := s.JobEntries(t.Context(), fixtureTenant, done.ID)
	if err != nil || len(entries) == 0 {
		t.Errorf("the ledger has %+v, %v", entries, err)
	}
	report, err := s.VerifyLedger(t.Context())
	ofFiller := func(problem string) bool { return strings.HasSuffix(problem, ": "+fillerText) }
	if problems := slices.DeleteFunc(report.Problems, ofFiller); err != nil || len(problems) > 0 {
		t.Errorf("ledger problems: %v, %v", problems, err)
	}
	audited, err := s.AuditEntries(t.Context(), fixtureTenant, store.AuditPage{Limit: 10})
	if err != nil || len(audited) == 0 {
		t.Errorf("the audit has %+v, %v", audited, err)
	}
	tenants, err := s.ListTenants(t.Context(), store.TenantFilter{Limit: 10})
	if err != nil || len(tenants) != 1 || tenants[0].ID != fixtureTenant {
		t.Errorf("the tenants are %+v, %v", tenants, err)
	}
}

// workOn claims and finishes the item that was queued.
func workOn(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	lease, err := s.AcquireLease(t.Context(), "worker", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := s.ClaimItems(t.Context(), lease, store.Want{Lanes: penstock.Lanes, Limit: 10})
	if err != nil || len(claims) != 1 {
		t.Fatalf("claimed %d items, %v", len(claims), err)
	}
	verdicts, err := s.FinishItems(t.Context(), []store.Finish{fixtureFinish(claims[0], penstock.TransitionSucceed)})
	if err != nil || !verdicts[0].Won {
		t.Errorf("finished with %+v, %v", verdicts, err)
	}
}

// readWebhooks reads the endpoint and claims its delivery, whose secret must open.
func readWebhooks(t *testing.T, s *webhooksql.Store) {
	t.Helper()
	all, err := s.List(t.Context(), fixtureTenant, webhook.Page{Limit: 10})
	if err != nil || len(all) != 1 || all[0].URL != "https://app.example/hook" {
		t.Fatalf("the endpoints are %+v, %v", all, err)
	}
	got, err := s.ClaimDeliveries(t.Context(), webhook.DeliveryWant{Limit: 10, PerReceiver: 10, PerTenant: 10, Hold: time.Minute})
	if err != nil || len(got.Claims) != 2 { // that of the fixture, and that of the job that just ended
		t.Fatalf("claimed %+v, %v", got, err)
	}
	for _, c := range got.Claims {
		if c.Err != nil || len(c.Secrets) != 1 || string(c.Secrets[0]) != "secret" {
			t.Errorf("claimed %+v", c)
		}
	}
}

// A database from before the first baseline is refused, and nothing in it is touched.
func TestOldDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]string{
		"sqlite": `PRAGMA user_version = 24`, "postgres": `CREATE TABLE schema_version (version BIGINT PRIMARY KEY, name TEXT NOT NULL)`,
	} {
		onEngines(t, func(t *testing.T, open func() sqldb.Engine, catalog []string) {
			if filepath.Base(t.Name()) != name {
				t.Skip("the mark of the other engine")
			}
			engine := open()
			err := engine.Write(t.Context(), func(tx sqldb.Tx) error { return tx.Do(t.Context(), mark) })
			if err != nil {
				t.Fatal(err)
			}
			before := describe(t, engine, catalog)
			if _, err := schema.Open(t.Context(), engine); !errors.Is(err, sqldb.ErrOldSchema) {
				t.Errorf("opening it: %v", err)
			}
			if describe(t, engine, catalog) != before {
				t.Error("the refused database was changed")
			}
		})
	}
}
