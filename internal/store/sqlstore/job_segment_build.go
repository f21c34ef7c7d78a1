package sqlstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"penstock"
	"penstock/internal/store/jobsegment"
	"penstock/internal/store/sqldb"
)

const (
	// segmentAge is how old jobs are when a segment is built: by then the submits of earlier jobs have been committed.
	segmentAge = time.Minute
	// segmentCheck is the age at which a segment is built once more, in case a submit took longer, or a process's clock was slow.
	segmentCheck = time.Hour
	// segmentOpen is how long after a segment with open jobs was built the segment is built again.
	segmentOpen = time.Minute
)

// BuildSegment implements store.Segments.
func (s *Store) BuildSegment(ctx context.Context, tenant penstock.TenantID) (more bool, err error) {
	var due, grown bool
	err = s.read(ctx, func(tx sqldb.Tx) error {
		b := segmentBuild{tx, tenant}
		_, due, err = b.due(ctx, "")
		if err != nil || due {
			return err
		}
		end, err := segmentEnd(ctx, tx, tenant)
		if err != nil {
			return err
		}
		_, grown, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT 1 FROM jobs WHERE tenant_id = $1 AND id > $2 AND id < $3 ORDER BY id LIMIT 1 OFFSET `+fmt.Sprint(s.segmentJobs-1),
			tenant, end, b.horizon()), sqldb.ScanOne[int64])
		return err
	})
	if err != nil || !due && !grown {
		return false, err
	}
	err = s.write(ctx, "build_segment", func(tx sqldb.Tx) error {
		tx.Relax() // a lost segment is built again
		return segmentBuild{tx, tenant}.run(ctx, s.segmentJobs)
	})
	return err == nil, err
}

// segmentBuild builds a segment of a tenant.
type segmentBuild struct {
	tx     sqldb.Tx
	tenant penstock.TenantID
}

// horizon is the id below which segments are built.
func (b segmentBuild) horizon() penstock.ID { return penstock.FirstID(b.tx.Now().Add(-segmentAge)) }

// due finds a segment that is to be built again.
func (b segmentBuild) due(ctx context.Context, lock string) (last penstock.ID, found bool, err error) {
	return sqldb.QueryOne(ctx, b.tx, sqldb.SQL(`SELECT last_id FROM job_segments WHERE tenant_id = $1 AND due_at > 0 AND due_at <= $2 ORDER BY due_at LIMIT 1`+lock,
		b.tenant, sqldb.Micros(b.tx.Now())), sqldb.ScanOne[penstock.ID])
}

// run builds one segment, unless another process builds one of the same tenant.
func (b segmentBuild) run(ctx context.Context, size int) error {
	if err := b.tx.Do(ctx, `INSERT INTO job_segment_ends (tenant_id, last_id) VALUES ($1, '') ON CONFLICT (tenant_id) DO NOTHING`, b.tenant); err != nil {
		return err
	}
	end, free, err := sqldb.QueryOne(ctx, b.tx, sqldb.SQL(`SELECT last_id FROM job_segment_ends WHERE tenant_id = $1 /*pg FOR UPDATE SKIP LOCKED */`, b.tenant), sqldb.ScanOne[penstock.ID])
	if err != nil || !free {
		return err
	}
	last, found, err := b.due(ctx, ` /*pg FOR UPDATE */`)
	if err != nil {
		return err
	}
	if found {
		return b.again(ctx, last)
	}
	return b.next(ctx, end, size)
}

// next builds the segment behind the last one.
func (b segmentBuild) next(ctx context.Context, end penstock.ID, size int) error {
	jobs, err := b.jobs(ctx, `id > $2 AND id < $3 ORDER BY id LIMIT `+fmt.Sprint(size), end, b.horizon())
	if err != nil || len(jobs) < size {
		return err
	}
	last := jobs[len(jobs)-1].ID
	if err := b.save(ctx, last, jobs); err != nil {
		return err
	}
	return b.tx.Do(ctx, `UPDATE job_segment_ends SET last_id = $2 WHERE tenant_id = $1`, b.tenant, last)
}

// again builds a segment from the jobs that it has now.
func (b segmentBuild) again(ctx context.Context, last penstock.ID) error {
	before, _, err := sqldb.QueryOne(ctx, b.tx, sqldb.SQL(`SELECT last_id FROM job_segments WHERE tenant_id = $1 AND last_id < $2 ORDER BY last_id DESC LIMIT 1`,
		b.tenant, last), sqldb.ScanOne[penstock.ID])
	if err != nil {
		return err
	}
	jobs, err := b.jobs(ctx, `id > $2 AND id <= $3 ORDER BY id`, before, last)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return b.tx.Do(ctx, `DELETE FROM job_segments WHERE tenant_id = $1 AND last_id = $2`, b.tenant, last)
	}
	return b.save(ctx, last, jobs)
}

// jobs reads jobs of the tenant, whose id conditions have the parameters $2 and $3.
func (b segmentBuild) jobs(ctx context.Context, where string, bounds ...penstock.ID) ([]jobsegment.Job, error) {
	return sqldb.QueryAll(ctx, b.tx, sqldb.SQL(`SELECT id, status, lane, model, key_name, tags, created_at FROM jobs WHERE tenant_id = $1 AND `+where,
		b.tenant, bounds[0], bounds[1]), func(row sqldb.Row) (j jobsegment.Job, err error) {
		g := &j.Group
		return j, row.Scan(&j.ID, &g.Status, &g.Lane, &g.Model, &g.Key, &j.Tags, &j.Created)
	})
}

// save writes a segment, and when it is due again: soon if it has open jobs, and once after segmentCheck.
func (b segmentBuild) save(ctx context.Context, last penstock.ID, jobs []jobsegment.Job) error {
	now := b.tx.Now()
	open, least, most := 0, int64(math.MaxInt64), int64(math.MinInt64)
	for _, j := range jobs {
		if j.Group.Open() {
			open++
		}
		least, most = min(least, j.Created), max(most, j.Created)
	}
	var due time.Time
	checked := last.Time().Add(segmentCheck)
	switch {
	case open > 0:
		due = now.Add(segmentOpen)
	case now.Before(checked):
		due = checked
	}
	facts, ids := jobsegment.Encode(jobs)
	return b.tx.Do(ctx, `INSERT INTO job_segments (tenant_id, last_id, first_id, open, stale, due_at, min_created, max_created, facts, ids)
		VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9) ON CONFLICT (tenant_id, last_id) DO UPDATE SET first_id = excluded.first_id, open = excluded.open, stale = 0,
			due_at = excluded.due_at, min_created = excluded.min_created, max_created = excluded.max_created, facts = excluded.facts, ids = excluded.ids`,
		b.tenant, last, jobs[0].ID, open, sqldb.Micros(due), least, most, facts, ids)
}

// staleSegment marks the segment of a deleted job: its counts are too high until it is built again.
func staleSegment(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, job penstock.ID) error {
	return tx.Do(ctx, `UPDATE job_segments SET stale = 1, due_at = 1 WHERE tenant_id = $1 AND stale = 0
		AND last_id = (SELECT s.last_id FROM job_segments s WHERE s.tenant_id = $1 AND s.last_id >= $2 ORDER BY s.last_id LIMIT 1)`, tenant, job)
}
