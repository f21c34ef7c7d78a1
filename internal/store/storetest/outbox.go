package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/webhook"
)

func outboxCases() []testCase {
	return []testCase{
		{"an endpoint receives the events that it is subscribed to", webhookTold},
		{"an event without a subscriber is not written", webhookSilence},
		{"every way to end a job is published", webhookEveryEnd},
		{"a job's own webhook receives its events", webhookOfJob},
		{"a job's own webhook needs the tenant's secret", webhookOfJobUnsigned},
	}
}

// Webhooks reads the outbox that the store writes, and manages its subscribers. It is on the same database as the store.
type Webhooks interface {
	webhook.Endpoints
	webhook.Outbox
}

// hook adds an endpoint of acme's.
func (r *rig) hook(events ...penstock.EventType) penstock.Webhook {
	r.t.Helper()
	w, err := r.webhooks.Create(r.t.Context(), acme, webhook.NewEndpoint{
		ID: r.newID(), URL: "https://app.example/hook", Events: events, Secret: []byte("first secret"), Actor: "app",
	})
	r.must("create webhook", err)
	return w
}

// delivering claims everything that is due and demands that it be n deliveries.
func (r *rig) delivering(n int) []webhook.DeliveryClaim {
	r.t.Helper()
	got, err := r.webhooks.ClaimDeliveries(r.t.Context(), webhook.DeliveryWant{Limit: everything, PerReceiver: everything, PerTenant: everything, Hold: time.Minute})
	r.must("claim deliveries", err)
	if len(got.Claims) != n {
		r.t.Fatalf("%d deliveries are due, want %d", len(got.Claims), n)
	}
	return got.Claims
}

func webhookTold(r *rig) {
	both, end := r.hook(penstock.WebhookEvents...), r.hook(penstock.EventJobFinished)
	sub := r.submitN(2)
	claims := r.claimN(r.lease("worker"), 2)
	started := r.delivering(1)[0]
	if started.Type != penstock.EventJobStarted || started.Webhook != both.ID {
		r.t.Errorf("at the start %s received %s", started.Webhook, started.Type)
	}
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.delivering(0)
	r.win(r.ending(claims[1], penstock.TransitionFail))
	finished := r.delivering(2)
	if got := []penstock.ID{finished[0].Webhook, finished[1].Webhook}; !slices.Contains(got, both.ID) || !slices.Contains(got, end.ID) {
		r.t.Errorf("at the end %v received events", got)
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
			r.t.Errorf("the body %s does not have event %d of the job's log", d.Body, event.Seq)
		}
		if d.Type == penstock.EventJobFinished && (body.Data.Status != job.Status() || body.Data.Counts != job.Counts || body.Data.Outcome != job.Counts.Outcome()) {
			r.t.Errorf("the body %s does not have the job's outcome", d.Body)
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
	depth, err := r.webhooks.Depth(r.t.Context())
	r.must("depth", err)
	r.wantSame("depth", depth, webhook.Depth{})
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
	published := map[penstock.ID]int{}
	for _, d := range r.delivering(4) {
		published[d.Job]++
	}
	for _, sub := range []store.Submission{cancelled, failed, expired, poisoned} {
		if published[sub.Job.ID] != 1 {
			r.t.Errorf("the end of job %s was published %d times", sub.Job.ID, published[sub.Job.ID])
		}
	}
	depth, err := r.webhooks.Depth(r.t.Context())
	r.must("depth", err)
	if depth.Pending != 4 || depth.Oldest <= 0 {
		r.t.Errorf("the outbox holds %+v", depth)
	}
}

func webhookOfJob(r *rig) {
	_, err := r.webhooks.RotateSecret(r.t.Context(), acme, webhook.Rotation{Secret: []byte("tenant's"), Actor: "app"})
	r.must("make the tenant's secret", err)
	sub := r.submission(1)
	sub.Webhook = &store.JobWebhook{URL: "https://app.example/jobs?for=1", Events: []penstock.EventType{penstock.EventJobFinished}}
	r.submit(sub)
	r.submitN(1) // the other job has no webhook
	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	d := r.delivering(1)[0]
	if d.Job != sub.Job.ID || d.URL != sub.Webhook.URL || d.Webhook != "" || string(d.Secrets[0]) != "tenant's" {
		r.t.Errorf("claimed %+v", d)
	}
	if strings.Contains(d.Receiver, "for=1") || !strings.Contains(d.Receiver, "https://app.example") {
		r.t.Errorf("the receiver is %q; all jobs' webhooks at one host should share one", d.Receiver)
	}
	r.delivered(d)
	all, err := r.webhooks.List(r.t.Context(), acme, webhook.Page{Limit: everything})
	r.must("list", err)
	r.wantSame("endpoints", all, []penstock.Webhook{})
}

func webhookOfJobUnsigned(r *rig) {
	sub := r.submission(1)
	sub.Webhook = &store.JobWebhook{URL: "https://app.example/jobs", Events: penstock.WebhookEvents}
	_, err := r.s.SubmitJob(r.t.Context(), acme, sub)
	r.wantCode("submit without a secret", err, penstock.CodeConflict)
	_, err = r.s.Job(r.t.Context(), acme, sub.Job.ID)
	r.wantCode("the job", err, penstock.CodeNotFound)
}

// delivered ends the claim of a delivery.
func (r *rig) delivered(c webhook.DeliveryClaim) {
	r.t.Helper()
	v, err := r.webhooks.FinishDelivery(r.t.Context(), webhook.DeliveryReport{Delivery: c.ID, Fence: c.Fence, Outcome: webhook.OutcomeDelivered})
	r.must("finish delivery", err)
	if !v.Recorded {
		r.t.Fatalf("the end of delivery %s was not recorded", c.ID)
	}
}
