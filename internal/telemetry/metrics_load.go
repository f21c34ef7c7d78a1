package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"penstock"
)

// Objectives is how long an item of a lane should wait at the most.
type Objectives map[penstock.Lane]time.Duration

// loadMetrics hold what is queued against what was promised of it.
type loadMetrics struct {
	errors     prometheus.Counter
	lanes      map[string]laneChild // by label
	objectives atomic.Pointer[Objectives]
}

type laneChild struct {
	counted, good prometheus.Counter
	early, late   prometheus.Observer
	ratio         prometheus.Observer
}

// newLoadMetrics makes the counters of every lane at once: a burn rate over a counter that appears with
// its first bad item misses exactly that one.
func newLoadMetrics(factory promauto.Factory) *loadMetrics {
	counted := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_slo_total",
		Help: "Items that were started and ended.",
	}, []string{"lane"})
	good := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_slo_good_total",
		Help: "Items that were started and ended, and had waited no longer than their lane's slo_wait.",
	}, []string{"lane"})
	off := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "penstock_estimate_error_seconds",
		Help:    "Distance between a job's finish and its estimate at acceptance; late jobs finished after it.",
		Buckets: prometheus.ExponentialBuckets(0.05, 3, 12),
	}, []string{"lane", "side"})
	ratio := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "penstock_estimate_error_ratio",
		Help:    "Distance between a job's finish and its estimate at acceptance, as a part of the job's duration.",
		Buckets: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10},
	}, []string{"lane"})
	l := &loadMetrics{lanes: map[string]laneChild{}, errors: factory.NewCounter(prometheus.CounterOpts{
		Name: "penstock_load_errors_total",
		Help: "Failed reads of the backlog; bounds and estimates use the last good one.",
	})}
	for _, lane := range append([]penstock.Lane{LabelOther}, penstock.Lanes...) {
		label := laneLabel(lane)
		l.lanes[label] = laneChild{
			counted: counted.WithLabelValues(label), good: good.WithLabelValues(label), ratio: ratio.WithLabelValues(label),
			early: off.WithLabelValues(label, "early"), late: off.WithLabelValues(label, "late"),
		}
	}
	return l
}

// LoadUnread counts a read of the backlog that failed.
func (m *Metrics) LoadUnread() { m.load.errors.Inc() }

// SetObjectives says what is good from now on.
func (m *Metrics) SetObjectives(o Objectives) { m.load.objectives.Store(&o) }

// waited holds the wait of a started item against its lane's objective.
func (l *loadMetrics) waited(lane penstock.Lane, wait time.Duration) {
	objectives := l.objectives.Load()
	if objectives == nil {
		return
	}
	child := l.lanes[laneLabel(lane)]
	child.counted.Inc()
	if wait <= (*objectives)[lane] {
		child.good.Inc()
	}
}

// EstimateObservation is a job that ended and how long it was said to take.
type EstimateObservation struct {
	Lane     penstock.Lane
	Promised time.Duration
	Took     time.Duration
}

// EstimateDue compares a job's end with the estimate that its caller got.
func (m *Metrics) EstimateDue(o EstimateObservation) {
	child := m.load.lanes[laneLabel(o.Lane)]
	off, side := o.Took-o.Promised, child.late
	if off < 0 {
		off, side = -off, child.early
	}
	observe(side, off)
	if o.Took > 0 {
		child.ratio.Observe(off.Seconds() / o.Took.Seconds())
	}
}

// Load is what is queued and what it needs.
type Load struct {
	Lanes          []LaneLoad
	Tenants        []TenantLoad
	DesiredWorkers int
	Unknown        bool // the queue could not be read for a while: none of the above is exported
}

// LaneLoad is the load of a lane. A rate that is not known is nil.
type LaneLoad struct {
	Lane              penstock.Lane
	DrainItemsPerSec  *float64
	DesiredSlots      int
	ArrivalsPerSecond float64
}

// TenantLoad is the load of a tenant.
type TenantLoad struct {
	Tenant                 string
	Ready, Parked, Running int64
}

// CollectLoad makes each scrape ask f for the load. f answers from memory. A later call replaces it.
func (m *Metrics) CollectLoad(f func() Load) { m.loads.source.Store(&f) }

// loadCollector asks for the load when it is scraped, so that tenants that are gone are gone from the
// metrics too.
type loadCollector struct {
	tenants                                   *Labels
	tenantItems, drain, arrive, slots, worker *prometheus.Desc
	source                                    atomic.Pointer[func() Load]
}

func newLoadCollector(tenants *Labels) *loadCollector {
	lane := []string{"lane"}
	return &loadCollector{
		tenants: tenants,
		tenantItems: prometheus.NewDesc("penstock_tenant_queue_items",
			"Open items of a tenant: ready, parked until their next attempt, or running.", []string{"tenant", "status"}, nil),
		drain: prometheus.NewDesc("penstock_drain_items_per_second",
			"How fast a lane drains while it has work, over all processes; missing until it was measured.", lane, nil),
		arrive: prometheus.NewDesc("penstock_arrival_items_per_second",
			"How fast items join a lane, over all processes.", lane, nil),
		slots: prometheus.NewDesc("penstock_desired_slots",
			"Slots over all processes that a lane needs to keep up and to drain within its slo_wait.", lane, nil),
		worker: prometheus.NewDesc("penstock_desired_workers",
			"Processes with as many slots as this one that the queue needs. All processes report the same: take the maximum, not the sum.", nil, nil),
	}
}

func (c *loadCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.tenantItems, c.drain, c.arrive, c.slots, c.worker} {
		ch <- d
	}
}

func (c *loadCollector) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	load := (*source)()
	if load.Unknown {
		return // an autoscaler keeps its workers, instead of taking an unread queue for an empty one
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(c.worker, float64(load.DesiredWorkers))
	for _, l := range load.Lanes {
		lane := laneLabel(l.Lane)
		gauge(c.slots, float64(l.DesiredSlots), lane)
		gauge(c.arrive, l.ArrivalsPerSecond, lane)
		if l.DrainItemsPerSec != nil {
			gauge(c.drain, *l.DrainItemsPerSec, lane)
		}
	}
	for tenant, sum := range c.sum(load.Tenants) {
		gauge(c.tenantItems, float64(sum.Ready), tenant, "ready")
		gauge(c.tenantItems, float64(sum.Parked), tenant, "parked")
		gauge(c.tenantItems, float64(sum.Running), tenant, "running")
	}
}

// sum brings tenants into bounded labels, adding up what falls together.
func (c *loadCollector) sum(tenants []TenantLoad) map[string]TenantLoad {
	sums := make(map[string]TenantLoad, len(tenants))
	for _, t := range tenants {
		label := c.tenants.Value(t.Tenant)
		s := sums[label]
		sums[label] = TenantLoad{Ready: s.Ready + t.Ready, Parked: s.Parked + t.Parked, Running: s.Running + t.Running}
	}
	return sums
}
