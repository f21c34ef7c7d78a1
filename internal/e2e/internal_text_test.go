package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// internals are what no tenant may read in an answer of ours: addresses, resolvers, paths of files, sizes of disks, and how our
// tools word their errors.
var internals = regexp.MustCompile(`(\d+\.){3}\d+|\[?::1\]?|:53\b|resolv\.conf|lookup |dial tcp|connection refused|/tmp/|\.db\b|[KMGT]iB|\d+ bytes|sqlite|postgres|SQLSTATE|pgx`)

// TestTenantsReadNoInternals breaks what lies behind the API and holds that tenants are told what concerns them, while the
// operator's log says the rest.
func TestTenantsReadNoInternals(t *testing.T) {
	t.Parallel()
	t.Run("webhooks", hideWebhooks)
	t.Run("a full disk", hideDisk)
	t.Run("an upstream inside", hideUpstream)
	t.Run("a database that is away", hideDatabase)
}

func hideWebhooks(t *testing.T) {
	t.Parallel()
	st := serveOne(t, fmt.Sprintf(`
webhooks: {allow: ["127.0.0.0/8", "::1"]}
providers: {up: {kind: openai, base_url: %s/v1}}
targets: {small: {provider: up, upstream_model: cheap}}
models: {fast: {targets: [small]}}
`, startCareless(t).URL))
	for url, want := range map[string]string{
		"https://no-such-host.invalid/hook": "the host name could not be resolved",
		"http://localhost:1/hook":           "the connection was refused",
		"https://localhost:1/hook":          "the connection was refused",
	} {
		id := found(t, `"id":"(whk_[0-9A-Za-z]+)"`, st.Do(post("/v1/webhooks", fmt.Sprintf(`{"url":%q}`, url))).Body)
		st.Do(post("/v1/webhooks/"+id+"/test", ""))
		Await(t, "an attempt at "+url, func() error {
			var page struct {
				Data []struct {
					History []struct{ Error string } `json:"history"`
				}
			}
			a := st.Do(get("/v1/webhooks/" + id + "/deliveries"))
			if err := json.Unmarshal([]byte(a.Body), &page); err != nil || len(page.Data) == 0 || len(page.Data[0].History) == 0 {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			if got := page.Data[0].History[0].Error; got != want || internals.MatchString(got) {
				t.Errorf("%s: the tenant reads %q, want %q", url, got, want)
			}
			return nil
		})
	}
	if log := st.Output(); !strings.Contains(log, "an attempt at a webhook's delivery failed") || !strings.Contains(log, "connection refused") {
		t.Error("the operator's log does not say why deliveries fail")
	}
}

func hideDisk(t *testing.T) {
	t.Parallel()
	s := serveOne(t, fmt.Sprintf(`
disk: {min_free: 1024TiB}
providers: {up: {kind: openai, base_url: %s/v1}}
targets: {small: {provider: up, upstream_model: cheap}}
models: {fast: {targets: [small]}}
`, startCareless(t).URL))
	for _, c := range []Call{post("/v1/jobs", `{"model":"fast","input":"Hi"}`), post("/v1/files", batchForm, "Content-Type", "multipart/form-data; boundary=x"), get("/readyz"), post(chatPath, `{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`, "Idempotency-Key", "a")} {
		if a := s.Do(c); internals.MatchString(a.Body) || !strings.Contains(a.Body, "short of disk space") {
			t.Errorf("%s: %d %s", c.Path, a.Status, a.Body)
		}
	}
	if log := s.Output(); !strings.Contains(log, "free_bytes") || !strings.Contains(log, "path") {
		t.Error("the operator's log does not say which disk is full")
	}
}

func hideUpstream(t *testing.T) {
	t.Parallel()
	s := serveOne(t, `
providers: {up: {kind: openai, base_url: "http://127.0.0.1:1/v1"}, lost: {kind: openai, base_url: "http://vllm.no-such-host.invalid/v1"}}
targets: {small: {provider: up, upstream_model: cheap}, other: {provider: lost, upstream_model: cheap}}
models: {fast: {targets: [small]}, lost: {targets: [other]}}
`)
	for _, model := range []string{"fast", "lost"} {
		a := s.Do(post(chatPath, `{"model":"`+model+`","messages":[{"role":"user","content":"Hi"}]}`))
		if a.Status < http.StatusInternalServerError || internals.MatchString(a.Body) || strings.Contains(a.Body, "vllm") {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
}

func hideDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t, onPostgres)
	r.configure()
	database := newCutter(t, r)
	s := r.start(death{}).Server
	database.leave()
	s.awaitAway(`{"model":"fast","input":"Hi"}`)
	for _, c := range []Call{post("/v1/jobs", `{"model":"fast","input":"Hi"}`), get("/readyz"), get("/v1/jobs"), get("/v1/usage")} {
		if a := s.Do(c); a.Status < http.StatusInternalServerError || internals.MatchString(a.Body) {
			t.Errorf("%s: %d %s", c.Path, a.Status, a.Body)
		}
	}
}
