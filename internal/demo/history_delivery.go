package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"penstock"
	"penstock/internal/webhook"
)

// receivers are the receivers of webhooks, as they were.
type receivers struct{ *history }

// deliverNow delivers the webhooks of a job that has just ended, and makes the first retries.
func (h receivers) deliverNow(ctx context.Context) error {
	if err := h.attempt(ctx); err != nil {
		return err
	}
	h.Clock.Walk(webhook.Schedule[0] + time.Second)
	return h.deliver(ctx)
}

// deliver makes the retries that are due.
func (h receivers) deliver(ctx context.Context) error {
	if h.pending == 0 {
		return nil
	}
	return h.attempt(ctx)
}

// attempt attempts the deliveries that are due, as the runner does, with receivers that answer as the story wants.
func (h receivers) attempt(ctx context.Context) error {
	for {
		got, err := h.Outbox.ClaimDeliveries(ctx, webhook.DeliveryWant{
			Limit: webhook.Slots, PerReceiver: webhook.PerReceiver, PerTenant: webhook.PerTenant, Hold: time.Minute,
		})
		if err != nil || len(got.Claims) == 0 {
			return err
		}
		for i := range got.Claims {
			if _, err := h.Outbox.FinishDelivery(ctx, h.report(&got.Claims[i])); err != nil {
				return err
			}
		}
	}
}

// report is how an attempt at a delivery ended.
func (h receivers) report(c *webhook.DeliveryClaim) webhook.DeliveryReport {
	try := penstock.DeliveryTry{At: h.Clock.Now(), Took: time.Duration(30+h.draw.IntN(250)) * time.Millisecond, StatusCode: h.receives(c.Webhook)}
	r := webhook.DeliveryReport{
		Delivery: c.ID, Fence: c.Fence, Try: try, Outcome: webhook.OutcomeDelivered,
		Breaker: webhook.Breaker{Rest: func(int) time.Duration { return 0 }, DisableAfter: webhook.DisableAfter},
	}
	if c.Round == 0 {
		h.made.Deliveries++
	} else {
		h.pending--
	}
	if try.StatusCode < http.StatusMultipleChoices {
		return r
	}
	r.Try.Error = fmt.Sprintf("answered %d", try.StatusCode)
	if c.Round >= len(webhook.Schedule) {
		r.Outcome, r.Reason = webhook.OutcomeFailed, fmt.Sprintf("gave up after %d attempts: %s", c.Round+1, r.Try.Error)
		return r
	}
	h.pending++
	r.Outcome, r.RetryIn = webhook.OutcomeRetry, webhook.Schedule[c.Round]
	return r
}

// receives is the status that an endpoint answers with: the flaky one refuses now and then, the broken one was down for four days and is down
// again since yesterday.
func (h receivers) receives(endpoint penstock.ID) int {
	ago := h.Until.Sub(h.Clock.Now())
	switch path := h.hooks[endpoint]; {
	case strings.HasPrefix(path, hookFlaky) && h.draw.IntN(flakyEvery) == 0:
		return http.StatusServiceUnavailable
	case path == hookBroken && (ago < 20*time.Hour || ago > 9*day+8*time.Hour && ago < 13*day+18*time.Hour):
		return http.StatusInternalServerError
	}
	return http.StatusNoContent
}
