package api

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
	"penstock/internal/webhook"
)

// webhookOrder is an endpoint in a create or change call.
type webhookOrder struct {
	URL         *string              `json:"url,omitzero" about:"Where events are sent, by https. It must be public unless the operator allows its network."`
	Description *string              `json:"description,omitzero"`
	Events      []penstock.EventType `json:"events,omitzero" about:"Some of job.started, job.finished, budget.soft_exceeded, prompt.version.created, prompt.label.moved and prompt.label.requested; all of them when not given at creation."`
	Enabled     *bool                `json:"enabled,omitzero" about:"Whether messages are sent. Enabling clears earlier failures."`
}

// jobWebhook is where the events of one job are sent.
type jobWebhook struct {
	URL    string               `json:"url" required:"true"`
	Events []penstock.EventType `json:"events,omitzero" about:"job.started, job.finished; job.finished when not given."`
}

// webhookView is an endpoint.
type webhookView struct {
	ID             string               `json:"id"`
	Object         string               `json:"object"`
	URL            string               `json:"url"`
	Description    string               `json:"description"`
	Events         []penstock.EventType `json:"events"`
	Enabled        bool                 `json:"enabled"`
	DisabledAt     *time.Time           `json:"disabled_at"`
	DisabledReason *string              `json:"disabled_reason"`
	Failures       int                  `json:"failures" about:"The number of consecutive failed attempts."`
	FailingSince   *time.Time           `json:"failing_since" about:"When the first of these consecutive failures happened."`
	RestUntil      *time.Time           `json:"rest_until" about:"No message is sent before this time, because too many failed."`
	OldSecretUntil *time.Time           `json:"old_secret_until" about:"Until this time, messages are also signed with the previous secret."`
	CreatedAt      time.Time            `json:"created_at"`
	UpdatedAt      time.Time            `json:"updated_at"`
	ETag           string               `json:"etag" about:"The version of its configuration, for If-Match."`
	Secret         *string              `json:"secret" about:"whsec_…; shown once, when the endpoint is created or its secret rotated."`
}

func newWebhookView(w penstock.Webhook) webhookView {
	return webhookView{
		ID: penstock.ViewWebhook.Format(w.ID), Object: "webhook", URL: w.URL, Description: w.Description, Events: w.Events,
		Enabled: w.DisabledAt.IsZero(), DisabledAt: optional(w.DisabledAt), DisabledReason: text(w.DisabledReason),
		Failures: w.Failures, FailingSince: optional(w.FailingSince), RestUntil: optional(w.RestUntil),
		OldSecretUntil: optional(w.OldSecretUntil), CreatedAt: stamp(w.CreatedAt), UpdatedAt: stamp(w.UpdatedAt), ETag: rest.ETag(w.Version()),
	}
}

// secretView is the tenant's own secret.
type secretView struct {
	Object         string     `json:"object"`
	Secret         string     `json:"secret" about:"whsec_…; shown only this time."`
	OldSecretUntil *time.Time `json:"old_secret_until" about:"Until this time, messages are also signed with the previous secret."`
}

// deliveryView is the delivery of a message.
type deliveryView struct {
	ID          string                  `json:"id"`
	Object      string                  `json:"object"`
	WebhookID   *string                 `json:"webhook_id" about:"null for the webhook of a job."`
	JobID       *string                 `json:"job_id" about:"null for a test."`
	EventID     string                  `json:"event_id" about:"The webhook-id of every attempt."`
	Type        penstock.EventType      `json:"type"`
	URL         string                  `json:"url"`
	Status      penstock.DeliveryStatus `json:"status"`
	Error       *string                 `json:"error" about:"Why it will not be retried."`
	Attempts    int                     `json:"attempts"`
	NextAt      *time.Time              `json:"next_at" about:"When the next attempt is due."`
	CreatedAt   time.Time               `json:"created_at"`
	DeliveredAt *time.Time              `json:"delivered_at"`
	History     []deliveryTryView       `json:"history" about:"The last ten attempts, in order."`
}

type deliveryTryView struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"duration_ms"`
	StatusCode *int      `json:"status_code" about:"null when there was no answer."`
	Error      *string   `json:"error" about:"null when the receiver accepted it."`
}

func newDeliveryView(d penstock.Delivery) deliveryView {
	v := deliveryView{
		ID: penstock.ViewDelivery.Format(d.ID), Object: "delivery", EventID: penstock.ViewEvent.Format(d.Event), Type: d.Type, URL: d.URL,
		Status: d.Status, Error: text(d.Error), Attempts: d.Attempts, NextAt: optional(d.NextAt), CreatedAt: stamp(d.CreatedAt),
		DeliveredAt: optional(d.DeliveredAt), History: make([]deliveryTryView, len(d.Tries)),
	}
	if d.Webhook != "" {
		v.WebhookID = text(penstock.ViewWebhook.Format(d.Webhook))
	}
	if d.Job != "" {
		v.JobID = text(penstock.ViewJob.Format(d.Job))
	}
	for i, t := range d.Tries {
		v.History[i] = deliveryTryView{At: stamp(t.At), DurationMS: t.Took.Milliseconds(), Error: text(t.Error)}
		if t.StatusCode != 0 {
			v.History[i].StatusCode = &t.StatusCode
		}
	}
	return v
}

func (c webhooks) readWebhookOrder() (webhook.Order, error) {
	var in webhookOrder
	body, err := c.readBody()
	if err == nil {
		err = rest.Decode(body, &in)
	}
	return webhook.Order(in), err
}

func (c webhooks) createWebhook() error {
	order, err := c.readWebhookOrder()
	if err != nil {
		return err
	}
	if order.Enabled != nil {
		return penstock.InvalidParam("enabled", "A new endpoint is always enabled; leave enabled out. To disable the endpoint, change it afterwards.")
	}
	w, secret, err := c.Webhooks.Create(c.R.Context(), c.Principal, order)
	if err != nil {
		return err
	}
	view := newWebhookView(w)
	view.Secret = &secret
	c.W.Header().Set("Location", "/v1/webhooks/"+view.ID)
	return c.answerWebhook(http.StatusCreated, view)
}

func (c webhooks) listWebhooks() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	p := webhook.Page{Limit: limit}
	if after := c.R.URL.Query().Get("after"); after != "" {
		if p.After, err = penstock.ViewWebhook.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	found, err := c.Webhooks.List(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	out := rest.Page[webhookView]{Object: "list", Data: []webhookView{}, HasMore: len(found) > limit}
	for _, w := range found[:min(limit, len(found))] {
		out.Data = append(out.Data, newWebhookView(w))
	}
	return c.JSON(http.StatusOK, out)
}

func (c webhooks) readWebhook() error {
	id, err := c.PathID(penstock.ViewWebhook)
	if err != nil {
		return err
	}
	w, err := c.Webhooks.Endpoint(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.answerWebhook(http.StatusOK, newWebhookView(w))
}

func (c webhooks) answerWebhook(status int, v webhookView) error {
	c.W.Header().Set("ETag", v.ETag)
	return c.JSON(status, v)
}

// webhookNamed is the endpoint of a change, with the version that its caller has. Codes: invalid_request, not_found.
func (c webhooks) webhookNamed() (of webhook.Ref, err error) {
	if of.ID, err = c.PathID(penstock.ViewWebhook); err != nil {
		return of, err
	}
	of.IfVersion, err = rest.IfMatch(c.R)
	return of, err
}

func (c webhooks) changeWebhook() error {
	of, err := c.webhookNamed()
	if err != nil {
		return err
	}
	order, err := c.readWebhookOrder()
	if err != nil {
		return err
	}
	w, err := c.Webhooks.Change(c.R.Context(), c.Principal, of, order)
	if err != nil {
		return err
	}
	return c.answerWebhook(http.StatusOK, newWebhookView(w))
}

func (c webhooks) deleteWebhook() error {
	of, err := c.webhookNamed()
	if err != nil {
		return err
	}
	if err := c.Webhooks.Delete(c.R.Context(), c.Principal, of); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: penstock.ViewWebhook.Format(of.ID), Object: "webhook", Deleted: true})
}

func (c webhooks) rotateWebhook() error {
	of, err := c.webhookNamed()
	if err != nil {
		return err
	}
	rotated, err := c.Webhooks.Rotate(c.R.Context(), c.Principal, of)
	if err != nil {
		return err
	}
	w, err := c.Webhooks.Endpoint(c.R.Context(), c.Principal.Tenant.ID, of.ID)
	if err != nil {
		return err
	}
	view := newWebhookView(w)
	view.Secret = &rotated.Secret
	return c.answerWebhook(http.StatusOK, view)
}

func (c webhooks) rotateSecret() error {
	rotated, err := c.Webhooks.Rotate(c.R.Context(), c.Principal, webhook.Ref{})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, secretView{Object: "webhook_secret", Secret: rotated.Secret, OldSecretUntil: optional(rotated.OldUntil)})
}

func (c webhooks) testWebhook() error {
	id, err := c.PathID(penstock.ViewWebhook)
	if err != nil {
		return err
	}
	d, err := c.Webhooks.Test(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, newDeliveryView(d))
}

func (c webhooks) listWebhookDeliveries() error {
	id, err := c.PathID(penstock.ViewWebhook)
	if err != nil {
		return err
	}
	return c.deliveries(id)
}

func (c webhooks) listJobDeliveries() error { return c.deliveries("") }

func (c webhooks) deliveries(of penstock.ID) error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	p := webhook.DeliveryPage{Webhook: of, Status: penstock.DeliveryStatus(q.Get("status")), Limit: limit}
	if err := checkDeliveryStatus(p.Status); err != nil {
		return err
	}
	if job := q.Get("job_id"); job != "" && of == "" {
		if p.Job, err = penstock.ViewJob.Parse(job); err != nil {
			return penstock.InvalidParam("job_id", "job_id: %v.", err)
		}
	}
	if after := q.Get("after"); after != "" {
		if p.After, err = penstock.ViewDelivery.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	found, last, err := c.Webhooks.Deliveries(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	data, next := make([]deliveryView, len(found)), ""
	for i, d := range found {
		data[i] = newDeliveryView(d)
	}
	if last != "" {
		next = penstock.ViewDelivery.Format(last)
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(data, next))
}

func checkDeliveryStatus(s penstock.DeliveryStatus) error {
	for _, known := range penstock.DeliveryStatuses {
		if s == "" || s == known {
			return nil
		}
	}
	return penstock.InvalidParam("status", "status must be one of pending, delivered, failed.")
}

func (c webhooks) readDelivery() error {
	id, err := c.PathID(penstock.ViewDelivery)
	if err != nil {
		return err
	}
	d, err := c.Webhooks.Delivery(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newDeliveryView(d))
}

func (c webhooks) redeliver() error {
	id, err := c.PathID(penstock.ViewDelivery)
	if err != nil {
		return err
	}
	d, err := c.Webhooks.Redeliver(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, newDeliveryView(d))
}

// jobWebhook checks the webhook of a job, nil if it has none.
func (c webhooks) jobWebhook(in *jobWebhook) (*store.JobWebhook, error) {
	if in == nil {
		return nil, nil
	}
	events, err := c.Webhooks.CheckJob(in.URL, in.Events)
	return &store.JobWebhook{URL: in.URL, Events: events}, err
}
