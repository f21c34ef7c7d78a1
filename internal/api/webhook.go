package api

import (
	"net/http"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/webhook"
)

// webhookOrder is an endpoint as a caller describes it.
type webhookOrder struct {
	URL         *string              `json:"url,omitzero" about:"Where events are sent, by https. It must be public unless the operator allows its network."`
	Description *string              `json:"description,omitzero"`
	Events      []penstock.EventType `json:"events,omitzero" about:"job.started, job.finished; all of them when not given at creation."`
	Enabled     *bool                `json:"enabled,omitzero" about:"Whether anything is sent. Enabling forgets earlier failures."`
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
	Failures       int                  `json:"failures" about:"How many attempts failed in a row."`
	FailingSince   *time.Time           `json:"failing_since" about:"When that row began."`
	RestUntil      *time.Time           `json:"rest_until" about:"Nothing is sent before, because too much failed."`
	OldSecretUntil *time.Time           `json:"old_secret_until" about:"Until when messages are signed with the secret before this one, too."`
	CreatedAt      time.Time            `json:"created_at"`
	UpdatedAt      time.Time            `json:"updated_at"`
	ETag           string               `json:"etag" about:"Names it as its owner made it; for If-Match."`
	Secret         *string              `json:"secret" about:"whsec_…; shown once, when the endpoint is created or its secret rotated."`
}

func newWebhookView(w penstock.Webhook) webhookView {
	return webhookView{
		ID: penstock.ViewWebhook.Format(w.ID), Object: "webhook", URL: w.URL, Description: w.Description, Events: w.Events,
		Enabled: w.DisabledAt.IsZero(), DisabledAt: optional(w.DisabledAt), DisabledReason: text(w.DisabledReason),
		Failures: w.Failures, FailingSince: optional(w.FailingSince), RestUntil: optional(w.RestUntil),
		OldSecretUntil: optional(w.OldSecretUntil), CreatedAt: stamp(w.CreatedAt), UpdatedAt: stamp(w.UpdatedAt), ETag: ETag(w.Version()),
	}
}

// secretView is the tenant's own secret.
type secretView struct {
	Object         string     `json:"object"`
	Secret         string     `json:"secret" about:"whsec_…; shown this once."`
	OldSecretUntil *time.Time `json:"old_secret_until" about:"Until when messages are signed with the secret before this one, too."`
}

// deliveryView is a message on its way.
type deliveryView struct {
	ID          string                  `json:"id"`
	Object      string                  `json:"object"`
	WebhookID   *string                 `json:"webhook_id" about:"null for the webhook that a job brought along."`
	JobID       *string                 `json:"job_id" about:"null for a test."`
	EventID     string                  `json:"event_id" about:"The webhook-id of every attempt."`
	Type        penstock.EventType      `json:"type"`
	URL         string                  `json:"url"`
	Status      penstock.DeliveryStatus `json:"status"`
	Error       *string                 `json:"error" about:"Why it will not be tried again."`
	Attempts    int                     `json:"attempts"`
	NextAt      *time.Time              `json:"next_at" about:"When it is tried next."`
	CreatedAt   time.Time               `json:"created_at"`
	DeliveredAt *time.Time              `json:"delivered_at"`
	History     []deliveryTryView       `json:"history" about:"The last ten attempts, in order."`
}

type deliveryTryView struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"duration_ms"`
	StatusCode *int      `json:"status_code" about:"null when there was no answer."`
	Error      *string   `json:"error" about:"null when the receiver took it."`
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

func (c *call) readWebhookOrder() (webhook.Order, error) {
	var in webhookOrder
	body, err := c.readBody()
	if err == nil {
		err = decode(body, &in)
	}
	return webhook.Order(in), err
}

func (c *call) createWebhook() error {
	order, err := c.readWebhookOrder()
	if err != nil {
		return err
	}
	if order.Enabled != nil {
		return penstock.InvalidParam("enabled", "A new endpoint is enabled; leave enabled out, and change it afterwards.")
	}
	w, secret, err := c.Webhooks.Create(c.r.Context(), c.caller, order)
	if err != nil {
		return err
	}
	view := newWebhookView(w)
	view.Secret = &secret
	c.w.Header().Set("Location", "/v1/webhooks/"+view.ID)
	return c.answerWebhook(http.StatusCreated, view)
}

func (c *call) listWebhooks() error {
	limit, err := c.pageLimit()
	if err != nil {
		return err
	}
	p := webhook.Page{Limit: limit + 1}
	if after := c.r.URL.Query().Get("after"); after != "" {
		if p.After, err = penstock.ViewWebhook.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	found, err := c.Webhooks.List(c.r.Context(), c.caller.Tenant.ID, p)
	if err != nil {
		return err
	}
	out := page[webhookView]{Object: "list", Data: []webhookView{}, HasMore: len(found) > limit}
	for _, w := range found[:min(limit, len(found))] {
		out.Data = append(out.Data, newWebhookView(w))
	}
	return c.json(http.StatusOK, out)
}

func (c *call) readWebhook() error {
	id, err := c.pathID(penstock.ViewWebhook)
	if err != nil {
		return err
	}
	w, err := c.Webhooks.Endpoint(c.r.Context(), c.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.answerWebhook(http.StatusOK, newWebhookView(w))
}

func (c *call) answerWebhook(status int, v webhookView) error {
	c.w.Header().Set("ETag", v.ETag)
	return c.json(status, v)
}

// webhookNamed is the endpoint that a change is about, as its caller knows it. Codes: invalid_request, not_found.
func (c *call) webhookNamed() (of webhook.Ref, err error) {
	if of.ID, err = c.pathID(penstock.ViewWebhook); err != nil {
		return of, err
	}
	of.IfVersion, err = IfMatch(c.r)
	return of, err
}

func (c *call) changeWebhook() error {
	of, err := c.webhookNamed()
	if err != nil {
		return err
	}
	order, err := c.readWebhookOrder()
	if err != nil {
		return err
	}
	w, err := c.Webhooks.Change(c.r.Context(), c.caller, of, order)
	if err != nil {
		return err
	}
	return c.answerWebhook(http.StatusOK, newWebhookView(w))
}

func (c *call) deleteWebhook() error {
	of, err := c.webhookNamed()
	if err != nil {
		return err
	}
	if err := c.Webhooks.Delete(c.r.Context(), c.caller, of); err != nil {
		return err
	}
	return c.json(http.StatusOK, deletedView{ID: penstock.ViewWebhook.Format(of.ID), Object: "webhook", Deleted: true})
}

func (c *call) rotateWebhook() error {
	of, err := c.webhookNamed()
	if err != nil {
		return err
	}
	rotated, err := c.Webhooks.Rotate(c.r.Context(), c.caller, of)
	if err != nil {
		return err
	}
	w, err := c.Webhooks.Endpoint(c.r.Context(), c.caller.Tenant.ID, of.ID)
	if err != nil {
		return err
	}
	view := newWebhookView(w)
	view.Secret = &rotated.Secret
	return c.answerWebhook(http.StatusOK, view)
}

func (c *call) rotateSecret() error {
	rotated, err := c.Webhooks.Rotate(c.r.Context(), c.caller, webhook.Ref{})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, secretView{Object: "webhook_secret", Secret: rotated.Secret, OldSecretUntil: optional(rotated.OldUntil)})
}

func (c *call) testWebhook() error {
	id, err := c.pathID(penstock.ViewWebhook)
	if err != nil {
		return err
	}
	d, err := c.Webhooks.Test(c.r.Context(), c.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.json(http.StatusAccepted, newDeliveryView(d))
}

func (c *call) listWebhookDeliveries() error {
	id, err := c.pathID(penstock.ViewWebhook)
	if err != nil {
		return err
	}
	return c.deliveries(id)
}

func (c *call) listJobDeliveries() error { return c.deliveries("") }

func (c *call) deliveries(of penstock.ID) error {
	limit, err := c.pageLimit()
	if err != nil {
		return err
	}
	q := c.r.URL.Query()
	p := webhook.DeliveryPage{Webhook: of, Status: penstock.DeliveryStatus(q.Get("status")), Limit: limit + 1}
	if err := checkDeliveryStatus(p.Status); err != nil {
		return err
	}
	if after := q.Get("after"); after != "" {
		if p.After, err = penstock.ViewDelivery.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	found, err := c.Webhooks.Deliveries(c.r.Context(), c.caller.Tenant.ID, p)
	if err != nil {
		return err
	}
	out := page[deliveryView]{Object: "list", Data: []deliveryView{}, HasMore: len(found) > limit}
	for _, d := range found[:min(limit, len(found))] {
		out.Data = append(out.Data, newDeliveryView(d))
	}
	return c.json(http.StatusOK, out)
}

func checkDeliveryStatus(s penstock.DeliveryStatus) error {
	for _, known := range penstock.DeliveryStatuses {
		if s == "" || s == known {
			return nil
		}
	}
	return penstock.InvalidParam("status", "status must be one of pending, delivered, failed.")
}

func (c *call) redeliver() error {
	id, err := c.pathID(penstock.ViewDelivery)
	if err != nil {
		return err
	}
	d, err := c.Webhooks.Redeliver(c.r.Context(), c.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return c.json(http.StatusAccepted, newDeliveryView(d))
}

// jobWebhook checks the webhook of a job, nil if it has none.
func (c *call) jobWebhook(in *jobWebhook) (*store.JobWebhook, error) {
	if in == nil {
		return nil, nil
	}
	events, err := c.Webhooks.CheckJob(in.URL, in.Events)
	return &store.JobWebhook{URL: in.URL, Events: events}, err
}
