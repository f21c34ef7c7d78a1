package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
)

const jobColumns = `id, tenant_id, key_name, endpoint, model, lane, tags,
	total, queued, running, succeeded, failed, cancelled, expired,
	cost_nano_usd, seq, started_seq,
	max_attempts, item_timeout, resolved, retry_of, trace_parent,
	created_at, deadline, started_at, finished_at, cancel_requested_at, queue_mark, queue_tokens, promised_at, budgets, ` + usageNames

func scanJob(row Row) (penstock.Job, error) {
	var (
		j                                              penstock.Job
		tags, resolved, budgets                        string
		timeout                                        int64
		created, deadline, started, finished, cancelAt int64
		promised                                       int64
	)
	c := &j.Counts
	err := row.Scan(intoUsage(&j.Usage, &j.ID, &j.Tenant, &j.Key, &j.Endpoint, &j.Model, &j.Lane, &tags,
		&c.Total, &c.Queued, &c.Running, &c.Succeeded, &c.Failed, &c.Cancelled, &c.Expired,
		&j.Cost, &j.Seq, &j.StartedSeq,
		&j.MaxAttempts, &timeout, &resolved, &j.RetryOf, &j.TraceParent,
		&created, &deadline, &started, &finished, &cancelAt, &j.QueueMark, &j.QueueTokens, &promised, &budgets)...)
	if err != nil {
		return j, fmt.Errorf("scanning job: %w", err)
	}
	j.ItemTimeout, j.Budgets = time.Duration(timeout)*time.Microsecond, readBudgetList(budgets)
	j.CreatedAt, j.Deadline = fromMicros(created), fromMicros(deadline)
	j.StartedAt, j.FinishedAt = fromMicros(started), fromMicros(finished)
	j.CancelRequestedAt, j.PromisedAt = fromMicros(cancelAt), fromMicros(promised)
	if err := json.Unmarshal([]byte(tags), &j.Tags); err != nil {
		return j, fmt.Errorf("reading tags of job %s: %w", j.ID, err)
	}
	if err := json.Unmarshal([]byte(resolved), &j.Resolved); err != nil {
		return j, fmt.Errorf("reading resolution of job %s: %w", j.ID, err)
	}
	return j, nil
}

// encodeTags never makes null, which PostgreSQL could not look into.
func encodeTags(tags map[string]string) (string, error) {
	if len(tags) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(tags)
	if err != nil {
		return "", fmt.Errorf("encoding tags: %w", err)
	}
	return string(text), nil
}

func insertJob(ctx context.Context, tx Tx, j penstock.Job) error {
	tags, err := encodeTags(j.Tags)
	if err != nil {
		return err
	}
	resolved, err := json.Marshal(j.Resolved)
	if err != nil {
		return fmt.Errorf("encoding resolution: %w", err)
	}
	return tx.Do(ctx, `INSERT INTO jobs (id, tenant_id, key_name, endpoint, model, lane, tags, status, total, queued,
			seq, max_attempts, item_timeout, resolved, retry_of, trace_parent, created_at, deadline, queue_mark, queue_tokens, promised_at, budgets)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		j.ID, j.Tenant, j.Key, j.Endpoint, j.Model, j.Lane, tags, j.Status(), j.Counts.Total, j.Counts.Queued,
		j.Seq, j.MaxAttempts, j.ItemTimeout.Microseconds(), string(resolved), j.RetryOf, j.TraceParent,
		micros(j.CreatedAt), micros(j.Deadline), j.QueueMark, j.QueueTokens, micros(j.PromisedAt), budgetList(j.Budgets))
}

// jobGroup is a set of jobs whose rows this transaction has locked. Transitions move their counters
// in memory; save writes each row once, however many items moved.
type jobGroup struct {
	byID     map[penstock.ID]*penstock.Job
	moved    backlog               // how transitions changed what is queued
	released map[penstock.ID]int64 // by claim, how many of its items do not run any more
	purse    purse                 // what the jobs are paid from
}

// lockJobs locks the rows of the given jobs in ascending order, so that two transactions never wait
// for each other. Jobs that are gone are missing from the group.
func lockJobs(ctx context.Context, tx Tx, ids []penstock.ID) (jobGroup, error) {
	slices.SortFunc(ids, func(a, b penstock.ID) int { return strings.Compare(string(a), string(b)) })
	ids = slices.Compact(ids)
	jobs, question := lockingJobs(ids)
	err := tx.Ask(ctx, question)
	if err == nil {
		jobs.purse, err = lockPurse(ctx, tx, jobs.byID)
	}
	return jobs, err
}

// lockingJobs is the question by which jobs are locked, and the group that its answer fills.
func lockingJobs(ids []penstock.ID) (jobGroup, Question) {
	jobs := jobGroup{byID: make(map[penstock.ID]*penstock.Job, len(ids)), moved: backlog{}, released: map[penstock.ID]int64{}}
	return jobs, Question{
		IDQuery{IDs: plain(ids), SQL: `SELECT ` + jobColumns + ` FROM jobs WHERE id = /*pg ANY */($1) /*pg ORDER BY id FOR UPDATE */`},
		func(row Row) error {
			j, err := scanJob(row)
			jobs.byID[j.ID] = &j
			return err
		},
	}
}

// start notes the first claim of a job's items.
func (g jobGroup) start(tx Tx, j *penstock.Job) {
	if !j.StartedAt.IsZero() {
		return
	}
	j.Seq++
	j.StartedAt, j.StartedSeq = tx.Now(), j.Seq
}

// item is an item of the group with its job.
func (g jobGroup) item(r *itemRow) itemInJob { return itemInJob{r, g.byID[r.Job], g} }

var saveJob = update("jobs", "id text", `status text, queued bigint, running bigint, succeeded bigint, failed bigint,
	cancelled bigint, expired bigint,
	cost_nano_usd bigint, seq bigint, started_at bigint, finished_at bigint, cancel_requested_at bigint, started_seq bigint, `+usageColumns, "").lenient()

// save writes the jobs back and closes those that have no open item left. It returns the closed
// ones in ascending order.
func (g jobGroup) save(ctx context.Context, tx Tx) ([]penstock.ID, error) {
	var finished []penstock.ID
	for id, j := range g.byID {
		if j.Counts.Open() == 0 && j.FinishedAt.IsZero() {
			j.Seq++
			j.FinishedAt = tx.Now()
			finished = append(finished, id)
		}
		c := j.Counts
		err := tx.Put(ctx, saveJob, withUsage(j.Usage, id, j.Status(), c.Queued, c.Running, c.Succeeded, c.Failed, c.Cancelled, c.Expired,
			j.Cost, j.Seq, micros(j.StartedAt), micros(j.FinishedAt), micros(j.CancelRequestedAt), j.StartedSeq)...)
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(finished)
	if err := releaseClaims(ctx, tx, g.released); err != nil {
		return nil, err
	}
	if err := g.purse.save(ctx, tx); err != nil {
		return nil, err
	}
	return finished, g.moved.save(ctx, tx)
}

// plain are ids as a query takes them.
func plain[T ~string](ids []T) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(id)
	}
	return all
}
