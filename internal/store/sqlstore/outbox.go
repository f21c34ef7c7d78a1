package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

// outboxEvents is what webhooks are told of a group of jobs. Whether anybody listens is found out with the jobs' own
// rows, so that those whom nobody listens to cost nothing more.
type outboxEvents struct {
	heard  map[penstock.ID]bool
	events []told
}

// told is an event to be told. The job is as it is when the transaction saves it.
type told struct {
	job *penstock.Job
	typ penstock.EventType
}

func newOutboxEvents() *outboxEvents { return &outboxEvents{heard: map[penstock.ID]bool{}} }

// heardColumn says of a job whether anybody listens to it.
const heardColumn = `CASE WHEN EXISTS (SELECT 1 FROM webhooks w WHERE w.tenant_id = jobs.tenant_id AND w.job_id IN ('', jobs.id)) THEN 1 ELSE 0 END`

// withHeard is a row of a job with heardColumn behind it.
type withHeard struct {
	Row
	heard *int64
}

func (r withHeard) Scan(dest ...any) error { return r.Row.Scan(append(dest, r.heard)...) }

// scan reads a job and remembers whether anybody listens to it.
func (n *outboxEvents) scan(row Row) (penstock.Job, error) {
	var heard int64
	j, err := scanJob(withHeard{row, &heard})
	if heard > 0 {
		n.heard[j.ID] = true
	}
	return j, err
}

// tell notes an event, if anybody listens.
func (n *outboxEvents) tell(j *penstock.Job, typ penstock.EventType) {
	if n.heard[j.ID] {
		n.events = append(n.events, told{j, typ})
	}
}

// publish writes a delivery of each event for everyone who wants to be told of it. A job's last event takes
// along what the job alone brought.
func (n *outboxEvents) publish(ctx context.Context, tx Tx) error {
	if len(n.events) == 0 {
		return nil
	}
	listeners, err := n.listeners(ctx, tx)
	if err != nil {
		return err
	}
	var ids penstock.IDs
	for _, e := range n.events {
		body, err := messageOf(e)
		if err != nil {
			return err
		}
		for _, w := range listeners[e.job.Tenant] {
			if !w.Wants(e.typ) || w.job != "" && w.job != e.job.ID {
				continue
			}
			d := delivery{Delivery: penstock.Delivery{
				ID: ids.New(tx.Now()), Tenant: e.job.Tenant, Job: e.job.ID, Event: eventID(e), Type: e.typ,
			}, body: body}
			d.address(w)
			if err := d.insert(ctx, tx); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellStarted tells of jobs that this transaction may have been the first to start.
func tellStarted(ctx context.Context, tx Tx, ids []penstock.ID) error {
	if len(ids) == 0 {
		return nil
	}
	n := newOutboxEvents()
	err := tx.QueryIn(ctx, IDQuery{IDs: plain(ids), Args: []any{micros(tx.Now())}, SQL: `SELECT ` + jobColumns + `, ` + heardColumn + ` FROM jobs
		WHERE id = /*pg ANY */($1) AND started_at = $2 AND ` + heardColumn + ` = 1`}, func(row Row) error {
		j, err := n.scan(row)
		n.tell(&j, penstock.EventJobStarted)
		return err
	})
	if err != nil {
		return err
	}
	return n.publish(ctx, tx)
}

// listener is an endpoint, or what a job brought along.
type listener struct {
	penstock.Webhook
	job penstock.ID
}

// listeners are those who may want to be told, by tenant.
func (n *outboxEvents) listeners(ctx context.Context, tx Tx) (map[penstock.TenantID][]listener, error) {
	var tenants, jobs []string
	for _, e := range n.events {
		tenants, jobs = append(tenants, string(e.job.Tenant)), append(jobs, string(e.job.ID))
	}
	slices.Sort(tenants)
	all := map[penstock.TenantID][]listener{}
	add := func(row Row) error {
		var l listener
		var events string
		if err := row.Scan(&l.Tenant, &l.job, &l.ID, &l.URL, &events); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(events), &l.Events); err != nil {
			return fmt.Errorf("reading events of webhook %s: %w", l.ID, err)
		}
		all[l.Tenant] = append(all[l.Tenant], l)
		return nil
	}
	const columns = `SELECT w.tenant_id, w.job_id, w.id, w.url, w.events `
	return all, tx.Ask(ctx,
		Question{IDQuery: IDQuery{IDs: slices.Compact(tenants), SQL: columns + `FROM webhooks w
			WHERE w.tenant_id = /*pg ANY */($1) AND w.job_id = '' AND w.disabled_at = 0`}, Scan: add},
		Question{IDQuery: IDQuery{IDs: jobs, SQL: columns + `FROM jobs j JOIN webhooks w ON w.tenant_id = j.tenant_id AND w.job_id = j.id
			WHERE j.id = /*pg ANY */($1)`}, Scan: add})
}

// eventID is the id that the event has in the job's log.
func eventID(e told) penstock.ID { return penstock.ItemID(e.job.ID, int(e.seq())) }

func (e told) seq() int64 {
	if e.typ == penstock.EventJobStarted {
		return e.job.StartedSeq
	}
	return e.job.Seq
}

// message is the body of a webhook: an event of a job's log. It tells how the job stands, and nothing of what
// was asked or answered.
type message struct {
	ID        string             `json:"id"`
	Seq       *int64             `json:"seq"`
	Type      penstock.EventType `json:"type"`
	CreatedAt time.Time          `json:"created_at"`
	JobID     *string            `json:"job_id"`
	ItemID    *string            `json:"item_id"`
	Data      any                `json:"data"`
}

// jobEvents is what a message says of its job.
type jobEvents struct {
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

func messageOf(e told) ([]byte, error) {
	event := e.job.Event(e.typ) // as everyone else is told of it
	j, seq, id := event.State, event.Seq, penstock.ViewJob.Format(e.job.ID)
	m := message{ID: penstock.ViewEvent.Format(eventID(e)), Seq: &seq, Type: e.typ, CreatedAt: event.CreatedAt, JobID: &id}
	data := jobEvents{Status: j.Status(), Model: j.Model, Tags: j.Tags, Counts: j.Counts}
	data.Usage.Usage, data.Usage.Cost = j.Usage, j.Cost
	if e.typ == penstock.EventJobFinished {
		outcome := j.Counts.Outcome()
		data.Outcome = &outcome
	}
	m.CreatedAt = m.CreatedAt.UTC().Truncate(time.Microsecond)
	m.Data = data
	return encodeMessage(m)
}

func encodeMessage(m message) ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding a webhook's body: %w", err)
	}
	return body, nil
}

// delivery is a delivery to be written.
type delivery struct {
	penstock.Delivery
	receiver string
	body     []byte
}

// address says whom it goes to. To what a job brought along it has the way with it, since its row goes.
func (d *delivery) address(w listener) {
	if w.job == "" {
		d.Webhook, d.receiver = w.ID, string(w.ID)
		return
	}
	d.URL, d.receiver = w.URL, jobReceiver(w.Tenant, w.URL)
}

// jobReceiver is one for all that a tenant's jobs send to one host, whatever the path: callers like to put a
// job's name there.
func jobReceiver(tenant penstock.TenantID, to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return string(tenant) + " " + to
	}
	return string(tenant) + " " + u.Scheme + "://" + u.Host
}

func (d *delivery) insert(ctx context.Context, tx Tx) error {
	d.Status, d.CreatedAt, d.NextAt = penstock.DeliveryPending, tx.Now(), tx.Now()
	return tx.Do(ctx, `INSERT INTO deliveries (id, tenant_id, webhook_id, receiver_id, job_id, event_id, type, url, body, status, not_before, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`,
		d.ID, d.Tenant, d.Webhook, d.receiver, d.Job, d.Event, d.Type, d.URL, d.body, d.Status, micros(d.CreatedAt))
}

// bringing adds the webhook that a job brings along, in the transaction that accepts it; nil if it has none.
func bringing(ctx context.Context, w *store.JobWebhook) func(Tx, penstock.Job) error {
	if w == nil {
		return nil
	}
	return func(tx Tx, j penstock.Job) error {
		_, known, err := queryOne(ctx, tx, sqlf(`SELECT 1 FROM webhook_secrets WHERE tenant_id = $1 AND webhook_id = ''`, j.Tenant),
			func(row Row) (n int64, err error) { return n, row.Scan(&n) })
		if err != nil {
			return err
		}
		if !known {
			e := penstock.Errorf(penstock.CodeConflict,
				"There is no secret yet to sign the webhooks of jobs with; make one by POST /v1/webhooks/secret and give it to the receiver.")
			e.Param = "webhook"
			return e
		}
		events, err := json.Marshal(w.Events)
		if err != nil {
			return fmt.Errorf("encoding events: %w", err)
		}
		return tx.Do(ctx, `INSERT INTO webhooks (tenant_id, job_id, id, url, events, created_at, updated_at) VALUES ($1, $2, $2, $3, $4, $5, $5)`,
			j.Tenant, j.ID, w.URL, string(events), micros(tx.Now()))
	}
}
