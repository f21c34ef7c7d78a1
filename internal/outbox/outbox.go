// Package outbox writes events for webhooks in the transaction of the change that they announce: an event is sent if
// and only if its change was committed.
//
// It owns the envelope of a message and the choice of its receivers. It writes two tables of the webhook capability:
// deliveries, one row per event and receiver, and webhooks, for the webhooks of single jobs. Package webhooksql owns
// their schema, reads them, and manages the endpoints of tenants; package webhook sends.
//
// All functions take the caller's transaction. A caller that publishes wakes the webhook runner after the commit, or
// leaves the deliveries to its next poll.
package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store/sqldb"
)

// Event is something that happened to an object of a tenant.
type Event struct {
	ID        penstock.ID // the same for every receiver; "" for a new id
	Tenant    penstock.TenantID
	Type      penstock.EventType
	Job       penstock.ID // the job that it happened to, "" for none; the job's own webhook receives it too
	Seq       int64       // its number in the job's log, 0 for an event outside it
	CreatedAt time.Time   // zero for the time of the transaction
	// TraceParent is the trace that deliveries continue, "" for none.
	TraceParent string
	Data        any // what the message says, encoded as JSON; no payload of a caller
}

// Publish writes one delivery for each enabled endpoint of the tenant that is subscribed to the event's type. It costs
// one query when nobody is subscribed.
func Publish(ctx context.Context, tx sqldb.Tx, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	subscribers, err := findSubscribers(ctx, tx, events)
	if err != nil {
		return err
	}
	var ids penstock.IDs
	for _, e := range events {
		to := slices.DeleteFunc(slices.Clone(subscribers[e.Tenant]), func(s subscriber) bool { return !s.receives(e) })
		if len(to) == 0 {
			continue
		}
		m, err := e.message(&ids, tx.Now())
		if err != nil {
			return err
		}
		for _, s := range to {
			if _, err := s.deliver(ctx, tx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Send writes a delivery to one endpoint, whether it is subscribed or not.
func Send(ctx context.Context, tx sqldb.Tx, to penstock.Webhook, e Event) (penstock.Delivery, error) {
	m, err := e.message(new(penstock.IDs), tx.Now())
	if err != nil {
		return penstock.Delivery{}, err
	}
	return subscriber{Webhook: to}.deliver(ctx, tx, m)
}

// message is an event with its body, ready to be delivered to several receivers.
type message struct {
	Event
	body []byte
	ids  *penstock.IDs // of the deliveries
}

// envelope is the body of a webhook.
type envelope struct {
	ID        string             `json:"id"`
	Seq       *int64             `json:"seq"`
	Type      penstock.EventType `json:"type"`
	CreatedAt time.Time          `json:"created_at"`
	JobID     *string            `json:"job_id"`
	ItemID    *string            `json:"item_id"`
	Data      any                `json:"data"`
}

// message completes an event with the fields that the caller left out, and encodes it.
func (e Event) message(ids *penstock.IDs, now time.Time) (message, error) {
	if e.ID == "" {
		e.ID = ids.New(now)
	}
	if e.CreatedAt.IsZero() {
		e.CreatedAt = now
	}
	m := envelope{
		ID: penstock.ViewEvent.Format(e.ID), Type: e.Type, CreatedAt: e.CreatedAt.UTC().Truncate(time.Microsecond), Data: e.Data,
	}
	if e.Job != "" {
		job := penstock.ViewJob.Format(e.Job)
		m.JobID = &job
	}
	if e.Seq > 0 {
		m.Seq = &e.Seq
	}
	body, err := json.Marshal(m)
	if err != nil {
		return message{}, fmt.Errorf("encoding a webhook's body: %w", err)
	}
	return message{e, body, ids}, nil
}
