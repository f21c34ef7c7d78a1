package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type queueMetrics struct {
	rescued, expired        prometheus.Counter
	leasesLost              prometheus.Counter
	slotsInUse              prometheus.Gauge
	claimSize, claimSeconds prometheus.Histogram
	groupSize, groupSeconds prometheus.Histogram
}

func newQueueMetrics(factory promauto.Factory) queueMetrics {
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return factory.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	sizes := prometheus.ExponentialBuckets(1, 2, 11)
	seconds := prometheus.ExponentialBuckets(0.0005, 2, 14)
	return queueMetrics{
		rescued:    counter("penstock_items_rescued_total", "Items taken back from workers that died."),
		expired:    counter("penstock_items_expired_total", "Items whose deadline passed."),
		leasesLost: counter("penstock_leases_lost_total", "Times this process lost its lease, and its items."),
		slotsInUse: factory.NewGauge(prometheus.GaugeOpts{
			Name: "penstock_slots_in_use",
			Help: "Attempts that this process is running for jobs.",
		}),
		claimSize:    histogram("penstock_claim_group_items", "Items claimed in one transaction.", sizes),
		claimSeconds: histogram("penstock_claim_group_duration_seconds", "Duration of claim transactions.", seconds),
		groupSize:    histogram("penstock_finish_group_items", "Items finished in one transaction.", sizes),
		groupSeconds: histogram("penstock_finish_group_duration_seconds", "Duration of finish transactions.", seconds),
	}
}

// Rescued counts items taken back from a worker that died.
func (m *Metrics) Rescued(n int) { count(m.queue.rescued, n) }

// Expired counts items whose deadline passed.
func (m *Metrics) Expired(n int) { count(m.queue.expired, n) }

// LeaseLost counts the loss of this process's lease.
func (m *Metrics) LeaseLost() { m.queue.leasesLost.Inc() }

// SlotsInUse says how many slots are busy now.
func (m *Metrics) SlotsInUse(n int) { m.queue.slotsInUse.Set(float64(n)) }

// ClaimGroup records a transaction that claimed items.
func (m *Metrics) ClaimGroup(size int, d time.Duration) {
	m.queue.claimSize.Observe(float64(max(size, 0)))
	observe(m.queue.claimSeconds, d)
}

// FinishGroup records a transaction that finished items.
func (m *Metrics) FinishGroup(size int, d time.Duration) {
	m.queue.groupSize.Observe(float64(max(size, 0)))
	observe(m.queue.groupSeconds, d)
}
