package main

import (
	"context"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/storefill"
	"penstock/internal/webhook"
)

// kinds are the kinds of lists, in the order of the report.
var kinds = []string{"jobs", "summary", "requests", "dead letters", "groups", "files", "deliveries"}

// pageSize is the size of the pages.
const pageSize = 50

// page is what a measurement keeps of a page.
type page struct {
	rows int
	next string // the cursor of the next page, "" to begin again
	note string
}

// list is a list with a filter.
type list struct {
	kind, name string
	page       func(ctx context.Context, cursor string) (page, error)
}

// lists are all lists with all of their filters.
func lists(f *filled) []list {
	var all []list
	for _, make := range []func(*filled) []list{jobLists, summaries, requestLists, deadLetterLists, groupLists, fileLists, deliveryLists} {
		all = append(all, make(f)...)
	}
	return all
}

// part is one condition of a filter of jobs.
type part struct {
	name string
	set  func(*store.JobFilter)
}

// jobParts are the conditions that jobs are filtered by: common ones, rare ones, and ones that nothing matches.
func jobParts(f *filled) []part {
	tag := func(key, value string) func(*store.JobFilter) {
		return func(q *store.JobFilter) { q.TagKey, q.TagValue = key, value }
	}
	return []part{
		{"status succeeded", func(q *store.JobFilter) { q.Statuses = []penstock.Status{penstock.StatusSucceeded} }},
		{"status failed", func(q *store.JobFilter) { q.Statuses = []penstock.Status{penstock.StatusFailed} }},
		{"status queued or running", func(q *store.JobFilter) {
			q.Statuses = []penstock.Status{penstock.StatusQueued, penstock.StatusRunning}
		}},
		{"status cancelled", func(q *store.JobFilter) { q.Statuses = []penstock.Status{penstock.StatusCancelled} }},
		{"lane bulk", func(q *store.JobFilter) { q.Lanes = []penstock.Lane{penstock.LaneBulk} }},
		{"model smart", func(q *store.JobFilter) { q.Models = []string{"smart"} }},
		{"model rare", func(q *store.JobFilter) { q.Models = []string{storefill.RareModel} }},
		{"model unknown", func(q *store.JobFilter) { q.Models = []string{"none"} }},
		{"key rare", func(q *store.JobFilter) { q.Keys = []string{storefill.RareKey} }},
		{"tag common", tag("env", "prod")},
		{"tag rare", tag("incident", "4711")},
		{"tag unknown", tag("env", "none")},
		{"created in one old hour", func(q *store.JobFilter) {
			q.CreatedAfter, q.CreatedUntil = f.until.Add(-481*time.Hour), f.until.Add(-480*time.Hour)
		}},
		{"created in the last day", func(q *store.JobFilter) { q.CreatedAfter = f.until.Add(-24 * time.Hour) }},
		{"id prefix", func(q *store.JobFilter) { q.IDPrefix = f.middle()[:6] }},
		{"exact id", func(q *store.JobFilter) { q.IDPrefix = f.middle() }},
		{"code rare", func(q *store.JobFilter) { q.Code = storefill.RareCode }},
		{"code common", func(q *store.JobFilter) { q.Code = penstock.CodeUpstreamTimeout }},
		{"code unknown", func(q *store.JobFilter) { q.Code = penstock.CodeContextTooLong }},
		{"fingerprint rare", func(q *store.JobFilter) { q.Fingerprint = storefill.RareFingerprint }},
	}
}

// jobLists are the lists of jobs: each condition, each pair of conditions, and all that can hold together.
func jobLists(f *filled) (all []list) {
	add := func(name string, direction store.Direction, parts ...part) {
		all = append(all, list{"jobs", name, func(ctx context.Context, cursor string) (page, error) {
			q := store.JobFilter{Limit: pageSize, Direction: direction, After: penstock.ID(cursor)}
			for _, p := range parts {
				p.set(&q)
			}
			found, err := f.ListJobs(ctx, storefill.Busy, q)
			return page{rows: len(found.Jobs), next: string(found.Next)}, err
		}})
	}
	parts := jobParts(f)
	add("all", "")
	add("all, oldest first", store.Ascending)
	for i, p := range parts {
		add(p.name, "", p)
		byFailure := p.name[:4] == "code" || p.name[:4] == "fing"
		if !byFailure {
			add(p.name+", oldest first", store.Ascending, p)
		}
		for _, other := range parts[i+1:] {
			add(p.name+" + "+other.name, "", p, other)
		}
	}
	add("failed + bulk + model rare + key + tag + last day", "", parts[1], parts[4], parts[6], parts[8], parts[9], parts[13])
	return all
}

// summaries are the counts above a list.
func summaries(f *filled) (all []list) {
	add := func(name string, parts ...part) {
		all = append(all, list{"summary", name, func(ctx context.Context, _ string) (page, error) {
			q := store.JobSummaryQuery{Buckets: 90}
			for _, p := range parts {
				p.set(&q.Filter)
			}
			found, err := f.SummarizeJobs(ctx, storefill.Busy, q)
			p := page{}
			for _, n := range found.Counts {
				p.rows += int(n)
			}
			if !found.Exact {
				p.note = "estimate"
			}
			return p, err
		}})
	}
	add("all")
	for _, p := range jobParts(f)[:14] {
		add(p.name, p)
	}
	return all
}

func requestLists(f *filled) (all []list) {
	add := func(name string, filter store.RequestFilter) {
		all = append(all, list{"requests", name, func(ctx context.Context, cursor string) (page, error) {
			filter.Limit, filter.After = pageSize, penstock.ID(cursor)
			found, err := f.ListRequests(ctx, storefill.Busy, filter)
			return page{rows: len(found.Requests), next: string(found.Next)}, err
		}})
	}
	day := f.until.Add(-24 * time.Hour)
	add("all", store.RequestFilter{})
	add("status succeeded", store.RequestFilter{Status: penstock.StatusSucceeded})
	add("status failed", store.RequestFilter{Status: penstock.StatusFailed})
	add("code", store.RequestFilter{Code: penstock.CodeUpstreamError})
	add("code unknown", store.RequestFilter{Code: penstock.CodeContextTooLong})
	add("model rare", store.RequestFilter{Model: storefill.RareModel})
	add("target", store.RequestFilter{Target: "azure-eu"})
	add("key rare", store.RequestFilter{Key: storefill.RareKey})
	add("tag", store.RequestFilter{TagKey: "team", TagValue: "risk"})
	add("tag + model rare", store.RequestFilter{TagKey: "team", TagValue: "ads", Model: storefill.RareModel})
	add("subject", store.RequestFilter{Subject: "user-17"})
	add("subject + failed", store.RequestFilter{Subject: "user-17", Status: penstock.StatusFailed})
	add("cost", store.RequestFilter{MinCost: 7_999_000})
	add("created in the last day", store.RequestFilter{CreatedAfter: day})
	add("failed + model rare + last day", store.RequestFilter{Status: penstock.StatusFailed, Model: storefill.RareModel, CreatedAfter: day})
	add("tag + subject + key rare + cost", store.RequestFilter{TagKey: "team", TagValue: "ads", Subject: "user-17", Key: storefill.RareKey, MinCost: 1})
	return all
}

// deadLetterFilters are the filters of dead letters and their groups.
func deadLetterFilters(f *filled) map[string]store.DeadLetterFilter {
	return map[string]store.DeadLetterFilter{
		"all":                     {},
		"job":                     {Job: penstock.ID(f.middle())},
		"model":                   {Model: "smart"},
		"model rare":              {Model: storefill.RareModel},
		"code":                    {Code: penstock.CodeUpstreamTimeout},
		"code rare":               {Code: storefill.RareCode},
		"code unknown":            {Code: penstock.CodeContextTooLong},
		"kind unknown":            {Kind: "none"},
		"fingerprint rare":        {Fingerprint: storefill.RareFingerprint},
		"fingerprint common":      {Fingerprint: storefill.Fingerprint(penstock.CodeUpstreamTimeout, 0)},
		"fingerprint, model rare": {Fingerprint: storefill.Fingerprint(penstock.CodeUpstreamTimeout, 0), Model: storefill.RareModel},
		"last day":                {CreatedAfter: f.until.Add(-24 * time.Hour)},
		"all at once": {Model: "fast", Code: penstock.CodeUpstreamTimeout, Kind: "timeout", Fingerprint: storefill.Fingerprint(penstock.CodeUpstreamTimeout, 1), CreatedAfter: f.until.Add(-24 * time.Hour),
			CreatedUntil: f.until},
	}
}

func deadLetterLists(f *filled) (all []list) {
	for name, filter := range deadLetterFilters(f) {
		all = append(all, list{"dead letters", name, func(ctx context.Context, cursor string) (page, error) {
			found, next, err := f.DeadLetters(ctx, storefill.Busy, store.DeadLetterPage{Filter: filter, After: penstock.ID(cursor), Limit: pageSize})
			return page{rows: len(found), next: string(next)}, err
		}})
	}
	return all
}

func groupLists(f *filled) (all []list) {
	for name, filter := range deadLetterFilters(f) {
		all = append(all, list{"groups", name, func(ctx context.Context, cursor string) (page, error) {
			const groups = 20 // a page as the API has it
			found, next, err := f.DeadLetterGroups(ctx, storefill.Busy, store.DeadLetterGroupPage{Filter: filter, After: cursor, Limit: groups})
			return page{rows: len(found), next: next}, err
		}})
	}
	return all
}

func fileLists(f *filled) (all []list) {
	for _, purpose := range []store.Purpose{"", "batch", "vision", "none"} {
		for _, direction := range []store.Direction{store.Descending, store.Ascending} {
			all = append(all, list{"files", fmt.Sprintf("purpose %q %s", purpose, direction), func(ctx context.Context, cursor string) (page, error) {
				found, err := f.ListFiles(ctx, storefill.Busy, store.FilePage{Purpose: purpose, Direction: direction, After: penstock.ID(cursor), Limit: pageSize})
				p := page{rows: len(found)}
				if len(found) == pageSize {
					p.next = string(found[pageSize-1].ID)
				}
				return p, err
			}})
		}
	}
	return all
}

func deliveryLists(f *filled) (all []list) {
	for _, status := range append([]penstock.DeliveryStatus{""}, penstock.DeliveryStatuses...) {
		all = append(all, list{"deliveries", fmt.Sprintf("status %q", status), func(ctx context.Context, cursor string) (page, error) {
			found, next, err := f.webhooks.Deliveries(ctx, storefill.Busy, webhook.DeliveryPage{Webhook: storefill.Webhook, Status: status, After: penstock.ID(cursor), Limit: pageSize})
			return page{rows: len(found), next: string(next)}, err
		}})
	}
	return all
}
