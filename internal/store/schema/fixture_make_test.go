package schema_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
	"penstock/internal/webhook"
	"penstock/internal/webhook/webhooksql"
)

var makeFixture = flag.String("make-fixture", "", "write the fixture of a new baseline under this name, with the steps that are there now")

const fixtureTenant penstock.TenantID = "acme"

const fillerText = "x" // in the text columns of rows that only fill a table

// TestMakeFixture writes the fixture of a new baseline. It is run once, when a release line begins:
//
//	go test ./internal/store/schema -run TestMakeFixture -make-fixture 2026-11
func TestMakeFixture(t *testing.T) {
	if *makeFixture == "" {
		t.Skip("-make-fixture was not given")
	}
	root := filepath.Join("testdata", *makeFixture)
	copySteps(t, root)
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	db, err := schema.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := payload.LoadOrCreate(filepath.Join(root, "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.New(t.Context(), db, codec, blobs)
	if err != nil {
		t.Fatal(err)
	}
	play(t, s, webhooksql.New(db, codec))
	fill(t, engine)
	text, err := json.MarshalIndent(dump(t, engine), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "rows.json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copySteps copies the steps of every owner.
func copySteps(t *testing.T, root string) {
	t.Helper()
	for _, source := range schema.Sources() {
		if err := os.CopyFS(filepath.Join(root, source.Owner), source.Files); err != nil {
			t.Fatal(err)
		}
	}
}

// play does some of everything: a job with a success and a dead letter, a queued job, a webhook with a delivery.
func play(t *testing.T, s *sqlstore.Store, hooks *webhooksql.Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, ids := t.Context(), new(penstock.IDs)
	must(s.SaveTenants(ctx, []penstock.Tenant{{ID: fixtureTenant, Weight: 1}}))
	must(s.SaveSnapshot(ctx, "cfg_1", []byte(`{}`)))
	_, err := hooks.Create(ctx, fixtureTenant, webhook.NewEndpoint{
		ID: ids.New(time.Now()), URL: "https://app.example/hook", Events: []penstock.EventType{penstock.EventJobFinished}, Secret: []byte("secret"), Actor: "app",
	})
	must(err)
	lease, err := s.AcquireLease(ctx, "worker", time.Minute)
	must(err)
	for _, items := range []int{2, 1} {
		sub := store.Submission{
			Job: penstock.Job{ID: ids.New(time.Now()), Tenant: fixtureTenant, Key: "app", Endpoint: penstock.EndpointChat, Model: "fast", Lane: penstock.LaneStandard,
				MaxAttempts: 4, ItemTimeout: time.Minute, Resolved: penstock.Resolved{Config: "cfg_1", Model: "fast", Targets: []string{"first"}}},
			DeadlineIn:  100 * 365 * 24 * time.Hour,
			Idempotency: &store.IdempotencyKey{Key: fmt.Sprint("order ", items), BodyHash: []byte("hash"), TTL: time.Hour},
		}
		for i := range items {
			sub.Items = append(sub.Items, store.NewItem{CustomID: fmt.Sprint("row-", i), Body: []byte(`{"messages":"question"}`), EstimateTokens: 100, Reserved: 1000})
		}
		_, err := s.SubmitJob(ctx, fixtureTenant, sub)
		must(err)
		if items == 1 {
			break // it stays queued
		}
		claims, err := s.ClaimItems(ctx, lease, store.Want{Lanes: penstock.Lanes, Limit: 2})
		must(err)
		_, err = s.FinishItems(ctx, []store.Finish{fixtureFinish(claims[0], penstock.TransitionSucceed), fixtureFinish(claims[1], penstock.TransitionFail)})
		must(err)
	}
	call := penstock.Request{ID: ids.New(time.Now()), Tenant: fixtureTenant, Key: "app", Endpoint: penstock.EndpointChat, Model: "fast", Status: penstock.StatusSucceeded, Target: "first",
		StartedAt: time.Now(), FinishedAt: time.Now()}
	call.Attempts = []penstock.Attempt{{ID: ids.New(time.Now()), Subject: call.ID, Number: 1, Target: "first"}}
	must(s.RecordRequests(ctx, []penstock.Request{call}))
}

func fixtureFinish(c *store.Claimed, how penstock.Transition) store.Finish {
	f := store.Finish{
		Of: c, Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Transition: how, Counted: 1, Target: "first", Usage: penstock.Usage{InputTokens: 10, OutputTokens: 5},
		Cost: 7, PriceVersion: "price_1", StatusCode: 200, Result: []byte(`{"answer":1}`),
		Attempts: []penstock.Attempt{{ID: new(penstock.IDs).New(time.Now()), Subject: c.Item, Number: 1, Fence: c.Fence, Target: "first", Cost: 7, UsageKnown: true,
			Usage: penstock.Usage{InputTokens: 10, OutputTokens: 5}}},
	}
	if how == penstock.TransitionFail {
		f.Result, f.StatusCode, f.ErrorKind = nil, 400, "rejected"
		f.Error = &penstock.ItemError{Code: penstock.CodeUpstreamRejected, Message: "no such parameter"}
		f.Attempts[0].ErrorKind, f.Attempts[0].StatusCode = "rejected", 400
	}
	return f
}

// fill adds a row to each table that play left empty: the values that its types allow, and no more.
func fill(t *testing.T, engine sqldb.Engine) {
	t.Helper()
	tables := dump(t, engine)
	err := engine.Write(t.Context(), func(tx sqldb.Tx) error {
		for table, rows := range tables {
			if len(rows) > 0 {
				continue
			}
			columns, err := sqldb.QueryAll(t.Context(), tx, sqldb.SQL(`SELECT name || ' ' || type FROM pragma_table_info($1)`, table), sqldb.ScanOne[string])
			if err != nil {
				return err
			}
			row := map[string]any{}
			for _, column := range columns {
				name, typ, _ := strings.Cut(column, " ")
				row[name] = map[string]any{"TEXT": fillerText, "BIGINT": json.Number("0"), "BYTEA": map[string]any{"hex": "00"}}[typ]
			}
			if err := insert(t, tx, table, row); err != nil {
				return fmt.Errorf("filling %s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dump reads every row of every table.
func dump(t *testing.T, engine sqldb.Engine) map[string][]map[string]any {
	t.Helper()
	all := map[string][]map[string]any{}
	err := engine.Read(t.Context(), func(tx sqldb.Tx) error {
		tables, err := sqldb.QueryAll(t.Context(), tx, sqldb.SQL(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'penstock_migrations'`), sqldb.ScanOne[string])
		if err != nil {
			return err
		}
		for _, table := range tables {
			columns, err := sqldb.QueryAll(t.Context(), tx, sqldb.SQL(`SELECT name FROM pragma_table_info($1)`, table), sqldb.ScanOne[string])
			if err != nil {
				return err
			}
			all[table], err = sqldb.QueryAll(t.Context(), tx, sqldb.SQL(`SELECT `+strings.Join(columns, ", ")+` FROM `+table), func(row sqldb.Row) (map[string]any, error) {
				values := make([]any, len(columns))
				into := make([]any, len(columns))
				for i := range values {
					into[i] = &values[i]
				}
				err := row.Scan(into...)
				out := map[string]any{}
				for i, v := range values {
					if b, ok := v.([]byte); ok {
						v = map[string]any{"hex": hex.EncodeToString(b)}
					}
					out[columns[i]] = v
				}
				return out, err
			})
			if err != nil {
				return err
			}
			if all[table] == nil {
				all[table] = []map[string]any{}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
