package e2e

import (
	"crypto/rand"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

var deleteScenarios = []scenario{
	{name: "delete_job", play: deleteJob},
	{name: "delete_leaves_no_payload", play: deleteLeavesNoPayload, own: true},
	{name: "delete_expiry", play: deleteExpiry},
}

// del is a call that deletes.
func del(path string) Call { return Call{Method: "DELETE", Path: path} }

func deleteJob(s *scene) {
	body := `{"model":"delete","inputs":[{"custom_id":"kept","body":` + ask("forget me") + `},{"custom_id":"lost","body":` +
		ask("forget me too [sim:fault=bad_request]") + `}],"tags":{"scenario":"delete"}}`
	id := s.field(s.call(post("/v1/jobs", body, keyHeader, "delete-1")), "id")
	s.finished(id)
	item := s.field(Answer{Body: strings.SplitN(s.call(get("/v1/jobs/"+id+"/results")).Body, "\n", 2)[0]}, "item_id")
	deadLetters := s.call(get("/v1/dead_letters?limit=100"))
	if !strings.Contains(deadLetters.Body, id) {
		s.Errorf("the failed item is no dead letter: %s", deadLetters.Body)
	}
	s.tell("a finished job is deleted", del("/v1/jobs/"+id))
	s.tell("and is gone", get("/v1/jobs/"+id))
	s.tell("with its results", get("/v1/jobs/"+id+"/results"))
	s.tell("its log", get("/v1/jobs/"+id+"/events"))
	s.tell("and its items", get("/v1/items/"+item))
	s.tell("it is not listed", get("/v1/jobs?tag=scenario:delete"))
	if deadLetters := s.call(get("/v1/dead_letters?limit=100")); strings.Contains(deadLetters.Body, id) {
		s.Errorf("a deleted job has a dead letter: %s", deadLetters.Body)
	}
	s.tell("it cannot be deleted twice", del("/v1/jobs/"+id))
	s.tell("nor cancelled", post("/v1/jobs/"+id+"/cancel", ""))
	s.tell("its key remembers it and runs nothing", post("/v1/jobs", body, keyHeader, "delete-1"))
	if n := s.executions("forget me"); n != 1 {
		s.Errorf("it ran %d times", n)
	}

	running := s.submit(`{"model":"delete","input":"still at it [sim:fault=hang]"}`)
	s.counted(running, "running", 1)
	s.tell("a job that runs is not deleted", del("/v1/jobs/"+running))
	s.call(post("/v1/jobs/"+running+"/cancel", ""))
	s.finished(running)
	if a := s.call(del("/v1/jobs/" + running)); a.Status != http.StatusOK {
		s.Errorf("deleting it after its end: %d %s", a.Status, a.Body)
	}
	s.tell("a job that never was", del("/v1/jobs/job_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
	s.tell("no job at all", del("/v1/jobs/item_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
}

// deleteLeavesNoPayload deletes a job whose payloads are files, and looks for them.
func deleteLeavesNoPayload(s *scene) {
	id := s.submit(`{"model":"sim","input":` + ask(noise(200_000)) + `}`)
	s.finished(id)
	if n := s.blobs(); n == 0 {
		s.Fatal("the job has no payload on disk")
	}
	s.call(del("/v1/jobs/" + id))
	if n := s.blobs(); n != 0 {
		s.Errorf("%d payloads outlive their job", n)
	}
}

// blobs counts the payloads in the data directory.
func (s *scene) blobs() int {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.data, "blobs", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		s.Fatal(err)
	}
	return len(files)
}

// deleteExpiry holds that a finished job says when it will be deleted: a week after its end by default.
func deleteExpiry(s *scene) {
	open := s.submit(`{"model":"expiry","input":"not yet [sim:fault=hang]"}`)
	if at := s.field(s.call(get("/v1/jobs/"+open)), "results_expire_at"); at != "" {
		s.Errorf("a job that has not finished is kept until %s", at)
	}
	s.call(post("/v1/jobs/"+open+"/cancel", ""))
	s.finished(open)
	job := s.call(get("/v1/jobs/" + open))
	var times [2]time.Time
	for i, name := range []string{"finished_at", "results_expire_at"} {
		var err error
		if times[i], err = time.Parse(time.RFC3339Nano, s.field(job, name)); err != nil {
			s.Fatal(err)
		}
	}
	if kept := times[1].Sub(times[0]); kept != 7*24*time.Hour {
		s.Errorf("a job is kept for %v", kept)
	}
}

// noise is text of at least n bytes that compresses badly.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()
}
