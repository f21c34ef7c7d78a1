package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/promptrow"
	"penstock/internal/store/sqldb"
)

// batchRow is a batch as its row has it: the defaults are sealed. The zero value is none.
type batchRow struct {
	store.Batch
	defaults []byte
}

// sealBatch prepares what a submission has as a batch.
func (s *Store) sealBatch(tenant penstock.TenantID, sub store.Submission) (b batchRow, err error) {
	if sub.Batch == nil {
		return b, nil
	}
	b.Batch = *sub.Batch
	b.ID, b.File, b.Endpoint = sub.Job.ID, sub.Job.File, sub.Job.Endpoint
	for _, part := range sub.Parts {
		b.Parts = append(b.Parts, part.Job.ID)
	}
	if len(b.Defaults) > 0 {
		if b.defaults, err = s.codec.Seal(owner(tenant, b.ID, partDefaults), b.Defaults); err != nil {
			return b, fmt.Errorf("sealing defaults: %w", err)
		}
	}
	return b, nil
}

// insert writes a batch with its job. The file is held until the commit, so that it is there for as long as the
// job needs it.
func (b batchRow) insert(ctx context.Context, tx sqldb.Tx, j penstock.Job) error {
	if j.File != "" {
		_, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM files WHERE id = $1 AND tenant_id = $2 /*pg FOR SHARE */`, j.File, j.Tenant), sqldb.ScanOne[int64])
		if err == nil && !there {
			err = notFound(penstock.ViewFile, j.File)
		}
		if err == nil {
			err = insertReferences(ctx, tx, store.File{ID: j.File, References: b.References})
		}
		if err == nil {
			err = holdReferences(ctx, tx, j)
		}
		if err == nil {
			err = promptrow.Hold(ctx, tx, j)
		}
		if err != nil {
			return err
		}
	}
	if b.ID == "" {
		return nil
	}
	b.Tenant, b.CreatedAt = j.Tenant, j.CreatedAt
	return b.write(ctx, tx)
}

// insertParts writes the further jobs of a batch.
func insertParts(ctx context.Context, tx sqldb.Tx, of penstock.Job, parts []store.Submission) error {
	for _, part := range parts {
		j := newJob(tx, of.Tenant, part)
		j.Resolved.PartOf = of.ID
		if err := (batchRow{}).insert(ctx, tx, j); err != nil {
			return err
		}
		if err := insertSubmission(ctx, tx, arrival{job: &j, moved: backlog{}}); err != nil {
			return err
		}
	}
	return nil
}

func (b batchRow) write(ctx context.Context, tx sqldb.Tx) error {
	metadata, err := json.Marshal(b.Metadata)
	if err != nil {
		return fmt.Errorf("encoding metadata: %w", err)
	}
	errors := []byte("[]")
	if b.Refused() {
		if errors, err = json.Marshal(b.Errors); err != nil {
			return fmt.Errorf("encoding line errors: %w", err)
		}
	}
	parts := []byte("[]")
	if len(b.Parts) > 0 {
		if parts, err = json.Marshal(b.Parts); err != nil {
			return fmt.Errorf("encoding parts: %w", err)
		}
	}
	return tx.Do(ctx, `INSERT INTO batches (job_id, tenant_id, kind, file_id, endpoint, defaults, metadata, errors, output_life, created_at, done_at, parts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		b.ID, b.Tenant, b.Kind, b.File, b.Endpoint, b.defaults, sqldb.Storable(string(metadata)), sqldb.Storable(string(errors)), b.OutputLife.Microseconds(),
		sqldb.Micros(b.CreatedAt), sqldb.Micros(b.DoneAt), string(parts))
}

const batchColumns = `b.job_id, b.tenant_id, b.kind, b.file_id, b.endpoint, b.metadata, b.errors, b.output_life, b.output_file, b.error_file,
	b.created_at, b.done_at, b.parts`

func scanBatch(row sqldb.Row) (b store.Batch, err error) {
	var metadata, errors, parts string
	var life, created, done int64
	err = row.Scan(&b.ID, &b.Tenant, &b.Kind, &b.File, &b.Endpoint, &metadata, &errors, &life, &b.Output, &b.ErrorOutput, &created, &done, &parts)
	if err != nil {
		return b, fmt.Errorf("scanning a batch: %w", err)
	}
	b.OutputLife, b.CreatedAt, b.DoneAt = time.Duration(life)*time.Microsecond, sqldb.FromMicros(created), sqldb.FromMicros(done)
	if err := json.Unmarshal([]byte(metadata), &b.Metadata); err != nil {
		return b, fmt.Errorf("reading metadata of batch %s: %w", b.ID, err)
	}
	if err := json.Unmarshal([]byte(errors), &b.Errors); err != nil {
		return b, fmt.Errorf("reading errors of batch %s: %w", b.ID, err)
	}
	if err := json.Unmarshal([]byte(parts), &b.Parts); err != nil {
		return b, fmt.Errorf("reading parts of batch %s: %w", b.ID, err)
	}
	return b, nil
}

// Batch implements store.Batches.
func (s *Store) Batch(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (b store.Batch, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		b, err = findBatch(ctx, tx, tenant, id)
		return err
	})
	return b, err
}

// WantResults implements store.Batches.
func (s *Store) WantResults(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (b store.Batch, err error) {
	err = s.write(ctx, "want_results", func(tx sqldb.Tx) error {
		jobs, err := lockRows(ctx, tx, []penstock.ID{id}, lockWhole) // against its deletion, and against a concurrent request for its results
		if err != nil {
			return err
		}
		j := jobs.byID[id]
		if j == nil || j.Tenant != tenant {
			return notFound(penstock.ViewJob, id)
		}
		b, err = findBatch(ctx, tx, tenant, id)
		if penstock.ErrorCode(err) != penstock.CodeNotFound {
			return err
		}
		b = store.Batch{ID: id, Tenant: tenant, Kind: store.BatchNative, Endpoint: j.Endpoint, CreatedAt: tx.Now()}
		if err := (batchRow{Batch: b}).write(ctx, tx); err != nil {
			return err
		}
		b, err = findBatch(ctx, tx, tenant, id)
		return err
	})
	return b, err
}

// findBatch returns a tenant's batch with its job, or not_found.
func findBatch(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (store.Batch, error) {
	b, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+batchColumns+` FROM batches b WHERE b.job_id = $1 AND b.tenant_id = $2`, id, tenant), scanBatch)
	if err == nil && !ok {
		err = penstock.Errorf(penstock.CodeNotFound, "There is no batch %s.", id)
	}
	if err != nil {
		return b, err
	}
	all := []store.Batch{b}
	err = withJobs(ctx, tx, all)
	return all[0], err
}

// withJobs completes batches with their jobs.
func withJobs(ctx context.Context, tx sqldb.Tx, batches []store.Batch) error {
	var ids []penstock.ID
	for _, b := range batches {
		if !b.Refused() {
			ids = append(ids, b.Jobs()...)
		}
	}
	jobs, splits := make(map[penstock.ID]penstock.Job, len(ids)), make(map[penstock.ID]int, len(ids))
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(ids), SQL: `SELECT split, ` + jobColumns + ` FROM jobs WHERE id = /*pg ANY */($1)`}, func(row sqldb.Row) error {
		var split int
		j, err := scanJob(prefixed{row, []any{&split}})
		jobs[j.ID], splits[j.ID] = j, split
		return err
	})
	for i := range batches {
		b := &batches[i]
		b.Gather(jobs)
		b.Split = splits[b.ID]
	}
	return err
}

// ListBatches implements store.Batches.
func (s *Store) ListBatches(ctx context.Context, tenant penstock.TenantID, p store.BatchPage) (batches []store.Batch, err error) {
	after := p.After
	if after == "" {
		after = "~" // behind every id
	}
	q := sqldb.SQL(`SELECT `+batchColumns+` FROM batches b WHERE b.tenant_id = $1 AND b.kind = $2 AND b.job_id < $3 AND (b.kind <> 'native' OR b.file_id <> '')
		ORDER BY b.job_id DESC LIMIT $4`, tenant, p.Kind, after, p.Limit)
	if p.Before != "" { // the page just before it, still newest first
		q = sqldb.SQL(`SELECT * FROM (SELECT `+batchColumns+` FROM batches b WHERE b.tenant_id = $1 AND b.kind = $2 AND b.job_id > $3
			ORDER BY b.job_id LIMIT $4) AS page ORDER BY job_id DESC`, tenant, p.Kind, p.Before, p.Limit)
	}
	err = s.read(ctx, func(tx sqldb.Tx) error {
		if batches, err = sqldb.QueryAll(ctx, tx, q, scanBatch); err != nil {
			return err
		}
		return withJobs(ctx, tx, batches)
	})
	return batches, err
}

// RefuseBatch implements store.Batches.
func (s *Store) RefuseBatch(ctx context.Context, tenant penstock.TenantID, b store.Batch) (store.Batch, error) {
	b.Tenant = tenant
	err := s.write(ctx, "refuse_batch", func(tx sqldb.Tx) error {
		b.CreatedAt = tx.Now().Truncate(time.Microsecond)
		b.DoneAt = b.CreatedAt
		return batchRow{Batch: b}.write(ctx, tx)
	})
	return b, err
}

// UnfinishedBatches implements store.Batches.
func (s *Store) UnfinishedBatches(ctx context.Context, limit int) (batches []store.Batch, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		batches, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+batchColumns+` FROM batches b WHERE b.done_at = 0 AND b.finisher_until <= $2
			AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = b.job_id AND j.finished_at > 0) ORDER BY b.job_id LIMIT $1`, limit, sqldb.Micros(tx.Now())), scanBatch)
		if err != nil {
			return err
		}
		return withJobs(ctx, tx, batches)
	})
	return batches, err
}

// ClaimBatch implements store.Batches.
func (s *Store) ClaimBatch(ctx context.Context, tenant penstock.TenantID, c store.BatchClaim) (claimed bool, err error) {
	err = s.write(ctx, "claim_batch", func(tx sqldb.Tx) error {
		now := tx.Now()
		n, err := tx.Exec(ctx, `UPDATE batches SET finisher = $3, finisher_until = $4 WHERE job_id = $1 AND tenant_id = $2 AND done_at = 0
			AND (finisher = $3 OR finisher_until <= $5)`, c.Job, tenant, c.By, sqldb.Micros(now.Add(c.For)), sqldb.Micros(now))
		claimed = n > 0
		return err
	})
	return claimed, err
}

// FinishBatch implements store.Batches.
func (s *Store) FinishBatch(ctx context.Context, tenant penstock.TenantID, f store.BatchFiles) (b store.Batch, done bool, err error) {
	err = s.write(ctx, "finish_batch", func(tx sqldb.Tx) error {
		done = false
		var output, errors penstock.ID
		for _, made := range []struct {
			file *store.File
			id   *penstock.ID
		}{{f.Output, &output}, {f.ErrorOutput, &errors}} {
			if made.file != nil {
				*made.id = made.file.ID
			}
		}
		n, err := tx.Exec(ctx, `UPDATE batches SET output_file = $3, error_file = $4, done_at = $5 WHERE job_id = $1 AND tenant_id = $2 AND done_at = 0`,
			f.Job, tenant, output, errors, sqldb.Micros(tx.Now()))
		if err != nil {
			return err
		}
		for _, file := range []*store.File{f.Output, f.ErrorOutput} {
			if n == 0 || file == nil {
				continue
			}
			made := *file
			made.Tenant, made.CreatedAt = tenant, tx.Now()
			if err := insertFile(ctx, tx, made); err != nil {
				return err
			}
		}
		done = n > 0
		b, err = findBatch(ctx, tx, tenant, f.Job)
		return err
	})
	return b, done, err
}
