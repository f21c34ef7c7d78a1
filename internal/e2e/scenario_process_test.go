package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var processScenarios = []scenario{
	{name: "process_health", play: processHealth},
	{name: "process_openapi", play: processOpenAPI},
	{name: "process_metrics", play: processMetrics, own: true},
	{name: "process_admin", play: processAdmin},
}

func processHealth(s *scene) {
	s.tell("alive", get("/healthz", "Authorization", ""))
	s.tell("ready", get("/readyz", "Authorization", ""))
}

// processOpenAPI holds that the document can be read as what it is. That answers follow it is held by
// every scenario.
func processOpenAPI(s *scene) {
	a := s.call(get("/openapi.json", "Authorization", ""))
	s.script.note("%d %s, OpenAPI %s, %s", a.Status, a.Header.Get("Content-Type"), s.field(a, "openapi"), s.field(a, "info.title"))
	if err := s.contract.check(get("/openapi.json"), a); err != nil {
		s.Error(err)
	}
	if _, err := s.contract.schema("/components/schemas/Job"); err != nil {
		s.Errorf("the schema of a job: %v", err)
	}
}

func (s *scene) fetch(url string) (int, string) {
	s.Helper()
	return s.fetchAs(AdminKey, http.MethodGet, url)
}

// fetchAs makes a call of the admin API with a key, "" for none.
func (s *scene) fetchAs(key, method, url string) (int, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, url, nil)
	if err != nil {
		s.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// Metrics whose values depend on time, on how often a test polled, or on what was built.
var (
	metricSkipped  = regexp.MustCompile(`_bucket\{|_sum[{ ]|^penstock_build_info|_group_(items|duration_seconds)_count|route="/readyz"|^penstock_(estimate_error|drain_items|tenant_queue|tenant_stored)_`)
	storedMetric   = regexp.MustCompile(`(?m)^penstock_tenant_stored_bytes\{.*`)
	metricUnstable = regexp.MustCompile(`^(penstock_queue_oldest_seconds.*|penstock_slots_in_use|penstock_disk_free_bytes.*|penstock_signals_sent_total.*|penstock_(?:desired|arrival)_.*) .*`)
)

func processMetrics(s *scene) {
	s.finished(s.submit(`{"model":"sim","lane":"bulk","inputs":[{"body":` + ask("metered") + `},{"body":` + ask("metered [sim:fault=bad_request]") + `}]}`))
	s.call(post("/v1/jobs", `{"model":"sim"}`))
	s.call(post("/v1/jobs", `{"model":"sim","input":"Hi","lane":"express"}`))
	s.call(post(chatPath, ask("metered plainly", `"model":"never-configured"`)))
	s.call(post(chatPath, ask("metered in pieces", `"model":"sim"`, `"stream":true`)))
	s.call(post(chatPath, ask("metered [sim:fault=server_error]", `"model":"sim"`)))
	s.call(get("/v1/jobs/job_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
	s.call(get("/nowhere/" + strings.Repeat("x", 100)))
	s.call(get("/healthz")) // on the connection of the others: once it is answered, they are counted

	status, text := s.fetch(s.metrics)
	if status != http.StatusOK {
		s.Fatalf("%s answers %d", s.metrics, status)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "penstock_") && !metricSkipped.MatchString(line) {
			s.script.note("%s", metricUnstable.ReplaceAllString(strings.TrimSpace(line), "$1 <value>"))
		}
	}
	for _, series := range []string{
		"penstock_build_info{", `penstock_attempt_duration_seconds_bucket{target="sim",`, "penstock_finish_group_items_count ",
		"penstock_claim_group_items_count ", "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, "\n"+series) {
			s.Errorf("there is no %s", series)
		}
	}
	if strings.Contains(text, Key) || strings.Contains(text, "metered") {
		s.Error("the metrics hold a key or a payload")
	}
	for _, line := range s.storedMetrics() {
		s.script.note("%s", line)
	}
}

// storedMetrics waits until the metrics of stored bytes, which are read now and then, show the jobs of the scene.
func (s *scene) storedMetrics() (lines []string) {
	s.Helper()
	Await(s, "metrics of stored bytes", func() error {
		_, text := s.fetch(s.metrics)
		lines = storedMetric.FindAllString(text, -1)
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, `kind="jobs"`) && !strings.HasSuffix(line, " 0") }) {
			return fmt.Errorf("they are %q", lines)
		}
		return nil
	})
	return lines
}

// processAdmin holds that the listener for operators is apart from that for callers.
func processAdmin(s *scene) {
	admin := strings.TrimSuffix(s.metrics, "/metrics")
	for _, path := range []string{"/healthz", "/readyz", "/admin/v1/load", "/debug/pprof/cmdline", "/v1/jobs", "/v1/models"} {
		status, _ := s.fetch(admin + path)
		open, _ := s.fetchAs("", http.MethodGet, admin+path)
		s.script.note("admin GET %s => %d, without a key %d", path, status, open)
	}
	for _, key := range []string{AdminKey, "", Key, "psk_unknown_7gq2xk9dmw4ztfv8hsb3rnj6cp"} {
		status, text := s.fetchAs(key, http.MethodPost, admin+"/admin/v1/config/reload")
		s.script.note("admin POST /admin/v1/config/reload with %q => %d %s", key, status, text)
	}
}
