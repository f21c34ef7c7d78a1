package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
)

// suspectKinds are jobs of every kind that a suspect can be of; %s is the time of a deadline.
var suspectKinds = map[string]string{
	"plain":      `{"model":"fast","max_attempts":1,"inputs":[{"body":{"messages":[{"role":"user","content":"plain [sim:tokens=20 hold=kinds]"}]}}]}`,
	"stream":     `{"model":"fast","max_attempts":1,"stream":true,"inputs":[{"body":{"messages":[{"role":"user","content":"shown [sim:tokens=40 hold=kinds]"}]}}]}`,
	"translated": `{"model":"fast","max_attempts":1,"endpoint":"/v1/messages","inputs":[{"body":{"max_tokens":100,"messages":[{"role":"user","content":"translated [sim:tokens=20 hold=kinds]"}]}}]}`,
	"embedded":   `{"model":"fast","max_attempts":1,"endpoint":"/v1/embeddings","inputs":[{"body":{"input":"embedded [sim:hold=kinds]"}}]}`,
	"ranked":     `{"model":"fast","max_attempts":1,"endpoint":"/v1/rerank","inputs":[{"body":{"query":"ranked [sim:hold=kinds]","documents":["a","b"]}}]}`,
	"refused":    `{"model":"fast","max_attempts":1,"inputs":[{"body":{"messages":[{"role":"user","content":"refused [sim:fault=bad_request hold=kinds]"}]}}]}`,
	"fallback":   `{"model":"fast","max_attempts":3,"inputs":[{"body":{"messages":[{"role":"user","content":"failing [sim:fault=server_error times=1 hold=kinds]"}]}}]}`,
	"large":      `{"model":"fast","max_attempts":1,"inputs":[{"body":{"messages":[{"role":"user","content":"large [sim:tokens=20 hold=kinds] ` + strings.Repeat("word ", 40_000) + `"}]}}]}`,
	"stopped":    `{"model":"fast","max_attempts":1,"inputs":[{"body":{"messages":[{"role":"user","content":"stopped [sim:tokens=20 hold=never]"}]}}]}`,
	"late":       `{"model":"fast","max_attempts":1,"deadline":%q,"inputs":[{"body":{"messages":[{"role":"user","content":"late [sim:tokens=20 hold=never]"}]}}]}`,
}

// submitKind submits a job and returns its id.
func (r *rig) submitKind(body string) string {
	r.t.Helper()
	answer := r.call(Call{Method: http.MethodPost, Path: "/v1/jobs", Body: body})
	job, err := decoded[jobAnswer](answer.Body)
	if err != nil || answer.Status != http.StatusAccepted {
		r.t.Fatalf("%.200s: %d %s", body, answer.Status, answer.Body)
	}
	return job.ID
}

// itemOf reads the one item of a job that ended.
func (r *rig) itemOf(id string) itemAnswer {
	r.t.Helper()
	all := r.history([]string{id})
	if len(all) != 1 {
		r.t.Fatalf("job %s has %d items", id, len(all))
	}
	return all[0]
}

// TestSuspectsBehaveAsOthers makes suspects of jobs of every kind, and holds that they end as the same jobs do otherwise: with the
// same answer, usage and cost, shown while it arrives, cancelled and expired, on both engines.
func TestSuspectsBehaveAsOthers(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, on)
			r.lease = 300 * time.Millisecond
			r.configure()
			l := r.start(death{})
			jobs := map[string]string{}
			due := time.Now().Add(12 * time.Second)
			for kind, body := range suspectKinds {
				if kind == "late" {
					body = fmt.Sprintf(body, due.Format(time.RFC3339Nano))
				}
				jobs[kind] = r.submitKind(body)
			}
			for range suspectCrashes {
				r.awaitCalls(len(jobs), jobs)
				l.Kill()
				Await(t, "the upstream to notice", func() error {
					if n := r.upstream.Stats().InFlight; n > 0 {
						return fmt.Errorf("%d calls", n)
					}
					return nil
				})
				l = r.start(death{})
			}
			r.awaitCalls(config.DefaultSuspects, jobs)
			r.finishKinds(l, jobs)
			for kind, id := range jobs {
				r.checkKind(kind, r.itemOf(id))
			}
			r.verify(l)
		})
	}
}

// awaitCalls waits until the upstream is called for so many of the jobs, or all that are left.
func (r *rig) awaitCalls(n int, jobs map[string]string) {
	r.t.Helper()
	Await(r.t, "the jobs to run", func() error {
		open := 0
		for _, id := range jobs {
			job, err := fetch(r.t.Context(), r.endpoint, "/v1/jobs/"+id, decoded[jobAnswer])
			if err != nil {
				return err
			}
			open += job.Counts.Queued + job.Counts.Running
		}
		if called := int(r.upstream.Stats().InFlight); called < min(n, open) {
			return fmt.Errorf("%d calls for %d items; the server printed:\n%s", called, open, tail(r.lives[len(r.lives)-1].Output()))
		}
		return nil
	})
}

// finishKinds lets the suspects end, and reads what is shown of them.
func (r *rig) finishKinds(l *life, jobs map[string]string) {
	r.t.Helper()
	s := &Server{Process: l.Process, URL: r.endpoint.URL}
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*patience)
	defer cancel()
	var said atomic.Int64
	read := make(chan string, 1)
	go func() { read <- (&follower{s: s, job: jobs["stream"], said: &said}).read(ctx) }()
	held := map[string]string{"stopped": jobs["stopped"], "late": jobs["late"]}
	others := maps.Clone(jobs)
	maps.DeleteFunc(others, func(kind, _ string) bool { return held[kind] != "" })
	r.release("kinds")
	r.awaitKinds(l, others)
	r.awaitCalls(len(held), held) // there are more jobs than slots for suspects: one of these may have waited
	if answer := r.call(Call{Method: http.MethodPost, Path: "/v1/jobs/" + jobs["stopped"] + "/cancel"}); answer.Status != http.StatusOK {
		r.t.Errorf("cancelling: %d %s", answer.Status, answer.Body)
	}
	r.awaitKinds(l, held)
	if shown, whole := <-read, s.answerOf(jobs["stream"]); shown != whole || whole == "" || said.Load() == 0 {
		r.t.Errorf("%d bytes in %d deltas were shown of an answer of %d", len(shown), said.Load(), len(whole))
	}
}

// awaitKinds waits until jobs have ended.
func (r *rig) awaitKinds(l *life, jobs map[string]string) {
	r.t.Helper()
	for kind, id := range jobs {
		AwaitLong(r.t, "the job "+kind+" to end", time.Minute, func() error {
			job, err := fetch(r.t.Context(), r.endpoint, "/v1/jobs/"+id, decoded[jobAnswer])
			if err == nil && job.FinishedAt.IsZero() {
				err = fmt.Errorf("%+v; the server printed:\n%s", job.Counts, tail(l.Output()))
			}
			return err
		})
	}
}

// checkKind compares a suspect with the same job, run in the worker itself.
func (r *rig) checkKind(kind string, got itemAnswer) {
	r.t.Helper()
	want := map[string]penstock.Status{"refused": penstock.StatusFailed, "stopped": penstock.StatusCancelled, "late": penstock.StatusExpired}[kind]
	if want == "" {
		want = penstock.StatusSucceeded
	}
	last := got.History[len(got.History)-1]
	if got.Status != want || got.lost() < suspectCrashes && kind != "late" || !last.Isolated && kind != "late" {
		r.t.Errorf("%s: it ended as %s (%v), after %+v", kind, got.Status, got.Error, got.History)
	}
	for _, attempt := range got.History {
		if attempt.Target == "" || attempt.StartedAt.IsZero() || attempt.FinishedAt.Before(attempt.StartedAt) {
			r.t.Errorf("%s: an attempt does not say where and when it ran: %+v", kind, attempt)
		}
	}
	if kind == "stopped" || kind == "late" || kind == "fallback" { // the fault of a fallback happens once
		return
	}
	other := r.submitKind(suspectKinds[kind])
	r.awaitEnd([]string{other})
	twin := r.itemOf(other)
	same := twin.Status == got.Status && twin.Usage == got.Usage && twin.Target == got.Target && twin.Attempts == got.Attempts &&
		(twin.Response == nil) == (got.Response == nil) && encoded(twin.Error) == encoded(got.Error)
	if same && twin.Response != nil && kind != "embedded" {
		one, _ := got.content()
		two, _ := twin.content()
		same = one == two && got.Response.StatusCode == twin.Response.StatusCode
	}
	if !same || twin.History[len(twin.History)-1].Isolated {
		r.t.Errorf("%s: a suspect ends as %.600s\nanother as %.600s", kind, encoded(got), encoded(twin))
	}
}
