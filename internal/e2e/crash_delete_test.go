package e2e

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// deleteStep is the transition by which an owner deletes a job, purgeSteps are those of the sweep: no load
// comes to them.
const deleteStep = "delete_job"

var purgeSteps = []string{"purge_jobs", "purge_items", "purge_requests", "purge_keys"}

// answer makes a call that must get through.
func (r *rig) answer(c Call) Answer {
	r.t.Helper()
	a, err := r.endpoint.Try(r.t.Context(), c)
	if err != nil {
		r.t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	return a
}

// runJob submits a job under a key, waits for its end and returns its id.
func (r *rig) runJob(key, body string) string {
	r.t.Helper()
	a := r.answer(post("/v1/jobs", body, keyHeader, key, "Prefer", "wait=30"))
	if a.Status != http.StatusOK {
		r.t.Fatalf("the job did not end: %d %s", a.Status, a.Body)
	}
	return strings.TrimPrefix(a.Header.Get("Location"), "/v1/jobs/")
}

func (r *rig) verifyLedger() {
	r.t.Helper()
	if verify := Start(r.t, r.env, "ledger", "verify", "--config", r.config); verify.Exit() != 0 {
		r.t.Errorf("the books are wrong:\n%s", verify.Output())
	}
}

// TestCrashDuringDelete kills the server at each moment of a deletion. A job whose deletion was not committed
// is whole, payloads included; one whose deletion was is gone, and its key runs nothing.
func TestCrashDuringDelete(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			body := `{"model":"fast","input":` + ask(noise(100_000)+" [sim:tokens=5]") + `}`
			first := r.start(death{})
			id := r.runJob("delete", body)
			whole := r.answer(get("/v1/jobs/" + id + "/results")).Body
			if code := first.Stop(); code != 0 {
				t.Fatalf("stopped with code %d", code)
			}
			for _, moment := range moments {
				l := r.start(at(deleteStep + "." + moment))
				if got := r.answer(get("/v1/jobs/" + id + "/results")).Body; got != whole {
					t.Errorf("before %s the results are\n%s\nand were\n%s", moment, got, whole)
				}
				if a, err := r.endpoint.Try(t.Context(), del("/v1/jobs/"+id)); err == nil {
					t.Fatalf("a server that should die answered %d %s", a.Status, a.Body)
				}
				if l.pass(patience) {
					r.bury(l)
				}
			}
			last := r.start(death{})
			if a := r.answer(get("/v1/jobs/" + id)); a.Status != http.StatusNotFound {
				t.Errorf("a deletion that was committed left %d %s", a.Status, a.Body)
			}
			if a := r.answer(post("/v1/jobs", body, keyHeader, "delete")); a.Status != http.StatusGone {
				t.Errorf("its key answers %d %s", a.Status, a.Body)
			}
			if code := last.Stop(); code != 0 {
				t.Errorf("the last server stopped with code %d:\n%s", code, tail(last.Output()))
			}
			r.verifyLedger()
		})
	}
}

// TestCrashDuringSweep kills the server at each moment of every step of the sweep: the next one goes on, until
// all is gone that was kept long enough, and the books stay right.
func TestCrashDuringSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite)
	first := r.start(death{})
	input := `{"body":` + ask("swept [sim:tokens=5]") + `},`
	old := r.runJob("old", `{"model":"fast","inputs":[`+strings.TrimSuffix(strings.Repeat(input, 256), ",")+`]}`) // more than a step takes
	r.answer(post(chatPath, ask("swept [sim:tokens=5]", `"model":"fast"`)))
	if code := first.Stop(); code != 0 {
		t.Fatalf("stopped with code %d", code)
	}
	r.age()
	r.verifyLedger() // that ageing did no harm
	for _, step := range purgeSteps {
		for _, moment := range moments {
			r.liveAt(step + "." + moment)
		}
		r.verifyLedger()
	}
	last := r.start(death{})
	if a := r.answer(get("/v1/jobs/" + old)); a.Status != http.StatusNotFound {
		t.Errorf("the old job answers %d %s", a.Status, a.Body)
	}
	if a := r.answer(post("/v1/jobs", `{"model":"fast","input":"anew [sim:tokens=5]"}`, keyHeader, "old", "Prefer", "wait=30")); a.Status != http.StatusOK {
		t.Errorf("a key that was purged cannot be used anew: %d %s", a.Status, a.Body)
	}
	if code := last.Stop(); code != 0 {
		t.Errorf("the last server stopped with code %d:\n%s", code, tail(last.Output()))
	}
	r.verifyLedger()
	r.wantRows(map[string]int{"jobs": 1, "items": 0, "result_groups": 1, "requests": 0, "attempts": 0, "idempotency_keys": 1, "deleted_jobs": 0})
}

// age makes everything in the database of a dead server older than any window. The time of a call is in its
// id; its second character is worth more than thirty years.
func (r *rig) age() {
	r.t.Helper()
	r.database(func(db *sql.DB) error {
		for _, statement := range []string{
			`UPDATE jobs SET finished_at = 1 WHERE finished_at > 0`,
			`UPDATE idempotency_keys SET expires_at = 1`,
			`UPDATE attempts SET subject_id = '00' || substr(subject_id, 3) WHERE subject_id IN (SELECT id FROM requests)`,
			`UPDATE ledger SET key = 'request:00' || substr(subject_id, 3), subject_id = '00' || substr(subject_id, 3) WHERE job_id = ''`,
			`UPDATE requests SET id = '00' || substr(id, 3)`,
		} {
			if _, err := db.ExecContext(r.t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// wantRows counts what is left in the database of a server that ended.
func (r *rig) wantRows(want map[string]int) {
	r.t.Helper()
	r.database(func(db *sql.DB) error {
		for table, n := range want {
			var got int
			if err := db.QueryRowContext(r.t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&got); err != nil {
				return err
			}
			if got != n {
				r.t.Errorf("%d rows are left of %s, want %d", got, table, n)
			}
		}
		return nil
	})
}

// database lends out the database of a server that does not run.
func (r *rig) database(use func(*sql.DB) error) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.data, "penstock.db"))
	if err == nil {
		defer db.Close()
		err = use(db)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
