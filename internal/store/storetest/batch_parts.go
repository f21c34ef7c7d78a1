package storetest

import (
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
)

func askClaimBatch(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	return r.s.ClaimBatch(r.t.Context(), tenant, store.BatchClaim{Job: h.batch.Job.ID, By: r.newID(), For: time.Minute})
}

func batchClaimed(r *rig) {
	sub := r.batch(1)
	r.split(sub, 0, 1)
	r.win(r.endings(r.claimN(r.lease("worker"), 1), penstock.TransitionSucceed)...)
	one, other := r.newID(), r.newID()
	claim := func(by penstock.ID) bool {
		r.t.Helper()
		won, err := r.s.ClaimBatch(r.t.Context(), acme, store.BatchClaim{Job: sub.Job.ID, By: by, For: time.Minute})
		r.must("claim a batch", err)
		return won
	}
	if !claim(one) || claim(other) || !claim(one) {
		r.t.Error("not exactly one has it")
	}
	r.wantSame("what is left to others", r.unfinished(), []penstock.ID(nil))
	r.clock.Advance(time.Minute)
	r.wantSame("what is left when its holder is gone", r.unfinished(), []penstock.ID{sub.Job.ID})
	if !claim(other) || claim(one) {
		r.t.Error("a claim that ran out was not taken over")
	}
	if _, done, err := r.s.FinishBatch(r.t.Context(), acme, store.BatchFiles{Job: sub.Job.ID}); err != nil || !done {
		r.t.Errorf("finished: %v, %v", done, err)
	}
	if claim(other) {
		r.t.Error("a batch that is done was claimed")
	}
}

// mixedBatch submits a batch with a job for each model, of one line each.
func (r *rig) mixedBatch(models ...string) (jobs []store.Submission) {
	r.t.Helper()
	var lead store.Submission
	for i, model := range models {
		whole := r.submission(1)
		whole.Job.Model, whole.Job.File = model, r.keep(r.file()).ID
		jobs = append(jobs, whole)
		sub := whole
		sub.Items, sub.Lines = nil, 1
		if i == 0 {
			lead = sub
			continue
		}
		lead.Parts = append(lead.Parts, sub)
	}
	lead.Batch = &store.Batch{Kind: store.BatchAnthropic}
	r.submit(lead)
	return jobs
}

func batchParts(r *rig) {
	jobs := r.mixedBatch("fast", "smart", "cheap")
	read := func() store.Batch {
		r.t.Helper()
		b, err := r.s.Batch(r.t.Context(), acme, jobs[0].Job.ID)
		r.must("read batch", err)
		return b
	}
	r.wantSame("its jobs", read().Jobs(), []penstock.ID{jobs[0].Job.ID, jobs[1].Job.ID, jobs[2].Job.ID})
	r.wantSame("counts", read().Job.Counts, penstock.Counts{Total: 3, Queued: 3})
	all, err := r.s.ListBatches(r.t.Context(), acme, store.BatchPage{Kind: store.BatchAnthropic, Limit: everything})
	r.must("list", err)
	if len(all) != 1 || all[0].Job.Counts.Total != 3 {
		r.t.Errorf("the list is %+v", all)
	}
	lease := r.lease("worker")
	for i, how := range []penstock.Transition{penstock.TransitionSucceed, penstock.TransitionFail, penstock.TransitionSucceed} {
		if b := read(); !b.Job.FinishedAt.IsZero() {
			r.t.Errorf("with %d of 3 jobs ended, the batch has ended", i)
		}
		r.split(jobs[i], 0, 1)
		claims := r.claimN(lease, 1)
		r.wantSame("model", claims[0].Model, jobs[i].Job.Model)
		r.clock.Advance(time.Second)
		r.win(r.ending(claims[0], how))
	}
	b := read()
	last, err := r.s.Job(r.t.Context(), acme, jobs[2].Job.ID)
	r.must("read the last job", err)
	r.wantSame("counts at the end", b.Job.Counts, penstock.Counts{Total: 3, Succeeded: 2, Failed: 1})
	if !b.Job.FinishedAt.Equal(last.FinishedAt) || b.Job.Cost != 3*last.Cost || b.Job.StartedAt.IsZero() {
		r.t.Errorf("in the end the batch is %+v", b)
	}
	r.verifyLedger()
}

// runParts ends the jobs of a batch, one after the other, with time between them.
func (r *rig) runParts(jobs []store.Submission, apart time.Duration) {
	r.t.Helper()
	for _, job := range jobs {
		r.split(job, 0, 1)
		r.win(r.ending(r.claimN(r.lease("worker"), 1)[0], penstock.TransitionSucceed))
		r.clock.Advance(apart)
	}
}

// wantParts checks what reading each job of a batch, and the batch, is answered with: "" if they are there.
func (r *rig) wantParts(what string, jobs []store.Submission, code penstock.Code) {
	r.t.Helper()
	for _, job := range jobs {
		_, err := r.s.Job(r.t.Context(), acme, job.Job.ID)
		r.wantSame(what+": reading a job", penstock.ErrorCode(err), code)
	}
	_, err := r.s.Batch(r.t.Context(), acme, jobs[0].Job.ID)
	r.wantSame(what+": reading the batch", penstock.ErrorCode(err), code)
	r.verifyLedger()
}

func batchPartsDeleted(r *rig) {
	jobs := r.mixedBatch("fast", "smart", "cheap")
	remove := func(n int, whole bool) error {
		return r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: jobs[n].Job.ID, Batch: whole})
	}
	r.runParts(jobs[:2], 0)
	r.wantCode("delete a batch that runs", remove(0, true), penstock.CodeConflict)
	r.runParts(jobs[2:], 0)
	r.wantCode("delete the first job alone", remove(0, false), penstock.CodeConflict)
	r.wantCode("delete another job alone", remove(1, false), penstock.CodeConflict)
	r.wantCode("delete a batch by another of its jobs", remove(1, true), penstock.CodeConflict)
	err := remove(2, false)
	if err == nil || !strings.Contains(err.Error(), penstock.ViewMessageBatch.Format(jobs[0].Job.ID)) {
		r.t.Errorf("the error of deleting a part does not name its batch: %v", err)
	}
	r.wantParts("after refusals", jobs, "")

	found, err := r.s.Retryable(r.t.Context(), acme, store.RetrySelection{Job: jobs[1].Job.ID, Limit: 1})
	r.must("read what could be retried", err)
	r.wantSame("a part says whose it is", found.Job.Resolved.PartOf, jobs[0].Job.ID)
	again := r.submission(1)
	again.Job.Resolved = found.Job.Resolved
	r.submit(again)
	alone, err := r.s.Job(r.t.Context(), acme, again.Job.ID)
	r.must("read what was submitted anew", err)
	r.wantSame("what runs again is no part", alone.Resolved.PartOf, penstock.ID(""))

	r.must("delete the batch", remove(0, true))
	r.wantParts("after the deletion", jobs, penstock.CodeNotFound)
}

func batchPartsKept(r *rig) {
	const kept = 15 * time.Minute
	jobs := r.mixedBatch("fast", "smart", "cheap")
	purge := func() int {
		r.t.Helper()
		done, err := r.s.PurgeJobs(r.t.Context(), acme, store.Purge{Kept: kept, Limit: everything})
		r.must("purge", err)
		return done.Removed
	}
	r.runParts(jobs, 10*time.Minute) // they ended 30, 20 and 10 minutes ago
	r.wantSame("purged before it is done", purge(), 0)
	_, done, err := r.s.FinishBatch(r.t.Context(), acme, store.BatchFiles{Job: jobs[0].Job.ID})
	r.must("finish", err)
	r.wantSame("finished", done, true)
	r.clock.Advance(kept - time.Second)
	r.wantSame("purged before its time", purge(), 0)
	r.wantParts("until all were kept long enough", jobs, "")
	r.clock.Advance(time.Second)
	r.wantSame("purged", purge(), 1)
	r.wantParts("after retention", jobs, penstock.CodeNotFound)
}

func batchPartsTogether(r *rig) {
	lead, part := r.submission(0), r.submission(0)
	lead.Job.File, lead.Lines, lead.Batch = r.keep(r.file()).ID, 1, &store.Batch{Kind: store.BatchAnthropic}
	part.Job.File, part.Lines = r.newID(), 1 // which is not there
	lead.Parts = []store.Submission{part}
	_, err := r.s.SubmitJob(r.t.Context(), acme, lead)
	r.wantCode("submit with a part that cannot be", err, penstock.CodeNotFound)
	_, err = r.s.Job(r.t.Context(), acme, lead.Job.ID)
	r.wantCode("read the job that was to be its first", err, penstock.CodeNotFound)
}
