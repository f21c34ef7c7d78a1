package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"penstock"
)

// An upstream that tells usage which cannot be, on every endpoint, in both dialects, plain, streamed and translated, and in jobs: no budget is
// exceeded, sums are right, reports are made, and the books add up.
func TestLyingUpstream(t *testing.T) {
	t.Parallel()
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			lieTo(t, engine)
		})
	}
}

func lieTo(t *testing.T, engine scenarioEngine) {
	var config string
	database, env := "", []string{"E2E_KEY=" + Key}
	for _, setting := range engine.env(t) {
		name, value, _ := strings.Cut(setting, "=")
		if name == "PENSTOCK_DATABASE_URL" {
			database = "database: \"${E2E_DATABASE}\"\n"
			env = append(env, "E2E_DATABASE="+value)
		}
	}
	s := serveWith(t, env, database+fmt.Sprintf(`
providers: {chats: {kind: openai, base_url: %[1]s/v1}, claude: {kind: anthropic, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}}
targets:
  messages: {provider: claude, upstream_model: sim-1, max_output_tokens: 100, price: {input: "1000", output: "1000"}}
  chats: {provider: chats, upstream_model: sim-1, max_output_tokens: 100, price: {input: "1000", output: "1000"}}
models: {claude: {targets: [messages]}, chats: {targets: [chats]}}
`, startSim(t)), tenantWith(`budget: {total_usd: "5", hard: true}`), func(path string) error { config = path; return nil })

	const items = 11
	for _, c := range lyingCalls() {
		var a Answer
		Await(t, "the server to have its lease", func() error {
			a = s.Do(Call{Method: "POST", Path: c.path, Body: c.body, Header: map[string]string{"Prefer": "wait=30"}})
			if a.Status == http.StatusServiceUnavailable {
				return fmt.Errorf("%s", a.Body)
			}
			return nil
		})
		if a.Status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", c.path, c.body, a.Status, a.Body)
		}
		if id := a.Header.Get("x-request-id"); c.path == "/v1/chat/completions" && strings.Contains(c.body, "chats") {
			Await(t, "the record", func() error {
				record := s.Do(get("/v1/requests/" + id))
				if !strings.Contains(record.Body, `"usage_known":false`) || !strings.Contains(record.Body, "impossible usage") {
					return fmt.Errorf("%d %s", record.Status, record.Body)
				}
				return nil
			})
		}
	}
	checkLies(t, s, items)
	// To the end of the budget: what is refused is refused by it, and what it paid is no more than it has.
	more := 0
	for ; more < 100; more++ {
		if a := s.Do(post("/v1/chat/completions", lyingCalls()[0].body)); a.Status == http.StatusPaymentRequired {
			break
		} else if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if more == 0 || more == 100 {
		t.Errorf("a budget of $5 pays for %d calls more", more)
	}
	checkLies(t, s, items+more)
	if got := s.Output(); strings.Count(got, "impossible usage") < items-1 {
		t.Errorf("the log tells of it %d times", strings.Count(got, "impossible usage"))
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("the server stopped with code %d", code)
	}
	if verify := Start(t, env, "ledger", "verify", "--config", config); verify.Exit() != 0 {
		t.Errorf("the books are wrong:\n%s", verify.Output())
	}
}

type lyingCall struct{ path, body string }

// lyingCalls are eleven inferences, on every endpoint, for which the simulator claims as many tokens as a number holds.
func lyingCalls() []lyingCall {
	const claim = "9223372036854775807"
	chat := func(model, more string) string {
		return fmt.Sprintf(`{"model":%q,%s"max_tokens":9,"messages":[{"role":"user","content":"Lie to me [sim:tokens=4 claim=%s]"}]}`, model, more, claim)
	}
	return []lyingCall{
		{"/v1/chat/completions", chat("chats", "")},
		{"/v1/chat/completions", chat("chats", `"stream":true,"stream_options":{"include_usage":true},`)},
		{"/v1/chat/completions", chat("claude", "")}, // translated
		{"/v1/messages", chat("claude", "")},
		{"/v1/messages", chat("claude", `"stream":true,`)},
		{"/v1/messages", chat("chats", "")}, // translated
		{"/v1/embeddings", fmt.Sprintf(`{"model":"chats","input":"[sim:claim=%s]"}`, claim)},
		{"/v1/rerank", fmt.Sprintf(`{"model":"chats","query":"[sim:claim=%s]","documents":["a"]}`, claim)},
		{"/v1/responses", fmt.Sprintf(`{"model":"chats","max_output_tokens":9,"input":"[sim:tokens=4 claim=%s]"}`, claim)},
		{"/v1/jobs", `{"endpoint":"/v1/chat/completions","model":"chats","inputs":[{"custom_id":"1","body":` + chat("chats", "") + `},{"custom_id":"2","body":` + chat("chats", "") + `}]}`},
	}
}

// checkLies holds that the calls of a lying upstream are booked by what can have been used.
func checkLies(t *testing.T, s *Server, items int) {
	t.Helper()
	Await(t, "all to be booked", func() error {
		var report struct {
			Total struct {
				penstock.Usage
				Requests int
				Cost     penstock.NanoUSD `json:"cost_usd"`
				Forfeit  penstock.NanoUSD `json:"forfeit_usd"`
			}
		}
		a := s.Do(get("/v1/usage?group_by=model"))
		if a.Status != http.StatusOK {
			t.Fatalf("a report: %d %s", a.Status, a.Body)
		}
		if err := json.Unmarshal([]byte(a.Body), &report); err != nil {
			t.Fatal(err)
		}
		if report.Total.Requests != items {
			return fmt.Errorf("%d are booked", report.Total.Requests)
		}
		// What was estimated, and what was set aside beyond that: dollars and not billions.
		if u := report.Total; u.InputTokens <= 0 || u.InputTokens > 10_000 || u.OutputTokens > 1000 || u.Cost <= 0 || u.Forfeit <= 0 || u.Cost+u.Forfeit > 5e9 {
			t.Errorf("it says %+v", u)
		}
		return nil
	})
}

// An upstream that tells counts which are none is flagged and counted like one that tells too many, plain and streamed; one that
// tells nothing is not.
func TestUnreadableUsage(t *testing.T) {
	t.Parallel()
	usage := map[string]string{"text": `{"prompt_tokens":"many","completion_tokens":1}`, "negative": `{"prompt_tokens":1,"completion_tokens":-1}`, "nothing": `null`}
	g := startGuarded(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a test of ours sent it
		told := ""
		for name, u := range usage {
			if strings.Contains(string(body), name) {
				told = u
			}
		}
		if strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, goodChunk+goodFinish+strings.Replace(goodUsage, `{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}`, told, 1)+goodDone)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, strings.Replace(goodAnswer, `{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}`, told, 1))
	}, "tenants:\n"+guardedTenant("acme", ""))
	for name := range usage {
		for _, stream := range []bool{false, true} {
			a := g.Do(as(guardedKey("acme"), post(chatPath, ask(name, fmt.Sprintf(`"model":"chats","max_tokens":9,"stream":%t`, stream)))))
			if a.Status != http.StatusOK || !strings.Contains(a.Body, goodText) {
				t.Fatalf("%s: %d %s", name, a.Status, a.Body)
			}
			Await(t, "the record", func() error {
				record := g.Do(as(guardedKey("acme"), get("/v1/requests/"+a.Header.Get("x-request-id"))))
				flagged := strings.Contains(record.Body, "impossible usage, invalid counts")
				if flagged == (name == "nothing") || !strings.Contains(record.Body, `"usage_known":false`) {
					return fmt.Errorf("%s, stream %t: %d %s", name, stream, record.Status, record.Body)
				}
				return nil
			})
		}
	}
	if page := g.admin.Do(get("/metrics")).Body; !strings.Contains(page, `penstock_implausible_usage_total{model="chats",target="chats"} 4`+"\n") {
		t.Errorf("the metric does not count four attempts:\n%s", page)
	}
	g.verifyLedger()
}
