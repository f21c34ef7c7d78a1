package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// batchMetrics show how calls for embeddings are put together.
type batchMetrics struct {
	inputs prometheus.Histogram
	wait   prometheus.Histogram
}

func newBatchMetrics(factory promauto.Factory) batchMetrics {
	return batchMetrics{
		inputs: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "penstock_batch_inputs",
			Help:    "Inputs of each upstream call for embeddings, including calls that were not shared.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
		wait: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "penstock_batch_wait_seconds",
			Help:    "How long calls for embeddings waited for others to share a call with, and for capacity.",
			Buckets: []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5},
		}),
	}
}

// BatchSent counts a call upstream that may be shared, and its inputs.
func (m *Metrics) BatchSent(inputs int) { m.batch.inputs.Observe(float64(inputs)) }

// BatchWaited counts a call that went upstream with others, or alone, after a while.
func (m *Metrics) BatchWaited(d time.Duration) { observe(m.batch.wait, d) }
