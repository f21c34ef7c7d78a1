package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// A model's only target is away for longer than the attempts of an item last: items wait, none is given up, and all
// are done when it is back. Calls that cannot wait are refused at once.
func TestOutageLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for an outage to pass")
	}
	upstream := FreeAddress(t)
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: http://%s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
`, upstream))
	jobs := []string{s.job(1), s.job(100), s.job(100)}
	began := time.Now()
	Await(t, "the breaker", func() error {
		e := s.explain("fast")
		if e.Chosen != nil || e.Targets[0].NoCapacity != "is out of order" {
			return fmt.Errorf("explained as %+v", e)
		}
		return nil
	})
	s.refusedAtOnce()
	Await(t, "the reason why jobs wait", func() error {
		var job struct {
			WaitingOn         *string    `json:"waiting_on"`
			EstimatedFinishAt *time.Time `json:"estimated_finish_at"`
		}
		a := s.Do(get(jobs[2]))
		if err := json.Unmarshal([]byte(a.Body), &job); err != nil || job.WaitingOn == nil || *job.WaitingOn != "provider" || job.EstimatedFinishAt != nil {
			return fmt.Errorf("%v %s", err, a.Body)
		}
		return nil
	})
	// An item's four attempts last for seven seconds at the most: the waits between them are up to 1, 2 and 4 s.
	Await(t, "the outage to last long enough", func() error {
		if left := 8*time.Second - time.Since(began); left > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
	Start(t, nil, "sim", "--listen", upstream)
	for _, job := range jobs {
		Await(t, "the end of a job", func() error {
			if got := s.read(get(job)).Status; got != "succeeded" {
				return fmt.Errorf("%s is %s", job, got)
			}
			return nil
		})
		var counts struct{ Counts map[string]int }
		if err := json.Unmarshal([]byte(s.Do(get(job)).Body), &counts); err != nil || counts.Counts["succeeded"] != counts.Counts["total"] {
			t.Errorf("%s: %+v, %v", job, counts, err)
		}
	}
	if a := s.Do(get("/v1/dead_letters/items")); a.Status != 200 || !json.Valid([]byte(a.Body)) || len(listOf(t, a.Body)) != 0 {
		t.Errorf("dead letters: %d %s", a.Status, a.Body)
	}
	if a := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: hiBody}); a.Status != http.StatusOK {
		t.Errorf("after the outage a call is answered with %d %s", a.Status, a.Body)
	}
}

const hiBody = `{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`

// refusedAtOnce calls while the target is out of order. A probe may be due just then, which is answered with 502.
func (s *Server) refusedAtOnce() {
	s.t.Helper()
	began := time.Now()
	a := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: hiBody})
	after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.Status == http.StatusBadGateway {
		return
	}
	if a.Status != http.StatusServiceUnavailable || after < 1 || after > 30 || time.Since(began) > 4*time.Second {
		s.t.Errorf("after %v: %d with Retry-After %q, want 503", time.Since(began), a.Status, a.Header.Get("Retry-After"))
	}
}

// explained is a model's explanation, as far as it is looked at here.
type explained struct {
	Chosen  *string `json:"chosen"`
	Reason  string  `json:"reason"`
	Targets []struct {
		Target     string `json:"target"`
		Excluded   string `json:"excluded"`
		NoCapacity string `json:"no_capacity"`
	} `json:"targets"`
}

func (s *Server) explain(model string) (e explained) {
	s.t.Helper()
	a := s.Do(Call{Method: "POST", Path: "/v1/models/" + model + "/explain", Body: "{}"})
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || a.Status != http.StatusOK {
		s.t.Fatalf("explain: %d %s", a.Status, a.Body)
	}
	return e
}

// serveOne starts a server with the given targets and models.
func serveOne(t *testing.T, routing string, edits ...func(path string) error) *Server {
	t.Helper()
	return serveWith(t, []string{"E2E_KEY=" + Key}, routing, edits...)
}

// serveWith is serveOne with an environment, of which E2E_KEY is a part.
func serveWith(t *testing.T, env []string, routing string, edits ...func(path string) error) *Server {
	t.Helper()
	address := FreeAddress(t)
	path := filepath.Join(t.TempDir(), "penstock.yaml")
	err := os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin_listen: %s
data: %s
%s
tenants: {acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}}
`, address, FreeAddress(t), t.TempDir(), routing), 0o600)
	for _, edit := range edits {
		err = errors.Join(err, edit(path))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Process: Start(t, env, "serve", "--config", path), URL: "http://" + address}
	s.AwaitReady()
	return s
}

// listOf is the data of a page.
func listOf(t *testing.T, body string) []json.RawMessage {
	t.Helper()
	var page struct{ Data []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatal(err)
	}
	return page.Data
}

// What is explained is what is done, also for a name with a slash.
func TestExplainOverHTTP(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets:
  blind: {provider: upstream, upstream_model: sim-small, capabilities: [streaming]}
  dear: {provider: upstream, upstream_model: sim-small, price: {input: "3", output: "15"}}
  cheap: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}
models: {team/best: {policy: cheapest, targets: [blind, dear, cheap]}}
`, upstream))
	a := s.Do(Call{Method: "POST", Path: "/v1/models/team%2Fbest/explain",
		Body: `{"tools":[{"type":"function"}],"messages":[{"role":"user","content":"Hi"}]}`})
	var e explained
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || e.Chosen == nil || *e.Chosen != "cheap" || e.Targets[0].Excluded != "lacks tools" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	call := s.Do(Call{Method: "POST", Path: "/v1/chat/completions",
		Body: `{"model":"team/best","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"Hi"}]}`})
	if call.Status != http.StatusOK || call.Header.Get("x-penstock-target") != "cheap" {
		t.Errorf("the call went to %q: %d %s", call.Header.Get("x-penstock-target"), call.Status, call.Body)
	}
	if a := s.Do(Call{Method: "POST", Path: "/v1/models/nobody/explain"}); a.Status != http.StatusNotFound {
		t.Errorf("an unknown model is explained with %d %s", a.Status, a.Body)
	}
}

// An item that is lent as a probe and that the upstream refuses for what it says itself has had its attempt, and says so.
func TestRejectedProbeIsAnAttempt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for an outage to pass")
	}
	upstream := FreeAddress(t)
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: http://%s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small}}
models: {fast: {targets: [sim]}}
`, upstream))
	s.job(10)
	Await(t, "the breaker", func() error {
		if e := s.explain("fast"); e.Chosen != nil {
			return fmt.Errorf("explained as %+v", e)
		}
		return nil
	})
	a := s.Do(post("/v1/jobs", `{"model":"fast","lane":"realtime","inputs":[{"body":`+ask("no [sim:fault=bad_request]")+`},{"body":`+ask("never [sim:fault=bad_request]")+`}]}`))
	var job jobAnswer
	if err := json.Unmarshal([]byte(a.Body), &job); err != nil || a.Status != http.StatusAccepted {
		t.Fatalf("submit: %d %s", a.Status, a.Body)
	}
	Start(t, nil, "sim", "--listen", upstream)
	Await(t, "the end of the job", func() error {
		if got := s.read(get("/v1/jobs/" + job.ID)).Status; got != "failed" {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	for _, line := range listOf(t, s.Do(get("/v1/jobs/"+job.ID+"/items")).Body) {
		var item struct {
			Status   string
			Attempts int
		}
		if err := json.Unmarshal(line, &item); err != nil || item.Status != "failed" || item.Attempts < 1 {
			t.Errorf("%v: %s", err, line)
		}
	}
}
