package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A model is limited and paused under every name that leads to it: calls get the same answer, queued items wait.
func TestFallbackIsNoWayAround(t *testing.T) {
	t.Parallel()
	var admin string
	s := serveOne(t, fmt.Sprintf(`
admin: {key: %q}
providers: {upstream: {kind: openai, base_url: %s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}}
models: {fast: {targets: [sim]}, other: {targets: [sim]}}
fallback_model: fast
`, "${E2E_KEY}", startSim(t)), tenantWith(`limits: {models: {fast: {requests_per_minute: 60, burst: 0.1, wait: 0s}}}`), func(path string) error {
		text, err := os.ReadFile(path)
		if found := regexp.MustCompile(`admin_listen: (\S+)`).FindSubmatch(text); found != nil {
			admin = "http://" + string(found[1])
		}
		return err
	})
	operator := &Server{s.Process, admin}
	control := func(method, body string) {
		t.Helper()
		a := operator.Do(Call{Method: method, Path: "/admin/v1/controls/model/fast", Body: body, Header: map[string]string{"Authorization": "Bearer " + Key}})
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", method, a.Status, a.Body)
		}
	}
	call := post(chatPath, ask("Hi", `"model":"anything"`))

	control(http.MethodPut, `{"state":"paused","reason":"moving"}`)
	Await(t, "the pause to be known", func() error {
		if a := s.Do(call); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "the model fast: moving") {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	held := s.Do(post("/v1/jobs", `{"model":"anything","input":"wait"}`))
	if free := s.Do(post("/v1/jobs", `{"model":"other","input":"go","lane":"bulk"}`, "Prefer", "wait=30")); free.Status != http.StatusOK {
		t.Fatalf("another model: %d %s", free.Status, free.Body)
	}
	if a := s.Do(get(held.Header.Get("Location"))); !strings.Contains(a.Body, `"status":"queued"`) || !strings.Contains(a.Body, `"waiting_on":"paused"`) {
		t.Errorf("a job for another name of a paused model: %d %s", a.Status, a.Body)
	}
	control(http.MethodDelete, "")
	if a := s.Do(get(held.Header.Get("Location"), "Prefer", "wait=30")); !strings.Contains(a.Body, `"status":"succeeded"`) {
		t.Errorf("after it was resumed: %d %s", a.Status, a.Body)
	}

	const most = 50
	for n := 0; ; n++ {
		a := s.Do(call)
		if strings.Contains(a.Body, "Tenant acme with model fast") && a.Status == http.StatusTooManyRequests {
			if limit := a.Header.Get("RateLimit"); !strings.Contains(limit, `"model-requests";r=0`) {
				t.Errorf("the refusal tells %q", limit)
			}
			break
		}
		if n == most {
			t.Fatalf("%d calls by another name were not too many: %d %s", most, a.Status, a.Body)
		}
	}
}
