package telemetry

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// webhookOutcomes are what an attempt at a webhook's delivery can come to.
var webhookOutcomes = []string{"delivered", "retry", "failed", "gone", "void", "release"}

type webhookMetrics struct {
	attempts *prometheus.CounterVec
	seconds  prometheus.Histogram
	disabled prometheus.Counter
}

func newWebhookMetrics(factory promauto.Factory) webhookMetrics {
	m := webhookMetrics{
		attempts: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "penstock_webhook_deliveries_total", Help: "Attempts to deliver a webhook, by result.",
		}, []string{"result"}),
		seconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "penstock_webhook_attempt_seconds", Help: "How long receivers of webhooks take to answer.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}),
		disabled: factory.NewCounter(prometheus.CounterOpts{
			Name: "penstock_webhooks_disabled_total", Help: "Endpoints that were disabled because nothing could be delivered to them.",
		}),
	}
	for _, outcome := range webhookOutcomes {
		m.attempts.WithLabelValues(outcome) // so that there is something to alert on before the first
	}
	return m
}

// WebhookAttempt counts an attempt at a delivery.
func (m *Metrics) WebhookAttempt(outcome string, took time.Duration) {
	if !slices.Contains(webhookOutcomes, outcome) {
		outcome = LabelOther
	}
	m.webhook.attempts.WithLabelValues(outcome).Inc()
	if took > 0 {
		observe(m.webhook.seconds, took)
	}
}

// WebhookDisabled counts an endpoint that was disabled.
func (m *Metrics) WebhookDisabled() { m.webhook.disabled.Inc() }

// Outbox is how much waits to be delivered.
type Outbox struct {
	Pending int
	Oldest  time.Duration
}

// CollectOutbox makes each scrape ask f for the depth of the outbox, for at most [DepthTimeout]. When f fails, the
// scrape goes without.
func (m *Metrics) CollectOutbox(f func(context.Context) (Outbox, error)) { m.outbox.source.Store(&f) }

// outboxCollector asks for the depth of the outbox when it is scraped.
type outboxCollector struct {
	pending, oldest *prometheus.Desc
	source          atomic.Pointer[func(context.Context) (Outbox, error)]
}

func newOutboxCollector() *outboxCollector {
	return &outboxCollector{
		pending: prometheus.NewDesc("penstock_webhook_outbox", "Webhook messages that are not delivered yet.", nil, nil),
		oldest:  prometheus.NewDesc("penstock_webhook_outbox_oldest_seconds", "Age of the oldest webhook message that is not delivered yet.", nil, nil),
	}
}

func (c *outboxCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.pending
	ch <- c.oldest
}

func (c *outboxCollector) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), DepthTimeout)
	defer cancel()
	depth, err := (*source)(ctx)
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(depth.Pending))
	ch <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, depth.Oldest.Seconds())
}
