package telemetry

import "testing"

func TestCapacityOfTargets(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	expect(t, scrape(t, m), map[string]float64{`penstock_target_permits{target="mini"}`: absent})
	m.Admit(Names{Targets: []string{"mini"}})
	m.CollectCapacity(func() []Capacity {
		return []Capacity{{Target: "mini", Limit: 40, Running: 7, RestSeconds: 1.5, Throttles: 3, Rates: []CapacityRate{
			{Resource: "requests", PerMinute: 600, LocalAllowance: 4}, {Resource: "tokens", PerMinute: 9000, Learned: true, LocalAllowance: -12},
		}}}
	})
	expect(t, scrape(t, m), map[string]float64{
		`penstock_target_permits{target="mini"}`:                                        40,
		`penstock_target_permits_in_use{target="mini"}`:                                 7,
		`penstock_target_rest_seconds{target="mini"}`:                                   1.5,
		`penstock_target_throttles_total{target="mini"}`:                                3,
		`penstock_target_per_minute{resource="requests",source="config",target="mini"}`: 600,
		`penstock_target_per_minute{resource="tokens",source="headers",target="mini"}`:  9000,
		`penstock_target_allowance{resource="tokens",target="mini"}`:                    -12,
	})
}
