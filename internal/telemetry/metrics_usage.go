package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"penstock"
)

// minPaceTokens is the shortest answer whose pace says something about the target.
const minPaceTokens = 2

// usageMetrics say what each tenant used and how fast each target speaks. Tenants are counted apart from
// models and targets: the product of all three would be too many series.
type usageMetrics struct {
	tenants *children[string, tenantChild]
	paces   *children[string, prometheus.Observer]
}

type tenantChild struct {
	succeeded, failed prometheus.Counter
	tokens            classCounters
	cost              prometheus.Counter
}

// classCounters count tokens by their class.
type classCounters [penstock.ClassCount]prometheus.Counter

func newClassCounters(of func(class string) prometheus.Counter) (all classCounters) {
	for class := range penstock.ClassCount {
		all[class] = of(class.String())
	}
	return all
}

func (all *classCounters) add(u penstock.Usage) {
	for class, n := range u.Classes() {
		count(all[class], n)
	}
}

func newUsageMetrics(factory promauto.Factory, m *Metrics) usageMetrics {
	attempts := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_tenant_attempts_total",
		Help: "Attempts of a tenant's calls and items that ended, by outcome: ok or failed.",
	}, []string{"tenant", "outcome"})
	tokens := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_tenant_tokens_total",
		Help: "Tokens that a tenant used. Classes do not overlap: input and output are tokens in no other class.",
	}, []string{"tenant", "class"})
	cost := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_tenant_cost_usd_total",
		Help: "Cost of a tenant's attempts in dollars, for trends; the ledger is exact.",
	}, []string{"tenant"})
	pace := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "penstock_attempt_output_tokens_per_second",
		Help:    "Tokens per second of a streamed answer, from its first token on.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 13),
	}, []string{"target"})
	return usageMetrics{
		tenants: newChildren(m.tenants.Value, func(tenant string) tenantChild {
			return tenantChild{
				succeeded: attempts.WithLabelValues(tenant, kindOK),
				failed:    attempts.WithLabelValues(tenant, "failed"),
				tokens:    newClassCounters(func(class string) prometheus.Counter { return tokens.WithLabelValues(tenant, class) }),
				cost:      cost.WithLabelValues(tenant),
			}
		}),
		paces: newChildren(m.targets.Value, func(target string) prometheus.Observer { return pace.WithLabelValues(target) }),
	}
}

func (u usageMetrics) attemptFinished(o AttemptObservation) {
	child := u.tenants.of(string(o.Tenant))
	if o.Kind == "" {
		child.succeeded.Inc()
	} else {
		child.failed.Inc()
	}
	child.tokens.add(o.Usage)
	if o.Cost > 0 {
		child.cost.Add(float64(o.Cost) / 1e9)
	}
	// The first token has arrived when the clock starts, so that it is not among those that took the time.
	if spoke := o.Total - o.FirstToken; o.Stream && o.FirstToken > 0 && spoke > 0 && o.Usage.OutputTokens >= minPaceTokens {
		(*u.paces.of(o.Target)).Observe(float64(o.Usage.OutputTokens-1) / spoke.Seconds())
	}
}
