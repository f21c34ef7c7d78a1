package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// recordedSim is the simulated upstream, with a record of the bodies that it gets.
type recordedSim struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func recordSim(t *testing.T) *recordedSim {
	t.Helper()
	to, err := url.Parse(startSim(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	u := &recordedSim{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.bodies = append(u.bodies, string(text))
		u.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// last is the body that came last.
func (u *recordedSim) last() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.bodies) == 0 {
		return ""
	}
	return u.bodies[len(u.bodies)-1]
}

// overflowModels have a context of 300 tokens. The targets of model moves differ in their context.
const overflowModels = `
providers:
  sim: {kind: openai, base_url: %[1]s/v1}
  claude: {kind: anthropic, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}
targets:
  short: {provider: sim, upstream_model: sim-1, context_tokens: 300, price: {input: "1", output: "1"}}
  wide: {provider: sim, upstream_model: sim-2, context_tokens: 500, price: {input: "1", output: "1"}}
  claude: {provider: claude, upstream_model: sim-3, context_tokens: 300, price: {input: "1", output: "1"}}
models:
  oldest: {targets: [short], on_overflow: truncate_oldest}
  middle: {targets: [short], on_overflow: truncate_middle}
  claude: {targets: [claude], on_overflow: truncate_oldest}
  moves: {targets: [short, wide], on_overflow: truncate_oldest}
  cached: {targets: [short], on_overflow: truncate_oldest, cache: {ttl: 1h}}
  reject: {targets: [short]}
`

// filler is about 100 tokens.
var filler = strings.Repeat(" tea", 100)

// overflowing are conversations of about 550 tokens: a first turn with a word of its own, one with the call of a tool, one that is
// short, and the last. Their words are those of the messages.
var overflowing = []struct{ path, model, body string }{
	{chatPath, "oldest", `{"model":"%s","max_tokens":20,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"first` + filler + `"},{"role":"assistant","content":"one` + filler + `"},
		{"role":"user","content":"second` + filler + `"},{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"find","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"found` + filler + `"},{"role":"assistant","content":"two` + filler + `"},
		{"role":"user","content":"third"}, {"role":"assistant","content":"three"},{"role":"user","content":"fourth"}]}`},
	{messagesPath, "claude", `{"model":"%s","max_tokens":20,"system":"Be brief.","messages":[{"role":"user","content":"first` + filler + `"},{"role":"assistant","content":"one` + filler + `"},
		{"role":"user","content":"second` + filler + `"},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"find","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"found` + filler + `"}]},{"role":"assistant","content":"two` + filler + `"},
		{"role":"user","content":"third"}, {"role":"assistant","content":"three"},{"role":"user","content":"fourth"}]}`},
	{responsesPath, "oldest", `{"model":"%s","max_output_tokens":20,"instructions":"Be brief.","input":[{"role":"user","content":"first` + filler + `"},{"role":"assistant","content":"one` + filler + `"},
		{"role":"user","content":"second` + filler + `"},{"type":"function_call","call_id":"call_1","name":"find","arguments":"{}"},
		{"type":"function_call_output","call_id":"call_1","output":"found` + filler + `"},{"role":"assistant","content":"two` + filler + `"},
		{"role":"user","content":"third"}, {"role":"assistant","content":"three"},{"role":"user","content":"fourth"}]}`},
}

const truncatedHeader = "x-penstock-truncated"

// keptTurns is the end of the conversations, which is kept byte for byte.
const keptTurns = `{"role":"user","content":"third"}, {"role":"assistant","content":"three"},{"role":"user","content":"fourth"}]`

// wantTruncated checks the header of an answer and the body that the upstream got.
func wantTruncated(t *testing.T, what string, a Answer, sent string, turns int) {
	t.Helper()
	if got := a.Header.Get(truncatedHeader); a.Status != http.StatusOK || !strings.Contains(got, fmt.Sprintf("; turns=%d; tokens=", turns)) {
		t.Errorf("%s: %d, %s %q: %s", what, a.Status, truncatedHeader, got, a.Body)
	}
	if strings.Contains(sent, "second") || strings.Contains(sent, "call_1") || strings.Contains(sent, "found") || !strings.Contains(sent, keptTurns) || !strings.Contains(sent, "Be brief.") {
		t.Errorf("%s: the upstream got %s", what, sent)
	}
}

// TestTruncatedCalls holds that the three dialects lose the turns that do not fit, plain and streamed, and say so.
func TestTruncatedCalls(t *testing.T) {
	t.Parallel()
	u := recordSim(t)
	s := serveOne(t, fmt.Sprintf(overflowModels, u.URL))
	for _, c := range overflowing {
		body := fmt.Sprintf(c.body, c.model)
		for _, sent := range []string{body, strings.Replace(body, "{", `{"stream":true,`, 1)} {
			a := s.Do(post(c.path, sent))
			wantTruncated(t, c.path, a, u.last(), 2)
			if strings.Contains(u.last(), "first") || !strings.HasPrefix(a.Header.Get(truncatedHeader), "truncate_oldest; ") {
				t.Errorf("%s: the upstream got %s", c.path, u.last())
			}
		}
	}
	chat := overflowing[0]
	a := s.Do(post(chatPath, fmt.Sprintf(chat.body, "middle")))
	if wantTruncated(t, "the middle", a, u.last(), 1); !strings.Contains(u.last(), "first tea") || !strings.Contains(u.last(), "one tea") {
		t.Errorf("the middle: the upstream got %s", u.last())
	}
	if a := s.Do(post(chatPath, ask("Hi", `"model":"oldest"`))); a.Status != http.StatusOK || a.Header.Get(truncatedHeader) != "" {
		t.Errorf("a short call: %d %v", a.Status, a.Header)
	}
	if a := s.Do(post(chatPath, fmt.Sprintf(chat.body, "reject"))); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "takes 300 tokens") {
		t.Errorf("a model that rejects: %d %s", a.Status, a.Body)
	}
	long := ask(strings.Repeat("tea ", 400), `"model":"oldest"`, `"max_tokens":20`)
	if a := s.Do(post(chatPath, long)); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"code":"context_too_long"`) || !strings.Contains(a.Body, "takes 280 beside an answer of 20 tokens") {
		t.Errorf("a last turn that is too long: %d %s", a.Status, a.Body)
	}
	// Completions have no turns.
	if a := s.Do(post("/v1/completions", `{"model":"oldest","prompt":"`+strings.Repeat("tea ", 400)+`"}`)); a.Status != http.StatusBadRequest || strings.Contains(a.Body, "context_too_long") {
		t.Errorf("a completion: %d %s", a.Status, a.Body)
	}
}

// TestTruncationByTarget holds that a call moves to a target with the context for it, and is shortened only if no such target exists.
func TestTruncationByTarget(t *testing.T) {
	t.Parallel()
	u := recordSim(t)
	s := serveOne(t, fmt.Sprintf(overflowModels, u.URL))
	medium := fmt.Sprintf(`{"model":"moves","max_tokens":20,"messages":[{"role":"user","content":"a%[1]s%[1]s%[1]s"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, filler)
	if a := s.Do(post(chatPath, medium)); a.Status != http.StatusOK || a.Header.Get(truncatedHeader) != "" || a.Header.Get("x-penstock-target") != "wide" {
		t.Errorf("a call for the larger target: %d %v %s", a.Status, a.Header, a.Body)
	}
	a := s.Do(post(chatPath, medium, "x-penstock-targets", "short"))
	if got := a.Header.Get(truncatedHeader); a.Status != http.StatusOK || !strings.Contains(got, "turns=1") || a.Header.Get("x-penstock-target") != "short" {
		t.Errorf("a call for the smaller target alone: %d %q %s", a.Status, got, a.Body)
	}
	a = s.Do(post(chatPath, fmt.Sprintf(overflowing[0].body, "moves")))
	if got := a.Header.Get(truncatedHeader); a.Status != http.StatusOK || !strings.Contains(got, "turns=1") || a.Header.Get("x-penstock-target") != "wide" || !strings.Contains(u.last(), "second") {
		t.Errorf("a call that is too long for both: %d %q %s", a.Status, got, a.Body)
	}
	explained := s.Do(post("/v1/models/moves/explain?endpoint="+chatPath, fmt.Sprintf(overflowing[0].body, "moves")))
	if !strings.Contains(explained.Body, `"chosen":"wide"`) || !strings.Contains(explained.Body, `"turns_dropped":1`) || !strings.Contains(explained.Body, `"context_tokens":500`) {
		t.Errorf("explained: %d %s", explained.Status, explained.Body)
	}
	explained = s.Do(post("/v1/models/oldest/explain?endpoint="+chatPath, ask(strings.Repeat("tea ", 400), `"model":"oldest"`)))
	if !strings.Contains(explained.Body, `"chosen":null`) || !strings.Contains(explained.Body, "are never dropped") {
		t.Errorf("explained, too long: %d %s", explained.Status, explained.Body)
	}
	explained = s.Do(post("/v1/models/oldest/explain?endpoint="+chatPath, ask("Hi", `"model":"oldest"`)))
	if !strings.Contains(explained.Body, `"chosen":"short"`) || !strings.Contains(explained.Body, `"truncated":null`) {
		t.Errorf("explained, short: %d %s", explained.Status, explained.Body)
	}
	// The answer to a shortened call is cached by what was sent.
	for _, want := range []string{"miss", "hit"} {
		a := s.Do(post(chatPath, fmt.Sprintf(overflowing[0].body, "cached")))
		if a.Header.Get("x-penstock-cache") != want || a.Header.Get(truncatedHeader) == "" {
			t.Errorf("the cache: %v", a.Header)
		}
	}
	if a := s.Do(post(chatPath, strings.Replace(fmt.Sprintf(overflowing[0].body, "cached"), "first tea", "other tea", 1))); a.Header.Get("x-penstock-cache") != "hit" {
		t.Errorf("a call that differs in a dropped turn: %v", a.Header)
	}
}

// TestTruncationIsRecorded holds that calls, items of jobs, lines of files and retries say what was dropped, and that every attempt at
// an item sends the same bytes.
func TestTruncationIsRecorded(t *testing.T) {
	t.Parallel()
	for _, on := range []engine{onSQLite, onPostgres} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			u := recordSim(t)
			truncationIsRecorded(t, serveOn(t, on, fmt.Sprintf(overflowModels, u.URL)), u)
		})
	}
}

// recordedTruncation is the part of a record that the tests read.
type recordedTruncation struct {
	ID, Status string
	Truncated  *struct {
		Policy        string
		TurnsDropped  int64 `json:"turns_dropped"`
		TokensDropped int64 `json:"tokens_dropped"`
		TokensBefore  int64 `json:"tokens_before"`
		TokensAfter   int64 `json:"tokens_after"`
		ContextTokens int64 `json:"context_tokens"`
	}
}

func (v *recordedTruncation) check(turns int64) error {
	d := v.Truncated
	if d == nil || d.Policy != "truncate_oldest" || d.TurnsDropped != turns || d.ContextTokens != 300 || d.TokensAfter > 280 || d.TokensBefore-d.TokensAfter != d.TokensDropped || d.TokensDropped < 500 {
		return fmt.Errorf("truncated is %+v", d)
	}
	return nil
}

func truncationIsRecorded(t *testing.T, s *Server, u *recordedSim) {
	read := func(path string) (v recordedTruncation) {
		t.Helper()
		a := s.Do(get(path))
		if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		return v
	}
	body := fmt.Sprintf(overflowing[0].body, "oldest")
	a := s.Do(post(chatPath, body))
	sent := u.last()
	Await(t, "the record", func() error {
		v := read("/v1/requests/" + a.Header.Get("x-request-id"))
		return v.check(2)
	})
	keyed := s.Do(post(chatPath, body, "Idempotency-Key", "one"))
	wantTruncated(t, "a call with a key", keyed, u.last(), 2)
	line := fmt.Sprintf(`{"custom_id":"a","body":%s}`, strings.ReplaceAll(body, "\n", ""))
	lines := s.fileID(t, "batch", "rows.jsonl", line+"\n")
	for name, job := range map[string]string{
		"a job":             fmt.Sprintf(`{"model":"oldest","input":%s}`, body),
		"a job over a file": fmt.Sprintf(`{"model":"oldest","input_file":%q}`, lines),
	} {
		a := s.Do(post("/v1/jobs", job, "Prefer", "wait=20"))
		var done struct{ ID, Status string }
		if err := json.Unmarshal([]byte(a.Body), &done); err != nil || done.Status != "succeeded" {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
		}
		v := read("/v1/items/" + firstItem(t, done.ID))
		if err := v.check(2); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.ReplaceAll(u.last(), "\n", "") != strings.ReplaceAll(sent, "\n", "") {
			t.Errorf("%s sent\n%s\nand the call\n%s", name, u.last(), sent)
		}
	}
	tooLong := ask(strings.Repeat("tea ", 400), `"max_tokens":20`)
	if a := s.Do(post("/v1/jobs", fmt.Sprintf(`{"model":"oldest","inputs":[{"body":%s},{"body":%s}]}`, ask("Hi"), tooLong))); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "inputs[1].body.messages") {
		t.Errorf("a job with an item that is too long: %d %s", a.Status, a.Body)
	}
}

// TestTruncatedRetries holds that a retry of a shortened item sends the same bytes, and that an item that was refused for its length
// is shortened by a retry that resolves its model again.
func TestTruncatedRetries(t *testing.T) {
	t.Parallel()
	u := recordSim(t)
	s := serveOne(t, fmt.Sprintf(overflowModels, u.URL))
	ended := func(a Answer) (done struct{ ID, Status string }) {
		t.Helper()
		Await(t, "the job", func() error {
			if err := json.Unmarshal([]byte(a.Body), &done); err != nil || done.ID == "" {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			if done.Status == "queued" || done.Status == "running" {
				a = s.Do(get("/v1/jobs/" + done.ID))
				return fmt.Errorf("%s", a.Body)
			}
			return nil
		})
		return done
	}
	failing := strings.Replace(fmt.Sprintf(overflowing[0].body, "oldest"), `"content":"fourth"`, `"content":"fourth [sim:fault=bad_request]"`, 1)
	first := ended(s.Do(post("/v1/jobs", fmt.Sprintf(`{"model":"oldest","max_attempts":1,"input":%s}`, failing))))
	sent := u.last()
	for _, resolve := range []string{"same", "fresh"} {
		again := ended(s.Do(post("/v1/jobs/"+first.ID+"/retry", fmt.Sprintf(`{"resolve":%q}`, resolve))))
		if u.last() != sent || again.Status != first.Status {
			t.Errorf("%s: sent %s, at first %s", resolve, u.last(), sent)
		}
		got := s.Do(get("/v1/items/" + firstItem(t, again.ID)))
		if !strings.Contains(got.Body, `"turns_dropped":2`) {
			t.Errorf("%s: %s", resolve, got.Body)
		}
		first = again
	}
}

// TestTruncatedResponses holds that conversations of the server follow the policy of the model, whether the turns come from a response
// or from a conversation, and that the server keeps all of them.
func TestTruncatedResponses(t *testing.T) {
	t.Parallel()
	u := recordSim(t)
	s := serveOne(t, fmt.Sprintf(overflowModels, u.URL))
	turn := func(members string) Answer {
		t.Helper()
		a := s.Do(post(responsesPath, `{"model":"oldest","max_output_tokens":20,`+members+`}`))
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", members, a.Status, a.Body)
		}
		return a
	}
	previous := answeredID(t, turn(`"input":"first`+filler+`"`))
	previous = answeredID(t, turn(fmt.Sprintf(`"previous_response_id":%q,"input":"second%s"`, previous, filler)))
	a := turn(fmt.Sprintf(`"previous_response_id":%q,"input":"third%s"`, previous, filler))
	if got := a.Header.Get(truncatedHeader); !strings.Contains(got, "turns=1") || strings.Contains(u.last(), "first") || !strings.Contains(u.last(), "second") {
		t.Errorf("a continued response: %q, sent %s", got, u.last())
	}
	items := s.Do(get(responsesPath + "/" + answeredID(t, a) + "/input_items?limit=100"))
	if !strings.Contains(items.Body, "first") {
		t.Errorf("the response keeps %s", items.Body)
	}
	made := answeredID(t, s.Do(post("/v1/conversations", `{"items":[{"role":"user","content":"first`+filler+`"},{"role":"assistant","content":"one"}]}`)))
	turn(fmt.Sprintf(`"conversation":%q,"input":"second%s"`, made, filler))
	a = turn(fmt.Sprintf(`"conversation":%q,"stream":true,"input":"third%s"`, made, filler))
	if got := a.Header.Get(truncatedHeader); !strings.Contains(got, "turns=1") || strings.Contains(u.last(), "first") {
		t.Errorf("a turn of a conversation: %q, sent %s", got, u.last())
	}
	a = turn(fmt.Sprintf(`"conversation":%q,"background":true,"input":"fourth%s"`, made, filler))
	if got := a.Header.Get(truncatedHeader); !strings.Contains(got, "turns=") {
		t.Errorf("a turn in the background: %q", got)
	}
	Await(t, "the turn in the background", func() error {
		if got := texts(t, s, made); !strings.Contains(got, "fourth") || strings.Count(got, "third") != 1 || !strings.Contains(got, "first") {
			return fmt.Errorf("the conversation is %s", got)
		}
		return nil
	})
	if strings.Contains(u.last(), "first") || !strings.Contains(u.last(), "fourth") {
		t.Errorf("in the background: sent %s", u.last())
	}
}
