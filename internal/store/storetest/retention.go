package storetest

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

func retentionCases() []testCase {
	return []testCase{
		{"a deleted job leaves only its ledger entries", deleteLeavesNothing},
		{"only a finished job is deleted", deleteFinishedOnly},
		{"a key outlives its deleted job", deleteKeepsKey},
		{"a large job vanishes at once and goes in steps", deleteLarge},
		{"an item with many attempts goes in steps", deleteManyAttempts},
		{"many who delete a job delete it once", deleteOnce},
		{"each tenant has a window of its own", purgeWindows},
		{"work that is not finished is never purged", purgeSparesOpen},
		{"jobs are purged in bounded steps", purgeInSteps},
		{"a backlog goes with the last of its jobs", purgeBacklogs},
		{"several sweeps at once divide the work", purgeTogether},
		{"records of calls are purged with their attempts", purgeRequests},
		{"keys are purged when they expire", purgeKeys},
		{"blobs in use stay", purgeSparesBlobs},
		{"a log can be read until its window is over", eventsGone},
		{"tenants are listed in pages", retentionTenants},
	}
}

const kept = 48 * time.Hour

// finished is a job of n items, half of which failed.
func (r *rig) finished(n int) store.Submission {
	r.t.Helper()
	return r.end(r.submitN(n))
}

// end runs a job that is the only one with something queued.
func (r *rig) end(sub store.Submission) store.Submission {
	r.t.Helper()
	claims := r.claimN(r.lease("worker"), len(sub.Items))
	group := r.endings(claims, penstock.TransitionSucceed)
	for i := range group {
		if i%2 == 1 {
			group[i] = r.ending(claims[i], penstock.TransitionFail)
		}
	}
	r.win(group...)
	return sub
}

// wantGone demands that a job and all that belongs to it cannot be found, and that the ledger is right.
func (r *rig) wantGone(sub store.Submission) {
	r.t.Helper()
	ctx, tenant, id := r.t.Context(), sub.Job.Tenant, sub.Job.ID
	_, err := r.s.Job(ctx, tenant, id)
	r.wantCode("read a deleted job", err, penstock.CodeNotFound)
	_, _, err = r.s.Results(ctx, tenant, id, store.ResultPage{Order: store.OrderCompletion, After: -1, Limit: 10})
	r.wantCode("read results of a deleted job", err, penstock.CodeNotFound)
	_, err = r.s.Events(ctx, tenant, store.EventPage{Job: id, Limit: 10})
	r.wantCode("read events of a deleted job", err, penstock.CodeNotFound)
	_, err = r.s.CancelJob(ctx, tenant, id)
	r.wantCode("cancel a deleted job", err, penstock.CodeNotFound)
	_, err = r.s.JobEntries(ctx, tenant, id)
	r.wantCode("read entries of a deleted job", err, penstock.CodeNotFound)
	for n := range sub.Items {
		item := penstock.ItemID(id, n)
		_, err = r.s.Item(ctx, tenant, item)
		r.wantCode("read an item of a deleted job", err, penstock.CodeNotFound)
		if tries, err := r.s.Attempts(ctx, tenant, item); err != nil || len(tries) > 0 {
			r.t.Errorf("an item of a deleted job has attempts %+v (%v)", tries, err)
		}
	}
	jobs, err := r.s.ListJobs(ctx, tenant, store.JobFilter{Limit: everything})
	r.must("list jobs", err)
	for _, j := range jobs.Jobs {
		if j.ID == id {
			r.t.Error("a deleted job is listed")
		}
	}
	for _, d := range r.deadLetters(tenant) {
		if d.Job == id {
			r.t.Errorf("a deleted job has the dead letter %s", d.Item)
		}
	}
	r.verifyLedger()
}

func (r *rig) delete(sub store.Submission) {
	r.t.Helper()
	r.must("delete job", r.s.DeleteJob(r.t.Context(), sub.Job.Tenant, store.Deletion{Job: sub.Job.ID, Actor: "app"}))
}

// purge repeats a step until it says that there is no more, and adds up what it removed.
func (r *rig) purge(limit int, step func() (store.Purged, error)) int {
	r.t.Helper()
	sum := 0
	for range everything {
		done, err := step()
		r.must("purge", err)
		if done.Removed > limit+store.MaxTogether {
			r.t.Fatalf("a step removed %d with a limit of %d", done.Removed, limit)
		}
		if sum += done.Removed; !done.More {
			return sum
		}
	}
	r.t.Fatal("purging never ended")
	return sum
}

// purgeJobs purges everything of a tenant that is old enough.
func (r *rig) purgeJobs(tenant penstock.TenantID, p store.Purge) int {
	r.t.Helper()
	return r.purge(p.Limit, func() (store.Purged, error) { return r.s.PurgeJobs(r.t.Context(), tenant, p) })
}

// purgeItems removes what is left of deleted jobs.
func (r *rig) purgeItems(limit int) int {
	r.t.Helper()
	return r.purge(limit, func() (store.Purged, error) { return r.s.PurgeItems(r.t.Context(), limit) })
}

func deleteLeavesNothing(r *rig) {
	stays := r.finished(4)
	goes := r.finished(5)
	before, booked := r.view(stays), r.verifyLedger().Entries
	r.delete(goes)
	r.wantGone(goes)
	r.wantCode("delete it again", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: goes.Job.ID}), penstock.CodeNotFound)
	if after := r.view(stays); len(after.Dead) != len(before.Dead)-2 {
		r.t.Errorf("%d dead letters are left of %d, want those of the other job to be gone", len(after.Dead), len(before.Dead))
	}
	r.audit(stays)
	report := r.verifyLedger()
	if report.Entries != booked || report.Items != 4 {
		r.t.Errorf("after the deletion the ledger has %d entries and %d items, want %d and 4", report.Entries, report.Items, booked)
	}
	if n := r.purgeItems(10); n != 0 {
		r.t.Errorf("%d items of a small job were left for later", n)
	}
	entries, err := r.s.AuditEntries(r.t.Context(), acme, store.AuditPage{Limit: 10})
	r.must("read the audit", err)
	if len(entries) != 1 || entries[0].Action != store.ActionDeleteJob || entries[0].Actor != "app" ||
		entries[0].Subject != penstock.ViewJob.Format(goes.Job.ID) {
		r.t.Errorf("the audit holds %+v, want who deleted the job, once", entries)
	}
}

func deleteFinishedOnly(r *rig) {
	sub := r.submitN(2)
	del := func() error { return r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: sub.Job.ID}) }
	r.wantCode("delete a queued job", del(), penstock.CodeConflict)
	claims := r.claimN(r.lease("worker"), 2)
	r.wantCode("delete a running job", del(), penstock.CodeConflict)
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.stop(sub.Job.ID)
	r.wantCode("delete a job that is being cancelled", del(), penstock.CodeConflict)
	r.audit(sub)
	r.win(r.ending(claims[1], penstock.TransitionCancel))
	r.must("delete a cancelled job", del())
	r.wantGone(sub)
	if v := r.lose(r.ending(claims[1], penstock.TransitionSucceed)); v.Status != "" {
		r.t.Errorf("a late result of a deleted job gets the verdict %+v", v)
	}
	r.wantGone(sub)
	r.wantCode("delete a job that never was", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: r.newID()}), penstock.CodeNotFound)
}

func deleteKeepsKey(r *rig) {
	sub := r.end(r.submit(r.keyed("order", "hash")))
	r.delete(sub)
	again := r.keyed("order", "hash")
	_, err := r.s.SubmitJob(r.t.Context(), acme, again)
	r.wantCode("submit under the key of a deleted job", err, penstock.CodeGone)
	r.wantUnwritten(again)
	_, err = r.s.JobByKey(r.t.Context(), acme, *again.Idempotency)
	r.wantCode("look for the deleted job by its key", err, penstock.CodeGone)
	_, err = r.s.SubmitJob(r.t.Context(), acme, r.keyed("order", "other"))
	r.wantCode("submit another payload under the key", err, penstock.CodeIdempotencyMismatch)
	r.clock.Advance(keyTTL)
	r.submit(again) // the key's time is over
}

func deleteLarge(r *rig) {
	const items = 700
	sub := r.finished(items)
	other := r.finished(3)
	r.delete(sub)
	r.wantGone(sub)
	left := 0
	for more := true; more; {
		done, err := r.s.PurgeItems(r.t.Context(), 60)
		r.must("purge items", err)
		if done.Removed > 60+store.MaxTogether {
			r.t.Fatalf("a step removed %d items with a limit of 60 rows", done.Removed)
		}
		left, more = left+done.Removed, done.More
		r.verifyLedger()
	}
	if left == 0 || left > items {
		r.t.Errorf("%d of %d items were left for later", left, items)
	}
	r.wantGone(sub)
	if report := r.verifyLedger(); report.Items != 3 {
		r.t.Errorf("%d items are left, want the 3 of the other job", report.Items)
	}
	r.audit(other)
}

// deleteManyAttempts has an item turned away more often than a step has rows.
func deleteManyAttempts(r *rig) {
	const tries = 40
	sub := r.submitN(2)
	for range tries {
		r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionRetry)...)
	}
	r.end(sub)
	r.clock.Advance(kept)
	if n := r.purgeJobs(acme, store.Purge{Kept: kept, Limit: 7}); n != 1 {
		r.t.Errorf("%d jobs were purged, want 1", n)
	}
	r.wantGone(sub)
	steps := 0
	for more := true; more; steps++ {
		done, err := r.s.PurgeItems(r.t.Context(), 7)
		r.must("purge items", err)
		more = done.More
		r.verifyLedger()
	}
	if rows := 2*(tries+1) - 7; steps < rows/7 { // the first step took 7 of them
		r.t.Errorf("%d rows went in %d steps of 7", rows, steps)
	}
	r.wantGone(sub)
}

func deleteOnce(r *rig) {
	subs := []store.Submission{r.finished(6), r.finished(40)}
	var won atomic.Int32
	var group errgroup.Group
	for range 8 {
		for _, sub := range subs {
			group.Go(func() error {
				switch err := r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: sub.Job.ID}); penstock.ErrorCode(err) {
				case "":
					won.Add(1)
				case penstock.CodeNotFound:
				default:
					return err
				}
				_, err := r.s.PurgeItems(r.t.Context(), 5)
				return err
			})
		}
	}
	r.must("delete together", group.Wait())
	if n := won.Load(); n != 2 {
		r.t.Errorf("two jobs were deleted %d times", n)
	}
	r.purgeItems(5)
	for _, sub := range subs {
		r.wantGone(sub)
	}
}

func purgeWindows(r *rig) {
	mine := r.finished(2)
	theirs := r.submission(2)
	theirs.Job.Tenant = umbra
	r.end(r.submit(theirs))
	r.clock.Advance(kept - time.Microsecond)
	step, err := r.s.PurgeJobs(r.t.Context(), acme, store.Purge{Kept: kept, Limit: 10})
	r.must("purge too soon", err)
	r.wantSame("step before the window is over", step, store.Purged{})
	r.clock.Advance(time.Microsecond + time.Hour)
	step, err = r.s.PurgeJobs(r.t.Context(), acme, store.Purge{Kept: kept, Limit: 10})
	r.must("purge in time", err)
	r.wantSame("step after the window", step, store.Purged{Removed: 1, Overdue: time.Hour})
	r.wantGone(mine)
	if n := r.purgeJobs(umbra, store.Purge{Kept: 2 * kept, Limit: 10}); n != 0 {
		r.t.Errorf("%d jobs of the tenant with the longer window were purged", n)
	}
	r.audit(theirs)
	r.clock.Advance(kept)
	if n := r.purgeJobs(umbra, store.Purge{Kept: 2 * kept, Limit: 10}); n != 1 {
		r.t.Errorf("%d jobs of the other tenant were purged, want 1", n)
	}
	r.wantGone(theirs)
}

func purgeSparesOpen(r *rig) {
	running := r.submitN(1)
	r.claimN(r.lease("worker"), 1)
	queued := r.submitN(1)
	r.clock.Advance(1000 * time.Hour)
	if n := r.purgeJobs(acme, store.Purge{Kept: time.Minute, Limit: 10}); n != 0 {
		r.t.Errorf("%d open jobs were purged", n)
	}
	r.audit(running)
	r.audit(queued)
}

func purgeInSteps(r *rig) {
	var old []store.Submission
	for range 6 {
		old = append(old, r.finished(3))
		r.clock.Advance(time.Minute)
	}
	r.clock.Advance(kept)
	young := r.finished(3)
	sum := 0
	for more := true; more; {
		done, err := r.s.PurgeJobs(r.t.Context(), acme, store.Purge{Kept: kept, Limit: 10})
		r.must("purge jobs", err)
		if done.Removed > 3 {
			r.t.Fatalf("a step of 10 rows removed %d jobs of at least 4 rows each", done.Removed)
		}
		for _, sub := range old[:sum+done.Removed] { // the oldest go first
			r.wantGone(sub)
		}
		sum, more = sum+done.Removed, done.More
		r.purgeItems(10)
	}
	if sum != len(old) {
		r.t.Errorf("%d jobs were purged, want %d", sum, len(old))
	}
	r.audit(young)
}

func purgeTogether(r *rig) {
	const jobs = 30
	for range jobs {
		r.finished(2)
	}
	calls := make([]penstock.Request, jobs)
	for i := range calls {
		calls[i] = r.request()
	}
	r.record(calls...)
	r.clock.Advance(kept + time.Second)
	var removed, records atomic.Int64
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for more := true; more; {
				done, err := r.s.PurgeJobs(r.t.Context(), acme, store.Purge{Kept: kept, Limit: 12})
				if err != nil {
					return err
				}
				rest, err := r.s.PurgeItems(r.t.Context(), 12)
				if err != nil {
					return err
				}
				called, err := r.s.PurgeRequests(r.t.Context(), acme, store.Purge{Kept: kept, Limit: 7})
				if err != nil {
					return err
				}
				removed.Add(int64(done.Removed))
				records.Add(int64(called.Removed))
				more = done.More || rest.More || called.More
			}
			return nil
		})
	}
	r.must("purge together", group.Wait())
	removed.Add(int64(r.purgeJobs(acme, store.Purge{Kept: kept, Limit: 12}))) // what one had locked while the others looked
	r.purgeItems(12)
	if removed.Load() != jobs || records.Load() != jobs {
		r.t.Errorf("%d jobs and %d calls were purged, want %d each", removed.Load(), records.Load(), jobs)
	}
	if report := r.verifyLedger(); report.Items != 0 || report.Requests != 0 {
		r.t.Errorf("%d items and %d calls are left", report.Items, report.Requests)
	}
}

func purgeRequests(r *rig) {
	old := []penstock.Request{r.request(), r.failedRequest(), r.request()}
	r.record(old...)
	r.clock.Advance(kept)
	young := r.request()
	r.record(young)
	r.clock.Advance(time.Second)
	sum := r.purge(2, func() (store.Purged, error) {
		return r.s.PurgeRequests(r.t.Context(), acme, store.Purge{Kept: kept, Limit: 2})
	})
	if sum != len(old) {
		r.t.Errorf("%d calls were purged, want %d", sum, len(old))
	}
	for _, q := range old {
		_, err := r.s.Request(r.t.Context(), acme, q.ID)
		r.wantCode("read a purged call", err, penstock.CodeNotFound)
		r.wantSame("attempts of a purged call", len(r.attempts(q.ID)), 0)
	}
	r.wantRequest(young)
	if report := r.verifyLedger(); report.Requests != 1 || report.Entries != 4 {
		r.t.Errorf("%d calls and %d entries are left, want 1 and 4", report.Requests, report.Entries)
	}
}

func purgeKeys(r *rig) {
	keys := func() (store.Purged, error) { return r.s.PurgeKeys(r.t.Context(), 2) }
	for _, key := range []string{"a", "b", "c"} {
		r.submit(r.keyed(key, "hash"))
	}
	r.clock.Advance(time.Hour)
	late := r.submit(r.keyed("late", "hash"))
	r.clock.Advance(keyTTL - time.Hour - time.Microsecond)
	if n := r.purge(2, keys); n != 0 {
		r.t.Errorf("%d keys were purged before their time", n)
	}
	r.clock.Advance(time.Microsecond)
	anew := r.submit(r.keyed("b", "hash")) // taken again just before the sweep
	if n := r.purge(2, keys); n != 2 {
		r.t.Errorf("%d keys were purged, want 2", n)
	}
	r.wantReplay(r.keyed("late", "hash"), late.Job.ID)
	r.wantReplay(r.keyed("b", "hash"), anew.Job.ID)
	r.submit(r.keyed("a", "hash"))
}

// purgeSparesBlobs sweeps every blob there is. What a job names must survive, before it ran and after.
func purgeSparesBlobs(r *rig) {
	sub := r.submission(2)
	sub.Items[0].Body = large()
	r.submit(sub)
	sweep := func() {
		r.t.Helper()
		done, err := r.s.PurgeBlobs(r.t.Context(), store.BlobPage{StoredBefore: time.Now().Add(time.Hour), Limit: 1})
		r.must("purge blobs", err)
		r.wantSame("blobs removed", done.Removed, 0)
	}
	sweep()
	claims := r.claimN(r.lease("worker"), 2)
	ending := r.ending(claims[0], penstock.TransitionSucceed)
	ending.Result = large()
	r.win(ending, r.ending(claims[1], penstock.TransitionSucceed))
	sweep()
	if got := r.item(claims[0].Item); string(got.Result) != string(ending.Result) {
		r.t.Errorf("a result of %d bytes has %d after the sweep", len(ending.Result), len(got.Result))
	}
	r.audit(sub)
}

// large is a payload that does not fit a row, however well it is compressed.
func large() []byte {
	var text []byte
	for len(text) < 4*store.InlinePayloadBytes {
		text = append(text, rand.Text()...)
	}
	return text
}

func eventsGone(r *rig) {
	read := func(id penstock.ID, after int64) (int, error) {
		events, err := r.s.Events(r.t.Context(), acme, store.EventPage{Job: id, After: after, Limit: 100, Kept: kept})
		return len(events), err
	}
	sub := r.submitN(1)
	claim := r.claimOne(r.lease("worker"))
	r.clock.Advance(2 * kept)
	if n, err := read(sub.Job.ID, 0); err != nil || n != 2 {
		r.t.Errorf("an open job shows %d events (%v), want 2", n, err)
	}
	r.win(r.ending(claim, penstock.TransitionSucceed))
	r.clock.Advance(kept - time.Microsecond)
	n, err := read(sub.Job.ID, 0)
	r.must("read events in time", err)
	last := int64(n)
	r.clock.Advance(time.Microsecond)
	for _, after := range []int64{0, 1, last - 1} {
		_, err := read(sub.Job.ID, after)
		r.wantCode("read on in a log that is gone", err, penstock.CodeGone)
	}
	if n, err := read(sub.Job.ID, last); err != nil || n != 0 {
		r.t.Errorf("who read it all gets %d events (%v), want none", n, err)
	}
	r.audit(sub) // without a window the log is there as long as the job
}

func retentionTenants(r *rig) {
	var all []penstock.Tenant
	want := []penstock.TenantID{"a", "b", "c", "d", "e"}
	for _, id := range []penstock.TenantID{"c", "a", "e", "b", "d"} {
		all = append(all, penstock.Tenant{ID: id, Weight: 1})
	}
	r.must("save tenants", r.s.SaveTenants(r.t.Context(), all))
	var got []penstock.TenantID
	page := store.TenantPage{Limit: 2}
	for range all {
		ids, err := r.s.TenantIDs(r.t.Context(), page)
		r.must("list tenants", err)
		if len(ids) == 0 {
			break
		}
		got = append(got, ids...)
		page.After = ids[len(ids)-1]
	}
	r.wantSame("tenants", got, want)
}

// purgeBacklogs: the counters of a model's queue are removed with its last stored job, unless a job is open.
func purgeBacklogs(r *rig) {
	job := func(model string) store.Submission {
		sub := r.submission(2)
		sub.Job.Model = model
		r.submit(sub)
		return sub
	}
	ended := func(_ store.Submission, lease store.Lease) {
		for _, c := range r.claimN(lease, 2) {
			r.win(r.ending(c, penstock.TransitionSucceed))
		}
	}
	lease := r.lease("worker")
	ended(job("invented"), lease)
	ended(job("busy"), lease)
	r.clock.Advance(2 * time.Hour)
	running := job("busy")
	lease = r.lease("worker")
	held := r.claimN(lease, 2)
	if n := r.purgeJobs(acme, store.Purge{Kept: time.Hour, Limit: everything}); n != 2 {
		r.t.Fatalf("%d jobs were purged, want 2", n)
	}
	if b := r.onlyBacklog(); b.Model != "busy" || b.Running != 2 || b.DrainedItems != 4 {
		r.t.Errorf("what is left is %+v, want that of the job that runs", b)
	}
	for _, c := range held {
		r.win(r.ending(c, penstock.TransitionSucceed))
	}
	r.must("delete job", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: running.Job.ID, Actor: "app"}))
	if left := r.backlogs(); len(left) != 0 {
		r.t.Errorf("nothing is left to count, but %+v", left)
	}
	ended(job("busy"), r.lease("worker"))
	if b := r.onlyBacklog(); b.DrainedItems != 2 || b.Queued() != 0 {
		r.t.Errorf("a backlog that was made anew counts %+v", b)
	}
	r.verifyLedger()
}
