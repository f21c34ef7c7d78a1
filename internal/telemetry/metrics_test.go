package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"penstock"
)

// scrape reads the metrics as Prometheus would: series by name and labels.
func scrape(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape answered %d: %s", w.Code, w.Body)
	}
	series := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[cut+1:]), 64)
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		series[line[:cut]] = value
	}
	return series
}

// expect compares some of the series; a want of absent means that there is no such series.
func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		found, ok := got[name]
		if value == absent {
			if ok {
				t.Errorf("%s = %v should not be there", name, found)
			}
		} else if !ok || found < value-1e-9 || found > value+1e-9 {
			t.Errorf("%s = %v (present %v), want %v", name, found, ok, value)
		}
	}
}

const absent = -1

// exercise calls every recording method once.
func exercise(m *Metrics) {
	m.HTTPRequest("/v1/jobs", http.MethodPost, 202, 3*time.Millisecond)
	m.JobAccepted("search", "fast", penstock.LaneBulk, 500)
	m.Swept(SweptJobs, 11)
	m.SweepOverdue(SweptKeys, 12*time.Second)
	m.SweepFailed()
	m.DiskSeen(DiskState{Disk: "data", Free: 4096, Low: true})
	m.JobRejected(penstock.CodeRateLimited)
	m.ItemFinished(ItemObservation{"fast", penstock.LaneBulk, penstock.StatusSucceeded, time.Second, 3 * time.Second, "search"})
	m.AttemptFinished(AttemptObservation{
		Model: "fast", Target: "openai-mini", FirstToken: 200 * time.Millisecond, Total: 2 * time.Second,
		Usage: penstock.Usage{InputTokens: 100, CachedInputTokens: 40, OutputTokens: 9}, Cost: 41_200,
	})
	m.Rescued(3)
	m.Expired(4)
	m.LeaseLost()
	m.SlotsInUse(6)
	m.ClaimGroup(7, 4*time.Millisecond)
	m.FinishGroup(8, 5*time.Millisecond)
	m.EstimateDue(EstimateObservation{penstock.LaneBulk, time.Second, 2 * time.Second})
	m.ConfigActive("cfg_1")
}

func TestMetricsRecord(t *testing.T) {
	t.Parallel()
	m := NewMetrics("1.2.3", "abc")
	exercise(m)
	expect(t, scrape(t, m), map[string]float64{
		`penstock_http_requests_total{method="POST",route="/v1/jobs",status="202"}`:                 1,
		`penstock_http_request_duration_seconds_sum{method="POST",route="/v1/jobs"}`:                0.003,
		`penstock_http_request_duration_seconds_bucket{method="POST",route="/v1/jobs",le="0.0025"}`: 0,
		`penstock_http_request_duration_seconds_bucket{method="POST",route="/v1/jobs",le="0.005"}`:  1,
		`penstock_jobs_accepted_total{lane="bulk",model="fast",tenant="search"}`:                    1,
		`penstock_items_accepted_total{lane="bulk",model="fast",tenant="search"}`:                   500,
		`penstock_jobs_rejected_total{code="rate_limited"}`:                                         1,
		`penstock_jobs_rejected_total{code="queue_full"}`:                                           0,
		`penstock_items_finished_total{lane="bulk",model="fast",status="succeeded"}`:                1,
		`penstock_item_wait_seconds_sum{lane="bulk",model="fast"}`:                                  1,
		`penstock_item_duration_seconds_sum{lane="bulk",model="fast"}`:                              3,
		`penstock_attempts_total{kind="ok",model="fast",target="openai-mini"}`:                      1,
		`penstock_attempt_first_token_seconds_sum{target="openai-mini"}`:                            0.2,
		`penstock_attempt_duration_seconds_sum{target="openai-mini"}`:                               2,
		`penstock_tokens_total{class="input",model="fast",target="openai-mini"}`:                    60,
		`penstock_tokens_total{class="cached_input",model="fast",target="openai-mini"}`:             40,
		`penstock_tokens_total{class="output",model="fast",target="openai-mini"}`:                   9,
		`penstock_cost_usd_total{model="fast",target="openai-mini"}`:                                0.0000412,
		`penstock_swept_total{kind="job"}`:                                                          11,
		`penstock_swept_total{kind="blob"}`:                                                         0,
		`penstock_sweep_overdue_seconds{kind="idempotency_key"}`:                                    12,
		`penstock_sweep_errors_total`:                                                               1,
		`penstock_disk_free_bytes{disk="data"}`:                                                     4096,
		`penstock_disk_low{disk="data"}`:                                                            1,
		`penstock_items_rescued_total`:                                                              3,
		`penstock_items_expired_total`:                                                              4,
		`penstock_leases_lost_total`:                                                                1,
		`penstock_slots_in_use`:                                                                     6,
		`penstock_claim_group_items_sum`:                                                            7,
		`penstock_claim_group_duration_seconds_sum`:                                                 0.004,
		`penstock_finish_group_items_sum`:                                                           8,
		`penstock_finish_group_duration_seconds_sum`:                                                0.005,
		`penstock_config_active{hash="cfg_1"}`:                                                      1,
		`penstock_queue_depth_errors_total`:                                                         0,
		`penstock_build_info{commit="abc",go_version="` + goVersion(t, m) + `",version="1.2.3"}`:    1,
		`penstock_items_finished_total{lane="bulk",model="fast",status="failed"}`:                   absent,
		`penstock_attempt_first_token_seconds_bucket{target="openai-mini",le="0.16"}`:               0,
		`penstock_attempt_first_token_seconds_bucket{target="openai-mini",le="0.32"}`:               1,
	})
}

func goVersion(t *testing.T, m *Metrics) string {
	t.Helper()
	for name := range scrape(t, m) {
		if rest, ok := strings.CutPrefix(name, `go_info{version="`); ok {
			return strings.TrimSuffix(rest, `"}`)
		}
	}
	t.Fatal("the Go collector is not registered")
	return ""
}

func TestMetricsSurviveOddInput(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	m.HTTPRequest("", "BREW\xff", 42, -time.Second)
	m.JobAccepted("\xff", "", "fast-lane", -1)
	m.JobRejected("no_such_code")
	m.ItemFinished(ItemObservation{Model: "\xff", Lane: "x", Status: penstock.StatusRunning, Wait: -1, Total: -1})
	m.ItemFinished(ItemObservation{Model: "fast", Lane: penstock.LaneBulk, Status: penstock.StatusExpired, Total: time.Hour})
	m.ItemFinished(ItemObservation{Model: "fast", Lane: penstock.LaneBulk, Status: penstock.StatusFailed, Total: time.Hour})
	m.AttemptFinished(AttemptObservation{Kind: "timeout", FirstToken: -1, Total: -1, Cost: -1,
		Usage: penstock.Usage{InputTokens: 5, CachedInputTokens: 9, OutputTokens: -3}})
	m.AttemptFinished(AttemptObservation{Kind: "timeout",
		Usage: penstock.Usage{InputTokens: 5, CachedInputTokens: -9}})
	m.Rescued(-1)
	m.Expired(-1)
	m.ClaimGroup(-1, -1)
	m.FinishGroup(0, 0)
	m.ConfigActive("\xff")
	expect(t, scrape(t, m), map[string]float64{
		`penstock_http_requests_total{method="other",route="none",status="other"}`: 1,
		`penstock_http_request_duration_seconds_sum{method="other",route="none"}`:  0,
		`penstock_jobs_accepted_total{lane="other",model="none",tenant="other"}`:   1,
		`penstock_items_accepted_total{lane="other",model="none",tenant="other"}`:  0,
		`penstock_jobs_rejected_total{code="other"}`:                               1,
		`penstock_items_finished_total{lane="other",model="other",status="other"}`: 1,
		`penstock_item_wait_seconds_count{lane="other",model="other"}`:             0,
		`penstock_item_wait_seconds_count{lane="bulk",model="fast"}`:               1, // the failed one
		`penstock_item_duration_seconds_count{lane="bulk",model="fast"}`:           2,
		`penstock_attempts_total{kind="timeout",model="none",target="none"}`:       2,
		`penstock_attempt_first_token_seconds_count{target="none"}`:                0,
		`penstock_tokens_total{class="input",model="none",target="none"}`:          5,
		`penstock_tokens_total{class="cached_input",model="none",target="none"}`:   5,
		`penstock_tokens_total{class="output",model="none",target="none"}`:         0,
		`penstock_cost_usd_total{model="none",target="none"}`:                      0,
		`penstock_items_rescued_total`:                                             0,
		`penstock_claim_group_items_sum`:                                           0,
		`penstock_claim_group_duration_seconds_sum`:                                0,
		`penstock_finish_group_items_count`:                                        1,
		`penstock_config_active{hash=""}`:                                          1,
	})
}

func TestMetricsBoundNames(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	m.Admit(Names{Models: []string{"configured"}, Targets: []string{"upstream"}, Tenants: []string{"search"}})
	for i := range 3 * DefaultMaxLabels {
		name := fmt.Sprint("invented-", i)
		m.JobAccepted(name, name, penstock.LaneBulk, 1)
		m.AttemptFinished(AttemptObservation{Model: name, Target: name, Kind: name})
		m.HTTPRequest(name, http.MethodGet, 200, 0)
	}
	m.JobAccepted("search", "configured", penstock.LaneBulk, 1)
	m.AttemptFinished(AttemptObservation{Model: "configured", Target: "upstream"})

	got := scrape(t, m)
	counts := map[string]int{}
	for name := range got {
		name, _, _ = strings.Cut(name, "{")
		counts[name]++
	}
	// One more for what is configured, one for other. Attempts: kinds run out before models and targets do,
	// which does not add combinations here because all three names are invented together.
	for name, most := range map[string]int{
		"penstock_jobs_accepted_total": DefaultMaxLabels + 2,
		"penstock_attempts_total":      DefaultMaxLabels + 2,
		"penstock_cost_usd_total":      DefaultMaxLabels + 2,
		"penstock_http_requests_total": DefaultMaxLabels + 1,
	} {
		if counts[name] != most {
			t.Errorf("%s has %d series, want %d", name, counts[name], most)
		}
	}
	expect(t, got, map[string]float64{
		`penstock_jobs_accepted_total{lane="bulk",model="configured",tenant="search"}`: 1,
		`penstock_jobs_accepted_total{lane="bulk",model="other",tenant="other"}`:       2 * DefaultMaxLabels,
		`penstock_attempts_total{kind="ok",model="configured",target="upstream"}`:      1,
		`penstock_attempts_total{kind="other",model="other",target="other"}`:           2 * DefaultMaxLabels,
		`penstock_http_requests_total{method="GET",route="other",status="200"}`:        2 * DefaultMaxLabels,
	})
}

func TestMetricsNames(t *testing.T) {
	t.Parallel()
	m := NewMetrics("1.2.3", "abc")
	m.CollectDepths(depthsOf(Depth{Lane: "bulk", Status: "queued", Items: 1}))
	exercise(m)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		name := family.GetName()
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		if !strings.HasPrefix(name, "penstock_") {
			t.Errorf("%s does not start with penstock_", name)
		}
		if counter := family.GetType().String() == "COUNTER"; counter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s: counters, and only they, end in _total", name)
		}
		for _, unit := range []string{"_ms", "_millis", "_nano", "_minutes"} {
			if strings.Contains(name, unit) {
				t.Errorf("%s is not in base units", name)
			}
		}
		if family.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
	}
}

func TestConfigActiveShowsOneHash(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	m.ConfigActive("cfg_1")
	m.ConfigActive("cfg_2")
	expect(t, scrape(t, m), map[string]float64{
		`penstock_config_active{hash="cfg_1"}`: absent,
		`penstock_config_active{hash="cfg_2"}`: 1,
	})
}

func TestMetricsAllocateNothingOnHotPaths(t *testing.T) {
	skipUnderRace(t)
	m := NewMetrics("", "")
	exercise(m)
	if n := testing.AllocsPerRun(100, func() { exercise(m) }); n > 1 { // ConfigActive stores its hash
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHTTPRequest(b *testing.B) {
	m := NewMetrics("", "")
	b.ReportAllocs()
	for b.Loop() {
		m.HTTPRequest("/v1/chat/completions", http.MethodPost, 200, 123*time.Millisecond)
	}
}

func BenchmarkAttemptFinished(b *testing.B) {
	m := NewMetrics("", "")
	o := AttemptObservation{
		Model: "fast", Target: "openai-mini", FirstToken: 200 * time.Millisecond, Total: 2 * time.Second,
		Usage: penstock.Usage{InputTokens: 100, CachedInputTokens: 40, OutputTokens: 9}, Cost: 41_200,
	}
	b.ReportAllocs()
	for b.Loop() {
		m.AttemptFinished(o)
	}
}

// BenchmarkAttemptFinishedUnknown is the worst case: a model beyond the limit.
func BenchmarkAttemptFinishedUnknown(b *testing.B) {
	m := NewMetrics("", "")
	for i := range 2 * DefaultMaxLabels {
		m.AttemptFinished(AttemptObservation{Model: fmt.Sprint(i), Target: "t"})
	}
	b.ReportAllocs()
	for b.Loop() {
		m.AttemptFinished(AttemptObservation{Model: "invented", Target: "t", Total: time.Second})
	}
}
