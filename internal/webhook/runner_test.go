package webhook_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDelivered(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.endpoint("app.example", always(204))
		job := r.job()
		r.pass(webhook.PollInterval)
		calls := r.net.to("app.example")
		if len(calls) != 1 || !calls[0].valid || calls[0].at > webhook.PollInterval {
			t.Fatalf("the receiver got %+v", calls)
		}
		var body struct {
			ID, Type string
			JobID    string `json:"job_id"`
		}
		if err := json.Unmarshal([]byte(calls[0].body), &body); err != nil || body.ID != calls[0].id || body.JobID != penstock.ViewJob.Format(job) {
			t.Errorf("the body is %s with id %s: %v", calls[0].body, calls[0].id, err)
		}
		if d := r.delivery(w); d.Status != penstock.DeliveryDelivered || d.Attempts != 1 || d.Tries[0].StatusCode != 204 {
			t.Errorf("the log says %+v", d)
		}
	})
}

// A receiver that is down for half an hour gets its message by the next attempt of the schedule.
func TestDownForHalfAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		back := r.net.began.Add(30 * time.Minute)
		w := r.endpoint("app.example", func(*http.Request) (int, http.Header) {
			if time.Now().Before(back) {
				return refuses, nil
			}
			return 200, nil
		})
		r.job()
		r.pass(time.Hour)
		calls := r.net.to("app.example")
		if len(calls) != 4 {
			t.Fatalf("%d attempts, want 4", len(calls))
		}
		for i, due := range []time.Duration{0, 5 * time.Second, 5*time.Minute + 5*time.Second, 35*time.Minute + 5*time.Second} {
			near(t, "attempt", calls[i].at, due)
			if calls[i].id != calls[0].id || calls[i].body != calls[0].body || !calls[i].valid {
				t.Errorf("attempt %d differs: %+v", i, calls[i])
			}
		}
		if d := r.delivery(w); d.Status != penstock.DeliveryDelivered || len(d.Tries) != 4 || d.Tries[0].Error == "" {
			t.Errorf("the log says %+v", d)
		}
		if w := r.webhook(w); w.Failures != 0 {
			t.Errorf("the endpoint that receives again shows %+v", w)
		}
	})
}

// The whole schedule, and then no more. Nothing else failed for long enough to disable the endpoint.
func TestScheduleEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.endpoint("app.example", always(500))
		r.job()
		r.pass(5 * 24 * time.Hour)
		calls, due := r.net.to("app.example"), time.Duration(0)
		if len(calls) != len(webhook.Schedule)+1 {
			t.Fatalf("%d attempts, want %d", len(calls), len(webhook.Schedule)+1)
		}
		for i, c := range calls {
			near(t, "attempt", c.at, due)
			if i < len(webhook.Schedule) {
				due += webhook.Schedule[i]
			}
		}
		if d := r.delivery(w); d.Status != penstock.DeliveryFailed || d.Attempts != 10 || !strings.Contains(d.Error, "gave up after 10 attempts: answered 500") {
			t.Errorf("the log says %+v", d)
		}
	})
}

// A receiver that is slow, or hangs, is cut off, and delays nobody else: neither another endpoint of the same
// tenant nor those of others.
func TestOneDeadReceiverDelaysNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		dead := r.endpoint("dead.example", always(hangs))
		r.endpoint("app.example", always(200))
		for range 100 {
			r.job()
		}
		r.pass(5 * time.Second)
		if got := len(r.net.to("app.example")); got != 100 {
			t.Errorf("the other endpoint got %d of 100", got)
		}
		if got := len(r.net.to("dead.example")); got != webhook.PerReceiver {
			t.Errorf("%d attempts hang at one receiver, want %d", got, webhook.PerReceiver)
		}
		r.pass(time.Minute)
		before := len(r.net.to("dead.example"))
		if before > 2*webhook.PerReceiver {
			t.Errorf("%d attempts at a receiver that hangs; the breaker should have opened", before)
		}
		w := r.webhook(dead)
		if w.Failures < webhook.BreakerFailures || w.FailingSince.IsZero() {
			t.Errorf("the endpoint shows %+v", w)
		}
		r.pass(time.Hour)
		if probes := len(r.net.to("dead.example")) - before; probes > 60/4 {
			t.Errorf("%d probes in an hour", probes)
		}
	})
}

// With its breaker open a receiver that comes back gets everything soon after.
func TestBreakerCloses(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var up atomic.Bool
		r.endpoint("app.example", func(*http.Request) (int, http.Header) {
			if up.Load() {
				return 200, nil
			}
			return 503, nil
		})
		for range 50 {
			r.job()
		}
		r.pass(30 * time.Minute)
		up.Store(true)
		r.pass(webhook.MaxRest + webhook.MaxRest/5)
		depth, err := r.outbox.Depth(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if depth.Pending > 15 { // those that were tried before may still wait for their own schedule
			t.Errorf("%d of 50 still pending %v after the receiver came back", depth.Pending, webhook.MaxRest)
		}
		r.pass(2 * time.Hour)
		if depth, err = r.outbox.Depth(t.Context()); err != nil || depth.Pending != 0 {
			t.Errorf("%d still pending: %v", depth.Pending, err)
		}
	})
}

func TestFlapping(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var n atomic.Int64
		w := r.endpoint("app.example", func(*http.Request) (int, http.Header) {
			if n.Add(1)%2 == 1 {
				return 502, nil
			}
			return 200, nil
		})
		for range 20 {
			r.job()
		}
		r.pass(48 * time.Hour)
		ids := map[string]int{}
		for _, c := range r.net.to("app.example") {
			ids[c.id]++
		}
		depth, err := r.outbox.Depth(t.Context())
		if err != nil || depth.Pending != 0 || len(ids) != 20 {
			t.Errorf("%d pending, %d messages: %v", depth.Pending, len(ids), err)
		}
		if got := r.webhook(w); !got.DisabledAt.IsZero() {
			t.Errorf("a flapping endpoint was disabled: %+v", got)
		}
	})
}

func TestGoneDisables(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.endpoint("app.example", always(410))
		r.job()
		r.pass(webhook.PollInterval)
		if got := r.webhook(w); got.DisabledAt.IsZero() || !strings.Contains(got.DisabledReason, "410") {
			t.Errorf("the endpoint is %+v", got)
		}
		if d := r.delivery(w); d.Status != penstock.DeliveryFailed || d.Attempts != 1 {
			t.Errorf("the log says %+v", d)
		}
		r.job()
		r.pass(24 * time.Hour)
		if n := len(r.net.to("app.example")); n != 1 {
			t.Errorf("%d attempts after 410", n)
		}
	})
}

func TestFailingForDaysDisables(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.endpoint("app.example", always(500))
		for range 7 {
			r.job()
			r.pass(24 * time.Hour)
		}
		got := r.webhook(w)
		if got.DisabledAt.IsZero() || got.DisabledAt.Sub(r.net.began) < webhook.DisableAfter {
			t.Errorf("the endpoint is %+v", got)
		}
		entries, err := r.store.AuditEntries(t.Context(), r.caller.Tenant.ID, store.AuditPage{Limit: 1})
		if err != nil || len(entries) != 1 || entries[0].Action != webhook.ActionDisable {
			t.Errorf("the audit says %+v, %v", entries, err)
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.endpoint("app.example", func(*http.Request) (int, http.Header) {
			return 307, http.Header{"Location": {"https://inside.example/"}}
		})
		r.job()
		r.pass(time.Second)
		if d := r.delivery(w); d.Status != penstock.DeliveryPending || !strings.Contains(d.Tries[0].Error, "redirects are not followed") {
			t.Errorf("the log says %+v", d)
		}
		if len(r.net.to("inside.example")) != 0 {
			t.Error("the redirect was followed")
		}
	})
}

func TestRetryAfterIsHeeded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.endpoint("app.example", func(*http.Request) (int, http.Header) {
			return 429, http.Header{"Retry-After": {"600"}}
		})
		r.job()
		r.pass(11 * time.Minute)
		calls := r.net.to("app.example")
		if len(calls) != 2 || calls[1].at < 10*time.Minute {
			t.Errorf("attempts at %+v", calls)
		}
	})
}

func TestRotationSignsTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.endpoint("app.example", always(200))
		old := r.net.secrets["app.example"]
		rotated, err := r.Rotate(t.Context(), r.caller, webhook.Ref{ID: w.ID})
		if err != nil || time.Until(rotated.OldUntil) != webhook.Overlap || rotated.Secret == old {
			t.Fatalf("rotated to %+v: %v", rotated, err)
		}
		send := func() call {
			if _, err := r.Test(t.Context(), r.caller.Tenant.ID, w.ID); err != nil {
				t.Fatal(err)
			}
			r.pass(webhook.PollInterval)
			calls := r.net.to("app.example")
			return calls[len(calls)-1]
		}
		if c := send(); !c.valid || len(strings.Fields(c.signature)) != 2 {
			t.Errorf("during the overlap the old secret does not verify %q", c.signature)
		}
		r.net.secrets["app.example"] = rotated.Secret
		if c := send(); !c.valid {
			t.Error("during the overlap the new secret does not verify")
		}
		r.pass(webhook.Overlap)
		if c := send(); !c.valid || len(strings.Fields(c.signature)) != 1 {
			t.Errorf("after the overlap the signature is %q", c.signature)
		}
	})
}

func TestRedeliveryKeepsTheID(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		w := r.endpoint("app.example", always(200))
		r.job()
		r.pass(webhook.PollInterval)
		if _, err := r.Redeliver(t.Context(), r.caller.Tenant.ID, r.delivery(w).ID); err != nil {
			t.Fatal(err)
		}
		r.pass(webhook.PollInterval)
		calls := r.net.to("app.example")
		if len(calls) != 2 || calls[0].id != calls[1].id || calls[0].body != calls[1].body {
			t.Errorf("the receiver got %+v", calls)
		}
	})
}
