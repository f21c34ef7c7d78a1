package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Capacity is how a target stands in this process.
type Capacity struct {
	Target      string
	Limit       int // calls that may run at a time
	Running     int
	RestSeconds float64 // how long it still rests
	Throttles   int64   // answers so far that refused us, for limits or for load
	Rates       []CapacityRate

	Breaker        string // closed, half_open or open
	Opened         int64  // how often the breaker opened
	RetriesRefused int64  // calls that were not made because the retry budget was used up
}

// CapacityRate is a limit per minute of a target.
type CapacityRate struct {
	Resource       string
	PerMinute      int64
	Learned        bool
	LocalAllowance int64 // what this process can spend at once; below zero, what it owes
}

// CollectCapacity makes each scrape ask f, which must not block, how the targets stand. A later call
// replaces f.
func (m *Metrics) CollectCapacity(f func() []Capacity) { m.capacity.source.Store(&f) }

// capacityCollector asks for the capacity of targets when it is scraped.
type capacityCollector struct {
	limit, running, rest, throttles, perMinute, allowance *prometheus.Desc
	breaker, opened, exhausted                            *prometheus.Desc

	targets *Labels
	source  atomic.Pointer[func() []Capacity]
}

func newCapacityCollector(targets *Labels) *capacityCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("penstock_target_"+name, help, append([]string{"target"}, labels...), nil)
	}
	return &capacityCollector{
		targets: targets,
		breaker: desc("breaker_state", "1 for the state that the target's breaker is in, 0 for the others.", "state"),
		opened:  desc("breaker_opened_total", "How often the target's breaker opened."),
		exhausted: desc("retry_budget_exhausted_total",
			"Fallbacks and retries that were not made because the target fails and its retry budget is used up."),
		limit:   desc("permits", "Calls that this process may run on the target at a time."),
		running: desc("permits_in_use", "Calls that this process runs on the target, or has reserved capacity for."),
		rest:    desc("rest_seconds", "How long the target still rests because it asked for that."),
		throttles: desc("throttles_total",
			"Answers of the target that refused us for limits or load, timeouts included."),
		perMinute: desc("per_minute", "Limit per minute in force; source is config or headers.", "resource", "source"),
		allowance: desc("allowance",
			"The part of a limit that this process can use at once; below zero, its debt.", "resource"),
	}
}

func (c *capacityCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.limit, c.running, c.rest, c.throttles, c.perMinute, c.allowance, c.breaker, c.opened, c.exhausted} {
		ch <- d
	}
}

func (c *capacityCollector) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	seen := make(map[string]bool)
	for _, r := range (*source)() {
		target := c.targets.Value(r.Target)
		if seen[target] { // targets past the bound of labels: one of them has to do
			continue
		}
		seen[target] = true
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{target}, labels...)...)
		}
		gauge(c.limit, float64(r.Limit))
		gauge(c.running, float64(r.Running))
		gauge(c.rest, r.RestSeconds)
		ch <- prometheus.MustNewConstMetric(c.throttles, prometheus.CounterValue, float64(r.Throttles), target)
		for _, state := range []string{"closed", "half_open", "open"} {
			is := 0.0
			if r.Breaker == state {
				is = 1
			}
			gauge(c.breaker, is, state)
		}
		ch <- prometheus.MustNewConstMetric(c.opened, prometheus.CounterValue, float64(r.Opened), target)
		ch <- prometheus.MustNewConstMetric(c.exhausted, prometheus.CounterValue, float64(r.RetriesRefused), target)
		for _, rate := range r.Rates {
			from := "config"
			if rate.Learned {
				from = "headers"
			}
			gauge(c.perMinute, float64(rate.PerMinute), rate.Resource, from)
			gauge(c.allowance, float64(rate.LocalAllowance), rate.Resource)
		}
	}
}
