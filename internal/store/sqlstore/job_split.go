package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
)

// splitAhead is how many ranges of a job may stand in line before it gets more items.
const splitAhead = 8

// UnsplitJobs implements store.Batches.
func (s *Store) UnsplitJobs(ctx context.Context, limit int) (jobs []store.Unsplit, err error) {
	err = s.read(ctx, func(tx Tx) error {
		jobs, err = queryAll(ctx, tx, sqlf(`SELECT split, `+lockedColumns+` FROM jobs WHERE split < total AND finished_at = 0
				AND (SELECT COUNT(*) FROM ready r WHERE r.lane = jobs.lane AND r.tenant_id = jobs.tenant_id AND r.model = jobs.model
					AND r.deadline = jobs.deadline AND r.job_id = jobs.id) < $1
			ORDER BY id LIMIT $2`, splitAhead, limit), scanUnsplit)
		return err
	})
	return jobs, err
}

func scanUnsplit(row Row) (u store.Unsplit, err error) {
	u.Job, err = scanJob(prefixed{row, &u.Next})
	return u, err
}

// prefixed is a row that has a column before those that are asked for.
type prefixed struct {
	Row
	first any
}

func (p prefixed) Scan(dest ...any) error { return p.Row.Scan(append([]any{p.first}, dest...)...) }

// SplitJob implements store.Batches.
func (s *Store) SplitJob(ctx context.Context, tenant penstock.TenantID, split store.Split) (step store.Step, err error) {
	inputs, err := s.placeInputs(ctx, tenant, split)
	if err != nil {
		return step, hide(err)
	}
	var named bool
	err = s.write(ctx, "split", func(tx Tx) error {
		named, step = false, store.Step{Items: len(split.Items)}
		jobs, err := lockJobs(ctx, tx, []penstock.ID{split.Job}, lockWhole)
		if err != nil {
			return err
		}
		j := jobs.byID[split.Job]
		if j == nil || j.Tenant != tenant {
			return notFound(penstock.ViewJob, split.Job)
		}
		if err := advanceSplit(ctx, tx, split); err != nil {
			return err
		}
		a := arrival{submittedItems{split.Items, inputs}, j, split.From, jobs.moved}
		err = book(ctx, tx, penstock.LedgerEntry{
			Key: splitKey(j.ID, split.From), Tenant: j.Tenant, Kind: penstock.EntryReserve, Subject: j.ID, Job: j.ID, Reserved: a.reserved(),
		})
		if err != nil {
			return err
		}
		if step.Finished, err = s.arrive(ctx, tx, jobs, a); err != nil {
			return err
		}
		named = true
		return nil
	})
	if !named {
		s.discard(ctx, inputs...)
	}
	return committed(step, err)
}

// advanceSplit notes that a job has more of its items.
func advanceSplit(ctx context.Context, tx Tx, split store.Split) error {
	n, err := tx.Exec(ctx, `UPDATE jobs SET split = $3 WHERE id = $1 AND split = $2 AND $3 <= total`,
		split.Job, split.From, split.From+len(split.Items))
	if err == nil && n == 0 {
		err = penstock.Errorf(penstock.CodeConflict, "%s has the items from %d on already, or lacks some before them.",
			penstock.ViewJob.Format(split.Job), split.From)
	}
	return err
}

// arrive puts items of a file in line. Those of a job that does not go on end at once; their inputs are kept, so
// that they can be retried.
func (s *Store) arrive(ctx context.Context, tx Tx, jobs jobGroup, a arrival) ([]penstock.ID, error) {
	j := a.job
	var stop *outcome
	switch {
	case !j.CancelRequestedAt.IsZero():
		stop = &outcome{transition: penstock.TransitionCancel, err: cancelledError()}
	case !j.Deadline.After(tx.Now()):
		stop = &outcome{transition: penstock.TransitionExpire, err: expiredError()}
	default:
		if err := enqueue(ctx, tx, a); err != nil {
			return nil, err
		}
		return nil, a.moved.save(ctx, tx)
	}
	for _, b := range a.bundles() {
		if err := b.insert(ctx, tx, j.ID); err != nil {
			return nil, err
		}
		for i, f := range b.facts {
			item := jobs.item(bundled{f, bundleOf{j.ID, b.first}, b.first + i}.row(j))
			if err := item.end(ctx, tx, *stop); err != nil {
				return nil, err
			}
		}
	}
	return jobs.save(ctx, tx)
}
