package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"penstock"
)

// cacheMetrics count what the cache spares.
type cacheMetrics struct {
	models    *Labels
	answers   *prometheus.CounterVec
	saved     *prometheus.CounterVec
	evictions prometheus.Counter
	size      atomic.Pointer[func() CacheSize]
}

// CacheSize is how much a cache holds.
type CacheSize struct {
	Entries int
	Bytes   int64
}

func newCacheMetrics(factory promauto.Factory, m *Metrics) *cacheMetrics {
	c := &cacheMetrics{
		models: m.models,
		answers: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_cache_answers_total",
			Help: "Calls that used the cache: hit, miss, or coalesced with a call in flight.",
		}, []string{"model", "result"}),
		saved: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_cache_saved_tokens_total",
			Help: "Tokens of answers that came from the cache instead of an upstream.",
		}, []string{"model", "class"}),
		evictions: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_cache_evictions_total",
			Help: "Answers that were evicted before they expired, for lack of memory.",
		}),
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "penstock_cache_entries",
		Help: "Cached answers.",
	}, func() float64 { return float64(c.held().Entries) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "penstock_cache_bytes",
		Help: "Memory of cached answers, including those that are still arriving.",
	}, func() float64 { return float64(c.held().Bytes) })
	return c
}

func (c *cacheMetrics) held() CacheSize {
	if size := c.size.Load(); size != nil {
		return (*size)()
	}
	return CacheSize{}
}

// CollectCache makes each scrape ask f how much is held. A later call replaces it.
func (m *Metrics) CollectCache(f func() CacheSize) { m.cache.size.Store(&f) }

// CacheAnswered counts a call that used the cache. Results are a closed list of the code.
func (m *Metrics) CacheAnswered(model, result string) {
	m.cache.answers.WithLabelValues(m.cache.models.Value(model), result).Inc()
}

// CacheSaved counts what an answer would have used.
func (m *Metrics) CacheSaved(model string, u penstock.Usage) {
	model = m.cache.models.Value(model)
	count(m.cache.saved.WithLabelValues(model, "input"), u.InputTokens)
	count(m.cache.saved.WithLabelValues(model, "output"), u.OutputTokens)
}

// CacheEvicted counts an answer that gave way to another.
func (m *Metrics) CacheEvicted() { m.cache.evictions.Inc() }
