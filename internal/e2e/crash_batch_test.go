package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// batchSteps are the transitions of jobs over files, at which TestCrashDuringBatch strikes; those of endpoints that only
// write a row are in the last line.
var batchSteps = []string{"split", "claim_batch", "finish_batch",
	"refuse_batch"}

// TestCrashDuringBatch kills the server at each moment of splitting a file and of writing its results. In the end
// every line ran, once for each life that held it at the most, and the counts, the results and the file agree.
func TestCrashDuringBatch(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			const n = 1200
			var lines strings.Builder
			for i := range n {
				model := "fast"
				if i%400 == 7 {
					model = "other"
				}
				fmt.Fprintf(&lines, `{"custom_id":"row-%d","body":{"model":%q,"messages":[{"role":"user","content":"batch %d [sim:tokens=1]"}]}}`+"\n", i, model, i)
			}
			r.submitFileWhileDying(lines.String(), "split.begin")
			for _, point := range []string{"split.written", "split.committed"} {
				r.liveAt(point)
			}
			for range 3 { // at any moment of the run
				r.live(death{after: time.Duration(20+r.random.IntN(200)) * time.Millisecond})
			}
			for _, point := range []string{"claim_batch.begin", "claim_batch.written", "claim_batch.committed", "finish_batch.begin", "finish_batch.written", "finish_batch.committed"} {
				r.liveAt(point)
			}
			last := r.start(death{})
			s := last.Server
			var jobs struct{ Data []batchJob }
			if err := json.Unmarshal([]byte(s.Do(get("/v1/jobs")).Body), &jobs); err != nil || len(jobs.Data) != 1 {
				t.Fatalf("there are %d jobs: %v", len(jobs.Data), err)
			}
			job, id := jobs.Data[0], jobs.Data[0].ID
			Await(t, "the job to end", func() error {
				job = decodeJob(t, s.Do(get("/v1/jobs/"+id)))
				if job.Status != "succeeded" {
					return fmt.Errorf("it is %s: %+v", job.Status, job.Counts)
				}
				return nil
			})
			if c := job.Counts; c.Total != n || c.Succeeded != n-3 || c.Failed != 3 {
				t.Errorf("counts are %+v", c)
			}
			results := s.Do(get("/v1/jobs/" + id + "/results?order=input")).Body
			r.checkRows(results, n)
			s.checkArtifact(id, results)
			again := 0
			for i := range n {
				if ran := r.upstream.Executions(fmt.Sprintf("batch %d [sim:tokens=1]", i)).Completed; ran > 1 {
					again += int(ran) - 1
				}
			}
			// Only what a life held when it died may run again: its slots, and one group that was not committed.
			most := r.kills() * 2 * slots
			t.Logf("%d kills: of %d lines %d ran more than once; %d may", r.kills(), n, again, most)
			if again > most {
				t.Errorf("%d lines ran more than once, at most %d may", again, most)
			}
			if code := last.Stop(); code != 0 {
				t.Errorf("the last server stopped with code %d:\n%s", code, tail(last.Output()))
			}
			if verify := Start(t, r.env, "ledger", "verify", "--config", r.config); verify.Exit() != 0 {
				t.Errorf("the books are wrong:\n%s", verify.Output())
			}
		})
	}
}

// checkRows holds that results are there for every line, once and in order.
func (r *rig) checkRows(results string, n int) {
	r.t.Helper()
	rows := strings.Split(strings.TrimSpace(results), "\n")
	if len(rows) != n {
		r.t.Errorf("there are %d results, want %d", len(rows), n)
	}
	for i, row := range rows {
		if want := fmt.Sprintf(`"index":%d,"custom_id":"row-%d",`, i, i); !strings.Contains(row, want) {
			r.t.Fatalf("line %d is %.100s", i, row)
		}
	}
}

// submitFileWhileDying uploads lines and submits a job over them to a server that dies when it splits them.
func (r *rig) submitFileWhileDying(lines, point string) {
	r.t.Helper()
	l := r.start(at(point))
	body, contentType := uploadForm(strings.NewReader(lines))
	form, err := io.ReadAll(body)
	if err != nil {
		r.t.Fatal(err)
	}
	var file struct{ ID string }
	a, err := r.endpoint.Try(r.t.Context(), Call{Method: http.MethodPost, Path: "/v1/files", Body: string(form), Header: map[string]string{"Content-Type": contentType}})
	if err != nil || json.Unmarshal([]byte(a.Body), &file) != nil || a.Status != http.StatusOK {
		r.t.Fatalf("upload: %d %s %v", a.Status, a.Body, err)
	}
	// The server may die before it can answer.
	_, _ = r.endpoint.Try(r.t.Context(), post("/v1/jobs", `{"input_file":"`+file.ID+`"}`))
	if l.pass(patience) {
		r.bury(l)
	}
	if l.crashed != point {
		r.t.Fatalf("the server did not come to %s; it printed:\n%s", point, tail(l.Output()))
	}
}
