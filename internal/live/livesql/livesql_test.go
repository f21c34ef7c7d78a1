package livesql_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"penstock"
	"penstock/internal/live"
	"penstock/internal/live/livesql"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var at = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

func id(n int) penstock.ID { return penstock.ItemID(penstock.FirstID(at), n) }

// write runs statements, with the id of each as $1.
func write(t *testing.T, db *sqldb.DB, statements ...string) {
	t.Helper()
	err := db.Write(t.Context(), "fill", func(tx sqldb.Tx) error {
		for n, sql := range statements {
			if err := tx.Do(t.Context(), sql, id(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		const job = `INSERT INTO jobs (id, tenant_id, key_name, endpoint, model, lane, tags, status, total, succeeded, seq, max_attempts, item_timeout, resolved, created_at, deadline)
			VALUES ($1, '%s', 'k', 'e', 'm', 'bulk', '{}', '%s', %d, 1, 7, 1, 1, '{}', 1, 1)`
		const dead = `INSERT INTO dead_letters (item_id, job_id, tenant_id, model, error_code, error_kind, fingerprint, created_at, resolved_at) VALUES ($1, 'j', '%s', 'm', 'c', 'k', 'f', 1, %d)`
		write(t, db, fmt.Sprintf(job, "acme", "running", 4), fmt.Sprintf(job, "umbra", "succeeded", 1),
			fmt.Sprintf(dead, "acme", 0), fmt.Sprintf(dead, "acme", 5), fmt.Sprintf(dead, "umbra", 0),
			`INSERT INTO claims (id, job_id, tenant_id, process_id, epoch, open, items) VALUES ('c', '`+string(id(0))+`', 'acme', $1, 1, 2, '[]')`,
			`INSERT INTO deliveries (id, tenant_id, webhook_id, receiver_id, job_id, event_id, type, url, status, attempts, not_before, created_at, body) VALUES ($1, 'acme', '', 'r', 'j', 'e', 't', '', 'failed', 3, 1, 1, '')`,
			`INSERT INTO audit (id, tenant_id, actor, action, subject, before, after, created_at) VALUES ($1, 'acme', 'a', 'b', 'c', '{}', '{}', 1)`,
			`INSERT INTO audit (id, tenant_id, actor, action, subject, before, after, created_at) VALUES ($1, 'acme', 'a', 'prompt.label.move', 'c', '{}', '{}', 1)`)
		s := livesql.New(db)
		states, err := s.JobStates(t.Context(), []penstock.ID{id(0), id(1), id(99)})
		if err != nil || len(states) != 2 {
			t.Fatalf("%+v, %v", states, err)
		}
		for _, j := range states {
			if want := (penstock.Counts{Total: 4, Queued: 1, Running: 2, Succeeded: 1}); j.Tenant == "acme" && (j.Counts != want || !j.Batch || j.Seq != 7 || j.Status != penstock.StatusRunning) || j.Tenant == "umbra" && j.Batch {
				t.Errorf("%+v", j)
			}
		}
		for tenant, want := range map[penstock.TenantID]int{"acme": 1, "": 2, "nobody": 0} {
			if n, err := s.DeadLetters(t.Context(), tenant, 10); n != want || err != nil {
				t.Errorf("%q has %d dead letters, %v", tenant, n, err)
			}
		}
		if n, _ := s.DeadLetters(t.Context(), "", 1); n != 1 {
			t.Errorf("counting did not stop: %d", n)
		}
		for log, want := range map[live.Log]int{live.LogAudit: 2, live.LogPrompts: 1, live.LogDeliveries: 1, live.LogRequests: 0} {
			marks, err := s.Recent(t.Context(), log, at, 10)
			if err != nil || len(marks) != want || want == 1 && marks[0].Tenant != "acme" {
				t.Errorf("%s: %+v, %v", log, marks, err)
			}
			if marks, err := s.Recent(t.Context(), log, at.Add(time.Second), 10); len(marks) > 0 || err != nil {
				t.Errorf("%s later: %+v, %v", log, marks, err)
			}
		}
	})
}
