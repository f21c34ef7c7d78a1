package e2e

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"penstock/internal/sim"
)

var outcomeScenarios = []scenario{
	{name: "outcome_retry", play: outcomeRetry},
	{name: "outcome_rate_limited_upstream", play: outcomeRateLimited, own: true},
	{name: "outcome_attempts_used_up", play: outcomeAttempts},
	{name: "outcome_expired", play: outcomeExpired},
	{name: "outcome_timeout", play: outcomeTimeout},
	{name: "outcome_fallback", play: outcomeFallback, own: true, env: twoUpstreams},
	{name: "outcome_dead_letters", play: outcomeDeadLetters, own: true},
	{name: "outcome_upstream_says_nul", play: outcomeNUL},
}

// itemOf is the id of a job's only item.
func (s *scene) itemOf(job string) string {
	s.Helper()
	return s.field(s.call(get("/v1/jobs/"+job)), "result.item_id")
}

// tellItem runs a job with one item to its end and tells the item with its history.
func (s *scene) tellItem(title, job string) {
	s.Helper()
	id := s.submit(job)
	s.finished(id)
	s.tell(title, get("/v1/items/"+s.itemOf(id)))
}

func outcomeRetry(s *scene) {
	const prompt = "retried [sim:fault=server_error times=1]"
	s.tellItem("an item that succeeded on the second try", `{"model":"retry","input":"`+prompt+`"}`)
	if n := s.executions(prompt); n != 2 {
		s.Errorf("it was tried %d times", n)
	}
}

func outcomeRateLimited(s *scene) {
	s.tellItem("being rate-limited upstream counts for nothing",
		`{"model":"limited","max_attempts":1,"input":"limited [sim:fault=rate_limit times=1]"}`)
}

func outcomeAttempts(s *scene) {
	s.tellItem("an item whose attempts are used up", `{"model":"used-up","max_attempts":2,"input":"used up [sim:fault=server_error]"}`)
}

func outcomeExpired(s *scene) {
	id := s.submit(`{"model":"expired","deadline":"` + momentIn(4*time.Second) + `","inputs":[{"body":` + ask("in time") +
		`},{"body":` + ask("never in time [sim:fault=hang]") + `}]}`)
	s.finished(id)
	s.tell("a job past its deadline", get("/v1/jobs/"+id))
	s.tell("its results", get("/v1/jobs/"+id+"/results"))
	s.tell("its log", get("/v1/jobs/"+id+"/events"))
}

func outcomeTimeout(s *scene) {
	s.tellItem("an item past its timeout", `{"model":"timeout","max_attempts":1,"item_timeout":"1s","input":"too slow [sim:fault=hang]"}`)
}

// twoUpstreams makes a server find two providers, of which the first always fails.
func twoUpstreams(t testing.TB) []string {
	broken := startUpstream(t, sim.Config{Faults: sim.Faults{ServerError: 1}})
	sound := startUpstream(t, sim.Config{OutputTokens: 4})
	return []string{"OPENAI_BASE_URL=" + broken + "/v1", "OLLAMA_HOST=" + strings.TrimPrefix(sound, "http://")}
}

func startUpstream(t testing.TB, cfg sim.Config) string {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(s.Close)
	return server.URL
}

func outcomeFallback(s *scene) {
	s.tellItem("an item that another target answered", `{"model":"fallback","input":"fall back"}`)
	a := s.tell("a call that another target answered", post("/v1/chat/completions", ask("fall back", `"model":"fallback"`)))
	s.tell("explained", get("/v1/requests/"+a.Header.Get("X-Request-Id")))
	s.tell("a stream that another target answered", post("/v1/chat/completions", ask("fall back", `"model":"fallback"`, `"stream":true`)))
	s.tell("the simulated upstream is still there by name", post("/v1/chat/completions", ask("by name", `"model":"sim"`)))
}

func outcomeDeadLetters(s *scene) {
	s.tell("no dead letters", get("/v1/dead_letters/items"))
	for _, fault := range []string{"bad_request", "content_filter", "context_length"} {
		s.finished(s.submit(`{"model":"dead","input":"dead [sim:fault=` + fault + `]"}`))
	}
	s.finished(s.submit(`{"model":"dead","input":"alive"}`))
	s.tell("all of them", get("/v1/dead_letters/items"))
	first := s.tell("the first page", get("/v1/dead_letters/items?limit=2"))
	last := first.Body[strings.LastIndex(first.Body, "item_"):]
	s.tell("the next page", get("/v1/dead_letters/items?limit=2&after="+last[:len("item_")+26]))
	s.tell("a cursor that is none", get("/v1/dead_letters/items?after=yesterday"))
}

// outcomeNUL lets an upstream say a character that PostgreSQL cannot store.
func outcomeNUL(s *scene) {
	s.tellItem("what the upstream said", `{"model":"nul","max_attempts":1,"input":{"messages":[{"role":"user","content":"Hi"}],
"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"a\u0000b"}}}}`)
}
