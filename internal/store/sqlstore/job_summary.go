package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/jobsegment"
	"penstock/internal/store/sqldb"
)

// SummarizeJobs implements store.JobSummaries. It adds up the segments whose jobs have all ended, and reads the rows of the
// other jobs as far as store.MaxJobScan allows. A segment beyond that counts as it was built.
func (s *Store) SummarizeJobs(ctx context.Context, tenant penstock.TenantID, q store.JobSummaryQuery) (sum store.JobSummary, err error) {
	q.Filter.Direction = store.Descending
	list, err := newJobList(tenant, q.Filter)
	if err != nil {
		return sum, err
	}
	err = s.read(ctx, func(tx sqldb.Tx) error {
		list.tx = tx
		c := jobCount{jobList: list, rows: store.MaxJobScan, lookups: maxCandidates, counts: map[penstock.Status][]int64{}}
		c.sum = store.JobSummary{Exact: true, Counts: map[penstock.Status]int64{}, AsOf: tx.Now()}
		if err := c.buckets(ctx, q.Buckets); err != nil {
			return err
		}
		err = c.count(ctx)
		sum = c.fold()
		return err
	})
	return sum, err
}

// jobCount counts jobs.
type jobCount struct {
	*jobList
	sum     store.JobSummary
	counts  map[penstock.Status][]int64 // by bucket
	from    int64                       // of the first bucket, microseconds
	width   int64                       // of a bucket, microseconds; 0 without buckets
	rows    int                         // that may still be read
	lookups int                         // single jobs that may still be read
}

// buckets divides the time of the filter. Without a first time it is the creation of the oldest job.
func (c *jobCount) buckets(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	from, until := c.filter.CreatedAfter, c.filter.CreatedUntil
	if until.IsZero() {
		until = c.tx.Now()
	}
	if from.IsZero() {
		oldest, found, err := sqldb.QueryOne(ctx, c.tx, sqldb.SQL(`SELECT created_at FROM jobs WHERE tenant_id = $1 ORDER BY id LIMIT 1`, c.tenant), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if from = until; found {
			from = sqldb.FromMicros(oldest)
		}
	}
	c.from = sqldb.Micros(from)
	c.width = max((sqldb.Micros(until)-c.from)/int64(n)+1, 1)
	c.sum.From, c.sum.Width = from, time.Duration(c.width)*time.Microsecond
	c.sum.Buckets = make([]map[penstock.Status]int64, n)
	for i := range c.sum.Buckets {
		c.sum.Buckets[i] = map[penstock.Status]int64{}
	}
	return nil
}

// count counts the newest jobs by their rows, and the others by their segments.
func (c *jobCount) count(ctx context.Context) error {
	end, err := segmentEnd(ctx, c.tx, c.tenant)
	if err != nil {
		return err
	}
	newest := idRange{max(c.whole.from, behind(end)), c.whole.below}
	n, err := c.rowsIn(ctx, newest)
	if err == nil {
		err = c.countRows(ctx, newest)
	}
	if err != nil {
		return err
	}
	c.sum.Exact = n <= c.rows
	c.rows = max(c.rows-n, 0)
	r := c.whole
	for n := 0; ; n += segmentStep {
		rows, err := c.segments(ctx, r)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := c.countSegment(ctx, row); err != nil {
				return err
			}
		}
		if len(rows) < segmentStep {
			return nil
		}
		if n+segmentStep >= store.MaxSegmentScan {
			c.sum.Exact = false
			return nil
		}
		r.below = rows[len(rows)-1].first
	}
}

// countSegment counts the jobs of a segment. Jobs that it does not know enough of are read, and all of its jobs if one was
// deleted.
func (c *jobCount) countSegment(ctx context.Context, row segmentRow) error {
	s, err := jobsegment.Decode(row.facts)
	if err != nil {
		return err
	}
	if row.stale {
		if read, err := c.reread(ctx, row); err != nil || read {
			return err
		}
		c.sum.Exact = false
	}
	var unsure []int
	var estimate []jobsegment.Found
	counts := make([][]int64, len(s.Groups)) // of the groups whose jobs have ended
	for i := range s.Groups {
		if !s.Groups[i].Open() {
			counts[i] = c.countsOf(s.Groups[i].Status)
		}
	}
	err = s.Select(c.matcher, func(f jobsegment.Found) {
		if f.Match == jobsegment.Yes && counts[f.Group] != nil {
			counts[f.Group][c.bucket(f.Created)]++
			return
		}
		unsure, estimate = append(unsure, f.Position), append(estimate, f)
	})
	if err != nil || len(unsure) == 0 {
		return err
	}
	if len(unsure) <= c.lookups {
		c.lookups -= len(unsure)
		return c.lookUp(ctx, row, unsure)
	}
	c.sum.Exact = false
	for _, f := range estimate {
		if status := s.Groups[f.Group].Status; len(c.filter.Statuses) == 0 || slices.Contains(c.filter.Statuses, status) {
			c.one(status, f.Created)
		}
	}
	return nil
}

// countsOf are the counts of a status, one for each bucket. They are added to the summary at the end.
func (c *jobCount) countsOf(status penstock.Status) []int64 {
	if c.counts[status] == nil {
		c.counts[status] = make([]int64, max(len(c.sum.Buckets), 1))
	}
	return c.counts[status]
}

// one counts a job.
func (c *jobCount) one(status penstock.Status, created int64) {
	c.countsOf(status)[c.bucket(created)]++
}

// fold makes the summary of the counts.
func (c *jobCount) fold() store.JobSummary {
	for status, counts := range c.counts {
		for i, n := range counts {
			if n > 0 {
				c.sum.Counts[status] += n
			}
			if n > 0 && c.width > 0 {
				c.sum.Buckets[i][status] = n
			}
		}
	}
	return c.sum
}

// lookUp counts jobs of a segment as they are now.
func (c *jobCount) lookUp(ctx context.Context, row segmentRow, positions []int) error {
	ids, err := c.segmentIDs(ctx, row.last, positions)
	if err != nil {
		return err
	}
	return c.tx.QueryIn(ctx, sqldb.IDQuery{
		IDs: sqldb.Strings(ids), Args: append(slices.Clone(c.args), c.tenant),
		SQL: fmt.Sprintf(`SELECT status, created_at FROM jobs WHERE id = /*pg ANY */($1) AND tenant_id = $%d%s`, len(c.args)+2, c.where("AND")),
	}, func(row sqldb.Row) error {
		var status penstock.Status
		var created int64
		err := row.Scan(&status, &created)
		c.one(status, created)
		return err
	})
}

// reread counts all jobs of a segment by their rows, unless they are too many.
func (c *jobCount) reread(ctx context.Context, row segmentRow) (read bool, err error) {
	r := idRange{max(c.whole.from, row.first), min(c.whole.below, behind(row.last))}
	n, err := c.rowsIn(ctx, r)
	if err != nil || n > c.rows {
		return false, err
	}
	err = c.countRows(ctx, r)
	c.rows -= n
	return true, err
}

// bucket is the bucket of a time. A job that was created before the oldest by its id counts for the first.
func (c *jobCount) bucket(created int64) int {
	if c.width == 0 {
		return 0
	}
	return int(min(max(created-c.from, 0)/c.width, int64(len(c.sum.Buckets)-1)))
}

// rowsIn is the number of rows of a range, at most one more than may be read.
func (c *jobCount) rowsIn(ctx context.Context, r idRange) (int, error) {
	n, _, err := sqldb.QueryOne(ctx, c.tx, sqldb.SQL(`SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE tenant_id = $1 AND id >= $2 AND id < $3 LIMIT $4) AS found`,
		c.tenant, r.from, r.below, c.rows+1), sqldb.ScanOne[int64])
	return int(n), err
}

// countRows counts the newest jobs of a range by their rows, as many as may be read.
func (c *jobCount) countRows(ctx context.Context, r idRange) error {
	args := append(append([]any{c.tenant}, c.args...), r.from, r.below, c.from, max(c.width, 1))
	n := len(args)
	type counted struct {
		status       penstock.Status
		bucket, jobs int64
	}
	all, err := sqldb.QueryAll(ctx, c.tx, sqldb.Query{Args: args, SQL: fmt.Sprintf(`WITH found AS MATERIALIZED (
			SELECT status, lane, model, key_name, tags, created_at FROM jobs WHERE tenant_id = $1 AND id >= $%[1]d AND id < $%[2]d ORDER BY id DESC LIMIT %[5]d)
		SELECT status, (created_at - $%[3]d) / $%[4]d, COUNT(*) FROM found%[6]s GROUP BY 1, 2`,
		n-3, n-2, n-1, n, c.rows, c.where("WHERE"))}, func(row sqldb.Row) (x counted, err error) {
		return x, row.Scan(&x.status, &x.bucket, &x.jobs)
	})
	for _, x := range all {
		counts := c.countsOf(x.status)
		counts[min(max(x.bucket, 0), int64(len(counts)-1))] += x.jobs
	}
	return err
}
