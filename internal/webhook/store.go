package webhook

import (
	"context"
	"time"

	"penstock"
)

// Endpoints is what the service asks of the store. Every change writes an audit entry. Secrets go in as plain bytes
// and never come out here. Methods answer not_found for an object of another tenant.
type Endpoints interface {
	// Create adds an endpoint. Codes: conflict (the tenant has MaxEndpoints of them).
	Create(ctx context.Context, tenant penstock.TenantID, n NewEndpoint) (penstock.Webhook, error)

	// List returns endpoints, oldest first, with ids above p.After, at most p.Limit.
	List(ctx context.Context, tenant penstock.TenantID, p Page) ([]penstock.Webhook, error)

	// Endpoint returns one endpoint. Codes: not_found.
	Endpoint(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Webhook, error)

	// Change changes the fields that c names. Enabling an endpoint forgets its failures. Codes: not_found, conflict
	// (penstock.ErrStale).
	Change(ctx context.Context, tenant penstock.TenantID, c Change) (penstock.Webhook, error)

	// Delete removes an endpoint with its secrets. Its pending deliveries fail. Codes: not_found, conflict
	// (penstock.ErrStale).
	Delete(ctx context.Context, tenant penstock.TenantID, r Removal) error

	// RotateSecret makes a secret the one that signs, and lets the previous one sign beside it for a while. It
	// returns the end of that while; zero if there was no secret before. Codes: not_found, conflict
	// (penstock.ErrStale).
	RotateSecret(ctx context.Context, tenant penstock.TenantID, r Rotation) (time.Time, error)

	// Test puts a webhook.test for an endpoint into the outbox. Codes: not_found, conflict (the endpoint is
	// disabled).
	Test(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error)

	// Deliveries returns deliveries, newest first, at most p.Limit. Next is where the next page begins, "" after the last one.
	// It reads at most MaxDeliveryScan rows, so a page may be short, or empty, although more follow. Codes: not_found (no
	// such endpoint).
	Deliveries(ctx context.Context, tenant penstock.TenantID, p DeliveryPage) (found []penstock.Delivery, next penstock.ID, err error)

	// Delivery returns one delivery. Codes: not_found.
	Delivery(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error)

	// Redeliver makes a delivery due now and starts its schedule anew, also when it was delivered or had failed.
	// Codes: not_found, conflict (its endpoint is disabled or deleted).
	Redeliver(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (penstock.Delivery, error)
}

// Outbox is what runners and maintenance ask of the store. Package outbox writes the deliveries.
type Outbox interface {
	// ClaimDeliveries takes deliveries that are due, for w.Hold: after that they are due again. Receivers take
	// turns, so that one with many deliveries delays no other.
	ClaimDeliveries(ctx context.Context, w DeliveryWant) (DeliveryClaims, error)

	// FinishDelivery records the result of an attempt, unless the claim was lost: then nothing changes. It counts
	// the receiver's failures, and disables an endpoint that is gone or has failed for too long, with an audit
	// entry.
	FinishDelivery(ctx context.Context, r DeliveryReport) (DeliveryVerdict, error)

	// PurgeDeliveries removes deliveries of a tenant that were created longer than p.Kept ago and are not
	// pending.
	PurgeDeliveries(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)

	// Depth counts the pending deliveries, up to MaxDepth.
	Depth(ctx context.Context) (Depth, error)
}

const (
	// MaxEndpoints is the most endpoints that a tenant can have.
	MaxEndpoints = 20
	// MaxDeliveryTries is how many of a delivery's last attempts are kept.
	MaxDeliveryTries = 10
	// MaxReceivers is the most receivers that one claim looks at.
	MaxReceivers = 1000
	// MaxDepth is where counting pending deliveries stops.
	MaxDepth = 100_000
)

// NewEndpoint is an endpoint to be added.
type NewEndpoint struct {
	ID          penstock.ID
	URL         string
	Description string
	Events      []penstock.EventType
	Secret      []byte
	Actor       string // name of the key
}

// Page selects endpoints.
type Page struct {
	After penstock.ID
	Limit int
}

// Ref names an endpoint in the version that its owner knows.
type Ref struct {
	ID        penstock.ID
	IfVersion int64 // the version that it must have; 0 for any
}

// Change is a change of an endpoint. Nil fields stay as they are.
type Change struct {
	Ref
	URL         *string
	Description *string
	Events      []penstock.EventType
	Enabled     *bool
	Actor       string
}

// Removal removes an endpoint.
type Removal struct {
	Ref
	Actor string
}

// Rotation replaces a secret.
type Rotation struct {
	Webhook Ref // without an id: the tenant's own secret, which signs the messages of single jobs' webhooks
	Secret  []byte
	Overlap time.Duration // how long the previous secret signs too
	Actor   string
}

// MaxDeliveryScan is how many deliveries one list reads at the most.
const MaxDeliveryScan = 5_000

// DeliveryPage selects deliveries.
type DeliveryPage struct {
	Webhook penstock.ID             // "" for those of single jobs' webhooks
	Job     penstock.ID             // those of this job instead, to every receiver; "" for none
	Status  penstock.DeliveryStatus // "" for all
	After   penstock.ID             // the last of the previous page
	Limit   int
}

// DeliveryWant is what a claim of deliveries asks for.
type DeliveryWant struct {
	Limit       int
	PerReceiver int // at the most, with those that this process has in flight
	PerTenant   int // likewise
	Busy        DeliveryLoad
	Hold        time.Duration
	After       string // the receiver behind which the claim begins to look, "" for the first
}

// DeliveryLoad is the number of deliveries that a process has in flight.
type DeliveryLoad struct {
	Receivers map[string]int
	Tenants   map[penstock.TenantID]int
}

// DeliveryClaims is the result of a claim.
type DeliveryClaims struct {
	Claims []DeliveryClaim
	// Next is where the next claim begins: one claim looks at MaxReceivers at the most. It is "" when this claim
	// reached the end.
	Next string
	// DueIn is the time until something else is due, of what was looked at; 0 if nothing is known.
	DueIn time.Duration
}

// DeliveryClaim is a delivery that may be attempted, with everything that the attempt needs.
type DeliveryClaim struct {
	penstock.Delivery
	Receiver string // deliveries with the same one share a breaker
	Fence    int64
	Round    int // attempts of this schedule so far; a redelivery begins anew
	Body     []byte
	Secrets  [][]byte // the one that signs, and the previous one while it signs too
	// TraceParent is the trace of the job that the event happened to, "" for none.
	TraceParent string
	// Refused is why it cannot be sent at all, "" if it can: its endpoint is disabled or deleted.
	Refused string
	Err     error // why a secret could not be read
}

// DeliveryOutcome is the result of an attempt.
type DeliveryOutcome string

// The outcomes of an attempt at a delivery.
const (
	OutcomeDelivered DeliveryOutcome = "delivered"
	OutcomeRetry     DeliveryOutcome = "retry"   // it is due again after RetryIn
	OutcomeFailed    DeliveryOutcome = "failed"  // its schedule has ended
	OutcomeGone      DeliveryOutcome = "gone"    // the receiver wants no more messages, ever
	OutcomeVoid      DeliveryOutcome = "void"    // it has no receiver any more; no attempt was made
	OutcomeRelease   DeliveryOutcome = "release" // no attempt was made; it is due again at once
)

// DeliveryReport ends a claim.
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
	Rest         func(failures int) time.Duration // how long the receiver rests after so many failures in a row, 0 for not at all
	DisableAfter time.Duration                    // how long an endpoint may fail without a success
}

// DeliveryVerdict is what the store made of a report.
type DeliveryVerdict struct {
	Recorded bool
	Failures int  // of the receiver, in a row
	Disabled bool // this report disabled the endpoint
}

// Purge is one step of retention.
type Purge struct {
	Kept  time.Duration // how long deliveries are kept
	Limit int           // the most that one step removes
}

// Purged is the result of a step.
type Purged struct {
	Removed int
	More    bool          // there may be more to remove now
	Overdue time.Duration // how long ago the oldest should have been removed
}

// Depth is the number of pending deliveries.
type Depth struct {
	Pending int
	Oldest  time.Duration // the age of the oldest; 0 for none
}

// The audited actions.
const (
	ActionCreate  = "webhook.create"
	ActionChange  = "webhook.change"
	ActionDelete  = "webhook.delete"
	ActionRotate  = "webhook.rotate"
	ActionDisable = "webhook.disable"
)
