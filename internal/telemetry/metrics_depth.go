package telemetry

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"penstock"
)

// DepthTimeout is how long a scrape waits for the depths of the queue.
const DepthTimeout = 2 * time.Second

// Depth is how much open work there is in one lane and status.
type Depth struct {
	Lane          string
	Status        string
	Items         int64
	OldestSeconds float64 // age of the oldest item
}

// DepthFunc counts open work. It should return when its context ends.
type DepthFunc func(context.Context) ([]Depth, error)

// CollectDepths makes each scrape ask f for the depths of the queue, for at most [DepthTimeout]. When f
// fails or is late, the scrape shows its last good answer and counts an error. A later call replaces f.
func (m *Metrics) CollectDepths(f DepthFunc) { m.depths.source.Store(&f) }

// depthCollector asks for the depths of the queue when it is scraped. At most one call is under way: a
// source that hangs holds one goroutine, however often it is scraped.
type depthCollector struct {
	items, oldest *prometheus.Desc
	errors        prometheus.Counter
	source        atomic.Pointer[DepthFunc]

	mu     sync.Mutex
	flight *depthFlight
	last   depthTable // nil until there was a good answer
}

type depthKey struct{ lane, status string }

type depthTable map[depthKey]Depth

// depthFlight is a call of the source that is under way. Its error may be read once done is closed.
type depthFlight struct {
	done chan struct{}
	err  error
}

func newDepthCollector(factory promauto.Factory) *depthCollector {
	labels := []string{"lane", "status"}
	return &depthCollector{
		items: prometheus.NewDesc("penstock_queue_items", "Open items.", labels, nil),
		oldest: prometheus.NewDesc("penstock_queue_oldest_seconds",
			"Age of the oldest open item.", labels, nil),
		errors: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_queue_depth_errors_total",
			Help: "Scrapes that show old depths because the store did not answer in time.",
		}),
	}
}

func (c *depthCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.items
	ch <- c.oldest
}

func (c *depthCollector) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	flight := c.join(*source)
	late := time.NewTimer(DepthTimeout)
	defer late.Stop()
	select {
	case <-flight.done:
		if flight.err != nil {
			c.errors.Inc()
		}
	case <-late.C:
		c.errors.Inc()
	}
	c.mu.Lock()
	table := c.last // never changed, only replaced
	c.mu.Unlock()
	for k, d := range table {
		ch <- prometheus.MustNewConstMetric(c.items, prometheus.GaugeValue, float64(d.Items), k.lane, k.status)
		ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, d.OldestSeconds, k.lane, k.status)
	}
}

// join returns the call that is under way, or starts one.
func (c *depthCollector) join(source DepthFunc) *depthFlight {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight != nil {
		return c.flight
	}
	flight := &depthFlight{done: make(chan struct{})}
	c.flight = flight
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), DepthTimeout)
		defer cancel()
		depths, err := source(ctx)
		c.land(flight, depths, err)
	}()
	return flight
}

func (c *depthCollector) land(flight *depthFlight, depths []Depth, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.last = tabulate(depths)
	}
	flight.err = err
	c.flight = nil
	close(flight.done)
}

// tabulate brings depths into bounded labels, adding up what falls together. Open statuses are always
// there, so that an empty queue reads 0 and does not vanish from graphs and alerts.
func tabulate(depths []Depth) depthTable {
	table := make(depthTable)
	for _, lane := range penstock.Lanes {
		for _, status := range []penstock.Status{penstock.StatusQueued, penstock.StatusRunning} {
			table[depthKey{string(lane), string(status)}] = Depth{}
		}
	}
	for _, d := range depths {
		k := depthKey{laneLabel(penstock.Lane(d.Lane)), statusLabel(penstock.Status(d.Status))}
		sum := table[k]
		sum.Items += d.Items
		sum.OldestSeconds = max(sum.OldestSeconds, d.OldestSeconds)
		table[k] = sum
	}
	return table
}

func statusLabel(status penstock.Status) string {
	if slices.Contains(penstock.Statuses, status) {
		return string(status)
	}
	return LabelOther
}
