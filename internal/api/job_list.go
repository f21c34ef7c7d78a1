package api

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// filterParams filter jobs, in lists and in summaries.
var filterParams = []rest.Param{
	{Name: "status", In: "query", Type: jobStatusType, About: "Only jobs in this status: queued, running, succeeded, failed or cancelled. Repeat the parameter for several."},
	{Name: "lane", In: "query", Type: lanesType, About: "Only jobs of this lane. Repeat the parameter for several."},
	{Name: "model", In: "query", Type: textsType, About: "Only jobs for this model. Repeat the parameter for several."},
	{Name: "key", In: "query", Type: textsType, About: "Only jobs that the key of this name submitted. Repeat the parameter for several."},
	{Name: "tag", In: "query", About: "Only jobs with this tag, as key:value."},
	{Name: "created_after", In: "query", About: "Only jobs created after this time, RFC 3339."},
	{Name: "created_before", In: "query", About: "Only jobs created up to this time, RFC 3339."},
}

// searchParams are further parameters of a list of jobs.
var searchParams = []rest.Param{limitPage, {Name: "after", In: "query", About: "The next_after of the previous page, or its last id."},
	{Name: "code", In: "query", About: "Only jobs with an item that failed with this error code."},
	{Name: "fingerprint", In: "query", About: "Only jobs with an item that failed with this fingerprint of GET /v1/dead_letters, also if it was retried or dismissed."},
	{Name: "id_prefix", In: "query", About: "Only jobs whose id begins like this, such as job_01JQ; a whole id selects one job."},
	{Name: "order", In: "query", About: "By age: asc, or desc when not given. asc cannot be combined with code or fingerprint.", Type: directionType},
}

var (
	jobStatusType = reflect.TypeFor[[]penstock.Status]()
	lanesType     = reflect.TypeFor[[]penstock.Lane]()
	textsType     = reflect.TypeFor[[]string]()
	directionType = reflect.TypeFor[store.Direction]()
)

// listRoutes list and count jobs, and find objects by their ids.
var listRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/jobs", Scope: penstock.ScopeJobsRead, Summary: "List jobs, newest first", Params: slices.Concat(searchParams, filterParams),
		Answers: []rest.Answer{{Status: 200, About: "A page of jobs.", Body: rest.CursorPage[jobView]{}}}, Serve: on(jobs.listJobs)},
	{Method: "GET", Path: "/v1/jobs/summary", Scope: penstock.ScopeJobsRead, Summary: "Count jobs by status, and over time",
		Params:  append([]rest.Param{{Name: "buckets", In: "query", Type: reflect.TypeFor[int](), About: "The number of periods of the histogram: 1 to 500, none when not given."}}, filterParams...),
		Answers: []rest.Answer{{Status: 200, About: "The counts of all jobs that the filters select.", Body: jobSummaryView{}}}, Serve: on(jobs.summarizeJobs)},
	{Method: "GET", Path: "/v1/lookup/{id}", Scope: penstock.ScopeJobsRead, Summary: "Find the object that has an id",
		Params:  []rest.Param{{Name: "id", In: "path", About: "An id, such as job_…, req_…, item_…, file_…, dlv_…, resp_… or batch_…, or one without its prefix.", Required: true}},
		Answers: []rest.Answer{{Status: 200, About: "The object's kind and path. 404 if no object of the tenant that the key may read has the id.", Body: lookupView{}}},
		Serve:   on(lookups.find)},
}

func (c jobs) listJobs() error {
	f, err := c.jobFilter()
	if err == nil {
		err = c.jobSearch(&f)
	}
	if err != nil {
		return err
	}
	found, err := c.Jobs.ListJobs(c.R.Context(), c.Principal.Tenant.ID, f)
	if err != nil {
		return err
	}
	data, next := make([]jobView, len(found.Jobs)), ""
	for i, j := range found.Jobs {
		data[i] = c.jobView(j)
		if code, failed := found.Codes[j.ID]; failed {
			data[i].ErrorCode = &code
		}
	}
	if found.Next != "" {
		next = penstock.ViewJob.Format(found.Next)
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(data, next))
}

// jobFilter reads the filters that lists and summaries share.
func (c jobs) jobFilter() (f store.JobFilter, err error) {
	q := c.R.URL.Query()
	var errs [2]error
	f.CreatedAfter, errs[0] = c.QueryTime("created_after")
	f.CreatedUntil, errs[1] = c.QueryTime("created_before")
	if err := errors.Join(errs[:]...); err != nil {
		return f, err
	}
	f.Statuses, f.Lanes, f.Models, f.Keys = queryList[penstock.Status](q, "status"), queryList[penstock.Lane](q, "lane"), queryList[string](q, "model"), queryList[string](q, "key")
	for _, name := range []string{"status", "lane", "model", "key"} {
		if len(q[name]) > maxFilterValues {
			return f, penstock.InvalidParam(name, "%s is given %d times; %d is the maximum.", name, len(q[name]), maxFilterValues)
		}
	}
	if slices.ContainsFunc(f.Lanes, func(l penstock.Lane) bool { return !l.Valid() }) {
		return f, penstock.InvalidParam("lane", "lane must be realtime, standard or bulk.")
	}
	for _, s := range f.Statuses {
		if err := checkStatus(s, jobStatuses); err != nil {
			return f, err
		}
	}
	f.TagKey, f.TagValue, err = queryTag(q.Get("tag"))
	return f, err
}

// maxFilterValues bounds the values of one filter.
const maxFilterValues = 32

// queryList reads a parameter that can be repeated. An empty value selects nothing less, as if it were not there.
func queryList[T ~string](q url.Values, name string) (all []T) {
	for _, value := range q[name] {
		if value != "" {
			all = append(all, T(value))
		}
	}
	return all
}

// jobSearch reads the parameters of a list of jobs.
func (c jobs) jobSearch(f *store.JobFilter) (err error) {
	q := c.R.URL.Query()
	if f.Limit, err = c.PageLimit(pageSize); err != nil {
		return err
	}
	f.Code, f.Fingerprint, f.Direction = penstock.Code(q.Get("code")), q.Get("fingerprint"), store.Direction(q.Get("order"))
	if f.Code != "" && !slices.Contains(penstock.Codes, f.Code) {
		return penstock.InvalidParam("code", "code must be an error code such as %s, not %q.", penstock.CodeUpstreamTimeout, rest.Clip(string(f.Code)))
	}
	if f.Direction != "" && f.Direction != store.Ascending && f.Direction != store.Descending {
		return penstock.InvalidParam("order", "order must be asc or desc.")
	}
	if prefix := q.Get("id_prefix"); prefix != "" {
		bare := strings.ToUpper(strings.TrimPrefix(prefix, string(penstock.ViewJob)+"_"))
		if len(bare) > 26 || strings.Trim(bare, crockford) != "" {
			return penstock.InvalidParam("id_prefix", "id_prefix must be the beginning of a job's id, such as job_01JQ.")
		}
		f.IDPrefix = bare
	}
	if after := q.Get("after"); after != "" {
		if f.After, err = penstock.ViewJob.Parse(after); err != nil {
			return penstock.InvalidParam("after", "after: %v.", err)
		}
	}
	return nil
}

// crockford are the characters of ids.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// jobSummaryView counts jobs.
type jobSummaryView struct {
	Object    string            `json:"object"`
	AsOf      time.Time         `json:"as_of"`
	Exact     bool              `json:"exact" about:"false: more jobs changed lately than one call reads, and the counts are estimates."`
	Total     int64             `json:"total"`
	Counts    jobCountsView     `json:"counts"`
	Histogram *jobHistogramView `json:"histogram" about:"null without buckets."`
}

// jobCountsView is a number of jobs for each status.
type jobCountsView struct {
	Queued    int64 `json:"queued"`
	Running   int64 `json:"running"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// jobHistogramView is the creation of jobs over time.
type jobHistogramView struct {
	From          time.Time       `json:"from" about:"The start of the first period: created_after, or the creation of the oldest job."`
	BucketSeconds float64         `json:"bucket_seconds" about:"The length of a period."`
	Buckets       []jobCountsView `json:"buckets" about:"The jobs that were created in each period, by their current status."`
}

func newJobCounts(counts map[penstock.Status]int64) jobCountsView {
	return jobCountsView{
		Queued: counts[penstock.StatusQueued], Running: counts[penstock.StatusRunning], Succeeded: counts[penstock.StatusSucceeded],
		Failed: counts[penstock.StatusFailed], Cancelled: counts[penstock.StatusCancelled],
	}
}

// maxBuckets bounds a histogram.
const maxBuckets = 500

func (c jobs) summarizeJobs() error {
	f, err := c.jobFilter()
	if err != nil {
		return err
	}
	buckets, err := c.QueryInt("buckets", 0)
	if err != nil || buckets > maxBuckets {
		return penstock.InvalidParam("buckets", "buckets must be from 1 to %d.", maxBuckets)
	}
	sum, err := c.Summaries.SummarizeJobs(c.R.Context(), c.Principal.Tenant.ID, store.JobSummaryQuery{Filter: f, Buckets: int(buckets)})
	if err != nil {
		return err
	}
	v := jobSummaryView{Object: "job_summary", AsOf: stamp(sum.AsOf), Exact: sum.Exact, Counts: newJobCounts(sum.Counts)}
	for _, n := range sum.Counts {
		v.Total += n
	}
	if buckets > 0 {
		v.Histogram = &jobHistogramView{From: stamp(sum.From), BucketSeconds: sum.Width.Seconds(), Buckets: make([]jobCountsView, len(sum.Buckets))}
		for i, counts := range sum.Buckets {
			v.Histogram.Buckets[i] = newJobCounts(counts)
		}
	}
	return c.JSON(http.StatusOK, v)
}

// jobStatuses are the statuses of a job. Items expire; a job whose items expired has succeeded or failed.
var jobStatuses = slices.DeleteFunc(slices.Clone(penstock.Statuses), func(s penstock.Status) bool { return s == penstock.StatusExpired })

func checkStatus(s penstock.Status, allowed []penstock.Status) error {
	if s == "" {
		return nil
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		if words[i] = string(a); a == s {
			return nil
		}
	}
	return penstock.InvalidParam("status", "status must be one of %s.", strings.Join(words, ", "))
}
