package app

import (
	"context"
	"time"

	"penstock/internal/dial"
	"penstock/internal/telemetry"
	"penstock/internal/webhook"
)

// connectWebhooks makes what delivers webhooks, in every process: whichever ends a job delivers its messages at
// once, and the others find them by polling if it dies before.
func (a *app) connectWebhooks() (err error) {
	a.webhooks, err = webhook.New(webhook.Deps{
		Outbox: a.store, Wake: a.topics.deliveries, Client: a.webhookPolicy().Client(nil), Timeout: a.Config.Process.Webhooks.Timeout, Poll: webhook.PollInterval,
		Metrics: a.metrics, Tracer: a.tracer, Log: a.log, Clock: time.Now,
	})
	a.metrics.CollectOutbox(func(ctx context.Context) (telemetry.Outbox, error) {
		d, err := a.store.OutboxDepth(ctx)
		return telemetry.Outbox{Pending: d.Pending, Oldest: d.Oldest}, err
	})
	return err
}

func (a *app) webhookPolicy() dial.Policy {
	w := a.Config.Process.Webhooks
	return dial.Policy{Allow: w.Networks(), PlainHTTP: w.PlainHTTP}
}

func (a *app) webhookService() *webhook.Service {
	return webhook.NewService(webhook.ServiceDeps{Store: a.store, Policy: a.webhookPolicy(), Wake: a.topics.deliveries.Notify, Clock: time.Now})
}
