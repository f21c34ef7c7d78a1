package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"penstock"
)

type jobMetrics struct {
	accepted *children[acceptKey, acceptChild]
	rejected map[penstock.Code]prometheus.Counter // LabelOther is for codes that are not on the list
	finished *children[finishKey, finishChild]
}

type acceptKey struct {
	tenant, model string
	lane          penstock.Lane
}

type acceptChild struct{ jobs, items prometheus.Counter }

type finishKey struct {
	model  string
	lane   penstock.Lane
	status penstock.Status
}

type finishChild struct {
	items           prometheus.Counter
	wait, wholeTime prometheus.Observer
}

func newJobMetrics(factory promauto.Factory, m *Metrics) jobMetrics {
	return jobMetrics{
		accepted: newAccepted(factory, m),
		rejected: newRejected(factory),
		finished: newFinished(factory, m),
	}
}

func newAccepted(factory promauto.Factory, m *Metrics) *children[acceptKey, acceptChild] {
	labels := []string{"tenant", "model", "lane"}
	jobs := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_jobs_accepted_total",
		Help: "Jobs whose acceptance was committed.",
	}, labels)
	items := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_items_accepted_total",
		Help: "Items of accepted jobs.",
	}, labels)
	bound := func(k acceptKey) acceptKey {
		return acceptKey{m.tenants.Value(k.tenant), m.models.Value(k.model), penstock.Lane(laneLabel(k.lane))}
	}
	return newChildren(bound, func(k acceptKey) acceptChild {
		return acceptChild{
			jobs:  jobs.WithLabelValues(k.tenant, k.model, string(k.lane)),
			items: items.WithLabelValues(k.tenant, k.model, string(k.lane)),
		}
	})
}

// newRejected makes all counters at once: a rate over a counter that appears with its first rejection
// misses exactly that one.
func newRejected(factory promauto.Factory) map[penstock.Code]prometheus.Counter {
	vector := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_jobs_rejected_total",
		Help: "Jobs refused at admission, by error code.",
	}, []string{"code"})
	rejected := map[penstock.Code]prometheus.Counter{LabelOther: vector.WithLabelValues(LabelOther)}
	for _, code := range penstock.Codes {
		rejected[code] = vector.WithLabelValues(string(code))
	}
	return rejected
}

func newFinished(factory promauto.Factory, m *Metrics) *children[finishKey, finishChild] {
	// From an interactive answer to a bulk item that waited for its deadline a day later.
	buckets := prometheus.ExponentialBuckets(0.01, 4, 13)
	items := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_items_finished_total",
		Help: "Items that reached their outcome, by status.",
	}, []string{"model", "lane", "status"})
	wait := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "penstock_item_wait_seconds",
		Help:    "Time from when an item was due to its last claim.",
		Buckets: buckets,
	}, []string{"model", "lane"})
	whole := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "penstock_item_duration_seconds",
		Help:    "Time from an item's acceptance to its outcome.",
		Buckets: buckets,
	}, []string{"model", "lane"})
	bound := func(k finishKey) finishKey {
		k.model, k.lane = m.models.Value(k.model), penstock.Lane(laneLabel(k.lane))
		if !k.status.Terminal() {
			k.status = LabelOther
		}
		return k
	}
	return newChildren(bound, func(k finishKey) finishChild {
		return finishChild{
			items:     items.WithLabelValues(k.model, string(k.lane), string(k.status)),
			wait:      wait.WithLabelValues(k.model, string(k.lane)),
			wholeTime: whole.WithLabelValues(k.model, string(k.lane)),
		}
	})
}

// JobAccepted counts a job whose acceptance is on stable storage.
func (m *Metrics) JobAccepted(tenant, model string, lane penstock.Lane, items int) {
	child := m.job.accepted.of(acceptKey{tenant, model, lane})
	child.jobs.Inc()
	count(child.items, items)
	if m.observer != nil {
		m.observer.JobAccepted(penstock.TenantID(tenant), lane)
	}
}

// JobRejected counts a job that was refused.
func (m *Metrics) JobRejected(code penstock.Code) {
	counter, ok := m.job.rejected[code]
	if !ok {
		counter = m.job.rejected[LabelOther]
	}
	counter.Inc()
}

// ItemObservation is an item that reached its outcome.
type ItemObservation struct {
	Model  string
	Lane   penstock.Lane
	Status penstock.Status
	Wait   time.Duration // from when it was due to its last claim; 0 if it never was claimed
	Total  time.Duration // from acceptance to the outcome
	Tenant penstock.TenantID
}

// ItemFinished counts an item that reached its outcome. One that was never claimed, because it was
// cancelled or expired before, is left out of the histogram of waits.
func (m *Metrics) ItemFinished(o ItemObservation) {
	child := m.job.finished.of(finishKey{o.Model, o.Lane, o.Status})
	child.items.Inc()
	// Only a claimed item succeeds or fails; its wait may be shorter than the clock's resolution.
	if o.Wait > 0 || o.Status == penstock.StatusSucceeded || o.Status == penstock.StatusFailed {
		observe(child.wait, o.Wait)
		m.load.waited(o.Lane, o.Wait)
	}
	observe(child.wholeTime, o.Total)
	if m.observer != nil {
		m.observer.ItemFinished(o)
	}
}
