package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock/internal/store/postgres/pgtest"
)

// A scenario is a conversation with a real server. What is told in it becomes a transcript, which is
// compared with a golden file: the same file on every engine.
type scenario struct {
	name string
	play func(*scene)
	// own asks for a server that no other scenario talks to: for what counts everything, disturbs
	// others, or needs other settings.
	own bool
	env func(testing.TB) []string // settings of an own server; nil for none
}

// scenarios is every conversation. Those without a server of their own keep apart by using models, tags
// and prompts that no other scenario uses.
var scenarios = slices.Concat(
	submitScenarios, readScenarios, cancelScenarios, deleteScenarios, outcomeScenarios, chatScenarios, faultScenarios,
	idempotencyScenarios, retryScenarios, inputScenarios, accessScenarios, processScenarios, promptScenarios,
)

// scenarioEngine is a database that every scenario runs on.
type scenarioEngine struct {
	name string
	env  func(testing.TB) []string // settings that make a server use a new database of this kind
}

// scenarioEngines are both engines, or SQLite alone in a short run.
func scenarioEngines() []scenarioEngine {
	engines := []scenarioEngine{{"sqlite", func(testing.TB) []string { return nil }}}
	if !testing.Short() {
		engines = append(engines, scenarioEngine{"postgres", func(t testing.TB) []string {
			return []string{"PENSTOCK_DATABASE_URL=" + databaseURL(t)}
		}})
	}
	return engines
}

// databaseURL is a new database. The server's directory for sockets stands in the query, where it wins
// over the name of a host; the host is there because a configuration must have one.
func databaseURL(t testing.TB) string {
	t.Helper()
	return strings.Replace(pgtest.URL(t), "@/", "@localhost/", 1)
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			shared := stage(t, engine.env(t)...)
			for _, sc := range scenarios {
				t.Run(sc.name, func(t *testing.T) {
					t.Parallel()
					on := shared
					if sc.own {
						env := engine.env(t)
						if sc.env != nil {
							env = append(env, sc.env(t)...)
						}
						on = stage(t, env...)
					}
					s := newScene(t, on)
					sc.play(s)
					s.compare(goldenFile{name: sc.name, engine: engine.name})
				})
			}
		})
	}
}

// staged is a server on which scenes play.
type staged struct {
	*Server
	data     string
	sim      string          // URL of its simulated upstream
	played   *playedUpstream // nil unless its targets speak different dialects
	metrics  string          // URL of its metrics
	contract *contract
}

// stage starts a development server whose upstream answers at once, and reads from its greeting where
// everything is.
func stage(t testing.TB, env ...string) *staged {
	t.Helper()
	holdAdminPort()
	st := &staged{data: t.TempDir()}
	st.Server = Dev(t, st.data, env...)
	st.readGreeting(t)
	// The greeting promises a pace that people can watch. Nobody watches here.
	st.setSim(t, `{"first_token_latency":"0s","tokens_per_second":0,"output_tokens":4}`)
	st.contract = readContract(t, st.URL)
	t.Cleanup(func() { st.checkLog(t) })
	return st
}

// checkLog holds that nothing went wrong that no scenario asks for, and that payloads stay out of logs.
func (st *staged) checkLog(t testing.TB) {
	t.Helper()
	for line := range strings.Lines(st.Output()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "[sim:") {
			t.Errorf("the server logged %s", line)
		}
	}
}

var (
	greetedSim     = regexp.MustCompile(`sim \(simulated, at (http://[0-9.:]+)\)`)
	greetedMetrics = regexp.MustCompile(`Metrics +(http://\S+)`)
)

func (st *staged) readGreeting(t testing.TB) {
	t.Helper()
	Await(t, "the greeting", func() error {
		sim, metrics := greetedSim.FindStringSubmatch(st.Output()), greetedMetrics.FindStringSubmatch(st.Output())
		if sim == nil || metrics == nil {
			return fmt.Errorf("it does not name the upstream and the metrics:\n%s", st.Output())
		}
		st.sim, st.metrics = sim[1], metrics[1]
		return nil
	})
}

func (st *staged) setSim(t testing.TB, settings string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, st.sim+"/sim/config", strings.NewReader(settings))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body) // what can be had of it is enough for a message
		t.Fatalf("setting up the upstream: %s %s", resp.Status, text)
	}
}

// release lets go the calls that the upstream holds under a name.
func (st *staged) release(hold string) {
	st.t.Helper()
	resp, err := http.Post(st.sim+"/sim/release?name="+hold, "", nil)
	if err != nil {
		st.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		st.t.Fatalf("releasing %s: %s", hold, resp.Status)
	}
}

// holdAdminPort keeps the usual port of the metrics taken for as long as the tests run. Development
// servers use that port when it is free, and two that start together might both find it so.
var holdAdminPort = sync.OnceValue(func() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:9090")
	if err != nil {
		return nil // somebody else holds it
	}
	return l
})

// scene is one conversation under way.
type scene struct {
	*testing.T
	*staged
	client *http.Client
	script transcript
}

func newScene(t *testing.T, on *staged) *scene {
	// Answers are looked at as they are: neither decompressed nor followed elsewhere.
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	return &scene{T: t, staged: on, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// tell makes a call and writes it into the transcript under a title. The answer must be one that the
// server's own description of its API allows.
func (s *scene) tell(title string, c Call) Answer {
	s.Helper()
	a := s.call(c)
	s.script.exchange(title, c, a)
	if err := s.contract.check(c, a); err != nil {
		s.Errorf("%s: the answer is not what /openapi.json describes: %v\n%s", title, err, a.Body)
	}
	return a
}

// call makes a call that the transcript does not mention.
func (s *scene) call(c Call) Answer {
	s.Helper()
	a, err := s.try(s.Context(), c)
	if err != nil {
		s.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	return a
}

func (s *scene) try(ctx context.Context, c Call) (Answer, error) {
	resp, err := s.open(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, string(body)}, err
}

// open makes a call and leaves the answer to be read. An empty header is left out, so that a call can
// come without a key.
func (s *scene) open(ctx context.Context, c Call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, s.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	for name, value := range c.Header {
		if req.Header.Set(name, value); value == "" {
			req.Header.Del(name)
		}
	}
	return s.client.Do(req)
}

// field returns a member of an answer by its path, such as error.code, as text; "" for null.
func (s *scene) field(a Answer, path string) string {
	s.Helper()
	var value any
	if err := json.Unmarshal([]byte(a.Body), &value); err != nil {
		s.Fatalf("%v in %s", err, a.Body)
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			s.Fatalf("there is no %s in %s", path, a.Body)
		}
		value = object[name]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// submit makes a job of a body and returns its id.
func (s *scene) submit(body string) string {
	s.Helper()
	a := s.call(Call{Method: "POST", Path: "/v1/jobs", Body: body})
	if a.Status != http.StatusAccepted {
		s.Fatalf("submitting %s: %d %s", body, a.Status, a.Body)
	}
	return s.field(a, "id")
}

// finished waits for the end of a job.
func (s *scene) finished(id string) {
	s.Helper()
	if a := s.call(get("/v1/jobs/"+id, "Prefer", "wait=30")); a.Status != http.StatusOK {
		s.Fatalf("%s did not end: %s", id, a.Body)
	}
}

// counted waits until so many items of a job are in a status.
func (s *scene) counted(id, status string, want int) {
	s.Helper()
	Await(s, fmt.Sprintf("%d %s items", want, status), func() error {
		a := s.call(get("/v1/jobs/" + id))
		if got := s.field(a, "counts."+status); got != fmt.Sprint(want) {
			return fmt.Errorf("there are %s: %s", got, a.Body)
		}
		return nil
	})
}

// get is a call that reads, with headers given as names and values.
func get(path string, headers ...string) Call {
	c := Call{Method: "GET", Path: path, Header: map[string]string{}}
	for i := 0; i < len(headers); i += 2 {
		c.Header[headers[i]] = headers[i+1]
	}
	return c
}

// post is a call that sends a body, with headers given as names and values.
func post(path, body string, headers ...string) Call {
	c := get(path, headers...)
	c.Method, c.Body = "POST", body
	return c
}

// ask is the body of a chat call, or of a job's input, that asks one question.
func ask(question string, members ...string) string {
	text, err := json.Marshal(question)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	members = append(members, `"messages":[{"role":"user","content":`+string(text)+`}]`)
	return "{" + strings.Join(members, ",") + "}"
}

// momentIn is a moment from now, as callers write it.
func momentIn(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }

// simStats is what the upstream has counted, as far as scenarios look at it.
type simStats struct {
	Requests  int `json:"requests"`
	InFlight  int `json:"in_flight"`
	Cancelled int `json:"cancelled"`
}

func (s *scene) simStats() simStats {
	s.Helper()
	var stats simStats
	s.readSim("/sim/stats", &stats)
	return stats
}

// executions is how often a prompt reached the upstream.
func (s *scene) executions(prompt string) int {
	s.Helper()
	var list struct {
		Executions []struct {
			Attempts int `json:"attempts"`
		} `json:"executions"`
	}
	body, err := json.Marshal(map[string][]string{"prompts": {prompt}})
	if err != nil {
		s.Fatal(err)
	}
	resp, err := s.client.Post(s.sim+"/sim/executions", "application/json", strings.NewReader(string(body)))
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Executions) != 1 {
		s.Fatalf("reading executions: %v", err)
	}
	return list.Executions[0].Attempts
}

func (s *scene) readSim(path string, into any) {
	s.Helper()
	resp, err := s.client.Get(s.sim + path)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		s.Fatalf("reading %s: %v", path, err)
	}
}
