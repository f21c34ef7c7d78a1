package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// journalMetrics count what is written behind the answers of synchronous calls.
type journalMetrics struct {
	failed   prometheus.Counter
	replayed prometheus.Counter
	lost     prometheus.Counter
	unkept   prometheus.Counter
}

func newJournalMetrics(factory promauto.Factory) journalMetrics {
	return journalMetrics{
		failed: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_journal_failures_total",
			Help: "Records of synchronous calls that could not be appended to the journal. They are lost if the process is killed before the database has them.",
		}),
		replayed: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_journal_replayed_total",
			Help: "Records in the journals of dead processes that this process handed to the database.",
		}),
		lost: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_journal_corrupt_total",
			Help: "Places in the journal of a dead process that could not be read.",
		}),
		unkept: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_responses_unkept_total",
			Help: "Responses that were answered and could not be stored. Their answers say store: false.",
		}),
	}
}

// JournalFailed counts a record that the journal did not take.
func (m *Metrics) JournalFailed() { m.journal.failed.Inc() }

// JournalReplayed counts the records of a replay, and the gaps.
func (m *Metrics) JournalReplayed(records, lost int) {
	m.journal.replayed.Add(float64(records))
	m.journal.lost.Add(float64(lost))
}

// ResponseUnkept counts a response that was answered and could not be stored.
func (m *Metrics) ResponseUnkept() { m.journal.unkept.Inc() }
