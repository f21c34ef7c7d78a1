package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"penstock"
)

func TestUsageByTenantAndPace(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	used := penstock.Usage{InputTokens: 100, CachedInputTokens: 40, OutputTokens: 21}
	streamed := AttemptObservation{Tenant: "search", Target: "mini", Stream: true, FirstToken: time.Second, Total: 3 * time.Second, Usage: used, Cost: 41_200}
	m.AttemptFinished(streamed)
	plain := streamed
	plain.Stream, plain.Kind = false, "timeout" // its tokens came at once, so that they have no pace
	m.AttemptFinished(plain)
	short := streamed
	short.Usage = penstock.Usage{OutputTokens: 1}
	m.AttemptFinished(short)
	m.AttemptFinished(AttemptObservation{Target: "mini", Stream: true, FirstToken: time.Second, Total: -1, Usage: used})
	expect(t, scrape(t, m), map[string]float64{
		`penstock_tenant_attempts_total{outcome="ok",tenant="search"}`:              2,
		`penstock_tenant_attempts_total{outcome="failed",tenant="search"}`:          1,
		`penstock_tenant_attempts_total{outcome="ok",tenant="none"}`:                1,
		`penstock_tenant_tokens_total{class="input",tenant="search"}`:               120,
		`penstock_tenant_tokens_total{class="cached_input",tenant="search"}`:        80,
		`penstock_tenant_tokens_total{class="output",tenant="search"}`:              43,
		`penstock_tenant_cost_usd_total{tenant="search"}`:                           0.0001236,
		`penstock_attempt_output_tokens_per_second_count{target="mini"}`:            1,
		`penstock_attempt_output_tokens_per_second_sum{target="mini"}`:              10,
		`penstock_attempt_output_tokens_per_second_bucket{target="mini",le="8"}`:    0,
		`penstock_attempt_output_tokens_per_second_bucket{target="mini",le="16"}`:   1,
		`penstock_attempt_output_tokens_per_second_bucket{target="mini",le="4096"}`: 1,
	})
}

// Tenants and targets that are invented do not grow the metrics without end.
func TestUsageBoundsNames(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	for i := range 3 * DefaultMaxLabels {
		name := fmt.Sprint("invented-", i)
		m.AttemptFinished(AttemptObservation{Tenant: penstock.TenantID(name), Target: name, Stream: true,
			FirstToken: 1, Total: time.Second, Usage: penstock.Usage{OutputTokens: 9}})
	}
	counts := map[string]int{}
	for name := range scrape(t, m) {
		name, _, _ = strings.Cut(name, "{")
		counts[name]++
	}
	for name, most := range map[string]int{
		"penstock_tenant_attempts_total":                  2 * (DefaultMaxLabels + 1),
		"penstock_tenant_tokens_total":                    int(penstock.ClassCount) * (DefaultMaxLabels + 1),
		"penstock_tenant_cost_usd_total":                  DefaultMaxLabels + 1,
		"penstock_attempt_output_tokens_per_second_count": DefaultMaxLabels + 1,
	} {
		if n := counts[name]; n != most {
			t.Errorf("%s has %d series, want %d", name, n, most)
		}
	}
}
