package sqlstore

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/store"
)

// sweepJobs bounds how many jobs one step of expiring or cancelling touches.
const sweepJobs = 16

// RescueItems implements store.Queue.
func (s *Store) RescueItems(ctx context.Context, limit int) (step store.Step, err error) {
	// Nearly always there is nothing to rescue; a write transaction, which costs a disk flush, is
	// only begun when there is.
	var lost []heldClaim
	err = s.read(ctx, func(tx Tx) error {
		lost, err = queryAll(ctx, tx, lostQuery(tx), scanClaim)
		return err
	})
	if err != nil || len(lost) == 0 {
		return store.Step{}, err
	}
	err = s.write(ctx, "rescue", func(tx Tx) error {
		step = store.Step{}
		lost, err := queryAll(ctx, tx, lostQuery(tx), scanClaim)
		if err != nil {
			return err
		}
		items, err := itemsOf(ctx, tx, lost)
		if err != nil {
			return err
		}
		step.More = len(lost) == lostClaims || len(items) > limit
		if err := s.rescue(ctx, tx, items[:min(limit, len(items))], &step); err != nil {
			return err
		}
		// A lease that items were taken from must not come back to life by a late heartbeat.
		return tx.Do(ctx, `UPDATE leases SET expires_at = 0 WHERE expires_at <= $1`, micros(tx.Now()))
	})
	return committed(step, err)
}

// lostClaims bounds how many claims of dead processes one step looks at.
const lostClaims = 16

// committed is what a step did: nothing, if its transaction was not committed.
func committed(step store.Step, err error) (store.Step, error) {
	if err != nil {
		return store.Step{}, err
	}
	return step, nil
}

// lostQuery finds claims whose process is gone, or took its lease anew without them.
func lostQuery(tx Tx) query {
	return sqlf(`SELECT c.id, c.items FROM claims c LEFT JOIN leases l ON l.process_id = c.process_id
		WHERE l.process_id IS NULL OR l.epoch <> c.epoch OR l.expires_at <= $1
		ORDER BY c.id LIMIT $2`, micros(tx.Now()), lostClaims)
}

func (s *Store) rescue(ctx context.Context, tx Tx, lost []*itemRow, step *store.Step) error {
	jobIDs, itemIDs := make([]penstock.ID, len(lost)), make([]penstock.ID, len(lost))
	for i, r := range lost {
		jobIDs[i], itemIDs[i] = r.Job, r.ID
	}
	jobs, err := lockJobs(ctx, tx, jobIDs)
	if err != nil {
		return err
	}
	// The locks may have made us wait while the worker finished after all: look again.
	items, err := heldItems(ctx, tx, itemIDs)
	if err != nil {
		return err
	}
	for _, l := range lost {
		item, job := items[l.ID], jobs.byID[l.Job]
		if item == nil || job == nil || item.Status != penstock.StatusRunning || item.claim != l.claim {
			continue
		}
		if err := s.rescueItem(ctx, tx, jobs.item(item)); err != nil {
			return err
		}
		step.Items++
		if item.Status == penstock.StatusQueued {
			step.Queued++
		}
	}
	step.Finished, err = jobs.save(ctx, tx)
	return err
}

// rescueItem takes an item from its dead worker. What the worker did upstream is unknown, so the
// whole reservation of the attempt is forfeit.
func (s *Store) rescueItem(ctx context.Context, tx Tx, item itemInJob) error {
	now := tx.Now()
	item.tries++
	item.crashes++
	err := insertAttempt(ctx, tx, item.Tenant, penstock.Attempt{
		ID: s.ids.New(now), Subject: item.ID, Number: item.tries, Fence: item.Fence,
		Config: item.job.Resolved.Config, ErrorKind: penstock.AttemptLost,
		ErrorMessage: "The worker that ran this attempt died.", FinishedAt: now,
	})
	if err != nil {
		return err
	}
	lost := store.Finish{Item: item.ID, Job: item.Job, Tenant: item.Tenant, Fence: item.Fence}
	if err := item.forfeit(ctx, tx, lost, item.reserved); err != nil {
		return err
	}
	switch {
	case !item.job.CancelRequestedAt.IsZero():
		return item.end(ctx, tx, outcome{transition: penstock.TransitionCancel, err: cancelledError()})
	case !item.purse.affords(item.job.Budgets):
		return item.end(ctx, tx, outcome{transition: penstock.TransitionFail, errorKind: penstock.AttemptLost, err: unaffordable()})
	case item.crashes >= store.MaxCrashes:
		return item.end(ctx, tx, outcome{
			transition: penstock.TransitionFail, errorKind: penstock.AttemptLost,
			err: &penstock.ItemError{Code: penstock.CodePoison, Message: "Every worker that tried this item died; it is not tried again."},
		})
	default:
		return item.requeue(ctx, tx, penstock.TransitionRescue, micros(now.Add(suspicion(item.itemRow))))
	}
}

// suspicion is how long an item waits that lost more than one worker. One of the items that ran side by
// side may have killed them; coming back one after the other, it does not take the innocent along.
func suspicion(item *itemRow) time.Duration {
	const places, apart = 8, 500 * time.Millisecond
	if item.crashes < 2 {
		return 0
	}
	return time.Duration(1+item.Index%places) * apart
}

// sweep is a bounded step over jobs that have queued items to end.
type sweep struct {
	name    string
	jobs    string // finds them; takes the time and the number of jobs
	limit   int
	outcome outcome
}

// ExpireItems implements store.Queue. All items of a job share its deadline.
func (s *Store) ExpireItems(ctx context.Context, limit int) (store.Step, error) {
	return s.sweep(ctx, sweep{
		name: "expire", limit: limit,
		jobs: `SELECT id FROM jobs WHERE queued > 0 AND deadline <= $1 ORDER BY deadline, id LIMIT $2`,
		outcome: outcome{transition: penstock.TransitionExpire, err: &penstock.ItemError{
			Code: penstock.CodeDeadlineExceeded, Message: "The job's deadline passed before this item could finish."}},
	})
}

// CancelItems implements store.Queue.
func (s *Store) CancelItems(ctx context.Context, limit int) (store.Step, error) {
	return s.sweep(ctx, sweep{
		name: "cancel_items", limit: limit,
		jobs:    `SELECT id FROM jobs WHERE cancel_requested_at > 0 AND cancel_requested_at <= $1 AND queued > 0 ORDER BY id LIMIT $2`,
		outcome: outcome{transition: penstock.TransitionCancel, err: cancelledError()},
	})
}

// sweep ends queued items. Nearly always there are none; a write transaction, which costs a disk flush,
// is only begun when there are.
func (s *Store) sweep(ctx context.Context, w sweep) (step store.Step, err error) {
	var ids []penstock.ID
	err = s.read(ctx, func(tx Tx) error {
		ids, err = queryAll(ctx, tx, sqlf(w.jobs, micros(tx.Now()), sweepJobs),
			func(row Row) (id penstock.ID, err error) { return id, row.Scan(&id) })
		return err
	})
	if err != nil || len(ids) == 0 {
		return store.Step{}, err
	}
	err = s.write(ctx, w.name, func(tx Tx) error {
		step = store.Step{More: len(ids) == sweepJobs}
		jobs, err := lockJobs(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, j := range jobs.byID {
			n, err := endQueued(ctx, tx, jobs, endAll(j, w.limit-step.Items, w.outcome))
			if err != nil {
				return err
			}
			if step.Items += n; step.Items == w.limit {
				step.More = true
				break
			}
		}
		step.Finished, err = jobs.save(ctx, tx)
		return err
	})
	return committed(step, err)
}

// endRange is a range of item ids to be ended while they are queued.
type endRange struct {
	from, to penstock.ID // both inclusive
	limit    int
	outcome  outcome
}

// endQueued ends queued items of a locked job. It passes over items that a claim is just waking: they are
// found by the next step.
func endQueued(ctx context.Context, tx Tx, jobs jobGroup, r endRange) (int, error) {
	items, err := queryAll(ctx, tx, sqlf(`SELECT `+itemColumns+` FROM items
		WHERE id >= $1 AND id <= $2 AND status = 'queued' ORDER BY id LIMIT $3 /*pg FOR UPDATE SKIP LOCKED */`,
		r.from, r.to, r.limit), scanItem)
	if err != nil {
		return 0, err
	}
	for i := range items {
		o := r.outcome
		o.target = items[i].Target
		if err := jobs.item(&items[i]).end(ctx, tx, o); err != nil {
			return 0, err
		}
	}
	return len(items), nil
}

// cancelStep bounds how many items CancelJob itself cancels before it answers.
const cancelStep = 500

// CancelJob implements store.Jobs.
func (s *Store) CancelJob(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (job penstock.Job, err error) {
	err = s.write(ctx, "cancel", func(tx Tx) error {
		if _, err := findJob(ctx, tx, tenant, id); err != nil {
			return err
		}
		jobs, err := lockJobs(ctx, tx, []penstock.ID{id})
		if err != nil {
			return err
		}
		j := jobs.byID[id]
		if j == nil {
			return notFound(penstock.ViewJob, id)
		}
		if j.FinishedAt.IsZero() {
			if j.CancelRequestedAt.IsZero() {
				j.CancelRequestedAt = tx.Now()
			}
			stop := outcome{transition: penstock.TransitionCancel, err: cancelledError()}
			if _, err := endQueued(ctx, tx, jobs, endAll(j, cancelStep, stop)); err != nil {
				return err
			}
			if _, err := jobs.save(ctx, tx); err != nil {
				return err
			}
		}
		job = *j
		return nil
	})
	return job, err
}

// endAll is the range of all items of a job.
func endAll(j *penstock.Job, limit int, o outcome) endRange {
	return endRange{from: penstock.ItemID(j.ID, 0), to: penstock.ItemID(j.ID, j.Counts.Total-1), limit: limit, outcome: o}
}
