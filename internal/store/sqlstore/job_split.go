package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// splitPause is the time between two tries to split a job that waits for its budget: other items have to end, the next
// period has to begin, or an operator has to raise the limit.
const splitPause = 2 * time.Second

// splitAhead is how many ranges of a job may be queued before it gets more items.
const splitAhead = 8

// UnsplitJobs implements store.Batches.
func (s *Store) UnsplitJobs(ctx context.Context, limit int) (jobs []store.Unsplit, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		jobs, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT split, (SELECT defaults FROM batches b WHERE b.job_id = jobs.id), `+lockedColumns+`
			FROM jobs WHERE split < total AND finished_at = 0 AND (split_after <= $3 OR cancel_requested_at > 0)
				AND (SELECT COUNT(*) FROM ready r WHERE r.lane = jobs.lane AND r.tenant_id = jobs.tenant_id AND r.model = jobs.model
					AND r.deadline = jobs.deadline AND r.job_id = jobs.id) < $1
			ORDER BY id LIMIT $2`, splitAhead, limit, sqldb.Micros(tx.Now())), scanUnsplit)
		return err
	})
	for i := range jobs {
		u := &jobs[i]
		if u.Defaults, err = s.open(ctx, owner(u.Job.Tenant, u.Job.ID, partDefaults), placed{Inline: u.Defaults}); err != nil {
			return nil, sqldb.PublicError(err)
		}
	}
	return jobs, err
}

func scanUnsplit(row sqldb.Row) (u store.Unsplit, err error) {
	u.Job, err = scanJob(prefixed{row, []any{&u.Next, &u.Defaults}})
	return u, err
}

// prefixed is a row that has columns before those that are asked for.
type prefixed struct {
	sqldb.Row
	first []any
}

func (p prefixed) Scan(dest ...any) error { return p.Row.Scan(append(p.first, dest...)...) }

// SplitJob implements store.Batches.
func (s *Store) SplitJob(ctx context.Context, tenant penstock.TenantID, split store.Split) (step store.Step, err error) {
	inputs, err := s.placeInputs(ctx, tenant, split)
	if err != nil {
		return step, sqldb.PublicError(err)
	}
	items := newSubmitted(split.Items, inputs, split.From)
	var named bool
	err = s.write(ctx, "split", func(tx sqldb.Tx) error {
		named, step = false, store.Step{Items: len(split.Items)}
		jobs, err := lockRows(ctx, tx, []penstock.ID{split.Job}, lockWhole)
		if err != nil {
			return err
		}
		j := jobs.byID[split.Job]
		if j == nil || j.Tenant != tenant {
			return notFound(penstock.ViewJob, split.Job)
		}
		step, err = splitGroup{jobs, j, split, items}.take(ctx, tx)
		named = err == nil
		return err
	})
	if !named {
		s.discard(ctx, inputs...)
	} else {
		s.discard(ctx, inputs[step.Items:]...)
	}
	if err == nil && step.Items == len(split.Items) {
		s.recent.Keep(split.Job, items.inputGroups)
	}
	return committed(step, err)
}

// splitGroup is a job that is about to get items.
type splitGroup struct {
	jobs  jobGroup
	job   *penstock.Job
	split store.Split
	items submittedItems
}

// take gives the job as many items as its budgets allow. The items of a stopped job need no money.
func (g splitGroup) take(ctx context.Context, tx sqldb.Tx) (step store.Step, err error) {
	j, from := g.job, g.split.From
	stop := stopped(j, tx.Now())
	fit := len(g.split.Items)
	if stop == nil {
		if fit, err = reserveSplit(ctx, tx, j, g.split); err != nil {
			return step, err
		}
	}
	refused := func(item store.NewItem) bool { return item.Refusal != nil }
	if stop != nil || slices.ContainsFunc(g.split.Items, refused) { // some end at once
		if g.jobs.lockedBudgets, err = lockJobBudgets(ctx, tx, g.jobs.byID); err != nil {
			return step, err
		}
	}
	a := arrival{g.items.upTo(fit), j, g.jobs.moved}
	j.StoredBytes += a.inputBytes()
	g.jobs.stored.Job(j.Tenant, j.ID, a.inputBytes())
	if err := advanceSplit(ctx, tx, j, splitTo{g.split, fit}); err != nil || fit == 0 {
		return step, err
	}
	err = book(ctx, tx, penstock.LedgerEntry{
		Key: splitKey(j.ID, from), Tenant: j.Tenant, Kind: penstock.EntryReserve, Subject: j.ID, Job: j.ID, Reserved: a.reserved(), Origin: j.Origin(from),
	})
	if err != nil {
		return step, err
	}
	if err := insertItemRemarks(ctx, tx, *j, store.Split{Job: j.ID, From: from, Items: g.split.Items[:fit]}); err != nil {
		return step, err
	}
	step.Items = fit
	if stop != nil {
		g.jobs.lockedBudgets.move(j.BudgetsOf(from), -a.reserved(), 0) // until they end, below: nothing was set aside
	}
	step.Finished, err = arrive(ctx, tx, g.jobs, a)
	return step, err
}

// splitTo is the number of items that a job has after a step.
type splitTo struct {
	store.Split
	fit int // of its items
}

// advanceSplit records that a job has more of its items, or that its budgets allowed none.
func advanceSplit(ctx context.Context, tx sqldb.Tx, j *penstock.Job, split splitTo) error {
	var waiting penstock.Reason
	var after int64
	if split.fit == 0 && len(split.Items) > 0 {
		waiting, after = penstock.WaitingOnBudget, sqldb.Micros(tx.Now().Add(splitPause))
	}
	resolved, err := json.Marshal(j.Resolved)
	if err != nil {
		return fmt.Errorf("encoding resolution: %w", err)
	}
	n, err := tx.Exec(ctx, `UPDATE jobs SET split = split + $3, budgets = $5, waiting_on = $6, split_after = $7, resolved = $8, stored_bytes = $9
		WHERE id = $1 AND split = $2 AND split + $4 <= total`,
		split.Job, split.From, split.fit, len(split.Items), stretchList(j.Paid), waiting, after, string(resolved), j.StoredBytes)
	if err == nil && n == 0 {
		err = penstock.Errorf(penstock.CodeConflict, "%s has the items from %d on already, or lacks some before them.",
			penstock.ViewJob.Format(split.Job), split.From)
	}
	return err
}

// stopped is the outcome of the items of a job that was cancelled or expired, nil for a job that goes on.
func stopped(j *penstock.Job, now time.Time) *outcome {
	switch {
	case !j.CancelRequestedAt.IsZero():
		return &outcome{transition: penstock.TransitionCancel, err: cancelledError()}
	case !j.Deadline.After(now):
		return &outcome{transition: penstock.TransitionExpire, err: expiredError()}
	}
	return nil
}

// arrive queues items of a file. Items that cannot run, and all items of a stopped job, end at once; their
// inputs are kept, so that they can be retried.
func arrive(ctx context.Context, tx sqldb.Tx, jobs jobGroup, a arrival) ([]penstock.ID, error) {
	if err := activate(ctx, tx, a.job.Tenant, a.job.Lane); err != nil {
		return nil, err
	}
	for i := range a.inputGroups {
		g := &a.inputGroups[i]
		if err := jobs.items.Accept(ctx, tx, a.job.ID, g); err != nil {
			return nil, err
		}
		if err := a.place(ctx, tx, jobs, g); err != nil {
			return nil, err
		}
	}
	if !jobs.items.AnyEnded() {
		if err := jobs.stored.Save(ctx, tx); err != nil {
			return nil, err
		}
		return nil, a.moved.save(ctx, tx)
	}
	return jobs.save(ctx, tx)
}

// place queues the items of an input group, in one range for each run of items that do not end at once.
func (a arrival) place(ctx context.Context, tx sqldb.Tx, jobs jobGroup, g *itemstore.InputGroup) error {
	j, key := a.job, backlogKey{a.job.Lane, a.job.Tenant, a.job.Model}
	from := 0 // the first item that is not queued yet and may start
	for i := range g.Facts {
		end := a.ending(g.First+i, tx.Now())
		if end == nil {
			a.moved.add(key, arrived(&g.Facts[i]))
			continue
		}
		if err := readyGroup(g, key, j).part(from, i).admitSome(ctx, tx); err != nil {
			return err
		}
		from = i + 1
		if err := jobs.item(g.Row(j, i)).end(ctx, tx, *end); err != nil {
			return err
		}
	}
	return readyGroup(g, key, j).part(from, len(g.Facts)).admitSome(ctx, tx)
}

// ending is the outcome of an item that may not start, nil for an item that may.
func (a arrival) ending(n int, now time.Time) *outcome {
	if stop := stopped(a.job, now); stop != nil {
		return stop
	}
	if refusal := a.items[n-a.first].Refusal; refusal != nil {
		return &outcome{transition: penstock.TransitionRefuse, err: refusal}
	}
	return nil
}

// part is the range of some items of an input group, from one to before another.
func (r *readyRange) part(from, to int) *readyRange {
	r.first, r.last = r.inputGroup+from, r.inputGroup+to-1
	if !r.single() {
		r.estimate, r.inputBytes = 0, 0
	}
	return r
}

// admitSome queues a range unless it is empty.
func (r *readyRange) admitSome(ctx context.Context, tx sqldb.Tx) error {
	if r.size() == 0 {
		return nil
	}
	return r.admit(ctx, tx)
}
