package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"penstock"
	"penstock/internal/store"
)

func webhookCases() []testCase {
	return []testCase{
		{"an endpoint is told of the events that it wants", webhookTold},
		{"nobody is told of what nobody listens to", webhookSilence},
		{"every way to end a job is told", webhookEveryEnd},
		{"a job's own webhook is told and then forgotten", webhookOfJob},
		{"a job's own webhook needs the tenant's secret", webhookOfJobUnsigned},
		{"an endpoint changes, is disabled and deleted", webhookChanges},
		{"an endpoint is changed as it is known, or not at all", webhookVersions},
		{"a tenant has few endpoints", webhookBound},
		{"both secrets sign while they overlap", webhookRotation},
		{"a claim is held, lost and fenced", deliveryClaims},
		{"receivers have their turn", deliveryTurns},
		{"a receiver that fails rests and is probed once", deliveryBreaker},
		{"an endpoint that is gone, or fails for long, is disabled", deliveryDisables},
		{"what is for nobody fails", deliveryVoid},
		{"a delivery is logged and can be sent again", deliveryLog},
		{"old deliveries go, pending ones stay", deliveryPurge},
	}
}

// hook adds an endpoint of acme's.
func (r *rig) hook(events ...penstock.EventType) penstock.Webhook {
	r.t.Helper()
	w, err := r.s.CreateWebhook(r.t.Context(), acme, store.NewWebhook{
		ID: r.newID(), URL: "https://app.example/hook", Events: events, Secret: []byte("first secret"), Actor: "app",
	})
	r.must("create webhook", err)
	return w
}

func want(limit int) store.DeliveryWant {
	return store.DeliveryWant{Limit: limit, PerReceiver: limit, PerTenant: limit, Hold: time.Minute}
}

func (r *rig) deliveries(w store.DeliveryWant) []store.DeliveryClaim {
	r.t.Helper()
	got, err := r.s.ClaimDeliveries(r.t.Context(), w)
	r.must("claim deliveries", err)
	return got.Claims
}

// delivering claims everything that is due and demands that it be n deliveries.
func (r *rig) delivering(n int) []store.DeliveryClaim {
	r.t.Helper()
	claims := r.deliveries(want(everything))
	if len(claims) != n {
		r.t.Fatalf("%d deliveries are due, want %d", len(claims), n)
	}
	return claims
}

// settled ends a claim, which must still hold.
func (r *rig) settled(c store.DeliveryClaim, o store.DeliveryOutcome) store.DeliveryVerdict {
	r.t.Helper()
	v, err := r.s.FinishDelivery(r.t.Context(), r.reportOn(c, o))
	r.must("finish delivery", err)
	if !v.Recorded {
		r.t.Fatalf("%s of delivery %s was not recorded", o, c.ID)
	}
	return v
}

func (r *rig) reportOn(c store.DeliveryClaim, o store.DeliveryOutcome) store.DeliveryReport {
	report := store.DeliveryReport{
		Delivery: c.ID, Fence: c.Fence, Outcome: o, Try: penstock.DeliveryTry{At: r.clock.Now(), Took: time.Second, StatusCode: 200},
		Breaker: store.Breaker{DisableAfter: 5 * time.Hour, Rest: func(failures int) time.Duration {
			if failures < 3 {
				return 0
			}
			return 10 * time.Minute
		}},
	}
	if o != store.OutcomeDelivered {
		report.Try.StatusCode, report.Try.Error, report.RetryIn, report.Reason = 500, "answered 500", time.Minute, "gave up"
	}
	return report
}

func (r *rig) deliveriesOf(w penstock.ID) []penstock.Delivery {
	r.t.Helper()
	all, err := r.s.Deliveries(r.t.Context(), acme, store.DeliveryPage{Webhook: w, Limit: everything})
	r.must("list deliveries", err)
	return all
}

func (r *rig) webhook(id penstock.ID) penstock.Webhook {
	r.t.Helper()
	w, err := r.s.Webhook(r.t.Context(), acme, id)
	r.must("read webhook", err)
	return w
}

func webhookTold(r *rig) {
	both, end := r.hook(penstock.WebhookEvents...), r.hook(penstock.EventJobFinished)
	sub := r.submitN(2)
	claims := r.claimN(r.lease("worker"), 2)
	started := r.delivering(1)[0]
	if started.Type != penstock.EventJobStarted || started.Webhook != both.ID {
		r.t.Errorf("at the start %s was told of %s", started.Webhook, started.Type)
	}
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.delivering(0)
	r.win(r.ending(claims[1], penstock.TransitionFail))
	finished := r.delivering(2)
	if got := []penstock.ID{finished[0].Webhook, finished[1].Webhook}; !slices.Contains(got, both.ID) || !slices.Contains(got, end.ID) {
		r.t.Errorf("at the end %v were told", got)
	}
	job := r.job(sub.Job.ID)
	for _, d := range append(finished, started) {
		var body struct {
			ID, Type string
			Seq      int64
			JobID    string `json:"job_id"`
			Data     struct {
				Status  penstock.Status
				Outcome penstock.Outcome
				Counts  penstock.Counts
			}
		}
		r.must("read body", json.Unmarshal(d.Body, &body))
		event := job.Events()[2]
		if d.Type == penstock.EventJobStarted {
			event = job.Events()[1]
		}
		if body.ID != penstock.ViewEvent.Format(d.Event) || d.Event != penstock.ItemID(job.ID, int(event.Seq)) || body.Seq != event.Seq ||
			body.Type != string(event.Type) || body.JobID != penstock.ViewJob.Format(job.ID) {
			r.t.Errorf("the body %s does not tell event %d of the job's log", d.Body, event.Seq)
		}
		if d.Type == penstock.EventJobFinished && (body.Data.Status != job.Status() || body.Data.Counts != job.Counts || body.Data.Outcome != job.Counts.Outcome()) {
			r.t.Errorf("the body %s does not tell how the job ended", d.Body)
		}
		if d.URL != both.URL || len(d.Secrets) != 1 || string(d.Secrets[0]) != "first secret" || d.Err != nil || d.Refused != "" {
			r.t.Errorf("the claim %+v does not say where to and how", d)
		}
	}
	r.audit(sub)
}

func webhookSilence(r *rig) {
	sub := r.submission(1)
	sub.Job.Tenant = umbra
	r.hook(penstock.WebhookEvents...)
	r.submit(sub)
	r.win(r.ending(r.claimOne(r.lease("worker")), penstock.TransitionSucceed))
	r.delivering(0)
	depth, err := r.s.OutboxDepth(r.t.Context())
	r.must("depth", err)
	r.wantSame("depth", depth, store.OutboxDepth{})
}

func webhookEveryEnd(r *rig) {
	r.hook(penstock.EventJobFinished)
	cancelled := r.submitN(1)
	r.stop(cancelled.Job.ID)
	failed := r.fail(r.submission(1))
	expired := r.submitN(1)
	r.clock.Advance(deadlineIn + time.Second)
	r.drain(10, r.expire)
	poisoned := r.submitN(1)
	r.makeSuspects(1)
	for range store.MaxChildDeaths {
		r.win(r.childDeath(r.claimSuspects(r.lease("worker"), 1)[0]))
	}
	told := map[penstock.ID]int{}
	for _, d := range r.delivering(4) {
		told[d.Job]++
	}
	for _, sub := range []store.Submission{cancelled, failed, expired, poisoned} {
		if told[sub.Job.ID] != 1 {
			r.t.Errorf("the end of job %s was told %d times", sub.Job.ID, told[sub.Job.ID])
		}
	}
	depth, err := r.s.OutboxDepth(r.t.Context())
	r.must("depth", err)
	if depth.Pending != 4 || depth.Oldest <= 0 {
		r.t.Errorf("the outbox holds %+v", depth)
	}
}

func webhookOfJob(r *rig) {
	_, err := r.s.RotateSecret(r.t.Context(), acme, store.SecretRotation{Secret: []byte("tenant's"), Actor: "app"})
	r.must("make the tenant's secret", err)
	sub := r.submission(1)
	sub.Webhook = &store.JobWebhook{URL: "https://app.example/jobs?for=1", Events: []penstock.EventType{penstock.EventJobFinished}}
	r.submit(sub)
	r.submitN(1) // its neighbour has none
	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	d := r.delivering(1)[0]
	if d.Job != sub.Job.ID || d.URL != sub.Webhook.URL || d.Webhook != "" || string(d.Secrets[0]) != "tenant's" {
		r.t.Errorf("claimed %+v", d)
	}
	if strings.Contains(d.Receiver, "for=1") || !strings.Contains(d.Receiver, "https://app.example") {
		r.t.Errorf("the receiver is %q; all jobs' webhooks at one host should share one", d.Receiver)
	}
	r.settled(d, store.OutcomeFailed)
	all, err := r.s.ListWebhooks(r.t.Context(), acme, store.WebhookPage{Limit: everything})
	r.must("list", err)
	r.wantSame("endpoints", all, []penstock.Webhook{})
	if log := r.deliveriesOf(""); len(log) != 1 || log[0].Status != penstock.DeliveryFailed || log[0].URL != sub.Webhook.URL {
		r.t.Errorf("the log says %+v", log)
	}
	_, err = r.s.Redeliver(r.t.Context(), acme, d.ID)
	r.must("redeliver", err)
	r.settled(r.delivering(1)[0], store.OutcomeDelivered)
}

func webhookOfJobUnsigned(r *rig) {
	sub := r.submission(1)
	sub.Webhook = &store.JobWebhook{URL: "https://app.example/jobs", Events: penstock.WebhookEvents}
	_, err := r.s.SubmitJob(r.t.Context(), acme, sub)
	r.wantCode("submit without a secret", err, penstock.CodeConflict)
	_, err = r.s.Job(r.t.Context(), acme, sub.Job.ID)
	r.wantCode("the job", err, penstock.CodeNotFound)
}

func webhookChanges(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	url, about, off, on := "https://other.example/", "told late", false, true
	changed, err := r.s.ChangeWebhook(r.t.Context(), acme, store.WebhookChange{
		WebhookRef: store.WebhookRef{ID: w.ID}, URL: &url, Description: &about, Events: []penstock.EventType{penstock.EventJobStarted}, Enabled: &off, Actor: "app",
	})
	r.must("change", err)
	if changed.URL != url || changed.Description != about || changed.Wants(penstock.EventJobFinished) || changed.DisabledAt.IsZero() {
		r.t.Errorf("changed to %+v", changed)
	}
	r.wantSame("what is read", r.webhook(w.ID), changed)
	r.finished(1)
	r.delivering(0)
	_, err = r.s.TestWebhook(r.t.Context(), acme, w.ID)
	r.wantCode("test a disabled endpoint", err, penstock.CodeConflict)
	again, err := r.s.ChangeWebhook(r.t.Context(), acme, store.WebhookChange{WebhookRef: store.WebhookRef{ID: w.ID}, Enabled: &on, Actor: "app"})
	r.must("enable", err)
	if !again.DisabledAt.IsZero() || again.DisabledReason != "" || again.URL != url {
		r.t.Errorf("enabled as %+v", again)
	}
	r.must("delete", r.s.DeleteWebhook(r.t.Context(), acme, store.WebhookRemoval{WebhookRef: store.WebhookRef{ID: w.ID}, Actor: "app"}))
	_, err = r.s.Webhook(r.t.Context(), acme, w.ID)
	r.wantCode("read a deleted endpoint", err, penstock.CodeNotFound)
	entries, err := r.s.AuditEntries(r.t.Context(), acme, store.AuditPage{Limit: everything})
	r.must("audit", err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
		if strings.Contains(string(e.Before)+string(e.After), "secret") {
			r.t.Errorf("the audit shows a secret: %s %s", e.Before, e.After)
		}
	}
	r.wantSame("actions", actions, []string{store.ActionDeleteWebhook, store.ActionChangeWebhook, store.ActionChangeWebhook, store.ActionCreateWebhook})
}

func webhookBound(r *rig) {
	for range store.MaxWebhooks {
		r.hook(penstock.EventJobFinished)
	}
	_, err := r.s.CreateWebhook(r.t.Context(), acme, store.NewWebhook{ID: r.newID(), URL: "https://app.example", Secret: []byte("s")})
	r.wantCode("one more", err, penstock.CodeConflict)
	var seen []penstock.ID
	for after := penstock.ID(""); ; after = seen[len(seen)-1] {
		page, err := r.s.ListWebhooks(r.t.Context(), acme, store.WebhookPage{After: after, Limit: 7})
		r.must("list", err)
		for _, w := range page {
			seen = append(seen, w.ID)
		}
		if len(page) < 7 {
			break
		}
	}
	if len(seen) != store.MaxWebhooks || !slices.IsSorted(seen) || len(slices.Compact(seen)) != store.MaxWebhooks {
		r.t.Errorf("paged through %v", seen)
	}
}

func webhookVersions(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	about := "told early"
	changeIf := func(version int64) error {
		_, err := r.s.ChangeWebhook(r.t.Context(), acme, store.WebhookChange{WebhookRef: store.WebhookRef{ID: w.ID, IfVersion: version}, Description: &about})
		return err
	}
	rotateIf := func(version int64) error {
		_, err := r.s.RotateSecret(r.t.Context(), acme, store.SecretRotation{Webhook: store.WebhookRef{ID: w.ID, IfVersion: version}, Secret: []byte("s")})
		return err
	}
	deleteIf := func(version int64) error {
		return r.s.DeleteWebhook(r.t.Context(), acme, store.WebhookRemoval{WebhookRef: store.WebhookRef{ID: w.ID, IfVersion: version}})
	}
	old := w.Version()
	for i, change := range []func(int64) error{changeIf, rotateIf} {
		r.clock.Advance(time.Second)
		r.must("change it as it is", change(r.webhook(w.ID).Version()))
		now := r.webhook(w.ID)
		if now.Version() == old {
			r.t.Errorf("change %d left the version as it was", i)
		}
		for _, late := range []func(int64) error{changeIf, rotateIf, deleteIf} {
			if err := late(old); !errors.Is(err, store.ErrStale) || penstock.ErrorCode(err) != penstock.CodeConflict {
				r.t.Errorf("after change %d, a change of what it was: %v", i, err)
			}
		}
		r.wantSame("after those", r.webhook(w.ID), now)
		old = now.Version()
	}

	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			url := fmt.Sprintf("https://app.example/%d", i)
			_, err := r.s.ChangeWebhook(r.t.Context(), acme, store.WebhookChange{WebhookRef: store.WebhookRef{ID: w.ID, IfVersion: old}, URL: &url})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, store.ErrStale):
				r.t.Errorf("change at once: %v", err)
			}
		})
	}
	all.Wait()
	r.wantSame("of those who change the same version at once, so many do", won.Load(), int64(1))
	r.must("delete it as it is", deleteIf(r.webhook(w.ID).Version()))
}

func webhookRotation(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	until, err := r.s.RotateSecret(r.t.Context(), acme, store.SecretRotation{Webhook: store.WebhookRef{ID: w.ID}, Secret: []byte("second"), Overlap: time.Hour, Actor: "app"})
	r.must("rotate", err)
	if !until.Equal(r.clock.Now().Add(time.Hour)) || !r.webhook(w.ID).OldSecretUntil.Equal(until) {
		r.t.Errorf("the old secret signs until %v", until)
	}
	secrets := func() (all []string) {
		_, err := r.s.TestWebhook(r.t.Context(), acme, w.ID)
		r.must("test", err)
		d := r.delivering(1)[0]
		for _, s := range d.Secrets {
			all = append(all, string(s))
		}
		r.settled(d, store.OutcomeDelivered)
		return all
	}
	r.wantSame("during the overlap", secrets(), []string{"second", "first secret"})
	r.clock.Advance(time.Hour)
	r.wantSame("after it", secrets(), []string{"second"})
	_, err = r.s.RotateSecret(r.t.Context(), acme, store.SecretRotation{Webhook: store.WebhookRef{ID: r.newID()}, Secret: []byte("x")})
	r.wantCode("rotate what is not there", err, penstock.CodeNotFound)
}

func deliveryClaims(r *rig) {
	r.hook(penstock.EventJobFinished)
	r.finished(1)
	first := r.delivering(1)[0]
	r.delivering(0) // it is held
	r.clock.Advance(time.Minute)
	second := r.delivering(1)[0]
	if second.Fence <= first.Fence || second.ID != first.ID || second.Event != first.Event {
		r.t.Errorf("claimed %+v and then %+v", first, second)
	}
	v, err := r.s.FinishDelivery(r.t.Context(), r.reportOn(first, store.OutcomeDelivered))
	r.must("finish the lost claim", err)
	if v.Recorded {
		r.t.Error("a claim that was lost was recorded")
	}
	r.settled(second, store.OutcomeRetry)
	r.delivering(0)
	r.clock.Advance(time.Minute)
	third := r.delivering(1)[0]
	if third.Round != 1 || third.Attempts != 1 {
		r.t.Errorf("after one attempt: %+v", third)
	}
	r.settled(third, store.OutcomeRelease)
	again := r.delivering(1)[0]
	if again.Round != 1 {
		r.t.Errorf("a release counts as an attempt: %+v", again)
	}
	r.settled(again, store.OutcomeDelivered)
	r.clock.Advance(time.Hour)
	r.delivering(0)
}

func deliveryTurns(r *rig) {
	hooks := []penstock.Webhook{r.hook(penstock.EventJobFinished), r.hook(penstock.EventJobFinished)}
	for range 10 {
		r.finished(1)
	}
	w := want(6)
	w.PerReceiver = 3
	count := map[string]int{}
	for _, d := range r.deliveries(w) {
		count[d.Receiver]++
	}
	r.wantSame("of each receiver", count, map[string]int{string(hooks[0].ID): 3, string(hooks[1].ID): 3})
	w.Busy = store.DeliveryLoad{Receivers: map[string]int{string(hooks[0].ID): 3, string(hooks[1].ID): 1}}
	count = map[string]int{}
	for _, d := range r.deliveries(w) {
		count[d.Receiver]++
	}
	r.wantSame("beside those under way", count, map[string]int{string(hooks[1].ID): 2})
	w.Busy, w.PerTenant = store.DeliveryLoad{Tenants: map[penstock.TenantID]int{acme: 5}}, 6
	if n := len(r.deliveries(w)); n != 1 {
		r.t.Errorf("%d deliveries of a tenant that has room for one", n)
	}
}

func deliveryBreaker(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	for range 5 {
		r.finished(1)
	}
	for i, d := range r.delivering(5) {
		if v := r.settled(d, store.OutcomeRetry); v.Failures != i+1 {
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
	r.delivering(0) // one is enough, whoever asks
	r.settled(probe, store.OutcomeDelivered)
	for _, d := range r.delivering(4) {
		r.settled(d, store.OutcomeDelivered)
	}
	if got := r.webhook(w.ID); got.Failures != 0 || !got.FailingSince.IsZero() {
		r.t.Errorf("the endpoint that receives again shows %+v", got)
	}
}

func deliveryDisables(r *rig) {
	gone, dead := r.hook(penstock.EventJobFinished), r.hook(penstock.EventJobFinished)
	r.finished(1)
	for _, d := range r.delivering(2) {
		outcome := store.OutcomeRetry
		if d.Webhook == gone.ID {
			outcome = store.OutcomeGone
		}
		if v := r.settled(d, outcome); v.Disabled != (d.Webhook == gone.ID) {
			r.t.Errorf("%s disabled it: %v", outcome, v.Disabled)
		}
	}
	r.clock.Advance(5 * time.Hour)
	if v := r.settled(r.delivering(1)[0], store.OutcomeRetry); !v.Disabled {
		r.t.Error("an endpoint that fails for long is not disabled")
	}
	for id, reason := range map[penstock.ID]string{gone.ID: "410", dead.ID: "5h"} {
		if w := r.webhook(id); w.DisabledAt.IsZero() || !strings.Contains(w.DisabledReason, reason) {
			r.t.Errorf("the endpoint is %+v, want it disabled for %s", w, reason)
		}
	}
	entries, err := r.s.AuditEntries(r.t.Context(), acme, store.AuditPage{Limit: 2})
	r.must("audit", err)
	for _, e := range entries {
		if e.Action != store.ActionDisableWebhook || e.Actor != store.ActorPenstock {
			r.t.Errorf("the audit says %+v", e)
		}
	}
	on := true
	_, err = r.s.ChangeWebhook(r.t.Context(), acme, store.WebhookChange{WebhookRef: store.WebhookRef{ID: dead.ID}, Enabled: &on})
	r.must("enable", err)
	r.clock.Advance(time.Minute)
	if d := r.delivering(1)[0]; d.Refused != "" || r.webhook(dead.ID).Failures != 0 {
		r.t.Errorf("after it was enabled again: %+v", d)
	}
}

func deliveryVoid(r *rig) {
	off, deleted := r.hook(penstock.EventJobFinished), r.hook(penstock.EventJobFinished)
	r.finished(1)
	no := false
	_, err := r.s.ChangeWebhook(r.t.Context(), acme, store.WebhookChange{WebhookRef: store.WebhookRef{ID: off.ID}, Enabled: &no})
	r.must("disable", err)
	r.must("delete", r.s.DeleteWebhook(r.t.Context(), acme, store.WebhookRemoval{WebhookRef: store.WebhookRef{ID: deleted.ID}}))
	for _, d := range r.delivering(2) {
		if d.Refused == "" {
			r.t.Errorf("delivery to %s may be sent", d.Webhook)
		}
		report := r.reportOn(d, store.OutcomeVoid)
		report.Reason = d.Refused
		_, err := r.s.FinishDelivery(r.t.Context(), report)
		r.must("finish", err)
		_, err = r.s.Redeliver(r.t.Context(), acme, d.ID)
		r.wantCode("redeliver to nobody", err, penstock.CodeConflict)
	}
	if log := r.deliveriesOf(off.ID); len(log) != 1 || log[0].Status != penstock.DeliveryFailed || log[0].Attempts != 0 || !strings.Contains(log[0].Error, "disabled") {
		r.t.Errorf("the log says %+v", log)
	}
}

func deliveryLog(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	var jobs []penstock.ID
	for range 3 {
		jobs = append(jobs, r.finished(1).Job.ID)
		r.clock.Advance(time.Second)
	}
	for _, d := range r.delivering(3) {
		r.settled(d, store.OutcomeDelivered)
	}
	log := r.deliveriesOf(w.ID)
	slices.Reverse(jobs)
	r.wantSame("newest first", []penstock.ID{log[0].Job, log[1].Job, log[2].Job}, jobs)
	page, err := r.s.Deliveries(r.t.Context(), acme, store.DeliveryPage{Webhook: w.ID, After: log[0].ID, Limit: 1})
	r.must("next page", err)
	r.wantSame("next page", page, log[1:2])
	if d := log[0]; d.Status != penstock.DeliveryDelivered || d.DeliveredAt.IsZero() || !d.NextAt.IsZero() || d.Attempts != 1 ||
		len(d.Tries) != 1 || d.Tries[0].StatusCode != 200 || d.URL != w.URL {
		r.t.Errorf("the log says %+v", d)
	}
	again, err := r.s.Redeliver(r.t.Context(), acme, log[0].ID)
	r.must("redeliver", err)
	if again.Status != penstock.DeliveryPending || again.Event != log[0].Event {
		r.t.Errorf("sent again as %+v", again)
	}
	for i := range store.MaxDeliveryTries + 2 {
		d := r.delivering(1)[0]
		if d.Round != i {
			r.t.Fatalf("attempt %d of the new schedule is told as %d", i, d.Round)
		}
		r.settled(d, store.OutcomeRetry)
		r.clock.Advance(20 * time.Minute)
		if i == 5 { // it must not be disabled meanwhile
			on := true
			_, err := r.s.ChangeWebhook(r.t.Context(), acme, store.WebhookChange{WebhookRef: store.WebhookRef{ID: w.ID}, Enabled: &on})
			r.must("enable", err)
		}
	}
	if d := r.deliveriesOf(w.ID)[0]; len(d.Tries) != store.MaxDeliveryTries || d.Attempts != store.MaxDeliveryTries+3 || d.Tries[9].Error == "" {
		r.t.Errorf("the log says %+v", d)
	}
	failed, err := r.s.Deliveries(r.t.Context(), acme, store.DeliveryPage{Webhook: w.ID, Status: penstock.DeliveryDelivered, Limit: everything})
	r.must("filter", err)
	r.wantSame("filtered", failed, log[1:])
	_, err = r.s.Deliveries(r.t.Context(), acme, store.DeliveryPage{Webhook: r.newID(), Limit: 1})
	r.wantCode("log of no endpoint", err, penstock.CodeNotFound)
}

func deliveryPurge(r *rig) {
	w := r.hook(penstock.EventJobFinished)
	for range 4 {
		r.finished(1)
	}
	claims := r.delivering(4)
	for i, d := range claims[:3] {
		r.settled(d, []store.DeliveryOutcome{store.OutcomeDelivered, store.OutcomeFailed, store.OutcomeDelivered}[i])
	}
	purge := store.Purge{Kept: time.Hour, Limit: 2}
	done, err := r.s.PurgeDeliveries(r.t.Context(), acme, purge)
	r.must("purge", err)
	r.wantSame("too early", done, store.Purged{})
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
