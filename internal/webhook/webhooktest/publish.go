package webhooktest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"penstock"
	"penstock/internal/outbox"
	"penstock/internal/store/sqldb"
	"penstock/internal/webhook"
)

func publishAtomic(r *rig) {
	r.hook(penstock.EventJobFinished)
	refused := errors.New("the change failed")
	err := r.db.Write(r.t.Context(), "publish", func(tx sqldb.Tx) error {
		if err := outbox.Publish(r.t.Context(), tx, outbox.Event{Tenant: acme, Type: penstock.EventJobFinished}); err != nil {
			return err
		}
		return refused
	})
	if !errors.Is(err, refused) {
		r.t.Errorf("the write returned %v", err)
	}
	r.delivering(0)
	r.finish()
	r.delivering(1)
}

func publishReceivers(r *rig) {
	acmes := r.hook(penstock.EventJobFinished)
	r.hook(penstock.EventJobStarted)
	_, err := r.s.RotateSecret(r.t.Context(), acme, webhook.Rotation{Secret: []byte("tenant's"), Actor: "app"})
	r.must("make the tenant's secret", err)
	own := outbox.JobWebhook{Tenant: acme, Job: r.newID(), URL: "https://job.example/1", Events: []penstock.EventType{penstock.EventJobFinished}}
	r.must("add a job's webhook", r.db.Write(r.t.Context(), "add", func(tx sqldb.Tx) error { return outbox.AddJobWebhook(r.t.Context(), tx, own) }))

	mine := outbox.Event{ID: r.newID(), Tenant: acme, Type: penstock.EventJobFinished, Job: own.Job, Seq: 7, Data: map[string]int{"n": 1}}
	other := outbox.Event{ID: r.newID(), Tenant: acme, Type: penstock.EventJobFinished, Job: r.newID()}
	foreign := outbox.Event{ID: r.newID(), Tenant: umbra, Type: penstock.EventJobFinished, Job: own.Job}
	r.publish(mine, other, foreign)

	got := map[penstock.ID][]string{}
	for _, d := range r.delivering(3) {
		got[d.Event] = append(got[d.Event], d.URL)
		var body struct {
			ID, Type  string
			Seq       *int64
			JobID     string    `json:"job_id"`
			CreatedAt time.Time `json:"created_at"`
		}
		r.must("read body", json.Unmarshal(d.Body, &body))
		if body.ID != penstock.ViewEvent.Format(d.Event) || body.Type != string(d.Type) || body.JobID != penstock.ViewJob.Format(d.Job) ||
			!body.CreatedAt.Equal(r.clock.Now()) || (body.Seq != nil) != (d.Event == mine.ID) {
			r.t.Errorf("event %s was sent as %s", d.Event, d.Body)
		}
	}
	slices.Sort(got[mine.ID])
	r.wantSame("receivers", got, map[penstock.ID][]string{mine.ID: {acmes.URL, own.URL}, other.ID: {acmes.URL}})
}

func deliveryTrace(r *rig) {
	r.hook(penstock.EventJobFinished)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r.publish(outbox.Event{Tenant: acme, Type: penstock.EventJobFinished, Job: r.newID(), TraceParent: trace})
	r.wantSame("trace", r.delivering(1)[0].TraceParent, trace)
}
