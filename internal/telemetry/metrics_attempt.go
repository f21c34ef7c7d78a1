package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"penstock"
)

// kindOK is the kind of an attempt that met no error.
const kindOK = "ok"

// maxKinds bounds the kinds of upstream error, whose list this package does not know.
const maxKinds = 40

// attemptMetrics are close to the metrics that OpenTelemetry defines for generative AI, under our own
// names, so that all of Penstock is found by one prefix:
//
//	gen_ai.client.operation.duration      penstock_attempt_duration_seconds
//	gen_ai.server.time_to_first_token     penstock_attempt_first_token_seconds
//	gen_ai.server.time_per_output_token   penstock_attempt_output_tokens_per_second (its inverse)
//	gen_ai.client.token.usage             penstock_tokens_total (a counter, where theirs is a histogram)
//
// Their gen_ai.request.model is our target, their error.type our kind.
type attemptMetrics struct {
	children    *children[attemptKey, attemptChild]
	implausible func(attemptKey)
}

type attemptKey struct{ model, target, kind string }

type attemptChild struct {
	attempts             prometheus.Counter
	firstToken, duration prometheus.Observer
	tokens               classCounters
	cost, unpriced       prometheus.Counter
}

// attemptVectors split counts by model and target, but times by target alone: how long an upstream takes
// does not depend on the name it was asked for by, and a histogram costs a series for each bucket.
type attemptVectors struct {
	attempts, tokens, cost, unpriced *prometheus.CounterVec
	firstToken, duration             *prometheus.HistogramVec
}

func newAttemptMetrics(factory promauto.Factory, m *Metrics) attemptMetrics {
	v := attemptVectors{
		attempts: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_attempts_total",
			Help: "Attempts that ended, by kind of error; ok for none.",
		}, []string{"model", "target", "kind"}),
		tokens: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_tokens_total",
			Help: "Tokens that upstreams reported. Classes do not overlap: input and output are tokens in no other class.",
		}, []string{"model", "target", "class"}),
		cost: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_cost_usd_total",
			Help: "Cost of attempts in dollars, for trends; the ledger is exact.",
		}, []string{"model", "target"}),
		unpriced: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_unpriced_attempts_total",
			Help: "Attempts on targets that have no price: their cost is not known.",
		}, []string{"model", "target"}),
		firstToken: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "penstock_attempt_first_token_seconds",
			Help:    "Time from an attempt's start to its first token.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 15),
		}, []string{"target"}),
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "penstock_attempt_duration_seconds",
			Help:    "Time from an attempt's start to its end, failed ones included.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 16),
		}, []string{"target"}),
	}
	kinds := NewLabels(maxKinds)
	kinds.Admit(kindOK)
	bound := func(k attemptKey) attemptKey {
		return attemptKey{m.models.Value(k.model), m.targets.Value(k.target), kinds.Value(k.kind)}
	}
	implausible := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_implausible_usage_total",
		Help: "Attempts whose upstream reported far more usage than the call can have had, or invalid counts: it counts as unknown, and the reservation is forfeit.",
	}, []string{"model", "target"})
	return attemptMetrics{newChildren(bound, v.child), func(k attemptKey) {
		k = bound(k)
		implausible.WithLabelValues(k.model, k.target).Inc()
	}}
}

func (v attemptVectors) child(k attemptKey) attemptChild {
	return attemptChild{
		attempts:   v.attempts.WithLabelValues(k.model, k.target, k.kind),
		firstToken: v.firstToken.WithLabelValues(k.target),
		duration:   v.duration.WithLabelValues(k.target),
		tokens:     newClassCounters(func(class string) prometheus.Counter { return v.tokens.WithLabelValues(k.model, k.target, class) }),
		cost:       v.cost.WithLabelValues(k.model, k.target),
		unpriced:   v.unpriced.WithLabelValues(k.model, k.target),
	}
}

// AttemptObservation is an attempt that ended.
type AttemptObservation struct {
	Tenant     penstock.TenantID // "" when that is not known
	Model      string
	Target     string
	Kind       string        // kind of error, "" when it succeeded
	Stream     bool          // it was to arrive token by token
	FirstToken time.Duration // from start to first token; 0 if none came
	Total      time.Duration
	Usage      penstock.Usage
	Cost       penstock.NanoUSD
	Unpriced   bool // its target has no price
	// Implausible: the upstream reported impossible usage.
	Implausible bool
}

// AttemptFinished counts an attempt.
func (m *Metrics) AttemptFinished(o AttemptObservation) {
	child := m.attempt.children.of(attemptKey{o.Model, o.Target, or(o.Kind, kindOK)})
	child.attempts.Inc()
	if o.FirstToken > 0 {
		observe(child.firstToken, o.FirstToken)
	}
	observe(child.duration, o.Total)

	child.tokens.add(o.Usage)
	if o.Unpriced {
		child.unpriced.Inc()
	}
	if o.Implausible {
		m.attempt.implausible(attemptKey{o.Model, o.Target, kindOK})
	}
	if o.Cost > 0 {
		child.cost.Add(float64(o.Cost) / 1e9)
	}
	m.usage.attemptFinished(o)
	if m.observer != nil {
		m.observer.AttemptFinished(o)
	}
}
