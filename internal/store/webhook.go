package store

import (
	"context"
	"time"

	"penstock"
)

// Webhooks is what tenants do with their endpoints. Every change leaves an entry in the audit. Secrets go in as
// plain bytes and never come out here again.
type Webhooks interface {
	// CreateWebhook adds an endpoint. Codes: conflict (the tenant has MaxWebhooks of them).
	CreateWebhook(ctx context.Context, tenant penstock.TenantID, n NewWebhook) (penstock.Webhook, error)

	// ListWebhooks returns endpoints, oldest first, with ids above p.After, at most p.Limit.
	ListWebhooks(ctx context.Context, tenant penstock.TenantID, p WebhookPage) ([]penstock.Webhook, error)

	// Webhook returns one endpoint. Codes: not_found.
	Webhook(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Webhook, error)

	// ChangeWebhook changes what c names. Enabling an endpoint forgets its failures. Codes: not_found, conflict (ErrStale).
	ChangeWebhook(ctx context.Context, tenant penstock.TenantID, c WebhookChange) (penstock.Webhook, error)

	// DeleteWebhook removes an endpoint with its secrets. What was still to be delivered to it fails. Codes:
	// not_found, conflict (ErrStale).
	DeleteWebhook(ctx context.Context, tenant penstock.TenantID, r WebhookRemoval) error

	// RotateSecret makes a secret the one that signs, and lets the one before sign beside it for a while. It
	// returns until when; zero if there was none before. Codes: not_found, conflict (ErrStale).
	RotateSecret(ctx context.Context, tenant penstock.TenantID, r SecretRotation) (time.Time, error)

	// TestWebhook puts a webhook.test for an endpoint into the outbox. Codes: not_found, conflict (it is
	// disabled).
	TestWebhook(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error)

	// Deliveries returns what was or will be sent, newest first, at most p.Limit. Codes: not_found (no such
	// endpoint).
	Deliveries(ctx context.Context, tenant penstock.TenantID, p DeliveryPage) ([]penstock.Delivery, error)

	// Redeliver makes a delivery due now and gives it a whole new schedule, also when it was delivered or had
	// failed. Codes: not_found, conflict (its endpoint is disabled or gone).
	Redeliver(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error)
}

// Outbox is what processes do with deliveries. SubmitJob, and whatever starts or ends a job, writes them in the
// transaction of the event that they announce.
type Outbox interface {
	// ClaimDeliveries takes deliveries that are due for w.Hold: after that they are due again. Receivers have
	// their turn one after the other, so that one with much to receive keeps nobody waiting.
	ClaimDeliveries(ctx context.Context, w DeliveryWant) (DeliveryClaims, error)

	// FinishDelivery records what an attempt came to, unless the claim was lost: then it returns false and
	// nothing is changed. It keeps the receiver's row of failures, and disables an endpoint that is gone or
	// has failed for too long, with an entry in the audit.
	FinishDelivery(ctx context.Context, r DeliveryReport) (DeliveryVerdict, error)

	// PurgeDeliveries removes deliveries of a tenant that were created longer than p.Kept ago and are not
	// pending.
	PurgeDeliveries(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)

	// OutboxDepth says how much is pending, counting to MaxOutboxDepth.
	OutboxDepth(ctx context.Context) (OutboxDepth, error)
}

const (
	// MaxWebhooks is how many endpoints a tenant can have.
	MaxWebhooks = 20
	// MaxDeliveryTries is how many attempts the log of a delivery keeps: the last ones.
	MaxDeliveryTries = 10
	// MaxReceivers is how many receivers one claim looks at.
	MaxReceivers = 1000
	// MaxOutboxDepth is where counting what is pending ends.
	MaxOutboxDepth = 100_000
)

// NewWebhook is an endpoint to be added.
type NewWebhook struct {
	ID          penstock.ID
	URL         string
	Description string
	Events      []penstock.EventType
	Secret      []byte
	Actor       string // name of the key
}

// JobWebhook is where the events of one job are sent. Messages are signed with the tenant's own secret.
type JobWebhook struct {
	URL    string
	Events []penstock.EventType
}

// WebhookPage selects endpoints.
type WebhookPage struct {
	After penstock.ID
	Limit int
}

// WebhookRef is an endpoint as its owner knows it.
type WebhookRef struct {
	ID        penstock.ID
	IfVersion int64 // the version that it must have; 0 for any
}

// WebhookChange is what shall be different. Nil fields stay as they are.
type WebhookChange struct {
	WebhookRef
	URL         *string
	Description *string
	Events      []penstock.EventType
	Enabled     *bool
	Actor       string
}

// WebhookRemoval removes an endpoint.
type WebhookRemoval struct {
	WebhookRef
	Actor string
}

// SecretRotation replaces a secret.
type SecretRotation struct {
	Webhook WebhookRef // without an id for the tenant's own secret, which signs what jobs' own webhooks are sent
	Secret  []byte
	Overlap time.Duration // how long the secret before it signs too
	Actor   string
}

// DeliveryPage selects deliveries.
type DeliveryPage struct {
	Webhook penstock.ID             // "" for those of jobs' own webhooks
	Status  penstock.DeliveryStatus // "" for all
	After   penstock.ID             // the last of the page before
	Limit   int
}

// DeliveryWant is what a claim of deliveries asks for.
type DeliveryWant struct {
	Limit       int
	PerReceiver int // at the most, with those that this process has under way
	PerTenant   int // likewise
	Busy        DeliveryLoad
	Hold        time.Duration
	After       string // the receiver that the look begins behind, "" for the first
}

// DeliveryLoad is how many deliveries a process has under way.
type DeliveryLoad struct {
	Receivers map[string]int
	Tenants   map[penstock.TenantID]int
}

// DeliveryClaims is what a claim of deliveries came to.
type DeliveryClaims struct {
	Claims []DeliveryClaim
	// Next is where the next look begins: one look passes by MaxReceivers at the most. It is "" when this one
	// came to the end.
	Next string
	// DueIn is how long it takes until something else is due, of what was looked at; 0 if nothing is known.
	DueIn time.Duration
}

// DeliveryClaim is a delivery that may be attempted, with all that the attempt needs.
type DeliveryClaim struct {
	penstock.Delivery
	Receiver string // those with the same one share a breaker
	Fence    int64
	Round    int // attempts of this schedule so far; a redelivery begins anew
	Body     []byte
	Secrets  [][]byte // the one that signs, and the one before while it does too
	// TraceParent is the trace of the job that it tells of, "" for none.
	TraceParent string
	// Refused is why it cannot be sent at all, "" if it can: its endpoint is disabled or gone.
	Refused string
	Err     error // why a secret could not be read
}

// DeliveryOutcome is what an attempt came to.
type DeliveryOutcome string

// The outcomes of an attempt at a delivery.
const (
	OutcomeDelivered DeliveryOutcome = "delivered"
	OutcomeRetry     DeliveryOutcome = "retry"   // it is due again after RetryIn
	OutcomeFailed    DeliveryOutcome = "failed"  // its schedule is at its end
	OutcomeGone      DeliveryOutcome = "gone"    // the receiver wants no more, ever
	OutcomeVoid      DeliveryOutcome = "void"    // there was nobody to send it to; no attempt was made
	OutcomeRelease   DeliveryOutcome = "release" // no attempt was made; it is due again at once
)

// DeliveryReport is what became of a claim.
type DeliveryReport struct {
	Delivery penstock.ID
	Fence    int64
	Outcome  DeliveryOutcome
	Try      penstock.DeliveryTry
	RetryIn  time.Duration
	Reason   string // why it failed for good
	Breaker  Breaker
}

// Breaker says when failures of a receiver have consequences.
type Breaker struct {
	Rest         func(failures int) time.Duration // how long the receiver rests after so many in a row, 0 for not at all
	DisableAfter time.Duration                    // how long an endpoint may fail without a success in between
}

// DeliveryVerdict is what became of a report.
type DeliveryVerdict struct {
	Recorded bool
	Failures int  // of the receiver, in a row
	Disabled bool // the endpoint was, by this
}

// OutboxDepth is how much is pending.
type OutboxDepth struct {
	Pending int
	Oldest  time.Duration // since the oldest of them was created; 0 for none
}

// What the audit notes of webhooks.
const (
	ActionCreateWebhook  = "webhook.create"
	ActionChangeWebhook  = "webhook.change"
	ActionDeleteWebhook  = "webhook.delete"
	ActionRotateSecret   = "webhook.rotate"
	ActionDisableWebhook = "webhook.disable"
)

// ActorPenstock is who the audit names where no person acted.
const ActorPenstock = "penstock"
