package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
)

var addAttempt = insertUsage("attempts", `subject_id text, number bigint, id text, tenant_id text, fence bigint, target text,
	reason text, config text, error_kind text, error_message text, status_code bigint,
	usage_known bigint, cost_nano_usd bigint, started_at bigint, first_token_at bigint, finished_at bigint, price_version text, isolated bigint, `, "ON CONFLICT (subject_id, number) DO NOTHING")

func insertAttempt(ctx context.Context, tx Tx, tenant penstock.TenantID, a penstock.Attempt) error {
	return addAttempt.put(ctx, tx, a.Usage, a.Subject, a.Number, a.ID, tenant, a.Fence, a.Target, a.Reason, a.Config,
		a.ErrorKind, storable(a.ErrorMessage), a.StatusCode, truth(a.UsageKnown).column(),
		a.Cost, micros(a.StartedAt), micros(a.FirstTokenAt), micros(a.FinishedAt), a.PriceVersion, truth(a.Isolated).column())
}

// Attempts implements store.Jobs.
func (s *Store) Attempts(ctx context.Context, tenant penstock.TenantID, subject penstock.ID) (as []penstock.Attempt, err error) {
	err = s.read(ctx, func(tx Tx) error {
		as, err = findAttempts(ctx, tx, tenant, subject)
		return err
	})
	return as, err
}

func findAttempts(ctx context.Context, tx Tx, tenant penstock.TenantID, subject penstock.ID) ([]penstock.Attempt, error) {
	as, err := queryAll(ctx, tx, sqlf(`SELECT id, subject_id, number, fence, target, reason, config, error_kind, error_message,
			status_code, usage_known, cost_nano_usd, started_at, first_token_at, finished_at, price_version, isolated = 1, `+usageNames+`
		FROM attempts WHERE subject_id = $1 AND tenant_id = $2
			AND (EXISTS (SELECT 1 FROM items i JOIN jobs j ON j.id = i.job_id WHERE i.id = $1)
				OR EXISTS (SELECT 1 FROM requests r WHERE r.id = $1))
		ORDER BY number`, subject, tenant), scanAttempt)
	if err != nil {
		return nil, err
	}
	last, err := queryAll(ctx, tx, sqlf(`SELECT last_attempt FROM items WHERE id = $1 AND tenant_id = $2 AND last_attempt <> ''
		AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = items.job_id)`, subject, tenant), scanKept)
	if as = append(as, last...); err != nil || len(as) > 0 {
		return as, err
	}
	return groupedAttempt(ctx, tx, tenant, subject)
}

// groupedAttempt is the only attempt at an item that lies in a result group.
func groupedAttempt(ctx context.Context, tx Tx, tenant penstock.TenantID, subject penstock.ID) ([]penstock.Attempt, error) {
	job, n, err := jobOfItem(ctx, tx, tenant, subject)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return nil, nil // nothing of that name, or a request
	}
	if err != nil {
		return nil, err
	}
	found, err := findGrouped(ctx, tx, job.ID, []int{n})
	if err != nil || found[n] == nil {
		return nil, err
	}
	return []penstock.Attempt{*found[n].last}, nil
}

// keepAttempt is an attempt as the row of its item keeps it.
func keepAttempt(a *penstock.Attempt) (string, error) {
	if a == nil {
		return "", nil
	}
	kept := *a
	kept.ErrorMessage = storable(a.ErrorMessage)
	kept.StartedAt, kept.FirstTokenAt, kept.FinishedAt = asKept(a.StartedAt), asKept(a.FirstTokenAt), asKept(a.FinishedAt)
	text, err := json.Marshal(kept)
	if err != nil {
		return "", fmt.Errorf("encoding an attempt: %w", err)
	}
	return string(text), nil
}

// asKept is a time with the precision of a column.
func asKept(t time.Time) time.Time { return fromMicros(micros(t)) }

func scanKept(row Row) (a penstock.Attempt, err error) {
	var text []byte
	if err := row.Scan(&text); err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

func scanAttempt(row Row) (penstock.Attempt, error) {
	var a penstock.Attempt
	var known, started, first, finished int64
	err := row.Scan(intoUsage(&a.Usage, &a.ID, &a.Subject, &a.Number, &a.Fence, &a.Target, &a.Reason, &a.Config, &a.ErrorKind, &a.ErrorMessage,
		&a.StatusCode, &known, &a.Cost, &started, &first, &finished, &a.PriceVersion, &a.Isolated)...)
	a.UsageKnown = known != 0
	a.StartedAt, a.FirstTokenAt, a.FinishedAt = fromMicros(started), fromMicros(first), fromMicros(finished)
	return a, err
}
