package webhooktest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/webhook"
)

func deliveryClaims(r *rig) {
	r.hook(penstock.EventJobFinished)
	r.finish()
	first := r.delivering(1)[0]
	r.delivering(0) // it is held
	r.clock.Advance(time.Minute)
	second := r.delivering(1)[0]
	if second.Fence <= first.Fence || second.ID != first.ID || second.Event != first.Event {
		r.t.Errorf("claimed %+v and then %+v", first, second)
	}
	v, err := r.s.FinishDelivery(r.t.Context(), r.reportOn(first, webhook.OutcomeDelivered))
	r.must("finish the lost claim", err)
	if v.Recorded {
		r.t.Error("a claim that was lost was recorded")
	}
	r.settled(second, webhook.OutcomeRetry)
	r.delivering(0)
	r.clock.Advance(time.Minute)
	third := r.delivering(1)[0]
	if third.Round != 1 || third.Attempts != 1 {
		r.t.Errorf("after one attempt: %+v", third)
	}
	r.settled(third, webhook.OutcomeRelease)
	again := r.delivering(1)[0]
	if again.Round != 1 {
		r.t.Errorf("a release counts as an attempt: %+v", again)
	}
	r.settled(again, webhook.OutcomeDelivered)
	r.clock.Advance(time.Hour)
	r.delivering(0)
}

func deliveryTurns(r *rig) {
	hooks := []penstock.Webhook{r.hook(penstock.EventJobFinished), r.hook(penstock.EventJobFinished)}
	for range 10 {
		r.finish()
	}
	w := want(6)
	w.PerReceiver = 3
	count := map[string]int{}
	for _, d := range r.deliveries(w) {
		count[d.Receiver]++
	}
	r.wantSame("of each receiver", count, map[string]int{string(hooks[0].ID): 3, string(hooks[1].ID): 3})
	w.Busy = webhook.DeliveryLoad{Receivers: map[string]int{string(hooks[0].ID): 3, string(hooks[1].ID): 1}}
	count = map[string]int{}
	for _, d := range r.deliveries(w) {
		count[d.Receiver]++
	}
	r.wantSame("beside those under way", count, map[string]int{string(hooks[1].ID): 2})
	w.Busy, w.PerTenant = webhook.DeliveryLoad{Tenants: map[penstock.TenantID]int{acme: 5}}, 6
	if n := len(r.deliveries(w)); n != 1 {
		r.t.Errorf("%d deliveries of a tenant that may have one", n)
	}
}

func deliveryBreaker(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	for range 5 {
		r.finish()
	}
	for i, d := range r.delivering(5) {
		if v := r.settled(d, webhook.OutcomeRetry); v.Failures != i+1 {
			r.t.Errorf("failure %d counts as %d", i+1, v.Failures)
		}
	}
	if got := r.webhook(w.ID); got.Failures != 5 || !got.FailingSince.Equal(r.clock.Now()) || !got.RestUntil.Equal(r.clock.Now().Add(10*time.Minute)) {
		r.t.Errorf("the endpoint shows %+v", got)
	}
	r.clock.Advance(9 * time.Minute)
	r.delivering(0)
	r.clock.Advance(time.Minute)
	probe := r.delivering(1)[0]
	r.delivering(0) // one is enough for all processes
	r.settled(probe, webhook.OutcomeDelivered)
	for _, d := range r.delivering(4) {
		r.settled(d, webhook.OutcomeDelivered)
	}
	if got := r.webhook(w.ID); got.Failures != 0 || !got.FailingSince.IsZero() {
		r.t.Errorf("the endpoint that receives again shows %+v", got)
	}
}

func deliveryDisables(r *rig) {
	gone, dead := r.hook(penstock.EventJobFinished), r.hook(penstock.EventJobFinished)
	r.finish()
	for _, d := range r.delivering(2) {
		outcome := webhook.OutcomeRetry
		if d.Webhook == gone.ID {
			outcome = webhook.OutcomeGone
		}
		if v := r.settled(d, outcome); v.Disabled != (d.Webhook == gone.ID) {
			r.t.Errorf("%s disabled it: %v", outcome, v.Disabled)
		}
	}
	r.clock.Advance(5 * time.Hour)
	if v := r.settled(r.delivering(1)[0], webhook.OutcomeRetry); !v.Disabled {
		r.t.Error("an endpoint that fails for long is not disabled")
	}
	for id, reason := range map[penstock.ID]string{gone.ID: "410", dead.ID: "5h"} {
		if w := r.webhook(id); w.DisabledAt.IsZero() || !strings.Contains(w.DisabledReason, reason) {
			r.t.Errorf("the endpoint is %+v, want it disabled for %s", w, reason)
		}
	}
	for _, e := range r.entries()[:2] {
		if e.Action != webhook.ActionDisable || e.Actor != audit.Penstock {
			r.t.Errorf("the audit says %+v", e)
		}
	}
	on := true
	_, err := r.s.Change(r.t.Context(), acme, webhook.Change{Ref: webhook.Ref{ID: dead.ID}, Enabled: &on})
	r.must("enable", err)
	r.clock.Advance(time.Minute)
	if d := r.delivering(1)[0]; d.Refused != "" || r.webhook(dead.ID).Failures != 0 {
		r.t.Errorf("after it was enabled again: %+v", d)
	}
}

func deliveryVoid(r *rig) {
	off, deleted := r.hook(penstock.EventJobFinished), r.hook(penstock.EventJobFinished)
	r.finish()
	no := false
	_, err := r.s.Change(r.t.Context(), acme, webhook.Change{Ref: webhook.Ref{ID: off.ID}, Enabled: &no})
	r.must("disable", err)
	r.must("delete", r.s.Delete(r.t.Context(), acme, webhook.Removal{Ref: webhook.Ref{ID: deleted.ID}}))
	for _, d := range r.delivering(2) {
		if d.Refused == "" {
			r.t.Errorf("delivery to %s may be sent", d.Webhook)
		}
		report := r.reportOn(d, webhook.OutcomeVoid)
		report.Reason = d.Refused
		_, err := r.s.FinishDelivery(r.t.Context(), report)
		r.must("finish", err)
		_, err = r.s.Redeliver(r.t.Context(), acme, d.ID)
		r.wantCode("redeliver without an endpoint", err, penstock.CodeConflict)
	}
	if log := r.deliveriesOf(off.ID); len(log) != 1 || log[0].Status != penstock.DeliveryFailed || log[0].Attempts != 0 || !strings.Contains(log[0].Error, "disabled") {
		r.t.Errorf("the log says %+v", log)
	}
}

func deliveryLog(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	var jobs []penstock.ID
	for range 3 {
		jobs = append(jobs, r.finish())
		r.clock.Advance(time.Second)
	}
	for _, d := range r.delivering(3) {
		r.settled(d, webhook.OutcomeDelivered)
	}
	log := r.deliveriesOf(w.ID)
	slices.Reverse(jobs)
	r.wantSame("newest first", []penstock.ID{log[0].Job, log[1].Job, log[2].Job}, jobs)
	page, _, err := r.s.Deliveries(r.t.Context(), acme, webhook.DeliveryPage{Webhook: w.ID, After: log[0].ID, Limit: 1})
	r.must("next page", err)
	r.wantSame("next page", page, log[1:2])
	if d := log[0]; d.Status != penstock.DeliveryDelivered || d.DeliveredAt.IsZero() || !d.NextAt.IsZero() || d.Attempts != 1 ||
		len(d.Tries) != 1 || d.Tries[0].StatusCode != 200 || d.URL != w.URL {
		r.t.Errorf("the log says %+v", d)
	}
	of, _, err := r.s.Deliveries(r.t.Context(), acme, webhook.DeliveryPage{Job: jobs[1], Limit: everything})
	r.must("of a job", err)
	r.wantSame("of a job", of, log[1:2])
	again, err := r.s.Redeliver(r.t.Context(), acme, log[0].ID)
	r.must("redeliver", err)
	if again.Status != penstock.DeliveryPending || again.Event != log[0].Event {
		r.t.Errorf("sent again as %+v", again)
	}
	for i := range webhook.MaxDeliveryTries + 2 {
		d := r.delivering(1)[0]
		if d.Round != i {
			r.t.Fatalf("attempt %d of the new schedule is numbered %d", i, d.Round)
		}
		r.settled(d, webhook.OutcomeRetry)
		r.clock.Advance(20 * time.Minute)
		if i == 5 { // it must not be disabled meanwhile
			on := true
			_, err := r.s.Change(r.t.Context(), acme, webhook.Change{Ref: webhook.Ref{ID: w.ID}, Enabled: &on})
			r.must("enable", err)
		}
	}
	if d := r.deliveriesOf(w.ID)[0]; len(d.Tries) != webhook.MaxDeliveryTries || d.Attempts != webhook.MaxDeliveryTries+3 || d.Tries[9].Error == "" {
		r.t.Errorf("the log says %+v", d)
	}
	failed, _, err := r.s.Deliveries(r.t.Context(), acme, webhook.DeliveryPage{Webhook: w.ID, Status: penstock.DeliveryDelivered, Limit: everything})
	r.must("filter", err)
	r.wantSame("filtered", failed, log[1:])
	_, _, err = r.s.Deliveries(r.t.Context(), acme, webhook.DeliveryPage{Webhook: r.newID(), Limit: 1})
	r.wantCode("log of no endpoint", err, penstock.CodeNotFound)
}

func deliveryPurge(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	for range 4 {
		r.finish()
	}
	claims := r.delivering(4)
	for i, d := range claims[:3] {
		r.settled(d, []webhook.DeliveryOutcome{webhook.OutcomeDelivered, webhook.OutcomeFailed, webhook.OutcomeDelivered}[i])
	}
	purge := webhook.Purge{Kept: time.Hour, Limit: 2}
	done, err := r.s.PurgeDeliveries(r.t.Context(), acme, purge)
	r.must("purge", err)
	r.wantSame("too early", done, webhook.Purged{})
	r.clock.Advance(time.Hour + time.Minute)
	for _, removed := range []int{2, 1, 0} {
		done, err := r.s.PurgeDeliveries(r.t.Context(), acme, purge)
		r.must("purge", err)
		if done.Removed != removed || done.More != (removed == 2) || (done.Overdue > 0) != (removed > 0) {
			r.t.Errorf("purged %+v, want %d", done, removed)
		}
	}
	if log := r.deliveriesOf(w.ID); len(log) != 1 || log[0].Status != penstock.DeliveryPending {
		r.t.Errorf("left is %s", fmt.Sprint(log))
	}
}
