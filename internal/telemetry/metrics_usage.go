package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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
	succeeded, failed                                 prometheus.Counter
	input, cachedInput, cacheWrite, output, reasoning prometheus.Counter
	cost                                              prometheus.Counter
}

func newUsageMetrics(factory promauto.Factory, m *Metrics) usageMetrics {
	attempts := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_tenant_attempts_total",
		Help: "Attempts of a tenant's calls and items that ended, by outcome: ok or failed.",
	}, []string{"tenant", "outcome"})
	tokens := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "penstock_tenant_tokens_total",
		Help: "Tokens that a tenant used. Classes do not overlap: input is what was neither read from a cache nor written to one, output what was not reasoning.",
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
				succeeded:   attempts.WithLabelValues(tenant, kindOK),
				failed:      attempts.WithLabelValues(tenant, "failed"),
				input:       tokens.WithLabelValues(tenant, "input"),
				cachedInput: tokens.WithLabelValues(tenant, "cached_input"),
				cacheWrite:  tokens.WithLabelValues(tenant, "cache_write"),
				output:      tokens.WithLabelValues(tenant, "output"),
				reasoning:   tokens.WithLabelValues(tenant, "reasoning"),
				cost:        cost.WithLabelValues(tenant),
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
	c := o.Usage.Classes()
	count(child.input, c.Input)
	count(child.cachedInput, c.CachedInput)
	count(child.cacheWrite, c.CacheWrite)
	count(child.output, c.Output)
	count(child.reasoning, c.Reasoning)
	if o.Cost > 0 {
		child.cost.Add(float64(o.Cost) / 1e9)
	}
	// The first token has arrived when the clock starts, so that it is not among those that took the time.
	if spoke := o.Total - o.FirstToken; o.Stream && o.FirstToken > 0 && spoke > 0 && o.Usage.OutputTokens >= minPaceTokens {
		u.paces.of(o.Target).Observe(float64(o.Usage.OutputTokens-1) / spoke.Seconds())
	}
}
