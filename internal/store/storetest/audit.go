package storetest

import (
	"slices"

	"penstock"
	"penstock/internal/store"
)

// audit checks everything that holds for a job at any moment, finished or not, and returns it. It needs
// the submission, because the store must agree with what was asked of it.
func (r *rig) audit(sub store.Submission) penstock.Job {
	r.t.Helper()
	failedBefore := r.t.Failed()
	ctx, tenant := r.t.Context(), sub.Job.Tenant
	job, err := r.s.Job(ctx, tenant, sub.Job.ID)
	r.must("read job", err)
	items := make([]penstock.Item, len(sub.Items))
	for n := range items {
		items[n], err = r.s.Item(ctx, tenant, penstock.ItemID(job.ID, n))
		r.must("read item", err)
	}
	r.auditCounts(job, items)
	r.auditStoredBytes(job, sub, items)
	r.auditResults(job, items)
	r.auditEvents(job, items)
	r.auditLedger(sub, items)
	r.auditDeadLetters(job, items)
	if r.t.Failed() && !failedBefore {
		r.t.Fatalf("job %s does not hold together: %+v", job.ID, job.Counts)
	}
	return job
}

func (r *rig) auditCounts(job penstock.Job, items []penstock.Item) {
	r.t.Helper()
	want := penstock.Counts{Total: len(items)}
	var usage penstock.Usage
	var cost penstock.NanoUSD
	for _, item := range items {
		*want.Of(item.Status)++
		usage = usage.Plus(item.Usage)
		cost += item.Cost
		if terminal := item.Status.Terminal(); terminal != (item.Seq > 0) || terminal == item.FinishedAt.IsZero() {
			r.t.Errorf("item %d is %s with seq %d, finished at %v", item.Index, item.Status, item.Seq, item.FinishedAt)
		}
	}
	r.wantSame("counts of the job against its items", job.Counts, want)
	if finished := want.Open() == 0; finished == job.FinishedAt.IsZero() {
		r.t.Errorf("job with %d open items finished at %v", want.Open(), job.FinishedAt)
	}
	if job.Counts.Open() == 0 && (job.Usage != usage || job.Cost != cost) {
		r.t.Errorf("finished job spent %+v, %v; its items spent %+v, %v", job.Usage, job.Cost, usage, cost)
	}
}

// auditResults compares both orders of results with the items themselves.
func (r *rig) auditResults(job penstock.Job, items []penstock.Item) {
	r.t.Helper()
	want := slices.DeleteFunc(slices.Clone(items), func(i penstock.Item) bool { return !i.Status.Terminal() })
	unbroken := 0
	for unbroken < len(want) && want[unbroken].Index == unbroken {
		unbroken++
	}
	r.wantSame("results in input order up to the first open item", r.results(job, store.OrderInput), slices.Clone(want[:unbroken]))
	slices.SortFunc(want, func(a, b penstock.Item) int { return int(a.Seq - b.Seq) })
	r.wantSame("results in completion order", r.results(job, store.OrderCompletion), want)
}

// results reads all results in pages of an odd size.
func (r *rig) results(job penstock.Job, order store.Order) []penstock.Item {
	r.t.Helper()
	var all []penstock.Item
	page := store.ResultPage{Order: order, After: -1, Limit: 7}
	for {
		items, more, err := r.s.Results(r.t.Context(), job.Tenant, job.ID, page)
		r.must("read results", err)
		if len(items) > page.Limit {
			r.t.Fatalf("a page of %d results has %d", page.Limit, len(items))
		}
		if all = append(all, items...); !more {
			return all
		}
		last := items[len(items)-1]
		page.After = last.Seq
		if order == store.OrderInput {
			page.After = int64(last.Index)
		}
		if len(all) > job.Counts.Total {
			r.t.Fatalf("paging through results in %s order yields more than the %d items there are", order, job.Counts.Total)
		}
	}
}

// events reads a job's whole log in pages of an odd size.
func (r *rig) events(job penstock.Job) []penstock.Event {
	r.t.Helper()
	var log []penstock.Event
	page := store.EventPage{Job: job.ID, Limit: 5}
	for {
		events, err := r.s.Events(r.t.Context(), job.Tenant, page)
		r.must("read events", err)
		if len(events) > page.Limit {
			r.t.Fatalf("a page of %d events has %d", page.Limit, len(events))
		}
		if len(events) == 0 {
			return log
		}
		log = append(log, events...)
		page.After = events[len(events)-1].Seq
		if int64(len(log)) > job.Seq {
			r.t.Fatalf("a job whose newest event is %d has more events", job.Seq)
		}
	}
}

func (r *rig) auditEvents(job penstock.Job, items []penstock.Item) {
	r.t.Helper()
	log, large := r.events(job), job.Counts.Total > penstock.MaxItemEvents
	count := map[penstock.EventType]int{}
	for i, e := range log {
		if e.Delta == nil && e.Type != penstock.EventJobProgress {
			count[e.Type]++
		}
		if (e.Seq != int64(i)+1 && !large) || e.Job != job.ID || e.CreatedAt.IsZero() {
			r.t.Errorf("event at place %d is %s %d of %s at %v", i+1, e.Type, e.Seq, e.Job, e.CreatedAt)
		}
		if e.Item != nil {
			r.auditItemEvent(e, items)
		}
	}
	if len(log) == 0 || log[0].Type != penstock.EventJobQueued || (int64(len(log)) != job.Seq && !large) {
		r.t.Errorf("log of %d events must begin with job.queued and end with the job's newest, %d", len(log), job.Seq)
		return
	}
	want := map[penstock.EventType]int{penstock.EventJobQueued: 1}
	if !job.StartedAt.IsZero() {
		want[penstock.EventJobStarted] = 1
	}
	if job.Counts.Open() == 0 {
		want[penstock.EventJobFinished] = 1
		if last := log[len(log)-1]; last.Type != penstock.EventJobFinished {
			r.t.Errorf("log of a finished job ends with %s", last.Type)
		}
	}
	for _, item := range items {
		if item.Status.Terminal() && !large {
			want[penstock.ItemEvent(item.Status)]++
		}
	}
	r.wantSame("events by type", count, want)
}

func (r *rig) auditItemEvent(e penstock.Event, items []penstock.Item) {
	r.t.Helper()
	if e.Item.Index < 0 || e.Item.Index >= len(items) {
		r.t.Errorf("event %d names an item %d that the job does not have", e.Seq, e.Item.Index)
		return
	}
	want := items[e.Item.Index]
	want.Result = nil
	r.wantSame("item of an event", *e.Item, want)
	if e.Type != penstock.ItemEvent(want.Status) || e.Seq != want.Seq || !e.CreatedAt.Equal(want.FinishedAt) {
		r.t.Errorf("event %d is %s at %v; its item is %s with seq %d, finished at %v",
			e.Seq, e.Type, e.CreatedAt, want.Status, want.Seq, want.FinishedAt)
	}
}

// auditLedger checks that the job's reservation was booked once, and freed once by each outcome, which
// also records what it cost.
func (r *rig) auditLedger(sub store.Submission, items []penstock.Item) {
	r.t.Helper()
	entries, err := r.s.JobEntries(r.t.Context(), sub.Job.Tenant, sub.Job.ID)
	r.must("read ledger entries", err)
	r.auditEntries(sub, entries)

	var reserved penstock.NanoUSD
	reserves := selectEntries(entries, sub.Job.ID, penstock.EntryReserve)
	for _, e := range reserves {
		reserved += e.Reserved
	}
	if reserved != reservation(sub) || (len(reserves) != 1 && sub.Job.File == "") {
		r.t.Errorf("reservation of %v is booked as %+v", reservation(sub), reserves)
	}
	for n, item := range items {
		closing := selectEntries(entries, item.ID, penstock.EntrySettle, penstock.EntryRelease)
		if !item.Status.Terminal() {
			if len(closing) > 0 {
				r.t.Errorf("item %d is %s and has settlements: %+v", n, item.Status, closing)
			}
			continue
		}
		if len(closing) != 1 {
			r.t.Errorf("item %d is %s and has %d settlements, want 1: %+v", n, item.Status, len(closing), closing)
			continue
		}
		e := closing[0]
		if e.Reserved != sub.Items[n].Reserved || e.Cost != item.Cost || e.Usage != item.Usage {
			r.t.Errorf("item %d reserved %v and spent %+v, %v; its settlement is %+v",
				n, sub.Items[n].Reserved, item.Usage, item.Cost, e)
		}
		if e.Kind == penstock.EntryRelease && (e.Cost != 0 || e.Usage != penstock.Usage{}) {
			r.t.Errorf("a release must be of an outcome that spent nothing: %+v", e)
		}
	}
}

// auditEntries checks what holds for every line of the ledger.
func (r *rig) auditEntries(sub store.Submission, entries []penstock.LedgerEntry) {
	r.t.Helper()
	keys := map[string]bool{}
	for i, e := range entries {
		if e.Key == "" || keys[e.Key] {
			r.t.Errorf("ledger key %q is empty or booked twice", e.Key)
		}
		keys[e.Key] = true
		if e.Tenant != sub.Job.Tenant || e.Job != sub.Job.ID || e.CreatedAt.IsZero() {
			r.t.Errorf("entry belongs to another tenant or job, or has no time: %+v", e)
		}
		if i > 0 && e.CreatedAt.Before(entries[i-1].CreatedAt) {
			r.t.Errorf("entry %d is older than the one before it", i)
		}
		if e.Kind == penstock.EntryForfeit && e.Reserved != 0 {
			r.t.Errorf("a forfeit frees nothing, its item is still to be settled: %+v", e)
		}
	}
}

// auditDeadLetters checks that exactly the failed items of a job are dead letters.
func (r *rig) auditDeadLetters(job penstock.Job, items []penstock.Item) {
	r.t.Helper()
	var want, got []penstock.ID
	for _, item := range items {
		if item.Status == penstock.StatusFailed {
			want = append(want, item.ID)
		}
	}
	for _, d := range r.deadLetters(job.Tenant) {
		if d.Job == job.ID {
			got = append(got, d.Item)
		}
	}
	r.wantSame("dead letters", got, want)
}

// deadLetters reads all dead letters of a tenant, page by page.
func (r *rig) deadLetters(tenant penstock.TenantID) []store.DeadLetter {
	r.t.Helper()
	var all []store.DeadLetter
	page := store.DeadLetterPage{Limit: 50}
	for range everything {
		deadLetters, _, err := r.s.DeadLetters(r.t.Context(), tenant, page)
		r.must("read dead letters", err)
		if len(deadLetters) > page.Limit {
			r.t.Fatalf("a page of %d dead letters has %d", page.Limit, len(deadLetters))
		}
		if len(deadLetters) == 0 {
			break
		}
		all = append(all, deadLetters...)
		page.After = deadLetters[len(deadLetters)-1].Item
	}
	return all
}

// verifyLedger demands that the store finds its own ledger in order.
func (r *rig) verifyLedger() store.LedgerReport {
	r.t.Helper()
	report, err := r.s.VerifyLedger(r.t.Context())
	r.must("verify ledger", err)
	for _, problem := range report.Problems {
		r.t.Errorf("ledger: %s", problem)
	}
	return report
}

func reservation(sub store.Submission) penstock.NanoUSD {
	var sum penstock.NanoUSD
	for _, item := range sub.Items {
		sum += item.Reserved
	}
	return sum
}

func selectEntries(entries []penstock.LedgerEntry, subject penstock.ID, kinds ...penstock.EntryKind) []penstock.LedgerEntry {
	var out []penstock.LedgerEntry
	for _, e := range entries {
		if e.Subject == subject && slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

// sumCost is the money in a set of entries.
func sumCost(entries []penstock.LedgerEntry) penstock.NanoUSD {
	var sum penstock.NanoUSD
	for _, e := range entries {
		sum += e.Cost
	}
	return sum
}
