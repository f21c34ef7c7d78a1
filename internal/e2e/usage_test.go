package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"penstock"
)

// What was spent is told by key, model, lane and tag, in both formats, and stays told when the job is deleted.
func TestUsageOverHTTP(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "0", output: "0", per_request: "0.25"}}}
models: {fast: {targets: [sim]}}
`, startSim(t)))
	if a := s.Do(Call{Method: "POST", Path: "/v1/chat/completions", Body: hiBody}); a.Status != http.StatusOK {
		t.Fatal(a.Body)
	}
	job := s.Do(Call{Method: "POST", Path: "/v1/jobs", Body: `{"model":"fast","input":"Hi","tags":{"team":"search"}}`, Header: map[string]string{"Prefer": "wait=30"}})
	if job.Status != http.StatusOK {
		t.Fatalf("%d %s", job.Status, job.Body)
	}
	const path = "/v1/usage?group_by=key,model,lane,tag:team"
	check := func(when string) {
		t.Helper()
		Await(t, "the call to be recorded", func() error {
			a := s.Do(Call{Method: "GET", Path: path, Header: map[string]string{"Accept": "text/csv"}})
			for _, want := range []string{"group,e2e,fast,realtime,,1,", "group,e2e,fast,standard,search,1,", "total,,,,,2,", ",0.500000000,0.000000000\n"} {
				if !strings.Contains(a.Body, want) {
					return fmt.Errorf("%s: %d %s lacks %s", when, a.Status, a.Body, want)
				}
			}
			return nil
		})
	}
	check("at first")
	if a := s.Do(Call{Method: "DELETE", Path: job.Header.Get("Location")}); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	check("after the job was deleted")
	if a := s.Do(get(path + "&from=2020-01-01&to=2020-01-02")); !strings.Contains(a.Body, `"data":[],"total":{"requests":0`) {
		t.Errorf("of other days: %s", a.Body)
	}
	if a := s.Do(get("/v1/usage?group_by=moon")); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "group_by") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// Operators see what every tenant spent, told apart by tenant and whatever else, as JSON and CSV, and the command line
// shows the same; the totals are the server's.
func TestUsageOfAllTenants(t *testing.T) {
	t.Parallel()
	st := stage(t)
	at := st.operators()
	for _, id := range []string{"search", "ads"} {
		at.makeTenant(t, id)
	}
	search, ads := at.makeKey(t, "search", "app"), at.makeKey(t, "ads", "bot")
	for n, k := range []madeKey{search, ads, ads} {
		if a := st.Do(k.as(post("/v1/jobs", fmt.Sprintf(`{"model":"sim","lane":"bulk","input":"Hi","tags":{"team":"t%d"}}`, n), "Prefer", "wait=30"))); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	today := time.Now().UTC().Format(time.DateOnly)
	const path = "/admin/v1/usage?group_by=key,model,tag:team,lane,day"
	csv := at.Do(Call{Method: http.MethodGet, Path: path + "&format=csv"})
	for _, want := range []string{
		"line,tenant,key,model,tag:team,lane,day,requests,", "group,ads,bot,sim,t1,bulk," + today + ",1,", "group,ads,bot,sim,t2,bulk," + today + ",1,",
		"group,search,app,sim,t0,bulk," + today + ",1,", "\ntotal,,,,,,,3,",
	} {
		if !strings.Contains(csv.Body, want) {
			t.Errorf("%s lacks %q", csv.Body, want)
		}
	}
	if kind := csv.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/csv") {
		t.Errorf("it is %s", kind)
	}
	one := at.Do(get("/admin/v1/usage?tenant=ads"))
	if !strings.Contains(one.Body, `"group_by":["tenant"]`) || !strings.Contains(one.Body, `"tenant":"ads","requests":2`) || !strings.Contains(one.Body, `"total":{"requests":2`) || strings.Contains(one.Body, "search") {
		t.Errorf("of one tenant: %s", one.Body)
	}
	if a := at.Do(get("/admin/v1/usage?format=xml")); a.Status != http.StatusBadRequest {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := st.Do(search.as(get("/v1/usage?group_by=key"))); strings.Contains(a.Body, "bot") || !strings.Contains(a.Body, `"total":{"requests":1`) {
		t.Errorf("a caller sees %s", a.Body)
	}
}

// Tokens that are kept in a cache for an hour and tokens of audio are told and charged apart on every way to a model: in the
// answer as the upstream wrote it, in records, jobs and reports, and the books agree.
func TestUsageOfRareClasses(t *testing.T) {
	t.Parallel()
	var config string
	s := serveOne(t, fmt.Sprintf(`
providers: {chats: {kind: openai, base_url: %[1]s/v1}, claude: {kind: anthropic, base_url: %[1]s/v1, api_key: "${E2E_KEY}"}}
targets:
  messages: {provider: claude, upstream_model: sim-1, price: {input: "1", cache_write: "1.25", output: "0"}}
  audio: {provider: chats, upstream_model: sim-1, price: {input: "1", audio_input: "40", output: "0", audio_output: "80"}}
models: {claude: {targets: [messages]}, voice: {targets: [audio]}}
`, startSim(t)), func(path string) error { config = path; return nil })
	ask := func(model, more, says string) string {
		return fmt.Sprintf(`{"model":%q,%s"max_tokens":9,"messages":[{"role":"user","content":"Hear me out [sim:%s]"}]}`, model, more, says)
	}
	const written, kept = "tokens=4 written=2 written_1h=3", `"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3}`
	const spoken = "tokens=4 audio_input=5 audio_output=3"
	item := `{"custom_id":"%d","body":` + ask("claude", "", written) + `}`
	for _, tt := range []struct{ path, body, want string }{
		{"/v1/messages", ask("claude", "", written), kept},
		{"/v1/messages", ask("claude", `"stream":true,`, written), kept},
		{"/v1/chat/completions", ask("claude", "", written), `"cache_write_tokens":5`}, // translated
		{"/v1/chat/completions", ask("voice", "", spoken), `"audio_tokens":5`},
		{"/v1/chat/completions", ask("voice", `"stream":true,`, spoken), "data: "},
		{"/v1/jobs", `{"endpoint":"/v1/messages","model":"claude","inputs":[` + fmt.Sprintf(item, 1) + "," + fmt.Sprintf(item, 2) + `]}`,
			`"cache_write_tokens":10,"output_tokens":8,"cache_write_1h_tokens":6,`},
	} {
		a := s.Do(Call{Method: "POST", Path: tt.path, Body: tt.body, Header: map[string]string{"Prefer": "wait=30"}})
		if a.Status != http.StatusOK || !strings.Contains(a.Body, tt.want) {
			t.Errorf("%s %s: %d %s lacks %s", tt.path, tt.body, a.Status, a.Body, tt.want)
		}
	}
	Await(t, "the calls to be recorded", func() error {
		var report struct {
			Data []struct {
				penstock.Usage
				Requests int
				Cost     penstock.NanoUSD `json:"cost_usd"`
			}
		}
		if err := json.Unmarshal([]byte(s.Do(get("/v1/usage?group_by=model")).Body), &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Data) != 2 || report.Data[0].Requests != 5 || report.Data[1].Requests != 2 {
			return fmt.Errorf("it says %+v", report)
		}
		claude, voice := report.Data[0], report.Data[1]
		// An hour of cache costs twice the input where nobody says: 5 × (2 × 1.25 + 3 × 2) beside the plain input.
		if cost := penstock.NanoUSD(1000*(claude.InputTokens-25) + 42_500); claude.CacheWriteTokens != 25 || claude.CacheWrite1hTokens != 15 || claude.Cost != cost {
			t.Errorf("of claude: %+v, want a cost of %v", claude, cost)
		}
		// 2 × (5 × 40 + 3 × 80).
		if cost := penstock.NanoUSD(1000*(voice.InputTokens-10) + 880_000); voice.AudioInputTokens != 10 || voice.AudioOutputTokens != 6 || voice.Cost != cost {
			t.Errorf("of voice: %+v, want a cost of %v", voice, cost)
		}
		return nil
	})
	if code := s.Stop(); code != 0 {
		t.Errorf("the server stopped with code %d", code)
	}
	if verify := Start(t, []string{"E2E_KEY=" + Key}, "ledger", "verify", "--config", config); verify.Exit() != 0 {
		t.Errorf("the books are wrong:\n%s", verify.Output())
	}
}
