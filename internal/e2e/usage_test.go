package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
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
