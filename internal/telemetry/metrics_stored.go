package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// StoredBytes is what a tenant has stored of one kind.
type StoredBytes struct {
	Tenant string
	Kind   string // jobs or files
	Bytes  int64
}

// CollectStored makes each scrape ask f, which must not block, what tenants have stored. A later call replaces f.
func (m *Metrics) CollectStored(f func() []StoredBytes) { m.stored.source.Store(&f) }

// storedCollector exports the stored bytes of tenants.
type storedCollector struct {
	tenants *Labels
	bytes   *prometheus.Desc
	source  atomic.Pointer[func() []StoredBytes]
}

func newStoredCollector(tenants *Labels) *storedCollector {
	return &storedCollector{tenants: tenants, bytes: prometheus.NewDesc("penstock_tenant_stored_bytes",
		"Bytes that a tenant has stored, before compression: of jobs (inputs and results) and of files. All processes report the same: take the maximum, not the sum.",
		[]string{"tenant", "kind"}, nil)}
}

func (c *storedCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.bytes }

func (c *storedCollector) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	sums := map[StoredBytes]int64{} // several tenants may share a label
	for _, s := range (*source)() {
		sums[StoredBytes{Tenant: c.tenants.Value(s.Tenant), Kind: s.Kind}] += s.Bytes
	}
	for of, bytes := range sums {
		ch <- prometheus.MustNewConstMetric(c.bytes, prometheus.GaugeValue, float64(bytes), of.Tenant, of.Kind)
	}
}
