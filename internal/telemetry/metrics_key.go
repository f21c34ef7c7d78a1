package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// keyMetrics show how the keys of providers with several fare. Both labels come from the configuration: keys are numbered
// in its order.
type keyMetrics struct {
	benched *prometheus.GaugeVec
	out     *prometheus.CounterVec
}

func newKeyMetrics(factory promauto.Factory) keyMetrics {
	return keyMetrics{
		benched: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "penstock_provider_key_benched",
			Help: "1 while a key of a provider with several keys is refused and not used.",
		}, []string{"provider", "key"}),
		out: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_provider_key_turned_away_total",
			Help: "Times a key of a provider with several keys was refused, or was at its limit.",
		}, []string{"provider", "key", "kind"}),
	}
}

// KeyBenched says that an upstream does not take a key.
func (m *Metrics) KeyBenched(provider string, key int, kind string) {
	m.key.benched.WithLabelValues(provider, strconv.Itoa(key)).Set(1)
	m.key.out.WithLabelValues(provider, strconv.Itoa(key), kind).Inc()
}

// KeyResting counts a key that is at its limit.
func (m *Metrics) KeyResting(provider string, key int) {
	m.key.out.WithLabelValues(provider, strconv.Itoa(key), "rate_limited").Inc()
}

// KeyRestored says that an upstream takes a key again.
func (m *Metrics) KeyRestored(provider string, key int) {
	m.key.benched.WithLabelValues(provider, strconv.Itoa(key)).Set(0)
}
