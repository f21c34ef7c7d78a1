package telemetry

import (
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	m.LimitRefused("search", "key", "requests")
	m.LimitRefused("search", "key", "requests")
	m.LimitWaited("search", 300*time.Millisecond)
	m.CollectLimits(func() []CallerLimit {
		return []CallerLimit{
			{"search", "key", "requests", 0.25}, {"search", "key", "requests", 0.75}, {"search", "key", "requests", 0.5}, {"search", "tenant", "daily_tokens", 1},
		}
	})
	expect(t, scrape(t, m), map[string]float64{
		`penstock_limit_refusals_total{resource="requests",scope="key",tenant="search"}`:    2,
		`penstock_limit_used_ratio{resource="requests",scope="key",tenant="search"}`:        0.75,
		`penstock_limit_wait_seconds_count{tenant="search"}`:                                1,
		`penstock_limit_wait_seconds_bucket{tenant="search",le="0.25"}`:                     0,
		`penstock_limit_used_ratio{resource="daily_tokens",scope="tenant",tenant="search"}`: 1,
	})
}
