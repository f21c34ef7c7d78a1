package e2e

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

var retryScenarios = []scenario{
	{name: "retry_job", play: retryJob},
	{name: "retry_job_refused", play: retryRefused},
	{name: "retry_job_idempotent", play: retryIdempotent},
	{name: "retry_at_a_rate", play: retryAtARate},
	{name: "retry_concurrently", play: retryConcurrently},
	{name: "retry_dead_letters", play: retryDeadLetters, own: true},
	{name: "dismiss_dead_letters", play: dismissDeadLetters, own: true},
}

// failing is a prompt that fails for good the first time and succeeds afterwards.
func failing(text string) string { return text + " [sim:fault=bad_request times=1]" }

func retryJob(s *scene) {
	s.script.mask(`("seq":\s?)\d+`, "${1}<seq>") // items run side by side
	id := s.submit(`{"model":"retry-job","tags":{"team":"search"},"max_attempts":2,"inputs":[{"custom_id":"a","body":` + ask(failing("first")) +
		`},{"custom_id":"b","body":` + ask("fine") + `},{"custom_id":"c","body":` + ask(failing("third")) + `}]}`)
	s.finished(id)
	s.tell("the effect of a retry", post("/v1/jobs/"+id+"/retry", `{"dry_run":true}`))
	a := s.tell("what did not succeed runs again", post("/v1/jobs/"+id+"/retry", ""))
	again := s.field(a, "id")
	s.finished(again)
	s.tell("the new job", get("/v1/jobs/"+again))
	s.tell("its results", get("/v1/jobs/"+again+"/results?order=input"))
	s.tell("the first job stays as it was", get("/v1/jobs/"+id))
	s.tell("its dead letters are dealt with", get("/v1/dead_letters/items?job_id="+id))
	for prompt, want := range map[string]int{failing("first"): 2, "fine": 1, failing("third"): 2} {
		if n := s.executions(prompt); n != want {
			s.Errorf("%q ran %d times, want %d", prompt, n, want)
		}
	}
}

func retryRefused(s *scene) {
	id := s.submit(`{"model":"retry-refused","input":"` + failing("refused") + `"}`)
	s.finished(id)
	path := "/v1/jobs/" + id + "/retry"
	for _, body := range []string{`{"resolve":"newer"}`, `{"rate":0}`, `{"rate":0.01}`, `{"rate":1e9}`, `{"rate":"1"}`, `{"deadline":"1h"}`, `[]`, `{`} {
		s.tell("refused", post(path, body))
	}
	s.tell("no such job", post("/v1/jobs/job_01ARZ3NDEKTSV4RRFFQ69G5FAV/retry", ""))
	again := s.field(s.tell("on what its model means today, and waiting for it", post(path, `{"resolve":"fresh","rate":10}`, "Prefer", "wait=30")), "id")
	s.tell("once more", post(path, ""))
	s.tell("once more, as a dry run", post(path, `{"dry_run":true}`))
	s.tell("of a job that succeeded", post("/v1/jobs/"+again+"/retry", ""))
}

func retryIdempotent(s *scene) {
	id := s.submit(`{"model":"retry-once","input":"` + failing("once") + `"}`)
	s.finished(id)
	path := "/v1/jobs/" + id + "/retry"
	again := s.field(s.tell("a retry with a key", post(path, "", keyHeader, "retry-1")), "id")
	s.finished(again)
	repeat := s.tell("sent again", post(path, "{ }", keyHeader, "retry-1"))
	if s.field(repeat, "id") != again {
		s.Error("it became another job")
	}
	s.tell("with another payload", post(path, `{"resolve":"fresh"}`, keyHeader, "retry-1"))
	s.tell("with another key", post(path, "", keyHeader, "retry-2"))
	if n := s.executions(failing("once")); n != 2 {
		s.Errorf("it ran %d times", n)
	}
}

func retryAtARate(s *scene) {
	id := s.submit(`{"model":"retry-rate","inputs":[{"body":` + ask(failing("rate 1")) + `},{"body":` + ask(failing("rate 2")) + `},{"body":` + ask(failing("rate 3")) + `}]}`)
	s.finished(id)
	began := time.Now()
	again := s.field(s.call(post("/v1/jobs/"+id+"/retry", `{"rate":2}`)), "id")
	s.finished(again)
	if took := time.Since(began); took < time.Second {
		s.Errorf("three items at two a second took %v", took)
	}
	if a := s.call(get("/v1/jobs/" + again)); s.field(a, "outcome") != "all_succeeded" {
		s.Errorf("the retry came to %s", a.Body)
	}
}

// retryConcurrently lets many retry the same dead letters: what they ask for runs once.
func retryConcurrently(s *scene) {
	id := s.submit(`{"model":"retry-crowd","input":"` + failing("crowd") + `"}`)
	s.finished(id)
	const callers = 20
	made := make([]string, callers)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			c := post("/v1/dead_letters/retry", `{"filter":{"model":"retry-crowd"}}`)
			if i%2 == 0 {
				c = post("/v1/jobs/"+id+"/retry", "")
			}
			a, err := s.try(s.Context(), c)
			if err != nil || a.Status >= http.StatusInternalServerError {
				s.Errorf("%d %s %v", a.Status, a.Body, err)
			}
			made[i] = a.Body
		})
	}
	all.Wait()
	jobs, _ := s.listed("model=retry-crowd")
	if len(jobs) != 2 {
		s.Errorf("%d jobs, want the first and its one retry: %s", len(jobs), strings.Join(made, ""))
	}
	for _, job := range jobs {
		s.finished(job)
	}
	if n := s.executions(failing("crowd")); n != 2 {
		s.Errorf("it ran %d times", n)
	}
}

func retryDeadLetters(s *scene) {
	s.script.mask(`("(?:id|after)":\s?)"[0-9A-Z]{26}"`, `${1}"<entry>"`)
	for _, job := range []string{
		`{"model":"retry-a","input":"` + failing("prompt 1") + `"}`,
		`{"model":"retry-b","input":"` + failing("prompt 2") + `"}`,
		`{"model":"retry-a","input":"prompt 3 [sim:fault=content_filter times=1]"}`,
	} {
		s.finished(s.submit(job))
	}
	groups := s.tell("by their cause", get("/v1/dead_letters"))
	first := s.tell("the first page", get("/v1/dead_letters?limit=1"))
	s.tell("the next page", get("/v1/dead_letters?limit=1&after="+s.fingerprints(first)[0]))
	s.tell("of one model", get("/v1/dead_letters?model=retry-b"))

	const path = "/v1/dead_letters/retry"
	for _, body := range []string{`{}`, `{"filter":{}}`, `{"filter":{"all":false}}`, `{"filter":{"all":true,"model":"retry-a"}}`, `{"filter":{"code":"broken"}}`,
		`{"filter":{"job_id":"item_01ARZ3NDEKTSV4RRFFQ69G5FAV"}}`, `{"filter":{"modle":"x"}}`, `{"filter":{"all":true},"rate":-1}`} {
		s.tell("refused", post(path, body))
	}
	s.tell("a key is of no use", post(path, `{"filter":{"all":true}}`, keyHeader, "dead-letters-1"))
	s.tell("what would be done", post(path, `{"filter":{"all":true},"dry_run":true}`))
	s.tell("those of one cause", post(path, `{"filter":{"fingerprint":"`+s.fingerprints(groups)[1]+`"},"rate":100}`))
	s.tell("once more", post(path, `{"filter":{"fingerprint":"`+s.fingerprints(groups)[1]+`"}}`))
	s.tell("the rest, as their models are today", post(path, `{"filter":{"all":true},"resolve":"fresh"}`))
	s.tell("none are left", get("/v1/dead_letters"))
	jobs, _ := s.listed("")
	for _, job := range jobs {
		s.finished(job)
	}
	for _, prompt := range []string{failing("prompt 1"), failing("prompt 2"), "prompt 3 [sim:fault=content_filter times=1]"} {
		if n := s.executions(prompt); n != 2 {
			s.Errorf("%q ran %d times", prompt, n)
		}
	}
	s.tellAudit("who did it", "?tenant=demo")
}

func dismissDeadLetters(s *scene) {
	s.script.mask(`("id":\s?)"[0-9A-Z]{26}"`, `${1}"<entry>"`)
	var jobs []string
	for _, model := range []string{"dismiss-a", "dismiss-b"} {
		jobs = append(jobs, s.submit(`{"model":"`+model+`","input":"`+failing("dismiss "+model)+`"}`))
		s.finished(jobs[len(jobs)-1])
	}
	const path = "/v1/dead_letters/dismiss"
	s.tell("refused", post(path, `{"filter":{}}`))
	s.tell("what would be done", post(path, `{"filter":{"all":true},"dry_run":true}`))
	s.tell("those of one model", post(path, `{"filter":{"model":"dismiss-a"}}`))
	s.tell("once more", post(path, `{"filter":{"model":"dismiss-a"}}`))
	s.tell("what is left", get("/v1/dead_letters/items"))
	s.tell("no longer to be retried as a dead letter", post("/v1/dead_letters/retry", `{"filter":{"model":"dismiss-a"}}`))
	s.tell("but with its job", post("/v1/jobs/"+jobs[0]+"/retry", "", "Prefer", "wait=30"))
	s.tellAudit("who did it", "?tenant=demo&limit=1")
	for _, query := range []string{"", "?tenant=nobody", "?tenant=demo&limit=0", "?tenant=demo&after=x"} {
		s.tellAudit("the audit of", query)
	}
}

// fingerprints are those of the groups in an answer.
func (s *scene) fingerprints(a Answer) []string {
	s.Helper()
	var found []string
	for _, part := range strings.Split(a.Body, `{"fingerprint":"`)[1:] {
		fingerprint, _, _ := strings.Cut(part, `"`)
		found = append(found, fingerprint)
	}
	return found
}

func (s *scene) tellAudit(title, query string) {
	s.Helper()
	status, text := s.fetch(strings.TrimSuffix(s.metrics, "/metrics") + "/admin/v1/audit" + query)
	s.script.note("### %s\nadmin GET /admin/v1/audit%s => %d\n%s", title, query, status, text)
}
