package penstock

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// WebhookEvents lists every event that an endpoint can receive. Items have none: a job of a million items
// would make a million messages.
var WebhookEvents = []EventType{
	EventJobStarted, EventJobFinished, EventBudgetExceeded, EventPromptVersionCreated, EventPromptLabelMoved, EventPromptLabelRequested,
}

// The events that are in no job's log.
const (
	EventBudgetExceeded EventType = "budget.soft_exceeded" // more was spent than a soft budget has; sent once in each of its periods
	EventWebhookTest    EventType = "webhook.test"         // a test of an endpoint

	EventPromptVersionCreated EventType = "prompt.version.created" // a version of a prompt was saved. Its data names prompt, version, hash and author
	EventPromptLabelMoved     EventType = "prompt.label.moved"     // a label of a prompt names another version. Its data has both versions; 0 means that the label named no version
	EventPromptLabelRequested EventType = "prompt.label.requested" // somebody asked for the move of a protected label. Its data names the request
)

// Webhook is an endpoint of a tenant: a URL that receives events of jobs.
type Webhook struct {
	ID          ID
	Tenant      TenantID
	URL         string
	Description string
	Events      []EventType

	DisabledAt     time.Time // zero while it is enabled
	DisabledReason string

	FailingSince time.Time // the first failure since the last success, zero if the last delivery succeeded
	Failures     int       // in that row
	RestUntil    time.Time // no message is sent before, because too many failed; zero if there is no such pause

	OldSecretUntil time.Time // until when the previous secret also signs; zero without a previous secret
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Version identifies the settings of an endpoint, for conditional changes. Failed deliveries do not change it, unless
// they disable the endpoint.
func (w Webhook) Version() int64 {
	return VersionOf(w.ID, w.URL, w.Description, w.Events, w.DisabledAt.UnixMicro(), w.DisabledReason, w.UpdatedAt.UnixMicro())
}

// VersionOf is a number above zero that identifies a value by its content, for objects without a version counter.
func VersionOf(fields ...any) int64 {
	h := fnv.New64a()
	for _, f := range fields {
		fmt.Fprintf(h, "%v\x00", f)
	}
	return int64(h.Sum64()>>1) | 1
}

// Wants reports whether the endpoint receives an event.
func (w Webhook) Wants(e EventType) bool { return slices.Contains(w.Events, e) }

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses of a delivery.
const (
	DeliveryPending   DeliveryStatus = "pending"   // it will be tried, or tried again
	DeliveryDelivered DeliveryStatus = "delivered" // the receiver took it
	DeliveryFailed    DeliveryStatus = "failed"    // it will not be retried, unless a redelivery is requested
)

// DeliveryStatuses lists every status of a delivery.
var DeliveryStatuses = []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryFailed}

// Delivery is one webhook message for one endpoint.
type Delivery struct {
	ID      ID
	Tenant  TenantID
	Webhook ID // the endpoint, "" for one that a job brought along
	Job     ID // "" for a test
	Event   ID // the same for every attempt and every endpoint: receivers recognise the message by it
	Type    EventType
	URL     string // its URL; for an endpoint, the current URL of the endpoint

	Status      DeliveryStatus
	Error       string // why it failed for good
	Tries       []DeliveryTry
	Attempts    int       // so far; Tries may hold only the last of them
	NextAt      time.Time // when it is tried next, zero once it is not pending
	CreatedAt   time.Time
	DeliveredAt time.Time // zero unless it was
}

// DeliveryTry is one attempt at a delivery.
type DeliveryTry struct {
	At         time.Time     `json:"at"`
	Took       time.Duration `json:"took"`
	StatusCode int           `json:"status_code,omitempty"` // 0 when there was no answer
	Error      string        `json:"error,omitempty"`       // "" when it was taken
}
