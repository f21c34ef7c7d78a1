package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// SweptKind says what a sweep removes.
type SweptKind string

// The kinds of what is swept.
const (
	SweptJobs     SweptKind = "job"
	SweptItems    SweptKind = "item" // of jobs too large to be removed at once
	SweptRequests SweptKind = "request"
	SweptKeys     SweptKind = "idempotency_key"
	SweptBlobs    SweptKind = "blob" // orphans
	SweptFiles    SweptKind = "file"

	SweptDeliveries SweptKind = "delivery" // of webhooks
	SweptEvents     SweptKind = "event"    // what jobs said while they ran

	SweptResponses     SweptKind = "response" // of synchronous calls
	SweptConversations SweptKind = "conversation"
	SweptUploads       SweptKind = "upload" // of files in parts
	SweptRuns          SweptKind = "playground_run"
)

// SweptKinds lists every kind.
var SweptKinds = []SweptKind{SweptJobs, SweptItems, SweptRequests, SweptKeys, SweptBlobs, SweptFiles, SweptDeliveries, SweptEvents, SweptResponses, SweptConversations, SweptUploads, SweptRuns}

type retentionMetrics struct {
	swept    *prometheus.CounterVec
	overdue  *prometheus.GaugeVec
	failures prometheus.Counter
	diskFree *prometheus.GaugeVec
	diskLow  *prometheus.GaugeVec
}

func newRetentionMetrics(factory promauto.Factory) retentionMetrics {
	gauge := func(name, help, label string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
	}
	m := retentionMetrics{
		swept: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_swept_total", Help: "Rows and files that were removed at the end of their retention.",
		}, []string{"kind"}),
		overdue: gauge("penstock_sweep_overdue_seconds", "How far the sweep is behind: the time since the oldest row that it saw could have been removed.", "kind"),
		failures: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_sweep_errors_total", Help: "Rounds of the sweep that ended with an error.",
		}),
		diskFree: gauge("penstock_disk_free_bytes", "Bytes left on the disk that this process writes to.", "disk"),
		diskLow:  gauge("penstock_disk_low", "1 while new jobs are refused because this disk is nearly full.", "disk"),
	}
	for _, kind := range SweptKinds {
		m.swept.WithLabelValues(string(kind)) // so that there is something to alert on before anything was swept
		m.overdue.WithLabelValues(string(kind))
	}
	return m
}

// Swept counts what a sweep removed.
func (m *Metrics) Swept(kind SweptKind, n int) {
	count(m.retention.swept.WithLabelValues(string(kind)), n)
}

// SweepOverdue says how far behind the sweep is.
func (m *Metrics) SweepOverdue(kind SweptKind, d time.Duration) {
	m.retention.overdue.WithLabelValues(string(kind)).Set(max(d, 0).Seconds())
}

// SweepFailed counts a round of the sweep that did not get through.
func (m *Metrics) SweepFailed() { m.retention.failures.Inc() }

// DiskState is how a disk that this process writes to stands.
type DiskState struct {
	Disk string // one of few names, such as data
	Free uint64
	Low  bool // new jobs are refused
}

// DiskSeen says how a disk stands.
func (m *Metrics) DiskSeen(s DiskState) {
	low := 0.0
	if s.Low {
		low = 1
	}
	m.retention.diskFree.WithLabelValues(s.Disk).Set(float64(s.Free))
	m.retention.diskLow.WithLabelValues(s.Disk).Set(low)
}
