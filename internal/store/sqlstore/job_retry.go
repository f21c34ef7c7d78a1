package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/blob"
	"penstock/internal/outbox"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/promptrow"
	"penstock/internal/store/sqldb"
)

// retryable is an item that can be retried, its input still sealed.
type retryable struct {
	store.RetryableItem
	n     int
	input placed
}

func scanRetryable(row sqldb.Row) (r retryable, err error) {
	return r, row.Scan(&r.ID, &r.CustomID, &r.n)
}

const retryableColumns = `i.id, i.custom_id, i.n`

// retryPage is how many items are looked at in one go: their inputs are in memory.
const retryPage = 256

// Retryable implements store.Retries.
func (s *Store) Retryable(ctx context.Context, tenant penstock.TenantID, sel store.RetrySelection) (store.Retryable, error) {
	var found store.Retryable
	size := 0
	for after := penstock.ID(""); ; {
		page, err := s.retryPage(ctx, tenant, retrySearch{sel, after, min(retryPage, sel.Limit-len(found.Items))})
		if err != nil {
			return store.Retryable{}, err
		}
		found.Job = page.job
		for _, item := range page.items {
			if item.Body, err = s.retriedInput(ctx, tenant, item); err != nil {
				return store.Retryable{}, sqldb.PublicError(err)
			}
			found.Items = append(found.Items, item.RetryableItem)
			if after, size = item.ID, size+len(item.Body); size >= store.MaxRetryBytes {
				return found, nil
			}
		}
		if len(page.items) < retryPage || len(found.Items) >= sel.Limit {
			return found, nil
		}
	}
}

// retrySearch asks for some of the items of a selection.
type retrySearch struct {
	store.RetrySelection
	after penstock.ID
	limit int
}

// retryFound is what a search found.
type retryFound struct {
	job   penstock.Job
	items []retryable
}

func (s *Store) retryPage(ctx context.Context, tenant penstock.TenantID, search retrySearch) (page retryFound, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		if page.job, err = findJob(ctx, tx, tenant, search.Job); err != nil {
			return err
		}
		if page.items, err = sqldb.QueryAll(ctx, tx, search.query(page.job), scanRetryable); err != nil {
			return err
		}
		return readInputs(ctx, tx, search.Job, page.items)
	})
	return page, err
}

// retriedInput opens the input of an item. Codes: gone.
func (s *Store) retriedInput(ctx context.Context, tenant penstock.TenantID, item retryable) ([]byte, error) {
	text, err := s.open(ctx, inputOwner(tenant, item.ID), item.input)
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, payload.ErrTampered) {
		err = &penstock.Error{Code: penstock.CodeGone, Err: err,
			Message: fmt.Sprintf("The input of %s is gone: it cannot be run again.", penstock.ViewItem.Format(item.ID))}
	}
	return text, err
}

// readInputs reads the sealed inputs of items.
func readInputs(ctx context.Context, tx sqldb.Tx, job penstock.ID, items []retryable) error {
	ns := make([]int, len(items))
	for i := range items {
		ns[i] = items[i].n
	}
	inputs, err := itemReader.Inputs(ctx, tx, job, ns)
	for i := range items {
		items[i].input = inputs[items[i].n]
	}
	return err
}

func (r retrySearch) query(j penstock.Job) sqldb.Query {
	if r.DeadLetters != nil {
		f := *r.DeadLetters
		f.Job = j.ID
		return sqldb.SQL(`SELECT `+retryableColumns+` FROM dead_letters d JOIN items i ON i.id = d.item_id
			WHERE `+openDeadLetters+` ORDER BY i.id LIMIT $11`, append(deadLetterArgs(j.Tenant, f, r.after), r.limit)...)
	}
	return sqldb.SQL(`SELECT `+retryableColumns+` FROM items i
		WHERE i.id >= $1 AND i.id <= $2 AND i.id > $3 AND i.status IN ('failed', 'expired', 'cancelled')
			AND NOT EXISTS (SELECT 1 FROM dead_letters d WHERE d.item_id = i.id AND d.resolution = 'retried')
		ORDER BY i.id LIMIT $4`, penstock.ItemID(j.ID, 0), penstock.ItemID(j.ID, j.Counts.Total-1), r.after, r.limit)
}

// RetryItems implements store.Retries.
func (s *Store) RetryItems(ctx context.Context, tenant penstock.TenantID, r store.Retry) (store.Receipt, error) {
	return s.accept(ctx, tenant, acceptance{
		Submission: r.Submission, name: "retry",
		also: func(tx sqldb.Tx, j penstock.Job) error {
			// The lock orders this transaction with those that delete the job or end its items.
			jobs, err := lockRows(ctx, tx, []penstock.ID{j.RetryOf}, lockWhole)
			if err != nil {
				return err
			}
			of := jobs.byID[j.RetryOf]
			if of == nil || of.Tenant != tenant {
				return notFound(penstock.ViewJob, j.RetryOf)
			}
			if err := markRetried(ctx, tx, j, r); err != nil {
				return err
			}
			if err := outbox.CopyJobWebhook(ctx, tx, *of, j); err != nil {
				return err
			}
			if err := copyItemFiles(ctx, tx, j, r.Retried); err != nil {
				return err
			}
			if err := insertItemTruncations(ctx, tx, tenant, store.Split{Job: j.ID, Items: r.Items}); err != nil {
				return err
			}
			if err := copyItemTruncations(ctx, tx, j, r.Retried); err != nil {
				return err
			}
			if err := insertItemPrompts(ctx, tx, j, store.Split{Job: j.ID, Items: r.Items}); err != nil {
				return err
			}
			if err := promptrow.Copy(ctx, tx, j, r.Retried); err != nil {
				return err
			}
			return s.noteRetry(ctx, tx, retried{Retry: r, of: *of, as: j})
		},
	})
}

// The statements by which items are retried once. They return a row for each item of which this
// transaction is the one that does it.
const (
	retryDeadLetter = `UPDATE dead_letters SET resolved_at = $4, resolution = 'retried'
		WHERE item_id = /*pg ANY */($1) AND job_id = $2 AND tenant_id = $3 AND resolved_at = 0 RETURNING 1`
	retryItem = `INSERT INTO dead_letters (item_id, job_id, tenant_id, model, error_code, error_kind, fingerprint,
			created_at, resolved_at, resolution)
		SELECT i.id, i.job_id, i.tenant_id, j.model, i.error_code, '', '', i.finished_at, $4, 'retried' FROM items i JOIN jobs j ON j.id = i.job_id
		WHERE i.id = /*pg ANY */($1) AND i.job_id = $2 AND i.tenant_id = $3 AND i.status IN ('failed', 'expired', 'cancelled')
		ON CONFLICT (item_id) DO UPDATE SET resolved_at = excluded.resolved_at, resolution = excluded.resolution
			WHERE dead_letters.resolution <> 'retried' RETURNING 1`
)

// markRetried takes the items for this retry, all of them or none.
func markRetried(ctx context.Context, tx sqldb.Tx, j penstock.Job, r store.Retry) error {
	mark := sqldb.IDQuery{SQL: retryItem, IDs: sqldb.Strings(r.Retried), Args: []any{j.RetryOf, j.Tenant, sqldb.Micros(tx.Now())}}
	if r.OfDeadLetters {
		mark.SQL = retryDeadLetter
	}
	taken := 0
	err := tx.QueryIn(ctx, mark, func(sqldb.Row) error {
		taken++
		return nil
	})
	if err == nil && taken != len(r.Retried) {
		err = penstock.Errorf(penstock.CodeConflict, "Some of these items were retried or dismissed meanwhile; select them again.")
	}
	return err
}

// retried is a retry with both of its jobs.
type retried struct {
	store.Retry
	of, as penstock.Job
}

func (s *Store) noteRetry(ctx context.Context, tx sqldb.Tx, r retried) error {
	action := store.ActionRetryJob
	if r.OfDeadLetters {
		action = store.ActionRetryDeadLetters
	}
	items := make([]string, len(r.Retried))
	for i, id := range r.Retried {
		items[i] = penstock.ViewItem.Format(id)
	}
	return s.audit.Write(ctx, tx, audit.Entry{
		Tenant: r.as.Tenant, Actor: cmp.Or(r.Actor, r.as.Key), Action: action, Subject: penstock.ViewJob.Format(r.of.ID),
		Before: map[string]any{"items": items, "targets": r.of.Resolved.Targets, "config": r.of.Resolved.Config},
		After: map[string]any{"job": penstock.ViewJob.Format(r.as.ID), "resolve": r.Resolve,
			"targets": r.as.Resolved.Targets, "config": r.as.Resolved.Config},
	})
}
