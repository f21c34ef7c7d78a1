package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// CollectMemory makes each scrape ask f, which must not block, how many bytes of bodies are held, by what they are. A
// later call replaces f.
func (m *Metrics) CollectMemory(f func() map[string]int64) { m.memory.source.Store(&f) }

// memoryCollector exports the memory of bodies in flight.
type memoryCollector struct {
	held   *prometheus.Desc
	source atomic.Pointer[func() map[string]int64]
}

func newMemoryCollector() *memoryCollector {
	return &memoryCollector{held: prometheus.NewDesc("penstock_body_bytes",
		"Bytes of bodies in flight that this process holds: of requests, and of upstreams' answers.", []string{"kind"}, nil)}
}

func (c *memoryCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.held }

func (c *memoryCollector) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	for kind, held := range (*source)() {
		ch <- prometheus.MustNewConstMetric(c.held, prometheus.GaugeValue, float64(held), kind)
	}
}
