package sqlstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storefill"
)

// planner is an engine that asks for the plan of every query that it reads with.
type planner struct {
	sqldb.Engine
	explain string
	plans   map[string]string // by query
}

func (p *planner) Read(ctx context.Context, fn func(sqldb.Tx) error) error {
	return p.Engine.Read(ctx, func(tx sqldb.Tx) error { return fn(&plannedTx{tx, p}) })
}

type plannedTx struct {
	sqldb.Tx
	p *planner
}

func (t *plannedTx) Query(ctx context.Context, sql string, args ...any) (sqldb.Rows, error) {
	if t.p.plans[sql] == "" {
		lines, err := sqldb.QueryAll(ctx, t.Tx, sqldb.Query{SQL: t.p.explain + sql, Args: args}, func(row sqldb.Row) (line string, err error) {
			if strings.Contains(t.p.explain, "QUERY PLAN") {
				var id, parent, unused int
				return line, row.Scan(&id, &parent, &unused, &line)
			}
			return line, row.Scan(&line)
		})
		if err != nil {
			return nil, err
		}
		t.p.plans[sql] = strings.Join(lines, "\n")
	}
	return t.Tx.Query(ctx, sql, args...)
}

// scans are lines of plans that read a whole table.
var scans = regexp.MustCompile(`(?m)(SCAN|Seq Scan on) (jobs|items|dead_letters|requests|request_tags|files|deliveries)\b.*$`)

// TestListPlans holds that no list reads a whole table, on both engines, whatever it is filtered by.
func TestListPlans(t *testing.T) {
	t.Parallel()
	on := func(name, explain string, open func(t *testing.T) (sqldb.Engine, error)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = engine.Close() })
			db, err := schema.Open(t.Context(), engine)
			if err != nil {
				t.Fatal(err)
			}
			r := newListRig(t, db, storefill.Size{Jobs: 8000, Requests: 8000, DeadLetters: 8000, Files: 8000})
			r.exec("ANALYZE")
			p := &planner{Engine: engine, explain: explain, plans: map[string]string{}}
			r.s = planned(t, p)
			readLists(r)
			if len(p.plans) < 30 {
				t.Errorf("only %d queries were planned", len(p.plans))
			}
			for sql, plan := range p.plans {
				if bad := scans.FindString(plan); bad != "" {
					t.Errorf("%s in the plan of\n%s\n%s", bad, sql, plan)
				}
			}
		})
	}
	on("sqlite", "EXPLAIN QUERY PLAN ", func(t *testing.T) (sqldb.Engine, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Path: t.TempDir() + "/penstock.db"})
	})
	on("postgres", "EXPLAIN ", func(t *testing.T) (sqldb.Engine, error) {
		return postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
	})
}

// planned is the store over a planner.
func planned(t *testing.T, p *planner) *sqlstore.Store {
	t.Helper()
	s := &sqlstore.Store{}
	s.SetDB(sqldb.New(p))
	return s
}

// readLists reads a page of every list with every filter.
func readLists(r *listRig) {
	r.Helper()
	must := func(what string, err error) {
		r.Helper()
		if err != nil {
			r.Fatalf("%s: %v", what, err)
		}
	}
	ctx, day := r.Context(), r.until.Add(-24*time.Hour)
	jobs := r.filters()
	jobs["code"], jobs["fingerprint"] = store.JobFilter{Code: storefill.RareCode}, store.JobFilter{Fingerprint: storefill.RareFingerprint}
	jobs["prefix"] = store.JobFilter{IDPrefix: "01"}
	for name, f := range jobs {
		f.Limit = 20
		_, err := r.s.ListJobs(ctx, storefill.Busy, f)
		must("jobs by "+name, err)
		if f.Code == "" && f.Fingerprint == "" && f.IDPrefix == "" {
			_, err = r.s.SummarizeJobs(ctx, storefill.Busy, store.JobSummaryQuery{Filter: f, Buckets: 10})
			must("summary by "+name, err)
		}
	}
	for i, f := range []store.RequestFilter{{}, {Status: penstock.StatusFailed}, {Status: penstock.StatusSucceeded}, {Code: storefill.RareCode}, {Model: "none"}, {TagKey: "team", TagValue: "ads"}, {Subject: "user-1"}, {CreatedAfter: day}} {
		f.Limit = 20
		_, err := r.s.ListRequests(ctx, storefill.Busy, f)
		must(fmt.Sprint("requests ", i), err)
	}
	for i, f := range []store.DeadLetterFilter{{}, {Model: "none"}, {Code: storefill.RareCode}, {Fingerprint: storefill.RareFingerprint}, {Kind: "none"}, {CreatedAfter: day}, {Job: penstock.FirstID(day)}} {
		_, _, err := r.s.DeadLetters(ctx, storefill.Busy, store.DeadLetterPage{Filter: f, Limit: 20})
		must(fmt.Sprint("dead letters ", i), err)
		_, _, err = r.s.DeadLetterGroups(ctx, storefill.Busy, store.DeadLetterGroupPage{Filter: f, Limit: 20})
		must(fmt.Sprint("groups ", i), err)
	}
	for _, purpose := range []store.Purpose{"", "vision"} {
		_, err := r.s.ListFiles(ctx, storefill.Busy, store.FilePage{Purpose: purpose, Limit: 20})
		must("files", err)
	}
}
