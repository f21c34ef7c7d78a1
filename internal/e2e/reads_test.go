package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// devWithAdmin is a `penstock dev` whose admin listener has a known address.
func devWithAdmin(t *testing.T) (s, admin *Server) {
	t.Helper()
	address := FreeAddress(t)
	s = Dev(t, t.TempDir(), "PENSTOCK_ADMIN_LISTEN="+address)
	return s, &Server{s.Process, "http://" + address}
}

// into reads the JSON of a successful answer.
func into(t *testing.T, s *Server, c Call, v any) {
	t.Helper()
	a := s.Do(c)
	if a.Status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", c.Method, c.Path, a.Status, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		t.Fatalf("%s %s: %v in %s", c.Method, c.Path, err, a.Body)
	}
}

// TestReadsForPages does some work and reads it by every route that pages show it from.
func TestReadsForPages(t *testing.T) {
	t.Parallel()
	s, admin := devWithAdmin(t)
	var job struct{ ID string }
	a := s.Do(post("/v1/jobs", `{"model":"echo","inputs":[{"custom_id":"a","body":`+ask("one")+`},{"custom_id":"b","body":`+ask("two")+`}]}`, "Prefer", "wait=20"))
	if err := json.Unmarshal([]byte(a.Body), &job); err != nil || job.ID == "" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.Do(post(chatPath, ask("now", `"model":"echo"`))); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	Await(t, "the job", func() error {
		if a := s.Do(get("/v1/jobs/" + job.ID)); !strings.Contains(a.Body, `"status":"succeeded"`) {
			return fmt.Errorf("it is %s", a.Body)
		}
		return nil
	})
	t.Run("overview", func(t *testing.T) { readsOverview(t, s, admin) })
	t.Run("job", func(t *testing.T) { readsJob(t, s, job.ID) })
	t.Run("fleet", func(t *testing.T) { readsFleet(t, s, admin) })
	t.Run("models", func(t *testing.T) { readsModels(t, s) })
	t.Run("config and audit", func(t *testing.T) { readsConfig(t, admin) })
	t.Run("forecast", func(t *testing.T) { readsForecast(t, admin) })
}

func readsOverview(t *testing.T, s, admin *Server) {
	type overview struct {
		SuccessRate struct{ Value *float64 } `json:"success_rate"`
		Lanes       []struct {
			Points []struct{ Jobs, Requests, Succeeded int }
		}
	}
	for c, at := range map[string]*Server{"/v1/overview": s, "/v1/overview?window=day": s, "/admin/v1/overview": admin} {
		Await(t, "the figures of "+c, func() error {
			var v overview
			into(t, at, get(c), &v)
			jobs, requests, succeeded := 0, 0, 0
			for _, lane := range v.Lanes {
				for _, p := range lane.Points {
					jobs, requests, succeeded = jobs+p.Jobs, requests+p.Requests, succeeded+p.Succeeded
				}
			}
			if jobs != 1 || requests != 1 || succeeded != 3 || v.SuccessRate.Value == nil || *v.SuccessRate.Value != 1 {
				return fmt.Errorf("%d jobs, %d requests, %d succeeded, %+v", jobs, requests, succeeded, v.SuccessRate)
			}
			return nil
		})
	}
	if a := s.Do(get("/v1/overview?window=year")); a.Status != http.StatusBadRequest {
		t.Errorf("a year: %d %s", a.Status, a.Body)
	}
	for c, at := range map[string]*Server{"/v1/usage/forecast": s, "/admin/v1/usage/forecast": admin, "/admin/v1/usage/forecast?tenant=dev": admin} {
		var month struct{ Days []struct{ Day string } }
		if into(t, at, get(c), &month); len(month.Days) < 28 {
			t.Errorf("%s: %+v", c, month)
		}
	}
	var budgets struct{ Data []any }
	into(t, s, get("/v1/budgets"), &budgets)
	into(t, admin, get("/admin/v1/budgets"), &budgets)
	for _, c := range []string{"/admin/v1/usage?merge_tenants=true&group_by=day,model&top=1", "/admin/v1/usage?model=sim&tag=a:b&lane=bulk&key=k"} {
		var report struct {
			AsOf time.Time `json:"as_of"`
		}
		if into(t, admin, get(c), &report); report.AsOf.IsZero() {
			t.Errorf("%s: %+v", c, report)
		}
	}
}

func readsJob(t *testing.T, s *Server, job string) {
	var items struct{ Data []struct{ ID string } }
	into(t, s, get("/v1/jobs/"+job+"/items"), &items)
	var input struct{ Messages []struct{ Content string } }
	if into(t, s, get("/v1/items/"+items.Data[1].ID+"/input"), &input); len(input.Messages) != 1 || input.Messages[0].Content != "two" {
		t.Errorf("the input is %+v", input)
	}
	var progress struct {
		Counts struct{ Succeeded int }
		Jobs   []string
	}
	if into(t, s, get("/v1/batches/"+job+"/progress"), &progress); progress.Counts.Succeeded != 2 || len(progress.Jobs) != 1 || progress.Jobs[0] != job {
		t.Errorf("the progress is %+v", progress)
	}
	var list struct {
		Data []struct {
			BatchID string `json:"batch_id"`
			Dialect string
			Counts  struct{ Total int }
		}
		HasMore bool `json:"has_more"`
	}
	if into(t, s, get("/v1/batches/progress?limit=2"), &list); len(list.Data) != 0 || list.HasMore {
		t.Errorf("a job without a file is in the list of batches: %+v", list)
	}
	if a := s.Do(get("/v1/batches/progress?after=x")); a.Status != http.StatusBadRequest {
		t.Errorf("a false cursor: %d %s", a.Status, a.Body)
	}
	if a := s.Do(get("/v1/batches/x/progress")); a.Status != http.StatusNotFound {
		t.Errorf("no batch: %d %s", a.Status, a.Body)
	}
}

func readsFleet(t *testing.T, s, admin *Server) {
	var processes struct {
		Data []struct {
			Self, Works   bool
			Version, Role string
			Slots         int
		}
	}
	if into(t, admin, get("/admin/v1/processes"), &processes); len(processes.Data) != 1 || !processes.Data[0].Self || !processes.Data[0].Works || processes.Data[0].Slots == 0 || processes.Data[0].Role != "all" {
		t.Errorf("%+v", processes)
	}
	if a := admin.Do(Call{Method: "PUT", Path: "/admin/v1/controls/lane/bulk", Body: `{"state":"paused","reason":"for a test"}`}); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.Do(post("/v1/jobs", `{"model":"echo","input":"waits","lane":"bulk"}`)); a.Status != http.StatusAccepted {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	type row struct {
		Name    string
		Ready   int
		Control *struct{ Reason string }
		Tenants []struct {
			Tenant string
			Ready  int
			Fair   float64 `json:"fair_share"`
		}
	}
	var queues, own struct{ Lanes []row }
	Await(t, "the queue", func() error {
		into(t, admin, get("/admin/v1/queues"), &queues)
		into(t, s, get("/v1/load"), &own)
		bulk := queues.Lanes[2]
		if bulk.Name != "bulk" || bulk.Ready != 1 || bulk.Control == nil || len(bulk.Tenants) == 0 || bulk.Tenants[0].Fair != 1 || own.Lanes[2].Ready != 1 {
			return fmt.Errorf("%+v, %+v", queues, own)
		}
		return nil
	})
	var targets struct {
		Data []struct {
			Name, State string
			Models      []string
			Recent      struct {
				Attempts int
				P95MS    *float64 `json:"p95_ms"`
			}
		}
	}
	into(t, admin, get("/admin/v1/targets"), &targets)
	called := 0
	for _, target := range targets.Data {
		called += target.Recent.Attempts
	}
	if called < 3 {
		t.Errorf("the targets are %+v", targets)
	}
}

func readsModels(t *testing.T, s *Server) {
	var models struct {
		Data []struct {
			Name, Policy string
			Targets      []struct{ Name, State string }
		}
	}
	if into(t, s, get("/v1/model_definitions"), &models); len(models.Data) == 0 || len(models.Data[0].Targets) == 0 || models.Data[0].Targets[0].State == "" {
		t.Errorf("%+v", models)
	}
	type page struct {
		Data    []struct{ ID string }
		HasMore bool `json:"has_more"`
	}
	var first, second page
	into(t, s, get("/v1/catalogue?vendor=openai&limit=2"), &first)
	into(t, s, get("/v1/catalogue?vendor=openai&limit=2&after="+first.Data[1].ID), &second)
	if !first.HasMore || len(second.Data) != 2 || second.Data[0].ID <= first.Data[1].ID {
		t.Errorf("%+v, then %+v", first, second)
	}
	if a := s.Do(get("/v1/catalogue?after=x")); a.Status != http.StatusBadRequest {
		t.Errorf("a page behind nothing: %d %s", a.Status, a.Body)
	}
}

func readsConfig(t *testing.T, admin *Server) {
	var config struct{ Hash, YAML string }
	if into(t, admin, get("/admin/v1/config"), &config); config.Hash == "" || !strings.Contains(config.YAML, "targets:") || strings.Contains(config.YAML, AdminKey) || strings.Contains(config.YAML, Key) {
		t.Errorf("the configuration is %+v", config)
	}
	var audit struct {
		Data []struct{ Tenant, Action, Subject string }
	}
	into(t, admin, get("/admin/v1/audit?tenant=*&action=control"), &audit)
	if len(audit.Data) != 1 || audit.Data[0].Action != "control.set" || audit.Data[0].Tenant != "-" {
		t.Errorf("the audit has %+v", audit)
	}
	if a := admin.Do(get("/admin/v1/audit?tenant=*&created_after=yesterday")); a.Status != http.StatusBadRequest {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// readsWhatIf asks questions about one scenario.
func readsWhatIf(t *testing.T, admin *Server) {
	const steady = `"scenario":"duration: 1m\ntargets: {a: {}}\nmodels: {m: [a]}\ntenants: [{name: t, models: [m], arrivals: {backlog: 100}, input_tokens: {fixed: 1}, output_tokens: {fixed: 1}}]\n"`
	ask := func(whatIf string) (r struct {
		Problems []struct{ Path string }
		Slots    int
		Lanes    []struct{ Submitted, Succeeded int }
	}) {
		into(t, admin, post("/admin/v1/forecast", `{`+steady+`,"what_if":`+whatIf+`}`), &r)
		return r
	}
	if r := ask(`{"load":3,"slots":8,"processes":2}`); r.Slots != 16 || r.Lanes[0].Submitted != 300 || r.Lanes[0].Succeeded != 300 {
		t.Errorf("three times the load: %+v", r)
	}
	if r := ask(`{"down":["a"]}`); r.Lanes[0].Submitted != 100 || r.Lanes[0].Succeeded != 0 {
		t.Errorf("the only target is down: %+v", r)
	}
	if r := ask(`{"down":["b"],"load":-1}`); len(r.Problems) != 2 || r.Problems[0].Path != "what_if.load" || r.Problems[1].Path != "what_if.down" {
		t.Errorf("invalid questions: %+v", r)
	}
}

func readsForecast(t *testing.T, admin *Server) {
	var scenario struct {
		Scenario string `json:"scenario"`
	}
	into(t, admin, get("/admin/v1/forecast/scenario"), &scenario)
	body, _ := json.Marshal(scenario)
	var result struct {
		Problems []any
		Lanes    []struct {
			Name      string
			Submitted int
			Wait      struct {
				P95 float64 `json:"p95_ms"`
			}
		}
	}
	if into(t, admin, post("/admin/v1/forecast", string(body)), &result); len(result.Problems) > 0 || len(result.Lanes) == 0 {
		t.Errorf("the forecast of\n%s\nis %+v", scenario.Scenario, result)
	}
	readsWhatIf(t, admin)
	var bad struct {
		Problems []struct {
			Path string
			Line int
		}
	}
	if into(t, admin, post("/admin/v1/forecast", `{"scenario":"duration: 1m\ntargts: {}\n"}`), &bad); len(bad.Problems) == 0 || bad.Problems[len(bad.Problems)-1].Line != 2 {
		t.Errorf("an invalid scenario has %+v", bad)
	}
	huge := `{"scenario":"duration: 24h\ntargets: {a: {}}\nmodels: {m: [a]}\ntenants: [{name: t, models: [m], arrivals: {rate: 100000}, input_tokens: {fixed: 1}, output_tokens: {fixed: 1}}]\n"}`
	if a := admin.Do(post("/admin/v1/forecast", huge)); !strings.Contains(a.Body, "shorten the duration") {
		t.Errorf("an endless scenario: %d %s", a.Status, a.Body)
	}
}
