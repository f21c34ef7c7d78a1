package sqlstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/audit"
	"penstock/internal/outbox"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/promptrow"
	"penstock/internal/store/sqldb"
)

// deletedJob is a job whose row is gone, or about to be, and whose items are removed in steps.
type deletedJob struct {
	id     penstock.ID
	tenant penstock.TenantID
	total  int
	next   int // index of the first item that is still there
}

// deleteStep bounds how many rows DeleteJob itself removes before it answers.
const deleteStep = 500

// DeleteJob implements store.Retention.
func (s *Store) DeleteJob(ctx context.Context, tenant penstock.TenantID, d store.Deletion) error {
	id := d.Job
	var e *eraser
	err := s.write(ctx, "delete_job", func(tx sqldb.Tx) error {
		e = newEraser(deleteStep)
		j, err := findJob(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		parts, err := partsOf(ctx, tx, id)
		if err == nil {
			err = refuseAlone(j, parts, d)
		}
		if err != nil {
			return err
		}
		jobs, err := lockJobs(ctx, tx, append(parts, id), lockWhole)
		if err != nil {
			return err
		}
		if jobs.byID[id] == nil {
			return notFound(penstock.ViewJob, id)
		}
		if j := jobs.unfinished(); j != nil {
			return penstock.Errorf(penstock.CodeConflict, "%s is still %s; cancel it first, and delete it when it has ended.",
				penstock.ViewJob.Format(j.ID), j.Status())
		}
		if err := e.deleteJobs(ctx, tx, jobs); err != nil {
			return err
		}
		if err := errors.Join(e.remember(ctx, tx), e.backlogs.forget(ctx, tx)); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(jobs.byID)) {
			j := jobs.byID[id]
			err := s.audit.Write(ctx, tx, audit.Entry{
				Tenant: tenant, Actor: d.Actor, Action: store.ActionDeleteJob, Subject: penstock.ViewJob.Format(j.ID),
				Before: map[string]any{"status": j.Status(), "counts": j.Counts, "finished_at": j.FinishedAt}, After: map[string]any{"deleted": true},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return s.erased(ctx, e, err)
}

// refuseAlone refuses to delete a single job of a batch: its jobs are deleted together.
func refuseAlone(j penstock.Job, parts []penstock.ID, d store.Deletion) error {
	batch := j.ID
	switch {
	case j.Resolved.PartOf != "":
		batch = j.Resolved.PartOf
	case len(parts) == 0 || d.Batch:
		return nil
	}
	name := penstock.ViewMessageBatch.Format(batch)
	return penstock.Errorf(penstock.CodeConflict, "%s is one of the jobs of %s, which are kept and deleted together; use DELETE /v1/messages/batches/%[2]s.",
		penstock.ViewJob.Format(j.ID), name)
}

// partsOf are the further jobs of the batch that a job names, none for most.
func partsOf(ctx context.Context, tx sqldb.Tx, id penstock.ID) ([]penstock.ID, error) {
	b, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT `+batchColumns+` FROM batches b WHERE b.job_id = $1 AND b.parts <> '[]'`, id), scanBatch)
	return b.Parts, err
}

// PurgeJobs implements store.Retention.
func (s *Store) PurgeJobs(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, err error) {
	type expired struct {
		deletedJob
		finished int64
		several  bool // it names a batch that has other jobs as well
	}
	find := func(tx sqldb.Tx, limit int) ([]expired, error) {
		// The jobs of a batch are deleted with its first job, when all of them were kept long enough.
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, jobs.tenant_id, total, COALESCE(b.done_at, finished_at), b.job_id IS NOT NULL FROM jobs
			LEFT JOIN batches b ON b.job_id = COALESCE(resolved /*pg ::jsonb */ ->> 'part_of', id) AND b.parts <> '[]'
			WHERE jobs.tenant_id = $1 AND finished_at > 0 AND finished_at <= $2
				AND (b.job_id IS NULL OR (b.job_id = id AND b.done_at > 0 AND b.done_at <= $2)) ORDER BY finished_at LIMIT $3`,
			tenant, sqldb.Micros(tx.Now().Add(-p.Kept)), limit),
			func(row sqldb.Row) (x expired, err error) {
				return x, row.Scan(&x.id, &x.tenant, &x.total, &x.finished, &x.several)
			})
	}
	// Nearly always there is nothing to remove; a write transaction, which costs a disk flush, is only
	// begun when there is.
	var found []expired
	err = s.read(ctx, func(tx sqldb.Tx) error {
		if found, err = find(tx, 1); err == nil && len(found) > 0 {
			done.Overdue = tx.Now().Sub(sqldb.FromMicros(found[0].finished).Add(p.Kept))
		}
		return err
	})
	if err != nil || len(found) == 0 {
		return done, err
	}
	var e *eraser
	err = s.write(ctx, "purge_jobs", func(tx sqldb.Tx) error {
		e = newEraser(p.Limit)
		done.Removed = 0
		if found, err = find(tx, p.Limit); err != nil {
			return err
		}
		for _, x := range found {
			if e.left <= 0 {
				break
			}
			var taken bool
			if x.several {
				taken, err = e.takeBatch(ctx, tx, x.id)
			} else {
				taken, err = e.take(ctx, tx, x.deletedJob)
			}
			if err != nil {
				return err
			}
			if taken {
				done.Removed++
			}
		}
		done.More = e.left <= 0
		if err := e.remember(ctx, tx); err != nil {
			return err
		}
		return e.backlogs.forget(ctx, tx)
	})
	return done, s.erased(ctx, e, err)
}

// PurgeItems implements store.Retention.
func (s *Store) PurgeItems(ctx context.Context, limit int) (done store.Purged, err error) {
	const jobs = 16 // looked at in one step; each is finished before the next is begun
	find := func(tx sqldb.Tx) ([]deletedJob, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT job_id, tenant_id, total, next FROM deleted_jobs
			ORDER BY job_id LIMIT $1 /*pg FOR UPDATE SKIP LOCKED */`, jobs),
			func(row sqldb.Row) (d deletedJob, err error) { return d, row.Scan(&d.id, &d.tenant, &d.total, &d.next) })
	}
	waiting, err := s.any(ctx, sqldb.SQL(`SELECT 1 FROM deleted_jobs LIMIT 1`))
	if err != nil || !waiting {
		return done, err
	}
	var e *eraser
	err = s.write(ctx, "purge_items", func(tx sqldb.Tx) error {
		e = newEraser(limit)
		found, err := find(tx)
		if err != nil {
			return err
		}
		for _, d := range found {
			if err := e.goOn(ctx, tx, d); err != nil {
				return err
			}
		}
		done = store.Purged{Removed: e.items, More: e.more || len(found) == jobs}
		return e.remember(ctx, tx)
	})
	return done, s.erased(ctx, e, err)
}

// any reports whether a query finds something.
func (s *Store) any(ctx context.Context, q sqldb.Query) (found bool, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		_, found, err = sqldb.QueryOne(ctx, tx, q, func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
		return err
	})
	return found, err
}

// erased runs after a transaction that removed items: it removes their blobs once the removal of the rows is
// committed. PurgeBlobs removes the blobs that a crash leaves; a row never names a removed blob.
func (s *Store) erased(ctx context.Context, e *eraser, err error) error {
	if err == nil {
		s.discard(ctx, e.payloads...)
	}
	return err
}

// eraser removes jobs in one transaction, with at most so many rows of items and attempts.
type eraser struct {
	left     int  // rows that may still be removed; a result group counts as the rows that its items would have
	items    int  // that were
	more     bool // some job has items left
	payloads []placed
	settled  map[penstock.TenantID]tally
	backlogs backlogKeys // of the jobs
	stored   stored      // how much less is
}

// tally is the number and the sum of the settlements whose items were removed.
type tally struct {
	subjects int
	cost     penstock.NanoUSD
}

func newEraser(rows int) *eraser {
	return &eraser{left: rows, settled: map[penstock.TenantID]tally{}, backlogs: backlogKeys{}, stored: stored{}}
}

// take deletes a job unless another process is deleting it.
func (e *eraser) take(ctx context.Context, tx sqldb.Tx, d deletedJob) (bool, error) {
	_, free, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM jobs WHERE id = $1 /*pg FOR UPDATE SKIP LOCKED */`, d.id),
		func(row sqldb.Row) (n int64, err error) { return n, row.Scan(&n) })
	if err != nil || !free {
		return false, err
	}
	return true, e.deleteJob(ctx, tx, d)
}

// takeBatch deletes all jobs of a batch unless another process is deleting one of them.
func (e *eraser) takeBatch(ctx context.Context, tx sqldb.Tx, id penstock.ID) (bool, error) {
	parts, err := partsOf(ctx, tx, id)
	if err != nil {
		return false, err
	}
	all := append(parts, id)
	free, err := lockRows(ctx, tx, all, lockFree)
	if err != nil || len(free.byID) < len(all) || free.unfinished() != nil {
		return false, err
	}
	return true, e.deleteJobs(ctx, tx, free)
}

// unfinished is a job of the group that has not ended, nil if all have.
func (g jobGroup) unfinished() *penstock.Job {
	for _, j := range g.byID {
		if j.FinishedAt.IsZero() {
			return j
		}
	}
	return nil
}

// deleteJobs removes locked jobs.
func (e *eraser) deleteJobs(ctx context.Context, tx sqldb.Tx, jobs jobGroup) error {
	for _, j := range jobs.byID {
		if err := e.deleteJob(ctx, tx, deletedJob{id: j.ID, tenant: j.Tenant, total: j.Counts.Total}); err != nil {
			return err
		}
	}
	return nil
}

// deleteJob removes the row of a locked job, which makes it vanish for everyone, and of its items as many
// as there are rows left for.
func (e *eraser) deleteJob(ctx context.Context, tx sqldb.Tx, d deletedJob) error {
	e.left--
	type forgottenJob struct {
		backlogKey
		bytes int64
	}
	gone, found, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`DELETE FROM jobs WHERE id = $1 RETURNING lane, tenant_id, model, stored_bytes`, d.id),
		func(row sqldb.Row) (g forgottenJob, err error) {
			return g, row.Scan(&g.lane, &g.tenant, &g.model, &g.bytes)
		})
	if err != nil {
		return err
	}
	if found {
		if err := promptrow.RemoveJob(ctx, tx, d.id); err != nil {
			return err
		}
		e.backlogs[gone.backlogKey] = true
		e.stored.Job(gone.tenant, d.id, -gone.bytes)
		if err := staleSegment(ctx, tx, d.tenant, d.id); err != nil {
			return err
		}
	}
	// Until now it was kept for retries, which inherit it.
	if err := outbox.RemoveJobWebhook(ctx, tx, d.tenant, d.id); err != nil {
		return err
	}
	if err := tx.Do(ctx, `DELETE FROM batches WHERE job_id = $1`, d.id); err != nil {
		return err
	}
	if err := e.removeItems(ctx, tx, &d); err != nil || d.next == d.total {
		return err
	}
	return tx.Do(ctx, `INSERT INTO deleted_jobs (job_id, tenant_id, total, next) VALUES ($1, $2, $3, $4)`, d.id, d.tenant, d.total, d.next)
}

// goOn removes more items of a job that was deleted before.
func (e *eraser) goOn(ctx context.Context, tx sqldb.Tx, d deletedJob) error {
	if err := e.removeItems(ctx, tx, &d); err != nil {
		return err
	}
	if d.next == d.total {
		return tx.Do(ctx, `DELETE FROM deleted_jobs WHERE job_id = $1`, d.id)
	}
	e.more = true
	return tx.Do(ctx, `UPDATE deleted_jobs SET next = $2 WHERE job_id = $1`, d.id, d.next)
}

// removeItems removes items in the order of their index, each after all of its attempts: an item that
// was often refused has many.
func (e *eraser) removeItems(ctx context.Context, tx sqldb.Tx, d *deletedJob) error {
	if e.left <= 0 || d.next == d.total {
		return nil
	}
	events, err := removeEvents(ctx, tx, d.id, e.left)
	if err != nil {
		return err
	}
	if e.left -= events; e.left == 0 {
		return nil // there may be more of them
	}
	var writer itemstore.Writer
	ended, left, err := writer.RemoveEnded(ctx, tx, d.removal(e.left))
	if err != nil {
		return err
	}
	e.count(d.tenant, ended)
	if e.left = left; e.left == 0 {
		return nil // there may be more of them
	}
	from, to := d.rangeOf(e.left)
	attempts, err := tx.Exec(ctx, `DELETE FROM attempts WHERE (subject_id, number) IN
		(SELECT subject_id, number FROM attempts WHERE subject_id >= $1 AND subject_id <= $2 LIMIT $3)`, from, to, e.left)
	if err != nil {
		return err
	}
	if e.left -= int(attempts); e.left == 0 {
		return nil // there may be more of them
	}
	from, to = d.rangeOf(e.left)
	if err := tx.Do(ctx, `DELETE FROM dead_letters WHERE item_id >= $1 AND item_id <= $2`, from, to); err != nil {
		return err
	}
	if err := tx.Do(ctx, `DELETE FROM attached_files WHERE subject_id >= $1 AND subject_id <= $2`, from, to); err != nil {
		return err
	}
	if err := tx.Do(ctx, `DELETE FROM truncations WHERE subject_id >= $1 AND subject_id <= $2`, from, to); err != nil {
		return err
	}
	if err := promptrow.RemoveItems(ctx, tx, promptrow.Range{From: from, To: to}); err != nil {
		return err
	}
	rows, err := writer.RemoveRows(ctx, tx, d.removal(e.left))
	if err != nil {
		return err
	}
	e.count(d.tenant, rows)
	d.next = min(d.next+e.left, d.total)
	e.left -= rows.Items
	return nil
}

// count notes what was removed of a tenant.
func (e *eraser) count(tenant penstock.TenantID, r itemstore.Removed) {
	sum := e.settled[tenant]
	e.settled[tenant] = tally{sum.subjects + r.Items, sum.cost + r.Cost}
	e.items += r.Items
	e.payloads = append(e.payloads, r.Blobs...)
}

// removal is the next step, of at most n rows.
func (d deletedJob) removal(n int) itemstore.Removal {
	return itemstore.Removal{Job: d.id, Total: d.total, Next: d.next, Limit: n}
}

// rangeOf is the ids of the next items, at most n of them.
func (d deletedJob) rangeOf(n int) (from, to penstock.ID) {
	return penstock.ItemID(d.id, d.next), penstock.ItemID(d.id, min(d.next+n, d.total)-1)
}

// remember records the ledger entries whose items were removed.
func (e *eraser) remember(ctx context.Context, tx sqldb.Tx) error {
	if err := e.stored.Save(ctx, tx); err != nil {
		return err
	}
	for _, tenant := range slices.Sorted(maps.Keys(e.settled)) { // so that two processes never wait for each other
		if err := forget(ctx, tx, forgotten{tenant, "item", e.settled[tenant]}); err != nil {
			return err
		}
	}
	return nil
}

// forgotten counts the removed subjects of one kind.
type forgotten struct {
	tenant penstock.TenantID
	kind   string // item | request
	tally
}

func forget(ctx context.Context, tx sqldb.Tx, f forgotten) error {
	return tx.Do(ctx, `INSERT INTO forgotten (tenant_id, kind, subjects, cost_nano_usd) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant_id, kind) DO UPDATE SET subjects = forgotten.subjects + excluded.subjects,
			cost_nano_usd = forgotten.cost_nano_usd + excluded.cost_nano_usd`, f.tenant, f.kind, f.subjects, f.cost)
}

// gone reports whether a job's log is past its retention. A reader that has read all of it misses nothing.
func gone(job penstock.Job, p store.EventPage, now time.Time) error {
	if job.FinishedAt.IsZero() || p.After >= job.Seq {
		return nil
	}
	until := job.FinishedAt.Add(p.Kept)
	if !job.LogPurged && (p.Kept == 0 || now.Before(until)) {
		return nil
	}
	return penstock.Errorf(penstock.CodeGone, "The events of %s were kept until %s; the job and its results tell how it ended.",
		penstock.ViewJob.Format(job.ID), until.UTC().Format(time.RFC3339))
}
