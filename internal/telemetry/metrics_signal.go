package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// signalMetrics count the signals between processes. Topics are a closed list of the code.
type signalMetrics struct {
	sent, received, dropped *prometheus.CounterVec
	reconnects              prometheus.Counter
	held                    *prometheus.GaugeVec
}

func newSignalMetrics(factory promauto.Factory) signalMetrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"topic"})
	}
	return signalMetrics{
		sent:     counter("penstock_signals_sent_total", "Messages sent to other processes."),
		received: counter("penstock_signals_received_total", "Messages received from other processes."),
		dropped:  counter("penstock_signal_ids_dropped_total", "Ids that were not sent one by one: the other processes were asked to check everything."),
		reconnects: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_signal_reconnects_total",
			Help: "Times the connection for signals of other processes broke.",
		}),
		held: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "penstock_paused",
			Help: "Lanes, models, targets and tenants that an operator paused, as far as this process knows.",
		}, []string{"kind"}),
	}
}

// ExpectSignals shows the counters of a topic before there is anything to count.
func (m *Metrics) ExpectSignals(topic string) {
	for _, c := range []*prometheus.CounterVec{m.signal.sent, m.signal.received, m.signal.dropped} {
		c.WithLabelValues(topic)
	}
}

// SignalSent counts a message to other processes.
func (m *Metrics) SignalSent(topic string) { m.signal.sent.WithLabelValues(topic).Inc() }

// SignalReceived counts a message from another process.
func (m *Metrics) SignalReceived(topic string) { m.signal.received.WithLabelValues(topic).Inc() }

// SignalsDropped counts ids that gave way to a call to look at everything.
func (m *Metrics) SignalsDropped(topic string, ids int) {
	if ids > 0 {
		m.signal.dropped.WithLabelValues(topic).Add(float64(ids))
	}
}

// SignalReconnect counts a connection that broke.
func (m *Metrics) SignalReconnect() { m.signal.reconnects.Inc() }

// Held says how many things of a kind an operator holds back.
func (m *Metrics) Held(kind string, n int) { m.signal.held.WithLabelValues(kind).Set(float64(n)) }
