package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// listOfCalls is a page of GET /v1/requests.
type listOfCalls struct {
	Data []struct {
		ID, Model, Key, Target, Status, Subject string
		Tags                                    map[string]string
	}
	HasMore   bool   `json:"has_more"`
	NextAfter string `json:"next_after"`
}

// Calls are attributed, listed by what they are attributed to, and paid from the budgets of their tags, over HTTP and both engines.
func TestCallsAreAttributed(t *testing.T) {
	t.Parallel()
	upstream := startSim(t)
	for _, engine := range scenarioEngines() {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			s := serveWith(t, append(engine.env(t), "E2E_KEY="+Key), fmt.Sprintf(`
cors: {origins: ["https://app.example.com"]}
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets:
  sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}
  other: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}
models: {fast: {targets: [sim]}, shaky: {targets: [sim, other]}}
`, upstream), tenantWith(`tag_budgets: {"team:poor": {total_usd: "0.000001", hard: true}}`))
			chat := func(body string, headers ...string) Answer {
				return s.Do(post(chatPath, `{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]`+body+`}`, headers...))
			}
			Await(t, "a process that may hold money", func() error {
				if a := chat("", "x-penstock-tags", "team=poor"); a.Status != http.StatusPaymentRequired {
					return fmt.Errorf("%d %s", a.Status, a.Body)
				}
				return nil
			})
			first := chat("", "x-penstock-tags", "team=search,feature=chat", "x-penstock-subject", "ann")
			second := chat(`,"metadata":{"team":"ads"},"user":"bob"`)
			if first.Status != 200 || second.Status != 200 || first.Header.Get("x-penstock-cost-usd") == "" {
				t.Fatalf("%d %s %d %s %v", first.Status, first.Body, second.Status, second.Body, first.Header)
			}
			checkCallList(t, s, first, second)
			checkFallbacks(t, s)
			if a := chat(`,"metadata":{"team":"poor"}`); a.Status != http.StatusPaymentRequired || !strings.Contains(a.Body, "budget for tag team:poor is $0.000001") {
				t.Errorf("a call under a tag whose budget is used up: %d %s", a.Status, a.Body)
			}
			if a := s.Do(post("/v1/jobs", `{"model":"fast","input":"Hi","tags":{"team":"poor"}}`)); a.Status != http.StatusPaymentRequired {
				t.Errorf("a job under that tag: %d %s", a.Status, a.Body)
			}
			if a := s.Do(get("/v1/usage?group_by=tag:team")); !strings.Contains(a.Body, `"team":"search"`) {
				t.Errorf("usage by tag: %d %s", a.Status, a.Body)
			}
			if a := s.Do(Call{Method: "OPTIONS", Path: chatPath, Header: map[string]string{"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}}); a.Status != http.StatusNoContent {
				t.Errorf("a preflight: %d %s", a.Status, a.Body)
			}
		})
	}
}

// checkFallbacks holds that an error says what each target did, and that a caller can bound the targets of a call.
func checkFallbacks(t *testing.T, s *Server) {
	t.Helper()
	call := func(headers ...string) string {
		a := s.Do(post(chatPath, `{"model":"shaky","max_tokens":5,"messages":[{"role":"user","content":"Attributed [sim:fault=server_error]"}]}`, headers...))
		if a.Status < 500 {
			t.Errorf("%q: %d %s", headers, a.Status, a.Body)
		}
		return a.Body
	}
	if said := call(); !strings.Contains(said, "Tried 2 targets: ") || !strings.Contains(said, "sim: server_error (HTTP 500) after ") || !strings.Contains(said, "other: server_error (HTTP 500) after ") {
		t.Errorf("after two targets: %s", said)
	}
	for _, header := range [][2]string{{"x-penstock-fallback", "off"}, {"x-penstock-fallback", "0"}, {"x-penstock-targets", "other"}} {
		if said := call(header[0], header[1]); strings.Contains(said, "Tried") {
			t.Errorf("with %s: %s", header, said)
		}
	}
	if said := call("x-penstock-fallback", "1"); !strings.Contains(said, "Tried 2 targets: ") {
		t.Errorf("with one fallback: %s", said)
	}
}

func checkCallList(t *testing.T, s *Server, first, second Answer) {
	t.Helper()
	ids := [2]string{first.Header.Get("x-request-id"), second.Header.Get("x-request-id")}
	list := func(query string) (p listOfCalls) {
		a := s.Do(get("/v1/requests?" + query))
		if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != 200 {
			t.Fatalf("%s: %d %s", query, a.Status, a.Body)
		}
		return p
	}
	Await(t, "the calls to be listed", func() error {
		if p := list("model=fast&status=succeeded"); len(p.Data) != 2 || p.Data[0].ID != ids[1] || p.Data[1].ID != ids[0] {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	for query, want := range map[string]string{
		"tag=team:search": ids[0], "tag=team:ads": ids[1], "tag=team=ads": ids[1], "subject=ann": ids[0], "subject=bob": ids[1], "subject=ann&key=e2e&target=sim": ids[0],
		"subject=ann&key=other": "", "tag=team:none": "", "status=failed": "", "min_cost=1": "", "created_before=2020-01-01T00:00:00Z": "",
	} {
		p := list(query)
		if want == "" && len(p.Data) == 0 && !p.HasMore {
			continue
		}
		if len(p.Data) != 1 || p.Data[0].ID != want {
			t.Errorf("%s lists %+v, want %s", query, p.Data, want)
		}
	}
	page := list("limit=1")
	if next := list("limit=1&after=" + page.NextAfter); !page.HasMore || page.Data[0].ID != ids[1] || next.Data[0].ID != ids[0] || next.Data[0].Tags["feature"] != "chat" {
		t.Errorf("pages: %+v %+v", page, next)
	}
	for query, want := range map[string]string{"status=queued": "status must be one of", "tag=x": "key:value", "after=job_1": "after", "modle=x": `did you mean \"model\"?`, "min_cost=x": "min_cost"} {
		if a := s.Do(get("/v1/requests?" + query)); a.Status != 400 || !strings.Contains(a.Body, want) {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}
