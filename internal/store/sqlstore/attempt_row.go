package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

var addAttempt = usagerow.InsertInto("attempts", `subject_id text, number bigint, id text, tenant_id text, fence bigint, target text,
	reason text, config text, error_kind text, error_message text, status_code bigint,
	usage_known bigint, cost_nano_usd bigint, started_at bigint, first_token_at bigint, finished_at bigint, price_version text, isolated bigint, `, "ON CONFLICT (subject_id, number) DO NOTHING")

func insertAttempt(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, a penstock.Attempt) error {
	return addAttempt.Put(ctx, tx, a.Usage, a.Subject, a.Number, a.ID, tenant, a.Fence, a.Target, a.Reason, a.Config,
		a.ErrorKind, sqldb.Storable(a.ErrorMessage), a.StatusCode, truth(a.UsageKnown).column(),
		a.Cost, sqldb.Micros(a.StartedAt), sqldb.Micros(a.FirstTokenAt), sqldb.Micros(a.FinishedAt), a.PriceVersion, truth(a.Isolated).column())
}

// Attempts implements store.Jobs.
func (s *Store) Attempts(ctx context.Context, tenant penstock.TenantID, subject penstock.ID) (as []penstock.Attempt, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		as, err = findAttempts(ctx, tx, tenant, subject)
		return err
	})
	return as, err
}

func findAttempts(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, subject penstock.ID) ([]penstock.Attempt, error) {
	as, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, subject_id, number, fence, target, reason, config, error_kind, error_message,
			status_code, usage_known, cost_nano_usd, started_at, first_token_at, finished_at, price_version, isolated = 1, `+usagerow.Names+`
		FROM attempts WHERE subject_id = $1 AND tenant_id = $2
			AND (EXISTS (SELECT 1 FROM items i JOIN jobs j ON j.id = i.job_id WHERE i.id = $1)
				OR EXISTS (SELECT 1 FROM requests r WHERE r.id = $1))
		ORDER BY number`, subject, tenant), scanAttempt)
	if err != nil {
		return nil, err
	}
	job, n, err := jobOfItem(ctx, tx, tenant, subject)
	if penstock.ErrorCode(err) == penstock.CodeNotFound { // nothing of that name, or a request
		if len(as) > 0 {
			return as, nil
		}
		return findPlain(ctx, tx, tenant, subject)
	}
	if err != nil {
		return nil, err
	}
	last, err := itemReader.LastAttempt(ctx, tx, job.ID, n)
	if last != nil {
		as = append(as, *last)
	}
	return as, err
}

func scanAttempt(row sqldb.Row) (penstock.Attempt, error) {
	var a penstock.Attempt
	var known, started, first, finished int64
	err := row.Scan(usagerow.Dest(&a.Usage, &a.ID, &a.Subject, &a.Number, &a.Fence, &a.Target, &a.Reason, &a.Config, &a.ErrorKind, &a.ErrorMessage,
		&a.StatusCode, &known, &a.Cost, &started, &first, &finished, &a.PriceVersion, &a.Isolated)...)
	a.UsageKnown = known != 0
	a.StartedAt, a.FirstTokenAt, a.FinishedAt = sqldb.FromMicros(started), sqldb.FromMicros(first), sqldb.FromMicros(finished)
	return a, err
}
