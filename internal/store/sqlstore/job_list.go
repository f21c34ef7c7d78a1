package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/jobsegment"
	"penstock/internal/store/sqldb"
)

const (
	// clockSlack is how far the time in a job's id, which its process chose, may be from its creation by the database's clock.
	clockSlack = time.Hour
	// maxCandidates is how many jobs that segments or dead letters name one list reads.
	maxCandidates = 1000
)

// ListJobs implements store.Jobs. Without a filter it reads a range of the index by tenant. With one it reads the rows of the
// newest jobs and the segments of all others, and with a code or a fingerprint the dead letters.
func (s *Store) ListJobs(ctx context.Context, tenant penstock.TenantID, f store.JobFilter) (page store.JobPage, err error) {
	l, err := newJobList(tenant, f)
	if err != nil {
		return page, err
	}
	err = s.read(ctx, func(tx sqldb.Tx) error {
		l := *l
		l.tx = tx
		switch {
		case f.Code != "" || f.Fingerprint != "":
			err = l.failed(ctx)
		case len(l.looks) == 0:
			err = l.scan(ctx, l.whole)
		default:
			err = l.search(ctx)
		}
		if err != nil {
			return err
		}
		page = l.page()
		page.Codes, err = failureCodes(ctx, tx, page.Jobs)
		return err
	})
	return page, err
}

// idRange is ids from one on and below another.
type idRange struct{ from, below penstock.ID }

func (r idRange) contains(id penstock.ID) bool { return id >= r.from && id < r.below }

func (r idRange) empty() bool { return r.from >= r.below }

// behind is the smallest bound above an id.
func behind(id penstock.ID) penstock.ID { return id + "!" }

// jobList collects a page of jobs.
type jobList struct {
	tx      sqldb.Tx
	tenant  penstock.TenantID
	filter  store.JobFilter
	matcher *jobsegment.Matcher
	whole   idRange // that the page can be in

	looks []string // conditions on rows, with parameters from $2 on
	args  []any    // of looks

	jobs []penstock.Job
	next penstock.ID // where the list goes on; "" at its end
	left int         // candidates that may still be read
}

func newJobList(tenant penstock.TenantID, f store.JobFilter) (*jobList, error) {
	matcher, err := jobsegment.NewMatcher(f)
	if err != nil {
		return nil, err
	}
	l := &jobList{tenant: tenant, matcher: matcher, filter: f, left: maxCandidates, whole: idRange{from: penstock.ID(f.IDPrefix), below: penstock.ID(f.IDPrefix) + "~"}}
	switch {
	case f.After == "":
	case l.ascending():
		l.whole.from = max(l.whole.from, behind(f.After))
	default:
		l.whole.below = min(l.whole.below, f.After)
	}
	if !f.CreatedAfter.IsZero() {
		l.whole.from = max(l.whole.from, penstock.FirstID(f.CreatedAfter.Add(-clockSlack)))
	}
	if !f.CreatedUntil.IsZero() {
		l.whole.below = min(l.whole.below, penstock.FirstID(f.CreatedUntil.Add(clockSlack)))
	}
	l.look()
	return l, nil
}

func (l *jobList) ascending() bool { return l.filter.Direction == store.Ascending }

// look makes the conditions on rows.
func (l *jobList) look() {
	f := l.filter
	addAll(l, "status", f.Statuses)
	addAll(l, "lane", f.Lanes)
	addAll(l, "model", f.Models)
	addAll(l, "key_name", f.Keys)
	if !f.CreatedAfter.IsZero() {
		l.add("created_at > $%d", sqldb.Micros(f.CreatedAfter))
	}
	if !f.CreatedUntil.IsZero() {
		l.add("created_at <= $%d", sqldb.Micros(f.CreatedUntil))
	}
	if f.TagKey != "" {
		l.args = append(l.args, sqldb.Storable(f.TagKey), sqldb.Storable(f.TagValue))
		l.looks = append(l.looks, fmt.Sprintf(`EXISTS (SELECT 1 FROM json_each/*pg _text */(tags /*pg ::json */) AS tag
			WHERE tag.key = $%d AND tag.value = $%d)`, len(l.args), len(l.args)+1))
	}
}

func (l *jobList) add(condition string, arg any) {
	l.args = append(l.args, arg)
	l.looks = append(l.looks, fmt.Sprintf(condition, len(l.args)+1))
}

// addAll adds the condition that a column has one of some values.
func addAll[T ~string](l *jobList, column string, values []T) {
	if len(values) == 0 {
		return
	}
	params := make([]string, len(values))
	for i, v := range values {
		l.args = append(l.args, sqldb.Storable(string(v)))
		params[i] = fmt.Sprintf("$%d", len(l.args)+1)
	}
	l.looks = append(l.looks, column+" IN ("+strings.Join(params, ", ")+")")
}

// where is the conditions as SQL, "" for none.
func (l *jobList) where(word string) string {
	if len(l.looks) == 0 {
		return ""
	}
	return " " + word + " " + strings.Join(l.looks, " AND ")
}

// full reports whether the page has all of its jobs, and the job behind it that shows that more follow.
func (l *jobList) full() bool { return len(l.jobs) > l.filter.Limit }

// ended reports whether nothing more is read for the page.
func (l *jobList) ended() bool { return l.full() || l.next != "" }

func (l *jobList) page() store.JobPage {
	if !l.full() {
		return store.JobPage{Jobs: l.jobs, Next: l.next}
	}
	jobs := l.jobs[:l.filter.Limit]
	return store.JobPage{Jobs: jobs, Next: jobs[len(jobs)-1].ID}
}

// order is how SQL orders ids.
func (l *jobList) order() string {
	if l.ascending() {
		return "ASC"
	}
	return "DESC"
}

// scan reads the rows of a range, at most store.MaxJobScan of them.
func (l *jobList) scan(ctx context.Context, r idRange) error {
	if r.empty() {
		return nil
	}
	missing := l.filter.Limit + 1 - len(l.jobs)
	read := missing
	if len(l.looks) > 0 {
		read = store.MaxJobScan
	}
	args := append(append([]any{l.tenant}, l.args...), r.from, r.below)
	found := fmt.Sprintf(`FROM jobs WHERE tenant_id = $1 AND id >= $%d AND id < $%d ORDER BY id %s`, len(args)-1, len(args), l.order())
	// Materialized, or PostgreSQL would compare the columns before it bounds the rows.
	ids, err := sqldb.QueryAll(ctx, l.tx, sqldb.Query{Args: args, SQL: fmt.Sprintf(`WITH found AS MATERIALIZED (SELECT id, status, lane, model, key_name, tags, created_at %s LIMIT %d)
		SELECT id FROM found%s ORDER BY id %s LIMIT %d`, found, read, l.where("WHERE"), l.order(), missing)}, sqldb.ScanOne[penstock.ID])
	if err != nil {
		return err
	}
	if err := l.fetch(ctx, ids); err != nil || l.full() || len(l.looks) == 0 {
		return err
	}
	bounds := sqldb.SQL(fmt.Sprintf(`SELECT id FROM jobs WHERE tenant_id = $1 AND id >= $2 AND id < $3 ORDER BY id %s LIMIT 1 OFFSET %d`, l.order(), read-1), l.tenant, r.from, r.below)
	l.next, _, err = sqldb.QueryOne(ctx, l.tx, bounds, sqldb.ScanOne[penstock.ID])
	return err
}

// fetch adds those of the given jobs that match. The ids are in the order of the list.
func (l *jobList) fetch(ctx context.Context, ids []penstock.ID) error {
	if len(ids) == 0 {
		return nil
	}
	var jobs []penstock.Job
	err := l.tx.QueryIn(ctx, sqldb.IDQuery{
		IDs: sqldb.Strings(ids), Args: append(slices.Clone(l.args), l.tenant),
		SQL: fmt.Sprintf(`SELECT %s FROM jobs WHERE id = /*pg ANY */($1) AND tenant_id = $%d%s`, jobColumns, len(l.args)+2, l.where("AND")),
	}, func(row sqldb.Row) error {
		j, err := scanJob(row)
		jobs = append(jobs, j)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(jobs, func(a, b penstock.Job) int {
		if l.ascending() {
			return strings.Compare(string(a.ID), string(b.ID))
		}
		return strings.Compare(string(b.ID), string(a.ID))
	})
	l.jobs = append(l.jobs, jobs...)
	return nil
}

// consider is fetch for jobs that may match, of which a list reads a bounded number.
func (l *jobList) consider(ctx context.Context, ids []penstock.ID) error {
	if err := l.fetch(ctx, ids); err != nil {
		return err
	}
	l.left -= len(ids)
	if l.left <= 0 && !l.full() {
		l.next = ids[len(ids)-1]
	}
	return nil
}
