package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// deadLetterSteps are the transitions that nobody under load asks for: those of dead letters.
var deadLetterSteps = []string{"retry", "dismiss"}

// standing is how things stand with dead letters.
type standing struct{ deadLetters, jobs, noted int }

// standing counts dead letters, jobs and entries of the audit.
func (r *rig) standing() standing {
	r.t.Helper()
	count := func(endpoint *Server, path string) int {
		var list struct {
			Data []json.RawMessage `json:"data"`
		}
		a, err := endpoint.Try(r.t.Context(), Call{Method: http.MethodGet, Path: path})
		if err != nil || a.Status != http.StatusOK {
			r.t.Fatalf("GET %s: %d %s %v", path, a.Status, a.Body, err)
		}
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			r.t.Fatal(err)
		}
		return len(list.Data)
	}
	return standing{count(r.endpoint, "/v1/dead_letters/items"), count(r.endpoint, "/v1/jobs"), count(r.admin, "/admin/v1/audit?tenant="+tenant)}
}

// TestCrashDuringRetry kills the server at each moment of a retry and of a dismissal: after that either all
// of it happened or nothing did, and an item that was retried runs once more, no matter how often it is
// asked for.
func TestCrashDuringRetry(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r, d := newRig(t, on), newDiary()
			for _, name := range []string{"first", "second"} {
				prompt := fmt.Sprintf("fails once [sim:tokens=5 fault=bad_request times=1 hold=%s]", name) // after it was accepted
				o := d.orderFor(name, inference{prompt: prompt})
				if r.submitWhileDying(d, o, "finish.committed") == "" {
					t.Fatal("the job was not accepted")
				}
			}
			nothing, retried, dismissed := standing{2, 2, 0}, standing{1, 3, 1}, standing{0, 3, 2}
			for _, moment := range moments {
				r.askWhileDying("retry", moment, nothing)
			}
			for _, moment := range moments {
				r.askWhileDying("dismiss", moment, retried)
			}
			last := r.start(death{})
			a, err := r.endpoint.Try(t.Context(), Call{Method: http.MethodPost, Path: "/v1/dead_letters/retry", Body: `{"filter":{"all":true}}`})
			if err != nil || a.Status != http.StatusOK {
				t.Fatalf("%d %s %v", a.Status, a.Body, err)
			}
			if got := r.standing(); got != dismissed {
				t.Errorf("in the end %+v, want %+v", got, dismissed)
			}
			r.wantOneRetry()
			if code := last.Stop(); code != 0 {
				t.Errorf("the last server stopped with code %d:\n%s", code, tail(last.Output()))
			}
			if verify := Start(t, r.env, "ledger", "verify", "--config", r.config); verify.Exit() != 0 {
				t.Errorf("the books are wrong:\n%s", verify.Output())
			}
		})
	}
}

// askWhileDying asks for the oldest dead letter to be retried or dismissed, by a server that dies at a moment
// of it. Before that, things must stand as the deaths before it left them.
func (r *rig) askWhileDying(step, moment string, want standing) {
	r.t.Helper()
	point := step + "." + moment
	l := r.start(at(point))
	if got := r.standing(); got != want {
		r.t.Errorf("before %s: %+v, want %+v", point, got, want)
	}
	body := `{"filter":{"job_id":"` + r.oldestDeadLetter() + `"}}`
	if a, err := r.endpoint.Try(r.t.Context(), Call{Method: http.MethodPost, Path: "/v1/dead_letters/" + step, Body: body}); err == nil {
		r.t.Fatalf("a server that should die at %s answered %d %s", point, a.Status, a.Body)
	}
	if l.pass(patience) {
		r.bury(l)
	}
	if l.crashed != point {
		r.t.Fatalf("the server did not come to %s; it printed:\n%s", point, tail(l.Output()))
	}
}

// oldestDeadLetter is the job of the oldest dead letter.
func (r *rig) oldestDeadLetter() string {
	r.t.Helper()
	var list struct {
		Data []struct {
			JobID string `json:"job_id"`
		} `json:"data"`
	}
	a, err := r.endpoint.Try(r.t.Context(), Call{Method: http.MethodGet, Path: "/v1/dead_letters/items"})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || len(list.Data) == 0 {
		r.t.Fatalf("no dead letters in %s: %v", a.Body, err)
	}
	return list.Data[0].JobID
}

// wantOneRetry demands that one job is a retry of another, and waits for its end.
func (r *rig) wantOneRetry() {
	r.t.Helper()
	var jobs struct {
		Data []struct {
			ID      string  `json:"id"`
			RetryOf *string `json:"retry_of"`
		} `json:"data"`
	}
	a, err := r.endpoint.Try(r.t.Context(), Call{Method: http.MethodGet, Path: "/v1/jobs"})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(a.Body), &jobs); err != nil {
		r.t.Fatal(err)
	}
	retries := 0
	for _, job := range jobs.Data {
		if job.RetryOf == nil {
			continue
		}
		retries++
		a, err := r.endpoint.Try(r.t.Context(), Call{Method: http.MethodGet, Path: "/v1/jobs/" + job.ID, Header: map[string]string{"Prefer": "wait=30"}})
		if err != nil || a.Status != http.StatusOK {
			r.t.Fatalf("%s did not end: %d %s %v", job.ID, a.Status, a.Body, err)
		}
	}
	if retries != 1 {
		r.t.Errorf("%d retries, want 1", retries)
	}
}
