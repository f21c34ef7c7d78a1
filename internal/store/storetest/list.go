package storetest

import (
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

func listCases() []testCase {
	return []testCase{
		{"newest first, page by page", listPages},
		{"filters select", listFilters},
		{"tags are matched literally", listOddTags},
		{"the code of a failed item", listCodes},
	}
}

func (r *rig) list(f store.JobFilter) []penstock.ID {
	r.t.Helper()
	jobs, err := r.s.ListJobs(r.t.Context(), acme, f)
	r.must("list jobs", err)
	ids := make([]penstock.ID, len(jobs.Jobs))
	for i, j := range jobs.Jobs {
		ids[i] = j.ID
	}
	return ids
}

func listPages(r *rig) {
	var want []penstock.ID
	for range 5 {
		want = append(want, r.submitN(1).Job.ID)
		r.clock.Advance(time.Second)
	}
	slices.Reverse(want)
	r.wantSame("all jobs", r.list(store.JobFilter{Limit: everything}), want)
	r.wantSame("first page", r.list(store.JobFilter{Limit: 2}), want[:2])
	r.wantSame("second page", r.list(store.JobFilter{After: want[1], Limit: 2}), want[2:4])
	r.wantSame("last page", r.list(store.JobFilter{After: want[3], Limit: 2}), want[4:])

	jobs, err := r.s.ListJobs(r.t.Context(), acme, store.JobFilter{Limit: 1})
	r.must("list jobs", err)
	r.wantSame("listed job", jobs.Jobs, []penstock.Job{r.job(want[0])})
}

func listFilters(r *rig) {
	start := r.clock.Now()
	bulk := r.submission(1)
	bulk.Job.Lane, bulk.Job.Model, bulk.Job.Tags = penstock.LaneBulk, "smart", map[string]string{"team": "ads", "run": "7"}
	r.submit(bulk)
	r.clock.Advance(time.Hour / 2)
	plain := r.submission(1)
	plain.Job.Tags = map[string]string{"team": "search", "owner": "ads"}
	r.submit(plain)
	r.win(r.endings(r.claim(r.lease("worker"), 1), penstock.TransitionSucceed)...) // plain: its lane is more urgent
	middle := start.Add(15 * time.Minute)

	both := []penstock.ID{plain.Job.ID, bulk.Job.ID}
	for _, c := range []struct {
		name   string
		filter store.JobFilter
		want   []penstock.ID
	}{
		{"nothing", store.JobFilter{}, both},
		{"status succeeded", store.JobFilter{Statuses: []penstock.Status{penstock.StatusSucceeded}}, both[:1]},
		{"status queued", store.JobFilter{Statuses: []penstock.Status{penstock.StatusQueued}}, both[1:]},
		{"status failed", store.JobFilter{Statuses: []penstock.Status{penstock.StatusFailed}}, nil},
		{"lane", store.JobFilter{Lanes: []penstock.Lane{penstock.LaneBulk}}, both[1:]},
		{"model", store.JobFilter{Models: []string{"fast"}}, both[:1]},
		{"unknown model", store.JobFilter{Models: []string{"fas"}}, nil},
		{"tag", store.JobFilter{TagKey: "team", TagValue: "ads"}, both[1:]},
		{"second tag", store.JobFilter{TagKey: "run", TagValue: "7"}, both[1:]},
		{"value of another tag", store.JobFilter{TagKey: "run", TagValue: "ads"}, nil},
		{"part of a value", store.JobFilter{TagKey: "team", TagValue: "ad"}, nil},
		{"created after", store.JobFilter{CreatedAfter: middle}, both[:1]},
		{"created until", store.JobFilter{CreatedUntil: middle}, both[1:]},
		{"created between", store.JobFilter{CreatedAfter: start.Add(-time.Minute), CreatedUntil: middle}, both[1:]},
		{"all at once", store.JobFilter{
			Statuses: []penstock.Status{penstock.StatusQueued}, Lanes: []penstock.Lane{penstock.LaneBulk}, Models: []string{"smart"}, TagKey: "team", TagValue: "ads",
			CreatedUntil: middle, After: plain.Job.ID,
		}, both[1:]},
	} {
		c.filter.Limit = everything
		r.wantSame("jobs by "+c.name, r.list(c.filter), c.want)
	}
}

func listOddTags(r *rig) {
	odd := oddTags()
	delete(odd, "") // as a filter, no key means any
	sub := r.submission(1)
	sub.Job.Tags = odd
	r.submit(sub)
	bare := r.submission(1)
	bare.Job.Tags = nil
	r.submit(bare)
	trap := r.submission(1) // spelled out as JSON, it contains what the tag "," with value ":" would be
	trap.Job.Tags = map[string]string{"1": "x,", ":": "y"}
	r.submit(trap)
	none := r.list(store.JobFilter{TagKey: ",", TagValue: ":", Limit: everything})
	r.wantSame("jobs with a tag that none has", none, []penstock.ID{})
	for key, value := range odd {
		found := r.list(store.JobFilter{TagKey: key, TagValue: value, Limit: everything})
		r.wantSame("jobs with tag "+key, found, []penstock.ID{sub.Job.ID})
		missed := r.list(store.JobFilter{TagKey: key, TagValue: value + "x", Limit: everything})
		r.wantSame("jobs with another value of tag "+key, missed, []penstock.ID{})
	}
}

func listCodes(r *rig) {
	var jobs []penstock.ID
	for _, code := range []penstock.Code{penstock.CodeContentBlocked, "", penstock.CodeUpstreamTimeout} { // the second does not fail
		sub := r.submitN(2)
		jobs = append(jobs, sub.Job.ID)
		for _, c := range r.claim(r.lease("worker"), 2) {
			end := r.ending(c, penstock.TransitionSucceed)
			if code != "" && c.Item != penstock.ItemID(sub.Job.ID, 0) {
				end = r.ending(c, penstock.TransitionFail)
				end.Error = &penstock.ItemError{Code: code, Message: "It failed."}
			}
			r.win(end)
		}
		r.clock.Advance(time.Second)
	}
	found, err := r.s.ListJobs(r.t.Context(), acme, store.JobFilter{Limit: everything})
	r.must("list jobs", err)
	r.wantSame("codes", found.Codes, map[penstock.ID]penstock.Code{jobs[0]: penstock.CodeContentBlocked, jobs[2]: penstock.CodeUpstreamTimeout})
	succeeded, err := r.s.ListJobs(r.t.Context(), acme, store.JobFilter{IDPrefix: string(jobs[1]), Limit: everything})
	r.must("list jobs", err)
	r.wantSame("codes of a job without a failure", len(succeeded.Codes), 0)
}
