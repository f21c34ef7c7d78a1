package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/store/sqldb"
)

// JobWebhook is the webhook of a single job.
type JobWebhook struct {
	Tenant penstock.TenantID
	Job    penstock.ID
	URL    string
	Events []penstock.EventType
}

// AddJobWebhook adds the webhook of a job in the transaction that accepts the job. Codes: conflict (the tenant has no
// secret that signs its messages).
func AddJobWebhook(ctx context.Context, tx sqldb.Tx, w JobWebhook) error {
	_, signed, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM webhook_secrets WHERE tenant_id = $1 AND webhook_id = ''`, w.Tenant), sqldb.ScanOne[int64])
	if err != nil {
		return err
	}
	if !signed {
		e := penstock.Errorf(penstock.CodeConflict,
			"There is no secret yet to sign the webhooks of jobs with; make one by POST /v1/webhooks/secret and give it to the receiver.")
		e.Param = "webhook"
		return e
	}
	types, err := json.Marshal(w.Events)
	if err != nil {
		return fmt.Errorf("encoding event types: %w", err)
	}
	return tx.Do(ctx, `INSERT INTO webhooks (tenant_id, job_id, id, url, events, created_at, updated_at) VALUES ($1, $2, $2, $3, $4, $5, $5)`,
		w.Tenant, w.Job, w.URL, string(types), sqldb.Micros(tx.Now()))
}

// CopyJobWebhook gives a job the webhook of another job of the tenant, if that has one.
func CopyJobWebhook(ctx context.Context, tx sqldb.Tx, from, to penstock.Job) error {
	return tx.Do(ctx, `INSERT INTO webhooks (tenant_id, job_id, id, url, events, created_at, updated_at)
		SELECT tenant_id, $3, $3, url, events, $4, $4 FROM webhooks WHERE tenant_id = $1 AND job_id = $2`,
		to.Tenant, from.ID, to.ID, sqldb.Micros(tx.Now()))
}

// RemoveJobWebhook removes the webhook of a job. Deliveries that were written stay.
func RemoveJobWebhook(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, job penstock.ID) error {
	return tx.Do(ctx, `DELETE FROM webhooks WHERE tenant_id = $1 AND job_id = $2`, tenant, job)
}
