package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/outbox"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// jobEvents are the outbox events of a group of jobs. Whether a job has subscribers is read with its row, so that a job
// without any costs nothing more.
type jobEvents struct {
	subscribed map[penstock.ID]bool
	events     []jobEvent
}

// jobEvent is an event of a job, which is encoded as the transaction saves it.
type jobEvent struct {
	job *penstock.Job
	typ penstock.EventType
}

func newJobEvents() *jobEvents { return &jobEvents{subscribed: map[penstock.ID]bool{}} }

// subscribedColumn is 1 for a row of jobs whose job has subscribers.
var subscribedColumn = outbox.HasSubscriber("jobs.tenant_id", "jobs.id")

// withSubscribed is a row of a job with subscribedColumn behind it.
type withSubscribed struct {
	sqldb.Row
	subscribed *int64
}

func (r withSubscribed) Scan(dest ...any) error { return r.Row.Scan(append(dest, r.subscribed)...) }

// scan reads a job and remembers whether it has subscribers.
func (n *jobEvents) scan(row sqldb.Row) (penstock.Job, error) {
	var subscribed int64
	j, err := scanJob(withSubscribed{row, &subscribed})
	if subscribed > 0 {
		n.subscribed[j.ID] = true
	}
	return j, err
}

// add adds an event of a job that has subscribers.
func (n *jobEvents) add(j *penstock.Job, typ penstock.EventType) {
	if n.subscribed[j.ID] {
		n.events = append(n.events, jobEvent{j, typ})
	}
}

// publish writes the events to the outbox.
func (n *jobEvents) publish(ctx context.Context, tx sqldb.Tx) error {
	events := make([]outbox.Event, len(n.events))
	for i, e := range n.events {
		events[i] = e.outbox()
	}
	return outbox.Publish(ctx, tx, events...)
}

// publishStarted publishes the start of those jobs that this transaction started.
func publishStarted(ctx context.Context, tx sqldb.Tx, ids []penstock.ID) error {
	if len(ids) == 0 {
		return nil
	}
	n := newJobEvents()
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(ids), Args: []any{sqldb.Micros(tx.Now())}, SQL: `SELECT ` + jobColumns + `, ` + subscribedColumn + ` FROM jobs
		WHERE id = /*pg ANY */($1) AND started_at = $2 AND ` + subscribedColumn + ` = 1`}, func(row sqldb.Row) error {
		j, err := n.scan(row)
		n.add(&j, penstock.EventJobStarted)
		return err
	})
	if err != nil {
		return err
	}
	return n.publish(ctx, tx)
}

// jobState is what a message says of its job. It holds nothing of what was asked or answered.
type jobState struct {
	Status  penstock.Status   `json:"status"`
	Outcome *penstock.Outcome `json:"outcome"`
	Model   string            `json:"model"`
	Tags    map[string]string `json:"tags"`
	Counts  penstock.Counts   `json:"counts"`
	Usage   struct {
		penstock.Usage
		Cost penstock.NanoUSD `json:"cost_usd"`
	} `json:"usage"`
}

// outbox is the event as its job's log has it.
func (e jobEvent) outbox() outbox.Event {
	event := e.job.Event(e.typ)
	j := event.State
	data := jobState{Status: j.Status(), Model: j.Model, Tags: j.Tags, Counts: j.Counts}
	data.Usage.Usage, data.Usage.Cost = j.Usage, j.Cost
	if e.typ == penstock.EventJobFinished {
		outcome := j.Counts.Outcome()
		data.Outcome = &outcome
	}
	return outbox.Event{
		ID: penstock.ItemID(j.ID, int(event.Seq)), Tenant: j.Tenant, Type: e.typ, Job: j.ID, Seq: event.Seq, CreatedAt: event.CreatedAt, TraceParent: j.TraceParent, Data: data,
	}
}

// bringing adds the webhook of a job in the transaction that accepts the job; nil if it has none.
func bringing(ctx context.Context, w *store.JobWebhook) func(sqldb.Tx, penstock.Job) error {
	if w == nil {
		return nil
	}
	return func(tx sqldb.Tx, j penstock.Job) error {
		return outbox.AddJobWebhook(ctx, tx, outbox.JobWebhook{Tenant: j.Tenant, Job: j.ID, URL: w.URL, Events: w.Events})
	}
}
