package app

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/dial"
	"penstock/internal/store"
	"penstock/internal/telemetry"
	"penstock/internal/webhook"
	"penstock/internal/webhook/webhooksql"
)

// connectWebhooks makes the runner that delivers webhooks, in every process: the process that ends a job delivers its
// messages at once, and the others find them by polling if it dies before.
func (a *app) connectWebhooks() (err error) {
	a.webhooks, err = webhook.New(webhook.Deps{
		Outbox: a.store.Webhooks, Wake: a.topics.deliveries, Client: a.webhookPolicy().Client(nil), Timeout: a.Config.Process.Webhooks.Timeout, Poll: webhook.PollInterval,
		Metrics: a.metrics, Tracer: a.tracer, Log: a.log, Clock: time.Now,
	})
	a.metrics.CollectOutbox(func(ctx context.Context) (telemetry.Outbox, error) {
		d, err := a.store.Webhooks.Depth(ctx)
		return telemetry.Outbox{Pending: d.Pending, Oldest: d.Oldest}, err
	})
	return err
}

func (a *app) webhookPolicy() dial.Policy {
	w := a.Config.Process.Webhooks
	return dial.Policy{Allow: w.Networks(), PlainHTTP: w.PlainHTTP}
}

func (a *app) webhookService() *webhook.Service {
	return webhook.NewService(webhook.ServiceDeps{Store: a.store.Webhooks, Policy: a.webhookPolicy(), Wake: a.topics.deliveries.Notify, Clock: time.Now})
}

// deliveryPurger is the outbox for the sweeper.
type deliveryPurger struct{ *webhooksql.Store }

func (d deliveryPurger) PurgeDeliveries(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error) {
	done, err := d.Store.PurgeDeliveries(ctx, tenant, webhook.Purge(p))
	return store.Purged(done), err
}
