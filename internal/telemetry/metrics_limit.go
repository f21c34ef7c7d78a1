package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// CallerLimit is how a tenant stands with one kind of its limits.
type CallerLimit struct {
	Tenant   string
	Scope    string // tenant, key or model
	Resource string
	Used     float64 // the part of it that is used, from 0 to 1
}

// CollectLimits makes each scrape ask f, which must not block, how callers stand with their limits. A later call
// replaces f.
func (m *Metrics) CollectLimits(f func() []CallerLimit) { m.limits.source.Store(&f) }

// LimitRefused counts a call or a submit that a limit refused.
func (m *Metrics) LimitRefused(tenant, scope, resource string) {
	m.limits.refused.WithLabelValues(m.tenants.Value(tenant), scope, resource).Inc()
}

// LimitWaited counts a call or a submit that waited for its turn under a limit, and passed.
func (m *Metrics) LimitWaited(tenant string, waited time.Duration) {
	m.limits.waited.WithLabelValues(m.tenants.Value(tenant)).Observe(waited.Seconds())
}

// limitMetrics show how far callers use their limits. Keys and models are no labels: the key or model of a tenant that is nearest to its
// limit is shown.
type limitMetrics struct {
	refused *prometheus.CounterVec
	waited  *prometheus.HistogramVec
	used    *prometheus.Desc
	tenants *Labels
	source  atomic.Pointer[func() []CallerLimit]
}

func newLimitMetrics(factory promauto.Factory, tenants *Labels) *limitMetrics {
	return &limitMetrics{
		tenants: tenants,
		refused: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_limit_refusals_total",
			Help: "Calls and submits that a limit of their caller refused; scope says whether it is the tenant's, a key's or a model's.",
		}, []string{"tenant", "scope", "resource"}),
		waited: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "penstock_limit_wait_seconds", Buckets: []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30},
			Help: "How long calls and submits waited at a limit of their caller before they passed.",
		}, []string{"tenant"}),
		used: prometheus.NewDesc("penstock_limit_used_ratio",
			"The part of a caller's limit that is used, from 0 to 1, as far as this process knows; of several keys or models, the largest.",
			[]string{"tenant", "scope", "resource"}, nil),
	}
}

func (c *limitMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- c.used }

func (c *limitMetrics) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	most := map[CallerLimit]float64{}
	for _, l := range (*source)() {
		at := CallerLimit{Tenant: c.tenants.Value(l.Tenant), Scope: l.Scope, Resource: l.Resource}
		most[at] = max(most[at], l.Used)
	}
	for l, used := range most {
		ch <- prometheus.MustNewConstMetric(c.used, prometheus.GaugeValue, used, l.Tenant, l.Scope, l.Resource)
	}
}
