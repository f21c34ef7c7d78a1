package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// sweepJobs bounds how many jobs one step of expiring or cancelling touches.
const sweepJobs = 16

// RescueItems implements store.Queue.
func (s *Store) RescueItems(ctx context.Context, limit int) (step store.Step, err error) {
	// Nearly always there is nothing to rescue; a write transaction, which costs a disk flush, is
	// only begun when there is.
	var lost []heldClaim
	err = s.read(ctx, func(tx sqldb.Tx) error {
		lost, err = sqldb.QueryAll(ctx, tx, lostQuery(tx), scanClaim)
		return err
	})
	if err != nil || len(lost) == 0 {
		return store.Step{}, err
	}
	err = s.write(ctx, "rescue", func(tx sqldb.Tx) error {
		step = store.Step{}
		lost, err := sqldb.QueryAll(ctx, tx, lostQuery(tx), scanClaim)
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
		// A late heartbeat must not renew a lease that items were taken from.
		return tx.Do(ctx, `UPDATE leases SET expires_at = 0 WHERE expires_at <= $1`, sqldb.Micros(tx.Now()))
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

// lostQuery finds claims whose process has no lease, or has a new lease without them.
func lostQuery(tx sqldb.Tx) sqldb.Query {
	return sqldb.SQL(`SELECT `+claimColumns+` FROM claims c LEFT JOIN leases l ON l.process_id = c.process_id
		WHERE l.process_id IS NULL OR l.epoch <> c.epoch OR l.expires_at <= $1
		ORDER BY c.job_id, c.id LIMIT $2`, sqldb.Micros(tx.Now()), lostClaims)
}

func (s *Store) rescue(ctx context.Context, tx sqldb.Tx, lost []running, step *store.Step) error {
	group := make([]store.Finish, len(lost))
	jobIDs := make([]penstock.ID, len(lost))
	for i, r := range lost {
		jobIDs[i] = r.job
		group[i] = store.Finish{Item: r.item, Job: r.job}
	}
	jobs, err := lockJobs(ctx, tx, jobIDs, lockWhole)
	if err != nil {
		return err
	}
	// While this transaction waited for the locks, the worker may have finished: read again.
	items, err := lookItems(ctx, tx, jobs, group)
	if err != nil {
		return err
	}
	for i, l := range lost {
		item, job := items[i], jobs.byID[l.job]
		if item == nil || job == nil || item.Status != penstock.StatusRunning || item.Claim != l.claim {
			continue
		}
		if err := s.rescueItem(ctx, tx, jobs.item(item), l); err != nil {
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

// rescueItem takes an item from its dead worker. The worker's upstream call is unknown, so the whole reservation of the
// attempt is forfeit. The attempt's record has the facts of the claim: when it began, and the target that it was claimed for.
func (s *Store) rescueItem(ctx context.Context, tx sqldb.Tx, item itemInJob, l running) error {
	now := tx.Now()
	isolated := suspect(item.Row)
	item.Tries++
	item.Crashes++
	err := insertAttempt(ctx, tx, item.Tenant, penstock.Attempt{
		ID: s.ids.New(now), Subject: item.ID, Number: item.Tries, Fence: item.Fence, Target: l.target, Isolated: isolated,
		Config: item.job.Resolved.Config, ErrorKind: penstock.AttemptLost,
		ErrorMessage: "The worker that ran this attempt died.", StartedAt: l.claim.Time(), FinishedAt: now,
	})
	if err != nil {
		return err
	}
	lost := store.Finish{Item: item.ID, Job: item.Job, Tenant: item.Tenant, Fence: item.Fence}
	if err := item.forfeit(ctx, tx, &lost, item.Reserved); err != nil {
		return err
	}
	switch {
	case !item.job.CancelRequestedAt.IsZero():
		return item.end(ctx, tx, outcome{transition: penstock.TransitionCancel, err: cancelledError()})
	case !item.lockedBudgets.affords(item.budgets()):
		return item.end(ctx, tx, outcome{transition: penstock.TransitionFail, errorKind: penstock.AttemptLost, err: unaffordable()})
	default:
		return item.requeue(ctx, tx, penstock.TransitionRescue, sqldb.Micros(now))
	}
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
		jobs:    `SELECT id FROM jobs WHERE finished_at = 0 AND swept = 0 AND deadline <= $1 ORDER BY deadline, id LIMIT $2`,
		outcome: outcome{transition: penstock.TransitionExpire, err: expiredError()},
	})
}

// CancelItems implements store.Queue.
func (s *Store) CancelItems(ctx context.Context, limit int) (store.Step, error) {
	return s.sweep(ctx, sweep{
		name: "cancel_items", limit: limit,
		jobs:    `SELECT id FROM jobs WHERE cancel_requested_at > 0 AND finished_at = 0 AND swept = 0 AND cancel_requested_at <= $1 ORDER BY id LIMIT $2`,
		outcome: outcome{transition: penstock.TransitionCancel, err: cancelledError()},
	})
}

// sweep ends queued items. Nearly always there are none; a write transaction, which costs a disk flush,
// is only begun when there are.
func (s *Store) sweep(ctx context.Context, w sweep) (step store.Step, err error) {
	var ids []penstock.ID
	err = s.read(ctx, func(tx sqldb.Tx) error {
		ids, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(w.jobs, sqldb.Micros(tx.Now()), sweepJobs),
			func(row sqldb.Row) (id penstock.ID, err error) { return id, row.Scan(&id) })
		return err
	})
	if err != nil || len(ids) == 0 {
		return store.Step{}, err
	}
	err = s.write(ctx, w.name, func(tx sqldb.Tx) error {
		step = store.Step{More: len(ids) == sweepJobs}
		jobs, err := lockJobs(ctx, tx, ids, lockWhole)
		if err != nil {
			return err
		}
		for _, j := range jobs.byID {
			n, err := endQueued(ctx, tx, jobs, ending{j, w.limit - step.Items, w.outcome})
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

// ending ends what is queued of a locked job.
type ending struct {
	job     *penstock.Job
	limit   int
	outcome outcome
}

// endQueued ends items that are ready, and those that wait for their time. A job of which nothing is left to
// end is not looked at again: nothing of it will ever be queued.
func endQueued(ctx context.Context, tx sqldb.Tx, jobs jobGroup, e ending) (int, error) {
	ended, err := endReady(ctx, tx, jobs, e)
	if err != nil {
		return ended, err
	}
	e.limit -= ended
	apart, err := endApart(ctx, tx, jobs, e)
	if err != nil || ended+apart > 0 {
		return ended + apart, err
	}
	return 0, tx.Do(ctx, `UPDATE jobs SET swept = 1 WHERE id = $1
		AND NOT EXISTS (SELECT 1 FROM items WHERE job_id = $1 AND status = 'queued')`, e.job.ID)
}

// endReady ends items that were never claimed, from the front of their ranges.
func endReady(ctx context.Context, tx sqldb.Tx, jobs jobGroup, e ending) (ended int, err error) {
	j := e.job
	ranges, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+rangeColumns+` FROM ready r WHERE r.lane = $1 AND r.tenant_id = $2 AND r.model = $3
			AND r.deadline = $4 AND r.job_id = $5 AND r.item_id = '' ORDER BY r.last_n LIMIT $6`,
		j.Lane, j.Tenant, j.Model, sqldb.Micros(j.Deadline), j.ID, e.limit),
		func(row sqldb.Row) (*readyRange, error) {
			r := &readyRange{backlogKey: backlogKey{j.Lane, j.Tenant, j.Model}}
			return r, row.Scan(r.dest()...)
		})
	if err != nil {
		return 0, err
	}
	for _, r := range ranges {
		if ended == e.limit {
			break
		}
		next := min(r.last+1, r.first+e.limit-ended)
		if err := r.leaveTo(ctx, tx, next); err != nil {
			return ended, err
		}
		if err := tx.Ask(ctx, r.inputs.AskFacts(r.groupKey())); err != nil {
			return ended, err
		}
		for n := r.first; n < next; n++ {
			row, err := r.inputs.Row(j, n)
			if err != nil {
				return ended, err
			}
			item := jobs.item(row)
			item.moved.move(r.backlogKey, item.Row, -1)
			if err := item.end(ctx, tx, e.outcome); err != nil {
				return ended, err
			}
			ended++
		}
	}
	return ended, nil
}

// endApart ends items that have rows. It skips items that a claim is waking: the next step finds them.
func endApart(ctx context.Context, tx sqldb.Tx, jobs jobGroup, e ending) (int, error) {
	items, err := itemReader.Queued(ctx, tx, e.job.ID, e.limit)
	if err != nil {
		return 0, err
	}
	for i := range items {
		item, o := jobs.item(&items[i]), e.outcome
		o.target = item.Target
		if err := item.leave(ctx, tx); err != nil {
			return 0, err
		}
		if err := item.end(ctx, tx, o); err != nil {
			return 0, err
		}
	}
	return len(items), nil
}

// cancelStep bounds how many items CancelJob itself cancels before it answers.
const cancelStep = 500

// CancelJob implements store.Jobs.
func (s *Store) CancelJob(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (job penstock.Job, err error) {
	err = s.write(ctx, "cancel", func(tx sqldb.Tx) error {
		if _, err := findJob(ctx, tx, tenant, id); err != nil {
			return err
		}
		jobs, err := lockJobs(ctx, tx, []penstock.ID{id}, lockWhole)
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
			if _, err := endQueued(ctx, tx, jobs, ending{j, cancelStep, stop}); err != nil {
				return err
			}
			if _, err := jobs.save(ctx, tx); err != nil {
				return err
			}
		}
		job, err = findJob(ctx, tx, tenant, id)
		return err
	})
	return job, err
}
