package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"penstock"
	"penstock/internal/store/sqldb"
)

// subscriber is an endpoint of a tenant, or the webhook of a single job.
type subscriber struct {
	penstock.Webhook
	job penstock.ID // "" for an endpoint
}

// receives reports whether an event is sent to the subscriber.
func (s subscriber) receives(e Event) bool { return s.Wants(e.Type) && (s.job == "" || s.job == e.Job) }

// HasSubscriber is an SQL expression that is 1 if any event of a job can have a receiver, and 0 otherwise. The
// arguments are SQL expressions for the tenant and the job. It lets a statement that reads the job anyway save Publish
// its query.
func HasSubscriber(tenant, job string) string {
	return `CASE WHEN EXISTS (SELECT 1 FROM webhooks w WHERE w.tenant_id = ` + tenant + ` AND w.job_id IN ('', ` + job + `)) THEN 1 ELSE 0 END`
}

// findSubscribers returns the endpoints of the events' tenants and the webhooks of their jobs, in one round trip.
func findSubscribers(ctx context.Context, tx sqldb.Tx, events []Event) (map[penstock.TenantID][]subscriber, error) {
	jobs := map[penstock.TenantID][]string{}
	for _, e := range events {
		if jobs[e.Tenant] == nil {
			jobs[e.Tenant] = []string{""} // the tenant's endpoints
		}
		if e.Job != "" && !slices.Contains(jobs[e.Tenant], string(e.Job)) {
			jobs[e.Tenant] = append(jobs[e.Tenant], string(e.Job))
		}
	}
	all := map[penstock.TenantID][]subscriber{}
	add := func(row sqldb.Row) error {
		var s subscriber
		var types string
		if err := row.Scan(&s.Tenant, &s.job, &s.ID, &s.URL, &types); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(types), &s.Events); err != nil {
			return fmt.Errorf("reading the event types of webhook %s: %w", s.ID, err)
		}
		all[s.Tenant] = append(all[s.Tenant], s)
		return nil
	}
	var questions []sqldb.Question
	for tenant, ids := range jobs {
		questions = append(questions, sqldb.Question{IDQuery: sqldb.IDQuery{
			IDs: ids, Args: []any{tenant}, SQL: `SELECT tenant_id, job_id, id, url, events FROM webhooks
				WHERE tenant_id = $2 AND job_id = /*pg ANY */($1) AND disabled_at = 0`,
		}, Scan: add})
	}
	return all, tx.Ask(ctx, questions...)
}

// deliver writes the delivery of an event. The delivery of a single job's webhook carries the URL, because the
// webhook's row goes with the job.
func (s subscriber) deliver(ctx context.Context, tx sqldb.Tx, m message) (penstock.Delivery, error) {
	d := penstock.Delivery{
		ID: m.ids.New(tx.Now()), Tenant: m.Tenant, Job: m.Job, Event: m.ID, Type: m.Type,
		Status: penstock.DeliveryPending, CreatedAt: tx.Now(), NextAt: tx.Now(),
	}
	receiver := string(s.ID)
	if s.job == "" {
		d.Webhook = s.ID
	} else {
		d.URL, receiver = s.URL, jobReceiver(s.Tenant, s.URL)
	}
	err := tx.Do(ctx, `INSERT INTO deliveries (id, tenant_id, webhook_id, receiver_id, job_id, event_id, type, url, body, status, not_before, created_at, trace_parent)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12)`,
		d.ID, d.Tenant, d.Webhook, receiver, d.Job, d.Event, d.Type, d.URL, m.body, d.Status, sqldb.Micros(d.CreatedAt), m.TraceParent)
	d.URL = s.URL
	return d, err
}

// jobReceiver is the receiver of everything that a tenant's jobs send to one host, whatever the path: callers like to
// put the job's name there.
func jobReceiver(tenant penstock.TenantID, to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return string(tenant) + " " + to
	}
	return string(tenant) + " " + u.Scheme + "://" + u.Host
}
