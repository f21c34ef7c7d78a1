package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/promptrow"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// jobColumns are the columns of a job that is read: the number of its running items is the sum of its claims. A
// transaction that locks a job does not read that sum, and counts all open items as queued.
const (
	jobColumns    = runningColumn + jobRowColumns
	lockedColumns = `0, ` + jobRowColumns
	runningColumn = `(SELECT COALESCE(SUM(c.open), 0) /*pg ::bigint */ FROM claims c WHERE c.job_id = jobs.id), `
)

const jobRowColumns = `id, tenant_id, key_name, endpoint, model, lane, tags,
	total, succeeded, failed, cancelled, expired,
	cost_nano_usd, seq, started_seq, started_items, progress_at, stream, log IN ('purging', 'purged'),
	max_attempts, item_timeout, resolved, retry_of, file_id, trace_parent,
	created_at, deadline, started_at, finished_at, cancel_requested_at, queue_mark, queue_tokens, promised_at, budgets, waiting_on, stored_bytes, ` + usagerow.Names

func scanJob(row sqldb.Row) (penstock.Job, error) {
	var (
		j                                              penstock.Job
		tags, resolved, budgets                        string
		timeout                                        int64
		created, deadline, started, finished, cancelAt int64
		promised, progress                             int64
	)
	c := &j.Counts
	err := row.Scan(usagerow.Dest(&j.Usage, &c.Running, &j.ID, &j.Tenant, &j.Key, &j.Endpoint, &j.Model, &j.Lane, &tags,
		&c.Total, &c.Succeeded, &c.Failed, &c.Cancelled, &c.Expired,
		&j.Cost, &j.Seq, &j.StartedSeq, &j.StartedItems, &progress, &j.Stream, &j.LogPurged,
		&j.MaxAttempts, &timeout, &resolved, &j.RetryOf, &j.File, &j.TraceParent,
		&created, &deadline, &started, &finished, &cancelAt, &j.QueueMark, &j.QueueTokens, &promised, &budgets, &j.WaitingOn, &j.StoredBytes)...)
	if err != nil {
		return j, fmt.Errorf("scanning job: %w", err)
	}
	c.Queued = c.Total - c.Running - c.Succeeded - c.Failed - c.Cancelled - c.Expired
	j.ItemTimeout = time.Duration(timeout) * time.Microsecond
	j.CreatedAt, j.Deadline = sqldb.FromMicros(created), sqldb.FromMicros(deadline)
	j.StartedAt, j.FinishedAt = sqldb.FromMicros(started), sqldb.FromMicros(finished)
	j.CancelRequestedAt, j.PromisedAt, j.ProgressAt = sqldb.FromMicros(cancelAt), sqldb.FromMicros(promised), sqldb.FromMicros(progress)
	if j.Tags = map[string]string{}; tags != noTags {
		if err := json.Unmarshal([]byte(tags), &j.Tags); err != nil {
			return j, fmt.Errorf("reading tags of job %s: %w", j.ID, err)
		}
	}
	if err := json.Unmarshal([]byte(resolved), &j.Resolved); err != nil {
		return j, fmt.Errorf("reading resolution of job %s: %w", j.ID, err)
	}
	j.Paid, err = readStretches(budgets)
	return j, err
}

// noTags is the column of a job without tags.
const noTags = "{}"

// encodeTags never makes null, which PostgreSQL could not look into.
func encodeTags(tags map[string]string) (string, error) {
	if len(tags) == 0 {
		return noTags, nil
	}
	text, err := json.Marshal(tags)
	if err != nil {
		return "", fmt.Errorf("encoding tags: %w", err)
	}
	return string(text), nil
}

var addJob = sqldb.InsertInto("jobs", `id text, tenant_id text, key_name text, endpoint text, model text, lane text, tags text, status text, total bigint,
	seq bigint, max_attempts bigint, item_timeout bigint, resolved text, retry_of text, file_id text, trace_parent text,
	created_at bigint, deadline bigint, queue_mark bigint, queue_tokens bigint, promised_at bigint, split bigint,
	started_at bigint, started_seq bigint, started_items bigint, stream text, log text, budgets text, call_model text, stored_bytes bigint`, "")

func insertJob(ctx context.Context, tx sqldb.Tx, j penstock.Job) error {
	tags, err := encodeTags(j.Tags)
	if err != nil {
		return err
	}
	resolved, err := json.Marshal(j.Resolved)
	if err != nil {
		return fmt.Errorf("encoding resolution: %w", err)
	}
	split := j.Counts.Total
	if j.File != "" {
		split = 0
	}
	if err := promptrow.InsertJob(ctx, tx, j); err != nil {
		return err
	}
	return tx.Put(ctx, addJob,
		j.ID, j.Tenant, j.Key, j.Endpoint, j.Model, j.Lane, tags, j.Status(), j.Counts.Total,
		j.Seq, j.MaxAttempts, j.ItemTimeout.Microseconds(), string(resolved), j.RetryOf, j.File, j.TraceParent,
		sqldb.Micros(j.CreatedAt), sqldb.Micros(j.Deadline), j.QueueMark, j.QueueTokens, sqldb.Micros(j.PromisedAt), split,
		sqldb.Micros(j.StartedAt), j.StartedSeq, j.StartedItems, j.Stream, logOf(j), stretchList(j.Paid), callModel(j), j.StoredBytes)
}

// callModel is the model that answers a call which runs as a job, "" for a job that a caller asked for.
func callModel(j penstock.Job) string {
	if !j.Call {
		return ""
	}
	return j.Resolved.Model
}

// jobGroup is a set of jobs whose rows this transaction has locked. Transitions move their counters
// in memory; save writes each row once, however many items moved.
type jobGroup struct {
	byID          map[penstock.ID]*penstock.Job
	moved         backlog // how transitions changed what is queued
	stored        stored  // and what is stored
	results       *resultBytes
	released      *releases // which items do not run any more
	settled       *settlements
	lockedBudgets lockedBudgets     // the budgets that pay for the jobs
	items         *itemstore.Writer // the items that changed
	events        *jobEvents        // for the outbox
}

// jobLock is how the rows of jobs are locked.
type jobLock string

const (
	// lockFinish keeps others from finishing items of the job, and allows claims.
	lockFinish jobLock = ` /*pg ORDER BY id FOR NO KEY UPDATE */`
	// lockWhole keeps claims out as well.
	lockWhole jobLock = ` /*pg ORDER BY id FOR UPDATE */`
	// lockFree is the same, for jobs that no other transaction has locked.
	lockFree jobLock = ` /*pg ORDER BY id FOR UPDATE SKIP LOCKED */`
)

// lockJobs locks the given jobs and the budgets that pay for them: a transaction that ends items needs both.
func lockJobs(ctx context.Context, tx sqldb.Tx, ids []penstock.ID, lock jobLock) (jobGroup, error) {
	jobs, err := lockRows(ctx, tx, ids, lock)
	if err == nil {
		jobs.lockedBudgets, err = lockJobBudgets(ctx, tx, jobs.byID)
	}
	return jobs, err
}

// lockRows locks the rows of the given jobs in ascending order, so that two transactions never wait
// for each other. Jobs that are gone are missing from the group.
func lockRows(ctx context.Context, tx sqldb.Tx, ids []penstock.ID, lock jobLock) (jobGroup, error) {
	slices.SortFunc(ids, func(a, b penstock.ID) int { return strings.Compare(string(a), string(b)) })
	ids = slices.Compact(ids)
	jobs := jobGroup{
		byID: make(map[penstock.ID]*penstock.Job, len(ids)), moved: backlog{}, stored: stored{}, results: &resultBytes{}, released: newReleases(),
		settled: &settlements{sums: map[settled]*penstock.LedgerEntry{}}, items: &itemstore.Writer{}, events: newJobEvents(),
	}
	return jobs, tx.QueryIn(ctx, sqldb.IDQuery{
		IDs: sqldb.Strings(ids), SQL: `SELECT ` + lockedColumns + `, ` + subscribedColumn + ` FROM jobs WHERE id = /*pg ANY */($1)` + string(lock),
	}, func(row sqldb.Row) error {
		j, err := jobs.events.scan(row)
		jobs.byID[j.ID] = &j
		return err
	})
}

// item is an item of the group with its job.
func (g jobGroup) item(r *itemstore.Row) itemInJob { return itemInJob{r, g.byID[r.Job], g} }

var saveJob = sqldb.Update("jobs", "id text", `status text, succeeded bigint, failed bigint,
	cancelled bigint, expired bigint, cost_nano_usd bigint, seq bigint, finished_at bigint, cancel_requested_at bigint, progress_at bigint, stored_bytes bigint, `+usagerow.Columns, "").AllowMissing()

// save writes the jobs back and closes those that have no open item left. It returns the closed
// ones in ascending order.
func (g jobGroup) save(ctx context.Context, tx sqldb.Tx) ([]penstock.ID, error) {
	var finished []penstock.ID
	var progressed []*penstock.Job
	for id, j := range g.byID {
		if err := g.items.Flush(ctx, tx, j); err != nil {
			return nil, err
		}
		if j.Counts.Open() == 0 && j.FinishedAt.IsZero() {
			j.Seq++
			j.FinishedAt = tx.Now()
			finished = append(finished, id)
			g.events.add(j, penstock.EventJobFinished)
		}
		if progressDue(j, tx.Now()) {
			j.Seq++
			j.ProgressAt = tx.Now()
			progressed = append(progressed, j)
		}
		c := j.Counts
		err := tx.Put(ctx, saveJob, usagerow.Values(j.Usage, id, j.Status(), c.Succeeded, c.Failed, c.Cancelled, c.Expired,
			j.Cost, j.Seq, sqldb.Micros(j.FinishedAt), sqldb.Micros(j.CancelRequestedAt), sqldb.Micros(j.ProgressAt), j.StoredBytes)...)
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(finished)
	if err := g.settled.book(ctx, tx); err != nil {
		return nil, err
	}
	if err := g.released.save(ctx, tx); err != nil {
		return nil, err
	}
	if err := noteProgress(ctx, tx, progressed); err != nil {
		return nil, err
	}
	if err := g.lockedBudgets.save(ctx, tx); err != nil {
		return nil, err
	}
	if err := g.events.publish(ctx, tx); err != nil {
		return nil, err
	}
	g.results.addTo(g.stored)
	if err := g.stored.Save(ctx, tx); err != nil {
		return nil, err
	}
	return finished, g.moved.save(ctx, tx)
}
