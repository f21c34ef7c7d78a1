package demo

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/store"
)

// incidents are the jobs that did not just succeed.
func (h *history) incidents() []event {
	claims, clauses := h.workloads.of("brightway-insurance", "claim-triage"), h.workloads.of("halden-legal", "clause-review")
	triage, copies := h.workloads.of("northwind-support", "mail-triage"), h.workloads.of("lumen-shop", "product-copy")
	abstracts := h.workloads.of(pilot, "abstract-screening")
	run := func(p plan) step { return func(ctx context.Context) error { return h.run(ctx, p) } }
	return []event{
		{13*day + 12*time.Hour, run(plan{workload: claims, items: 9})}, // its webhook fails for good
		{13 * day, run(plan{workload: abstracts, items: 90, flaws: 0.3})},
		{6*day + 4*time.Hour, run(plan{workload: clauses, items: 14, cause: &expiredKey})},
		{5*day + 6*time.Hour, func(ctx context.Context) error { return h.cancelled(ctx, plan{workload: copies, items: 240, most: 96}) }},
		{3*day + 7*time.Hour, func(ctx context.Context) error {
			return h.expired(ctx, plan{workload: abstracts, items: 60, most: 44, deadline: 20 * time.Minute})
		}},
		{2*day + 5*time.Hour, run(plan{workload: triage, items: 48, flaws: 0.25})},
		{26 * time.Hour, func(ctx context.Context) error { return h.cancelled(ctx, plan{workload: triage, items: 3}) }},
		{7 * time.Hour, run(plan{workload: claims, items: 6, cause: &causes[0]})},
		{5 * time.Hour, func(ctx context.Context) error {
			return h.expired(ctx, plan{workload: claims, items: 10, most: 8, deadline: 15 * time.Minute})
		}},
		{3 * time.Hour, run(plan{workload: clauses, items: 30, flaws: 0.2})},
		{80 * time.Minute, run(plan{workload: claims, items: 1})},
		{50 * time.Minute, run(plan{workload: triage, items: 25})},
		{35 * time.Minute, run(plan{workload: copies, items: 40, flaws: 0.05})},
	}
}

// cancelled writes a job that its owner cancelled after some of its items.
func (h *history) cancelled(ctx context.Context, p plan) error {
	job, err := h.submit(ctx, p)
	if err != nil {
		return err
	}
	if h.Clock.Walk(20 * time.Second); p.most > 0 {
		if _, err := h.work(ctx, p, job); err != nil {
			return err
		}
	}
	if _, err := h.Store.CancelJob(ctx, p.tenant, job); err != nil {
		return err
	}
	return h.sweep(ctx, h.Store.CancelItems)
}

// expired writes a job whose deadline passed before its last items ran.
func (h *history) expired(ctx context.Context, p plan) error {
	job, err := h.submit(ctx, p)
	if err != nil {
		return err
	}
	if _, err := h.work(ctx, p, job); err != nil {
		return err
	}
	h.Clock.Walk(p.deadline + time.Second)
	return h.sweep(ctx, h.Store.ExpireItems)
}

// sweep runs a step of maintenance to its end.
func (h *history) sweep(ctx context.Context, next func(context.Context, int) (store.Step, error)) error {
	for {
		if s, err := next(ctx, store.MaxSplit); err != nil || !s.More {
			return err
		}
	}
}

// batches are the batches over files.
func (h *history) batches() []event {
	batch := func(p plan, name string) step {
		return func(ctx context.Context) error { return h.batch(ctx, p, name) }
	}
	copies, summaries := h.workloads.of("lumen-shop", "product-copy"), h.workloads.of("halden-legal", "contract-summary")
	search := h.workloads.of("lumen-shop", "product-search")
	return []event{
		{20*day + 6*time.Hour, batch(plan{workload: copies, items: 1_200, flaws: 0.01}, "spring-catalogue.jsonl")},
		{10*day + 5*time.Hour, batch(plan{workload: summaries, items: 800, flaws: 0.02}, "contracts-archive.jsonl")},
		{4*day + 6*time.Hour, batch(plan{workload: search, items: 2_000}, "search-index.jsonl")},
		{27 * time.Hour, batch(plan{workload: copies, items: 2_400, flaws: 0.025}, "autumn-catalogue.jsonl")}, // before the last day, which charts show
	}
}

// batch writes a job over a file, from the upload to the files of its results.
func (h *history) batch(ctx context.Context, p plan, name string) error {
	bulk := *p.workload
	bulk.lane = penstock.LaneBulk
	p.workload = &bulk
	items, err := h.newItems(p, 0, p.items)
	if err != nil {
		return err
	}
	input, err := h.upload(ctx, p, name, items)
	if err != nil {
		return err
	}
	h.Clock.Walk(15 * time.Second)
	accounts, err := h.accounts(p)
	if err != nil {
		return err
	}
	job := h.job(p)
	job.File = input.ID
	if _, err := h.Store.SubmitJob(ctx, p.tenant, store.Submission{
		Job: job, Lines: p.items, DeadlineIn: cmp.Or(p.deadline, day), Accounts: accounts,
		Batch: &store.Batch{Kind: store.BatchOpenAI, Endpoint: p.endpoint, Metadata: map[string]string{"source": name}},
	}); err != nil {
		return err
	}
	h.made.Jobs++
	h.made.Batches++
	h.made.Items += p.items
	for from := 0; from < len(items); {
		step, err := h.Store.SplitJob(ctx, p.tenant, store.Split{Job: job.ID, From: from, Items: items[from:min(from+store.MaxSplit, len(items))], Accounts: accounts})
		if err != nil {
			return err
		}
		if step.Items == 0 {
			return fmt.Errorf("the budget of %s has too little left for a batch", p.tenant)
		}
		from += step.Items
		if _, err := h.work(ctx, p, job.ID); err != nil {
			return err
		}
	}
	h.Clock.Walk(2 * time.Second)
	return h.keepResults(ctx, p, job.ID)
}

// upload writes the input file of a batch.
func (h *history) upload(ctx context.Context, p plan, name string, items []store.NewItem) (store.File, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, item := range items {
		line := struct {
			CustomID string            `json:"custom_id"`
			Method   string            `json:"method"`
			URL      penstock.Endpoint `json:"url"`
			Body     json.RawMessage   `json:"body"`
		}{item.CustomID, "POST", p.endpoint, item.Body}
		if err := encoder.Encode(line); err != nil {
			return store.File{}, fmt.Errorf("encoding a line: %w", err)
		}
	}
	l := h.Config.Process.Limits
	f, err := h.Files.Receive(ctx, p.tenant, &lines, file.Limits{MaxBytes: l.MaxFileBytes, MaxLineBytes: l.MaxBodyBytes, MaxJSONDepth: l.MaxJSONDepth})
	if err != nil {
		return f, err
	}
	f.Key, f.Purpose, f.Name = p.key, store.PurposeBatch, name
	return h.Files.Keep(ctx, f)
}

// keepResults writes the files of a batch that has ended.
func (h *history) keepResults(ctx context.Context, p plan, job penstock.ID) error {
	var output, failures bytes.Buffer
	results, failed := bufio.NewWriter(&output), bufio.NewWriter(&failures)
	for page := (store.ResultPage{Order: store.OrderInput, After: -1, Limit: 1_000}); ; {
		items, more, err := h.Store.Results(ctx, p.tenant, job, page)
		if err != nil {
			return err
		}
		for _, item := range items {
			into := results
			if item.Status != penstock.StatusSucceeded {
				into = failed
			}
			if err := h.Results.WriteLine(into, store.BatchOpenAI, item); err != nil {
				return err
			}
			page.After = int64(item.Index)
		}
		if !more {
			break
		}
	}
	files := store.BatchFiles{Job: job}
	for _, f := range []struct {
		lines   *bufio.Writer
		content *bytes.Buffer
		suffix  string
		into    **store.File
	}{{results, &output, "output", &files.Output}, {failed, &failures, "error", &files.ErrorOutput}} {
		if err := f.lines.Flush(); err != nil || f.content.Len() == 0 {
			continue // a buffer in memory takes all
		}
		made, err := h.Files.Write(ctx, p.tenant, f.content)
		if err != nil {
			return err
		}
		made.Key, made.Purpose, made.Name = p.key, store.PurposeBatchOutput, string(job)+"_"+f.suffix+".jsonl"
		*f.into = &made
	}
	_, _, err := h.Store.FinishBatch(ctx, p.tenant, files)
	return err
}
