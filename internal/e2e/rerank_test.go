package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"penstock/internal/sim"
)

const rerankPath = "/v1/rerank"

// rivers is a question whose answer is the second document.
const rivers = `"query":"What is the capital of France?","documents":["Rivers flow to the sea.","Paris is the capital of France.",{"text":"Berlin is the capital of Germany.","id":7}]`

// ranker is an upstream that answers with the ranking that the query names.
func ranker(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Query string }
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &asked) != nil {
			t.Errorf("the upstream got %s, %v", text, err)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, asked.Query)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// rerankServer has targets that rank documents, that lie about it, and that do not rank.
func rerankServer(t *testing.T) (s *Server, upstream string) {
	t.Helper()
	upstream = startSim(t)
	return serveOne(t, fmt.Sprintf(`
providers:
  up:     {kind: openai, base_url: %[1]s/v1}
  cohere: {kind: cohere, base_url: %[1]s/v2}
  liar:   {kind: vllm, base_url: %[2]s/v1}
  claude: {kind: anthropic, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}
targets:
  tokens: {provider: up, upstream_model: sim-rerank, price: {input: "1", output: "2"}}
  search: {provider: cohere, upstream_model: rerank-v3.5, price: {input: "0", output: "0", per_search: "0.002"}}
  lies:   {provider: liar, upstream_model: m, price: {input: "1", output: "2"}}
  billed: {provider: liar, upstream_model: m, price: {input: "0", output: "0", per_search: "0.002"}}
  chats:  {provider: up, upstream_model: sim-small, capabilities: [tools, streaming], price: {input: "1", output: "2"}}
  claude: {provider: claude, upstream_model: sim-large, price: {input: "1", output: "2"}}
models:
  rank:   {targets: [tokens], cache: {ttl: 10m}}
  search: {targets: [search]}
  mixed:  {targets: [claude, lies, tokens], on_incapable: skip}
  billed: {targets: [billed]}
  chats:  {targets: [chats]}
  cheap:  {policy: cheapest, targets: [search, tokens]}
`, upstream, ranker(t))), upstream
}

type rerankAnswer struct {
	ID, Model string
	Results   []struct {
		Index          int
		RelevanceScore float64 `json:"relevance_score"`
		Document       map[string]any
	}
	Usage struct {
		TotalTokens int64 `json:"total_tokens"`
	}
	Meta struct {
		BilledUnits struct {
			SearchUnits int `json:"search_units"`
		} `json:"billed_units"`
	}
}

func ranked(t *testing.T, s *Server, call Call) (rerankAnswer, Answer) {
	t.Helper()
	a := s.Do(call)
	got, err := decoded[rerankAnswer](a.Body)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", call.Body, a.Status, a.Body)
	}
	return got, a
}

// A ranking by every way in: the order is by relevance, the documents are the caller's, and the record explains the cost.
func TestRerank(t *testing.T) {
	t.Parallel()
	s, upstream := rerankServer(t)
	for _, path := range []string{rerankPath, "/v2/rerank"} {
		got, a := ranked(t, s, post(path, `{"model":"search","top_n":2,"return_documents":true,`+rivers+`}`))
		if len(got.Results) != 2 || got.Results[0].Index != 1 || got.Results[1].Index != 2 || got.Results[1].Document["id"] != 7.0 ||
			got.Results[0].Document["text"] != "Paris is the capital of France." || got.Model != "search" || got.Meta.BilledUnits.SearchUnits != 1 {
			t.Errorf("%s: %s", path, a.Body)
		}
		if a.Header.Get("x-penstock-cost-usd") != "0.002000000" || a.Header.Get("x-penstock-target") != "search" {
			t.Errorf("%s: cost %s by %s", path, a.Header.Get("x-penstock-cost-usd"), a.Header.Get("x-penstock-target"))
		}
		record := s.Do(get("/v1/requests/" + a.Header.Get("x-request-id")))
		if !strings.Contains(record.Body, `"endpoint":"/v1/rerank"`) || !strings.Contains(record.Body, "translated to /rerank") || !strings.Contains(record.Body, `"cost_usd":"0.002000000"`) {
			t.Errorf("recorded as %s", record.Body)
		}
	}
	// By tokens: the query counts once for each document, and the charge is what was reported.
	got, a := ranked(t, s, post(rerankPath, `{"model":"rank",`+rivers+`}`))
	if want := fmt.Sprintf("0.%09d", got.Usage.TotalTokens*1000); got.Usage.TotalTokens < 3*30/4 || a.Header.Get("x-penstock-cost-usd") != want || len(got.Results) != 3 || got.Results[0].Document != nil {
		t.Errorf("%s cost %s, want %s", a.Body, a.Header.Get("x-penstock-cost-usd"), want)
	}
	// Again, from the cache.
	if again := s.Do(post(rerankPath, `{"model":"rank",`+rivers+`}`)); again.Header.Get("x-penstock-cache") != "hit" || again.Body != a.Body {
		t.Errorf("cache %q: %s", again.Header.Get("x-penstock-cache"), again.Body)
	}
	// Once, as a job.
	keyed, _ := ranked(t, s, post(rerankPath, `{"model":"search",`+rivers+`}`, "Idempotency-Key", "rank-once"))
	if keyed.Results[0].Index != 1 {
		t.Errorf("%+v", keyed)
	}
	rerankedJobs(t, s)
	resp, err := http.Get(upstream + "/sim/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats sim.Stats
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil || stats.ByEndpoint["/v2/rerank"] != 3 || stats.ByEndpoint[rerankPath] != 3 {
		t.Errorf("the upstream was called %v, %v", stats.ByEndpoint, err)
	}
}

// rerankedJobs runs a job and a batch, one call each.
func rerankedJobs(t *testing.T, s *Server) {
	t.Helper()
	job := s.Do(post("/v1/jobs", `{"model":"rank","endpoint":"/v1/rerank","defaults":{"top_n":1},"inputs":[{"custom_id":"a","body":{`+rivers+`}}]}`, "Prefer", "wait=30"))
	if !strings.Contains(job.Body, `"status":"succeeded"`) {
		t.Fatalf("the job: %s", job.Body)
	}
	id, err := decoded[jobAnswer](job.Body)
	if err != nil {
		t.Fatal(err)
	}
	if results := s.Do(get("/v1/jobs/" + id.ID + "/results")); !strings.Contains(results.Body, `"results":[{"index":1,"relevance_score":`) || strings.Contains(results.Body, `"index":2`) {
		t.Errorf("results: %s", results.Body)
	}
	file := s.uploaded(`{"custom_id":"a","method":"POST","url":"/v1/rerank","body":{"model":"rank",` + rivers + `}}` + "\n")
	batch := s.Do(post("/v1/batches", `{"input_file_id":"`+file+`","endpoint":"/v1/rerank","completion_window":"24h"}`))
	made, err := decoded[jobAnswer](batch.Body)
	if err != nil || batch.Status != http.StatusOK {
		t.Fatalf("the batch: %d %s", batch.Status, batch.Body)
	}
	Await(t, "the batch to end", func() error {
		if a := s.Do(get("/v1/batches/" + made.ID)); !strings.Contains(a.Body, `"status":"completed"`) || !strings.Contains(a.Body, `"completed":1`) {
			return fmt.Errorf("%s", a.Body)
		}
		return nil
	})
}

// Targets that do not rank are left out, and a target that lies is not believed.
func TestRerankTargets(t *testing.T) {
	t.Parallel()
	s, _ := rerankServer(t)
	// The first target speaks no such endpoint, and the second one answers with the query itself, which is no ranking.
	got, a := ranked(t, s, post(rerankPath, `{"model":"mixed",`+rivers+`}`))
	record := s.Do(get("/v1/requests/" + a.Header.Get("x-request-id")))
	if a.Header.Get("x-penstock-target") != "tokens" || got.Results[0].Index != 1 || !strings.Contains(record.Body, "claude does not serve /v1/rerank") || !strings.Contains(record.Body, `"malformed"`) {
		t.Errorf("by %s: %s", a.Header.Get("x-penstock-target"), record.Body)
	}
	for _, lie := range []string{`{"results":[{"index":3,"relevance_score":1}]}`, `{"results":[{"index":0,"relevance_score":1},{"index":0,"relevance_score":0.5}]}`,
		`{"results":[{"index":0,"relevance_score":NaN}]}`, `{"results":[]}`, `{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":1},{"index":2,"relevance_score":1},{"index":3,"relevance_score":1}]}`} {
		quoted, _ := json.Marshal(lie)
		if got, a := ranked(t, s, post(rerankPath, `{"model":"mixed","documents":["a","b","c"],"query":`+string(quoted)+`}`)); a.Header.Get("x-penstock-target") != "tokens" || len(got.Results) != 3 {
			t.Errorf("%s: by %s: %s", lie, a.Header.Get("x-penstock-target"), a.Body)
		}
	}
	refused := s.Do(post(rerankPath, `{"model":"chats",`+rivers+`}`))
	if refused.Status != http.StatusBadRequest || !strings.Contains(refused.Body, "rerank") {
		t.Errorf("a model that chats: %d %s", refused.Status, refused.Body)
	}
	explained := s.Do(post("/v1/models/mixed/explain?endpoint=/v1/rerank", `{`+rivers+`}`))
	if explained.Status != http.StatusOK || !strings.Contains(explained.Body, "does not serve /v1/rerank") {
		t.Errorf("explained: %d %s", explained.Status, explained.Body)
	}
	// A search unit costs more than the tokens of three short documents.
	if _, a := ranked(t, s, post(rerankPath, `{"model":"cheap",`+rivers+`}`)); a.Header.Get("x-penstock-target") != "tokens" {
		t.Errorf("the cheapest is %s", a.Header.Get("x-penstock-target"))
	}
}

// The search units that an upstream reports are charged up to the most that the documents can have.
func TestRerankSearchUnits(t *testing.T) {
	t.Parallel()
	s, _ := rerankServer(t)
	short := `"documents":["a","b"]`
	many := `"documents":["x"` + strings.Repeat(`,"x"`, 249) + `]`
	for _, tt := range []struct{ reported, documents, want string }{
		{`"meta":{"billed_units":{"search_units":1}}`, short, "0.002000000"},
		{`"meta":{"billed_units":{"search_units":1}}`, many, "0.002000000"},
		{`"meta":{"billed_units":{"search_units":3}}`, many, "0.006000000"},
		{`"meta":{"billed_units":{"search_units":9000000000}}`, many, "0.006000000"}, // a lie
		{`"usage":{"total_tokens":5}`, many, "0.006000000"},                          // no report
	} {
		quoted, _ := json.Marshal(`{"results":[{"index":0,"relevance_score":1}],` + tt.reported + `}`)
		if _, a := ranked(t, s, post(rerankPath, `{"model":"billed","query":`+string(quoted)+`,`+tt.documents+`}`)); a.Header.Get("x-penstock-cost-usd") != tt.want {
			t.Errorf("%s: %s, want %s", tt.reported, a.Header.Get("x-penstock-cost-usd"), tt.want)
		}
	}
}

// A hard budget pays for rankings up to the bound of their price: the query counts once for each document.
func TestRerankHardBudget(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
providers: {up: {kind: openai, base_url: %s/v1}}
targets: {tokens: {provider: up, upstream_model: m, price: {input: "10", output: "0"}}}
models: {rank: {targets: [tokens]}}
`, startSim(t)), budgetOf(`{total_usd: "1", hard: true}`))
	Await(t, "a process that may hold money", func() error {
		if a := s.Do(post(rerankPath, `{"model":"rank","query":"q","documents":["a"]}`)); a.Status != http.StatusOK {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	// 40 kB of body, but 300 × 35 kB of input: 10.5 million bytes are more than a dollar buys.
	long := strings.Repeat("word ", 7000)
	body := `{"model":"rank","query":"` + long + `","documents":["a"` + strings.Repeat(`,"a"`, 299) + `]}`
	if a := s.Do(post(rerankPath, body)); a.Status != http.StatusPaymentRequired || !strings.Contains(a.Body, "budget") {
		t.Errorf("a call beyond the budget: %d %s", a.Status, a.Body)
	}
	if a := s.Do(post(rerankPath, `{"model":"rank","query":"q","documents":["a"],"plugins":[1]}`)); a.Status != http.StatusPaymentRequired || !strings.Contains(a.Body, `"param":"plugins"`) {
		t.Errorf("a feature without a bound: %d %s", a.Status, a.Body)
	}
}

// Wrong bodies are refused before any upstream is asked, with the member at fault.
func TestRerankRefusals(t *testing.T) {
	t.Parallel()
	s, _ := rerankServer(t)
	for members, param := range map[string]string{
		`"documents":["a"]`:                                                   "query",
		`"query":"q","documents":[]`:                                          "documents",
		`"query":"q","documents":["a",3]`:                                     "documents[1]",
		`"query":"q","documents":["a"],"top_n":0`:                             "top_n",
		`"query":"q","documents":["x"` + strings.Repeat(`,"x"`, 10_000) + `]`: "documents",
	} {
		a := s.Do(post("/v2/rerank", `{"model":"rank",`+members+`}`))
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"param":"`+param+`"`) {
			t.Errorf("%.60s: %d %.300s", members, a.Status, a.Body)
		}
	}
	if a := s.Do(post(rerankPath, `{"model":"rank",`+rivers+`}`, "Authorization", "Bearer wrong")); a.Status != http.StatusUnauthorized {
		t.Errorf("a wrong key: %d %s", a.Status, a.Body)
	}
}
