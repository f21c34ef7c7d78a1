package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// partDelta is a part of an answer, as it is shown while the answer arrives.
const partDelta part = "delta"

// The state of a job's log: whether it has rows.
const (
	logNone    = ""
	logKept    = "kept"
	logPurging = "purging" // some rows are removed
	logPurged  = "purged"  // all rows are removed
)

func logOf(j penstock.Job) string {
	if j.Stream != penstock.StreamNone || j.Counts.Total > penstock.MaxItemEvents {
		return logKept
	}
	return logNone
}

var (
	addEvent = sqldb.InsertInto("events", `job_id text, seq bigint, type text, item_id text, attempt bigint, data bytea, created_at bigint`, "")
	countUp  = sqldb.Update("jobs", "id text", "seq bigint", "")
)

// sealedDelta is a sealed delta that is not written yet.
type sealedDelta struct {
	item    penstock.ID
	attempt int64
	typ     penstock.EventType
	data    []byte // sealed
}

// seal encrypts a delta before the transaction that writes it.
func (s *Store) seal(c *store.Claimed, d store.Delta) (sealedDelta, error) {
	sealed := sealedDelta{item: c.Item, attempt: c.Fence, typ: penstock.EventItemDelta}
	if d.Reset {
		sealed.typ = penstock.EventItemReset
		return sealed, nil
	}
	var err error
	if sealed.data, err = s.codec.Seal(owner(c.Tenant, c.Item, partDelta), d.Data); err != nil {
		return sealed, fmt.Errorf("sealing a delta: %w", err)
	}
	return sealed, nil
}

// sealTails seals the last deltas of items.
func (s *Store) sealTails(group []store.Finish) ([][]sealedDelta, error) {
	tails := make([][]sealedDelta, len(group))
	for i := range group {
		f := &group[i]
		for _, d := range f.Tail {
			sealed, err := s.seal(&store.Claimed{Tenant: f.Tenant, Item: f.Item, Fence: f.Fence}, d)
			if err != nil {
				return nil, err
			}
			tails[i] = append(tails[i], sealed)
		}
	}
	return tails, nil
}

// insert gives a delta the next number of its job, whose row is locked.
func (d sealedDelta) insert(ctx context.Context, tx sqldb.Tx, j *penstock.Job) error {
	j.Seq++
	return tx.Put(ctx, addEvent, j.ID, j.Seq, d.typ, d.item, d.attempt, d.data, sqldb.Micros(tx.Now()))
}

// AppendDeltas implements store.Streams.
func (s *Store) AppendDeltas(ctx context.Context, group []store.ClaimDelta) (added []bool, err error) {
	if len(group) == 0 {
		return nil, nil
	}
	if len(group) > store.MaxDeltaGroup {
		return nil, penstock.Internal(fmt.Errorf("%d deltas at once; at most %d are taken", len(group), store.MaxDeltaGroup))
	}
	sealed := make([]sealedDelta, len(group))
	for i, d := range group {
		if sealed[i], err = s.seal(d.Of, d.Delta); err != nil {
			return nil, sqldb.PublicError(err)
		}
	}
	err = s.write(ctx, "deltas", func(tx sqldb.Tx) error {
		added = make([]bool, len(group))
		jobs, err := lockStreaming(ctx, tx, group)
		if err != nil {
			return err
		}
		holds, err := holding(ctx, tx, group)
		if err != nil {
			return err
		}
		grown := map[penstock.ID]*penstock.Job{}
		for i, d := range group {
			j := jobs[d.Of.Job]
			if j == nil || j.Tenant != d.Of.Tenant || !holds(d.Of) {
				continue
			}
			if err := sealed[i].insert(ctx, tx, j); err != nil {
				return err
			}
			added[i], grown[j.ID] = true, j
		}
		for id, j := range grown {
			if err := tx.Put(ctx, countUp, id, j.Seq); err != nil {
				return err
			}
		}
		return nil
	})
	return added, err
}

// lockStreaming locks the jobs of a group. The lock orders the event numbers, and keeps other transactions from changing
// the items.
func lockStreaming(ctx context.Context, tx sqldb.Tx, group []store.ClaimDelta) (map[penstock.ID]*penstock.Job, error) {
	ids := make([]penstock.ID, len(group))
	for i, d := range group {
		ids[i] = d.Of.Job
	}
	jobs, err := lockJobs(ctx, tx, ids, lockFinish)
	return jobs.byID, err
}

// holding returns a function that reports whether a claim still holds its item. The row of an item names its claim; an
// item without a row runs under the claim that lists it.
func holding(ctx context.Context, tx sqldb.Tx, group []store.ClaimDelta) (func(*store.Claimed) bool, error) {
	items, jobs := make([]penstock.ID, len(group)), make([]penstock.ID, len(group))
	for i, d := range group {
		items[i], jobs[i] = d.Of.Item, d.Of.Job
	}
	slices.Sort(items)
	slices.Sort(jobs)
	rows, err := itemReader.Rows(ctx, tx, slices.Compact(items))
	if err != nil {
		return nil, err
	}
	claims := map[claimKey]heldClaim{}
	err = tx.QueryIn(ctx, sqldb.IDQuery{SQL: `SELECT ` + claimColumns + ` FROM claims c WHERE c.job_id = /*pg ANY */($1)`, IDs: sqldb.Strings(slices.Compact(jobs))},
		func(row sqldb.Row) error {
			c, err := scanClaim(row)
			claims[c.claimKey] = c
			return err
		})
	return func(c *store.Claimed) bool {
		if row := rows[c.Item]; row != nil {
			return row.Status == penstock.StatusRunning && row.Claim == c.Claim && row.Fence == c.Fence
		}
		return claims[claimKey{c.Job, c.Claim}].placeOf(c.Index) > 0
	}, err
}

// progressEvery is the shortest time between two job.progress events of a large job.
const progressEvery = time.Second

// progressDue reports whether a locked job is due for a job.progress event.
func progressDue(j *penstock.Job, now time.Time) bool {
	return j.Counts.Total > penstock.MaxItemEvents && j.FinishedAt.IsZero() && now.Sub(j.ProgressAt) >= progressEvery
}

// progress is the state of a job in a job.progress event.
type progress struct {
	Counts penstock.Counts  `json:"counts"`
	Usage  penstock.Usage   `json:"usage"`
	Cost   penstock.NanoUSD `json:"cost_nano_usd"`
}

// noteProgress writes job.progress events. Their numbers were taken when the jobs were saved; the number of running items
// is read from the claims.
func noteProgress(ctx context.Context, tx sqldb.Tx, jobs []*penstock.Job) error {
	for _, j := range jobs {
		running, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COALESCE(SUM(open), 0) /*pg ::bigint */ FROM claims WHERE job_id = $1`, j.ID), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		p := progress{j.Counts, j.Usage, j.Cost}
		p.Counts.Running, p.Counts.Queued = int(running), p.Counts.Open()-int(running)
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("encoding progress: %w", err)
		}
		if err := tx.Put(ctx, addEvent, j.ID, j.Seq, penstock.EventJobProgress, "", int64(0), data, sqldb.Micros(j.ProgressAt)); err != nil {
			return err
		}
	}
	return nil
}

// eventRow is an event that has a row of its own; its data is still sealed.
type eventRow struct {
	penstock.Event
	data []byte
}

// eventRows are the next events of a job that have rows.
func eventRows(ctx context.Context, tx sqldb.Tx, job penstock.Job, p store.EventPage) ([]eventRow, error) {
	if logOf(job) == logNone {
		return nil, nil
	}
	return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT seq, type, item_id, attempt, data, created_at FROM events
		WHERE job_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, job.ID, p.After, p.Limit), func(row sqldb.Row) (r eventRow, err error) {
		var item penstock.ID
		var attempt, created int64
		r.Job = job.ID
		if err := row.Scan(&r.Seq, &r.Type, &item, &attempt, &r.data, &created); err != nil {
			return r, fmt.Errorf("scanning event: %w", err)
		}
		r.CreatedAt = sqldb.FromMicros(created)
		if r.Type != penstock.EventJobProgress {
			r.Delta = &penstock.Delta{Item: item, Attempt: int(attempt)}
			return r, nil
		}
		var was progress
		if err := json.Unmarshal(r.data, &was); err != nil {
			return r, fmt.Errorf("reading progress of job %s: %w", job.ID, err)
		}
		j := job
		j.Counts, j.Usage, j.Cost, j.FinishedAt = was.Counts, was.Usage, was.Cost, time.Time{}
		r.State, r.data = &j, nil
		return r, nil
	})
}

// openDeltas makes events readable, after the transaction that read them.
func (s *Store) openDeltas(tenant penstock.TenantID, rows []eventRow) ([]penstock.Event, error) {
	events := make([]penstock.Event, len(rows))
	for i, r := range rows {
		if r.data != nil {
			data, err := s.codec.Open(owner(tenant, r.Delta.Item, partDelta), r.data)
			if err != nil {
				return nil, sqldb.PublicError(fmt.Errorf("opening event %d of job %s: %w", r.Seq, r.Job, err))
			}
			r.Delta.Data = data
		}
		events[i] = r.Event
	}
	return events, nil
}

// PurgeEvents implements store.Streams. A job that lost a part of its log is marked before the rest goes, so that
// no reader sees a log with a gap.
func (s *Store) PurgeEvents(ctx context.Context, tenant penstock.TenantID, p store.Purge) (done store.Purged, err error) {
	type loggedJob struct {
		id       penstock.ID
		finished int64
	}
	find := func(tx sqldb.Tx, limit int) ([]loggedJob, error) {
		return sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT id, finished_at FROM jobs WHERE tenant_id = $1 AND log IN ('kept', 'purging') AND finished_at > 0
			AND (finished_at <= $2 OR log = 'purging') ORDER BY finished_at LIMIT $3`, tenant, sqldb.Micros(tx.Now().Add(-p.Kept)), limit),
			func(row sqldb.Row) (x loggedJob, err error) { return x, row.Scan(&x.id, &x.finished) })
	}
	var found []loggedJob
	err = s.read(ctx, func(tx sqldb.Tx) error {
		if found, err = find(tx, 1); err == nil && len(found) > 0 {
			done.Overdue = tx.Now().Sub(sqldb.FromMicros(found[0].finished).Add(p.Kept))
		}
		return err
	})
	if err != nil || len(found) == 0 {
		return done, err
	}
	err = s.write(ctx, "purge_events", func(tx sqldb.Tx) error {
		done.Removed, done.More = 0, false
		if found, err = find(tx, p.Limit); err != nil {
			return err
		}
		for _, x := range found {
			left := p.Limit - done.Removed
			if left == 0 {
				break
			}
			removed, err := purgeLog(ctx, tx, x.id, left)
			if err != nil {
				return err
			}
			done.Removed += removed
		}
		done.More = done.Removed == p.Limit || len(found) == p.Limit
		return nil
	})
	return done, err
}

// purgeLog removes rows of a job's log up to the limit, unless another process is removing them.
func purgeLog(ctx context.Context, tx sqldb.Tx, job penstock.ID, limit int) (removed int, err error) {
	_, free, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM jobs WHERE id = $1 /*pg FOR NO KEY UPDATE SKIP LOCKED */`, job), sqldb.ScanOne[int64])
	if err != nil || !free {
		return 0, err
	}
	if removed, err = removeEvents(ctx, tx, job, limit); err != nil {
		return 0, err
	}
	state := logPurging
	if removed < limit {
		state = logPurged
	}
	return removed, tx.Do(ctx, `UPDATE jobs SET log = $2 WHERE id = $1`, job, state)
}

// removeEvents removes rows of a job's log.
func removeEvents(ctx context.Context, tx sqldb.Tx, job penstock.ID, limit int) (int, error) {
	n, err := tx.Exec(ctx, `DELETE FROM events WHERE job_id = $1 AND seq IN (SELECT seq FROM events WHERE job_id = $1 LIMIT $2)`, job, limit)
	return int(n), err
}
