package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"

	"penstock"
)

// Webhook is an endpoint that receives events.
type Webhook struct {
	ID             string               `json:"id"`
	URL            string               `json:"url"`
	Description    string               `json:"description"`
	Events         []penstock.EventType `json:"events"`
	Enabled        bool                 `json:"enabled"`
	DisabledReason string               `json:"disabled_reason"`
	Failures       int                  `json:"failures"` // attempts that failed in a row
	FailingSince   time.Time            `json:"failing_since"`
	RestUntil      time.Time            `json:"rest_until"` // nothing is sent before
	OldSecretUntil time.Time            `json:"old_secret_until"`
	CreatedAt      time.Time            `json:"created_at"`
	ETag           string               `json:"etag"`   // for IfMatch
	Secret         string               `json:"secret"` // only when it was just made

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (w *Webhook) UnmarshalJSON(text []byte) error {
	type plain Webhook
	return keepRaw(text, (*plain)(w), &w.Raw)
}

// WebhookOrder describes an endpoint to be added, or how one shall be changed. Nil fields are left as they are.
type WebhookOrder struct {
	URL         *string              `json:"url,omitempty"`
	Description *string              `json:"description,omitempty"`
	Events      []penstock.EventType `json:"events,omitempty"`
	Enabled     *bool                `json:"enabled,omitempty"`
}

// Delivery is a message on its way to an endpoint.
type Delivery struct {
	ID          string                  `json:"id"`
	WebhookID   string                  `json:"webhook_id"`
	JobID       string                  `json:"job_id"`
	EventID     string                  `json:"event_id"` // the webhook-id of every attempt
	Type        penstock.EventType      `json:"type"`
	URL         string                  `json:"url"`
	Status      penstock.DeliveryStatus `json:"status"`
	Error       string                  `json:"error"`
	Attempts    int                     `json:"attempts"`
	NextAt      time.Time               `json:"next_at"`
	CreatedAt   time.Time               `json:"created_at"`
	DeliveredAt time.Time               `json:"delivered_at"`
	History     []DeliveryAttempt       `json:"history"` // the last ten attempts

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (d *Delivery) UnmarshalJSON(text []byte) error {
	type plain Delivery
	return keepRaw(text, (*plain)(d), &d.Raw)
}

// DeliveryAttempt is one attempt at a delivery.
type DeliveryAttempt struct {
	At         time.Time `json:"at"`
	DurationMS int64     `json:"duration_ms"`
	StatusCode int       `json:"status_code"` // 0 when there was no answer
	Error      string    `json:"error"`       // "" when it was taken
}

// WebhookSecret is the tenant's own secret, which signs the webhooks that jobs bring along.
type WebhookSecret struct {
	Secret         string    `json:"secret"`
	OldSecretUntil time.Time `json:"old_secret_until"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (s *WebhookSecret) UnmarshalJSON(text []byte) error {
	type plain WebhookSecret
	return keepRaw(text, (*plain)(s), &s.Raw)
}

func webhookPath(id string) string { return "/v1/webhooks/" + url.PathEscape(id) }

// CreateWebhook adds an endpoint. Its secret is in the answer and nowhere else. Codes: invalid_request, conflict.
func (c *Client) CreateWebhook(ctx context.Context, o WebhookOrder) (*Webhook, error) {
	return act[Webhook](ctx, c, "/v1/webhooks", o)
}

// Webhooks yields endpoints, oldest first.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[*Webhook, error] {
	return list[Webhook]{path: "/v1/webhooks", id: func(w *Webhook) string { return w.ID }}.all(ctx, c)
}

// ChangeOption says when something is to be changed at all.
type ChangeOption func(http.Header)

// IfMatch changes something only if its ETag is still this one; else the code is conflict.
func IfMatch(etag string) ChangeOption { return func(h http.Header) { h.Set("If-Match", etag) } }

func changeHeader(options []ChangeOption) http.Header {
	h := http.Header{}
	for _, set := range options {
		set(h)
	}
	return h
}

// ChangeWebhook changes, enables or disables an endpoint. Codes: invalid_request, not_found, conflict.
func (c *Client) ChangeWebhook(ctx context.Context, id string, o WebhookOrder, options ...ChangeOption) (*Webhook, error) {
	body, err := encode(o)
	if err != nil {
		return nil, err
	}
	w, _, err := fetch[Webhook](ctx, c, call{method: http.MethodPatch, path: webhookPath(id), body: body, header: changeHeader(options)})
	return w, err
}

// DeleteWebhook removes an endpoint. Codes: not_found, conflict.
func (c *Client) DeleteWebhook(ctx context.Context, id string, options ...ChangeOption) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: webhookPath(id), header: changeHeader(options)})
	return err
}

// RotateWebhook gives an endpoint a new secret; the one before signs too until OldSecretUntil. Codes: not_found,
// conflict.
func (c *Client) RotateWebhook(ctx context.Context, id string, options ...ChangeOption) (*Webhook, error) {
	w, _, err := fetch[Webhook](ctx, c, call{method: http.MethodPost, path: webhookPath(id) + "/rotate", header: changeHeader(options)})
	return w, err
}

// RotateWebhookSecret makes or replaces the tenant's own secret.
func (c *Client) RotateWebhookSecret(ctx context.Context) (*WebhookSecret, error) {
	s, _, err := fetch[WebhookSecret](ctx, c, call{method: http.MethodPost, path: "/v1/webhooks/secret"})
	return s, err
}

// TestWebhook sends an endpoint a webhook.test. Codes: not_found, conflict (it is disabled).
func (c *Client) TestWebhook(ctx context.Context, id string) (*Delivery, error) {
	d, _, err := fetch[Delivery](ctx, c, call{method: http.MethodPost, path: webhookPath(id) + "/test"})
	return d, err
}

// DeliveryList is a list of deliveries to read.
type DeliveryList struct {
	Webhook  string // "" for those of the webhooks that jobs brought along
	Status   penstock.DeliveryStatus
	PageSize int // entries read at a time. Zero: MaxPageSize
}

// Deliveries yields what was sent, newest first.
func (c *Client) Deliveries(ctx context.Context, d DeliveryList) iter.Seq2[*Delivery, error] {
	path := "/v1/deliveries"
	if d.Webhook != "" {
		path = webhookPath(d.Webhook) + "/deliveries"
	}
	l := list[Delivery]{path: path, query: url.Values{"status": {string(d.Status)}}, size: d.PageSize, id: func(d *Delivery) string { return d.ID }}
	return l.all(ctx, c)
}

// Redeliver sends a message again. Codes: not_found, conflict.
func (c *Client) Redeliver(ctx context.Context, id string) (*Delivery, error) {
	d, _, err := fetch[Delivery](ctx, c, call{method: http.MethodPost, path: "/v1/deliveries/" + url.PathEscape(id) + "/redeliver"})
	return d, err
}
