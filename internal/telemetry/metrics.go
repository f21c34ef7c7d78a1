package telemetry

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"penstock"
)

// maxScrapes is how many scrapes are served at a time; more are refused.
const maxScrapes = 4

// Metrics counts what happens, for Prometheus to collect. Its names start with penstock_ and its units are
// seconds, tokens and dollars. The methods are grouped by what they count; all of them are cheap enough
// for the hot path.
type Metrics struct {
	registry *catalogue
	models   *Labels
	targets  *Labels
	tenants  *Labels

	http     httpMetrics
	job      jobMetrics
	attempt  attemptMetrics
	usage    usageMetrics
	queue    queueMetrics
	suspect  suspectMetrics
	signal   signalMetrics
	depths   *depthCollector
	capacity *capacityCollector
	limits   *limitMetrics
	load     *loadMetrics
	loads    *loadCollector
	memory   *memoryCollector
	stored   *storedCollector
	config   *configCollector

	retention retentionMetrics
	budget    budgetMetrics
	cache     *cacheMetrics
	key       keyMetrics
	webhook   webhookMetrics
	batch     batchMetrics
	outbox    *outboxCollector
	journal   journalMetrics

	observer Observer // nil for none
}

// Observer gets some events besides the metrics. Its methods return at once.
type Observer interface {
	JobAccepted(tenant penstock.TenantID, lane penstock.Lane)
	ItemFinished(o ItemObservation)
	AttemptFinished(o AttemptObservation)
}

// Observe makes an observer get the events from now on. It is called before anything is counted.
func (m *Metrics) Observe(o Observer) { m.observer = o }

// NewMetrics makes the metrics of one process, with a registry of their own.
func NewMetrics(version, commit string) *Metrics {
	m := &Metrics{
		registry: &catalogue{Registry: prometheus.NewRegistry()},
		models:   NewLabels(DefaultMaxLabels),
		targets:  NewLabels(DefaultMaxLabels),
		tenants:  NewLabels(DefaultMaxLabels),
		config:   newConfigCollector(),
	}
	factory := promauto.With(m.registry)
	m.http = newHTTPMetrics(factory)
	m.job = newJobMetrics(factory, m)
	m.attempt = newAttemptMetrics(factory, m)
	m.usage = newUsageMetrics(factory, m)
	m.queue = newQueueMetrics(factory)
	m.suspect = newSuspectMetrics(factory)
	m.retention = newRetentionMetrics(factory)
	m.budget = newBudgetMetrics(factory)
	m.signal = newSignalMetrics(factory)
	m.cache = newCacheMetrics(factory, m)
	m.key = newKeyMetrics(factory)
	m.batch = newBatchMetrics(factory)
	m.journal = newJournalMetrics(factory)
	m.webhook, m.outbox = newWebhookMetrics(factory), newOutboxCollector()
	m.depths = newDepthCollector(factory)
	m.capacity = newCapacityCollector(m.targets)
	m.limits = newLimitMetrics(factory, m.tenants)
	m.load, m.loads = newLoadMetrics(factory), newLoadCollector(m.tenants)
	m.memory, m.stored = newMemoryCollector(), newStoredCollector(m.tenants)
	m.registry.MustRegister(m.memory, m.stored, m.depths, m.capacity, m.limits, m.loads, m.outbox, m.config,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	factory.NewGauge(prometheus.GaugeOpts{
		Name: "penstock_build_info",
		Help: "Always 1; the labels are the version, the commit and the Go version.",
		ConstLabels: prometheus.Labels{
			"version": version, "commit": commit, "go_version": runtime.Version(),
		},
	}).Set(1)
	return m
}

// Names are the names that the configuration defines.
type Names struct {
	Models  []string
	Targets []string
	Tenants []string
}

// Admit makes sure that configured names are shown, however many others callers invent.
func (m *Metrics) Admit(names Names) {
	m.models.Admit(names.Models...)
	m.targets.Admit(names.Targets...)
	m.tenants.Admit(names.Tenants...)
}

// Handler serves the metrics. A collector that fails costs its own metrics only.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}

// ConfigActive says which configuration is in force.
func (m *Metrics) ConfigActive(hash string) {
	hash = strings.ToValidUTF8(hash, "")
	m.config.hash.Store(&hash)
}

// configCollector shows the active configuration. A gauge vector would show two hashes, or none, to a
// scrape that comes during the change.
type configCollector struct {
	desc *prometheus.Desc
	hash atomic.Pointer[string]
}

func newConfigCollector() *configCollector {
	return &configCollector{desc: prometheus.NewDesc("penstock_config_active",
		"Always 1; the label is the hash of the configuration in force.", []string{"hash"}, nil)}
}

func (c *configCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

func (c *configCollector) Collect(ch chan<- prometheus.Metric) {
	if hash := c.hash.Load(); hash != nil {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 1, *hash)
	}
}

// children remembers the metrics of label combinations that were used before, all those of one event under
// one key: a single map lookup without allocation instead of one hashed lookup for each vector.
type children[K comparable, V any] struct {
	bound func(K) K // maps a key to one of boundedly many
	make  func(K) V

	mu   sync.RWMutex
	made map[K]*V
}

func newChildren[K comparable, V any](bound func(K) K, make func(K) V) *children[K, V] {
	return &children[K, V]{bound: bound, make: make, made: map[K]*V{}}
}

// of returns the child for a key. Only bounded keys are stored, so a key that is found was bounded before
// and need not be again.
func (c *children[K, V]) of(key K) *V {
	c.mu.RLock()
	child, ok := c.made[key]
	c.mu.RUnlock()
	if ok {
		return child
	}
	key = c.bound(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if child, ok = c.made[key]; !ok {
		child = new(c.make(key))
		c.made[key] = child
	}
	return child
}

// count adds to a counter. Counters panic when they go back, and a miscount is no reason to fail.
func count[N int | int64](c prometheus.Counter, n N) {
	if n > 0 {
		c.Add(float64(n))
	}
}

// observe records a duration. A clock that was set back makes it negative, which would spoil the sum.
func observe(o prometheus.Observer, d time.Duration) { o.Observe(max(d, 0).Seconds()) }

func laneLabel(lane penstock.Lane) string {
	if lane.Valid() {
		return string(lane)
	}
	return LabelOther
}
