package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storefill"
)

// listRig is a store over a filled database, with small segments.
type listRig struct {
	*testing.T
	db    *sqldb.DB
	s     *sqlstore.Store
	until time.Time
}

func newListRig(t *testing.T, db *sqldb.DB, size storefill.Size) *listRig {
	t.Helper()
	r := &listRig{T: t, db: db, until: time.Now()}
	var err error
	if r.s, err = sqlstore.New(t.Context(), db, schematest.Codec(t), nil); err != nil {
		t.Fatal(err)
	}
	r.s.SetSegmentJobs(128)
	if _, err := storefill.Fill(t.Context(), db, size, r.until); err != nil {
		t.Fatal(err)
	}
	r.build()
	return r
}

// build builds all segments that are due.
func (r *listRig) build() {
	r.Helper()
	for more := true; more; {
		var err error
		if more, err = r.s.BuildSegment(r.Context(), storefill.Busy); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *listRig) exec(sql string, args ...any) {
	r.Helper()
	if err := r.db.Write(r.Context(), "test", func(tx sqldb.Tx) error { return tx.Do(r.Context(), sql, args...) }); err != nil {
		r.Fatal(err)
	}
}

// pages reads all pages of a list.
func (r *listRig) pages(f store.JobFilter) (ids []penstock.ID) {
	r.Helper()
	f.Limit = 500
	for range 10_000 {
		page, err := r.s.ListJobs(r.Context(), storefill.Busy, f)
		if err != nil {
			r.Fatal(err)
		}
		for _, j := range page.Jobs {
			if j.Tenant != storefill.Busy {
				r.Fatalf("a job of tenant %s is listed", j.Tenant)
			}
			ids = append(ids, j.ID)
		}
		if page.Next == "" {
			return ids
		}
		f.After = page.Next
	}
	r.Fatal("the list does not end")
	return nil
}

// listedJob is what filters compare, read from the rows.
type listedJob struct {
	id      penstock.ID
	status  penstock.Status
	lane    penstock.Lane
	model   string
	key     string
	tags    string
	created int64
}

func (r *listRig) rows() (all []listedJob) {
	r.Helper()
	err := r.db.Read(r.Context(), func(tx sqldb.Tx) (err error) {
		all, err = sqldb.QueryAll(r.Context(), tx, sqldb.SQL(`SELECT id, status, lane, model, key_name, tags, created_at FROM jobs WHERE tenant_id = $1 ORDER BY id DESC`, storefill.Busy),
			func(row sqldb.Row) (j listedJob, err error) {
				return j, row.Scan(&j.id, &j.status, &j.lane, &j.model, &j.key, &j.tags, &j.created)
			})
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func (r *listRig) filters() map[string]store.JobFilter {
	day := r.until.Add(-24 * time.Hour)
	return map[string]store.JobFilter{
		"all":                {},
		"failed":             {Statuses: []penstock.Status{penstock.StatusFailed}},
		"open":               {Statuses: []penstock.Status{penstock.StatusQueued, penstock.StatusRunning}},
		"lane":               {Lanes: []penstock.Lane{penstock.LaneRealtime}},
		"models":             {Models: []string{"embed", storefill.RareModel}},
		"rare key":           {Keys: []string{storefill.RareKey}},
		"tag":                {TagKey: "env", TagValue: "staging"},
		"no tag":             {TagKey: "env", TagValue: "none"},
		"last day":           {CreatedAfter: day},
		"before a day":       {CreatedUntil: day},
		"bulk, prod, failed": {Statuses: []penstock.Status{penstock.StatusFailed}, Lanes: []penstock.Lane{penstock.LaneBulk}, TagKey: "env", TagValue: "prod", CreatedUntil: day},
	}
}

func (j listedJob) matches(f store.JobFilter) bool {
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, j.status)) && (len(f.Lanes) == 0 || slices.Contains(f.Lanes, j.lane)) &&
		(len(f.Models) == 0 || slices.Contains(f.Models, j.model)) && (len(f.Keys) == 0 || slices.Contains(f.Keys, j.key)) &&
		(f.TagKey == "" || strings.Contains(j.tags, fmt.Sprintf(`"%s":"%s"`, f.TagKey, f.TagValue))) &&
		(f.CreatedAfter.IsZero() || j.created > f.CreatedAfter.UnixMicro()) && (f.CreatedUntil.IsZero() || j.created <= f.CreatedUntil.UnixMicro())
}

// compare holds that every list and every summary says what the rows say.
func (r *listRig) compare(when string) {
	r.Helper()
	rows := r.rows()
	for name, f := range r.filters() {
		var want []penstock.ID
		counts := map[penstock.Status]int64{}
		for _, j := range rows {
			if j.matches(f) {
				want = append(want, j.id)
				counts[j.status]++
			}
		}
		if got := r.pages(f); !slices.Equal(got, want) {
			r.Errorf("%s: %d jobs by %s, want %d", when, len(got), name, len(want))
		}
		f.Direction = store.Ascending
		slices.Reverse(want)
		if got := r.pages(f); !slices.Equal(got, want) {
			r.Errorf("%s: %d jobs by %s, oldest first, want %d", when, len(got), name, len(want))
		}
		sum, err := r.s.SummarizeJobs(r.Context(), storefill.Busy, store.JobSummaryQuery{Filter: f, Buckets: 7})
		if err != nil || !sum.Exact {
			r.Fatalf("%s: the summary by %s is exact: %v, %v", when, name, sum.Exact, err)
		}
		inBuckets := map[penstock.Status]int64{}
		for _, bucket := range sum.Buckets {
			for status, n := range bucket {
				inBuckets[status] += n
			}
		}
		if fmt.Sprint(sum.Counts) != fmt.Sprint(counts) || fmt.Sprint(inBuckets) != fmt.Sprint(counts) {
			r.Errorf("%s: the summary by %s is %v, in buckets %v, want %v", when, name, sum.Counts, inBuckets, counts)
		}
	}
}

// TestListsAgreeWithRows compares lists and summaries, which read segments, with the rows of all jobs: also after jobs of
// segments ended, were deleted, or were committed late.
func TestListsAgreeWithRows(t *testing.T) {
	t.Parallel()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		r := newListRig(t, db, storefill.Size{Jobs: 2500, DeadLetters: 200})
		r.compare("filled")
		rows := r.rows()
		r.exec(`UPDATE jobs SET status = 'failed', finished_at = 1, failed = total WHERE tenant_id = $1 AND status = 'queued' AND id < $2`, storefill.Busy, rows[40].id)
		r.compare("ended")
		for _, i := range []int{10, 900, 901, 1500} {
			if err := r.s.DeleteJob(t.Context(), storefill.Busy, store.Deletion{Job: rows[i].id, Actor: "app"}); err != nil && i > 500 {
				t.Fatal(err)
			}
		}
		r.compare("deleted")
		r.build()
		r.compare("built again")
		// A submit that took longer than segments wait for is found after the check.
		r.exec(`UPDATE jobs SET id = $2 WHERE id = $1`, rows[1005].id, behindOf(rows[1010].id))
		r.exec(`UPDATE job_segments SET due_at = 1`)
		r.build()
		r.compare("committed late")
	})
}

// behindOf is an id shortly behind another.
func behindOf(id penstock.ID) penstock.ID { return penstock.ItemID(id, 7) }

// TestJobsByFailure holds that jobs are found by the code and the fingerprint of their failures, each once.
func TestJobsByFailure(t *testing.T) {
	t.Parallel()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		r := newListRig(t, db, storefill.Size{Jobs: 500, DeadLetters: 6000})
		find := func(column, value string) (ids []penstock.ID) {
			err := db.Read(t.Context(), func(tx sqldb.Tx) (err error) {
				ids, err = sqldb.QueryAll(t.Context(), tx, sqldb.SQL(`SELECT DISTINCT job_id FROM dead_letters WHERE tenant_id = $1 AND `+column+` = $2 ORDER BY job_id DESC`,
					storefill.Busy, value), sqldb.ScanOne[penstock.ID])
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return ids
		}
		fingerprint := storefill.Fingerprint(penstock.CodeUpstreamTimeout, 0)
		byCode, byFingerprint := find("error_code", string(penstock.CodeUpstreamTimeout)), find("fingerprint", fingerprint)
		for name, c := range map[string]struct {
			filter store.JobFilter
			want   []penstock.ID
		}{
			"code":        {store.JobFilter{Code: penstock.CodeUpstreamTimeout}, byCode},
			"fingerprint": {store.JobFilter{Fingerprint: fingerprint}, byFingerprint},
			"both":        {store.JobFilter{Code: penstock.CodeUpstreamTimeout, Fingerprint: fingerprint}, byFingerprint},
			"other code":  {store.JobFilter{Code: penstock.CodeUpstreamError, Fingerprint: fingerprint}, nil},
			"prefix":      {store.JobFilter{Code: penstock.CodeUpstreamTimeout, IDPrefix: string(byCode[0])}, byCode[:1]},
			"status":      {store.JobFilter{Code: penstock.CodeUpstreamTimeout, Statuses: []penstock.Status{penstock.StatusSucceeded}}, nil},
		} {
			if got := r.pages(c.filter); !slices.Equal(got, c.want) {
				t.Errorf("%d jobs by %s, want %d", len(got), name, len(c.want))
			}
		}
		if len(byCode) < 2 || len(byFingerprint) == 0 || len(byFingerprint) >= len(byCode) {
			t.Errorf("%d jobs by code and %d by fingerprint say little", len(byCode), len(byFingerprint))
		}
	})
}
