package storetest

import (
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

func idempotencyCases() []testCase {
	return []testCase{
		{"the same submit twice is one job", idempotencyReplay},
		{"a replay shows the job as it is now", idempotencyReplayIsCurrent},
		{"another payload under a key is refused", idempotencyMismatch},
		{"a key belongs to its tenant", idempotencyPerTenant},
		{"a key can be used anew after its time", idempotencyExpiry},
		{"many submits at once are one job", idempotencyConcurrent},
	}
}

const keyTTL = 24 * time.Hour

// keyed is a new submission under a key; its job has an id of its own, as every submit does.
func (r *rig) keyed(key, hash string) store.Submission {
	sub := r.submission(2)
	sub.Idempotency = &store.IdempotencyKey{Key: key, BodyHash: []byte(hash), TTL: keyTTL}
	return sub
}

// wantReplay submits and demands the earlier job.
func (r *rig) wantReplay(sub store.Submission, earlier penstock.ID) penstock.Job {
	r.t.Helper()
	receipt, err := r.s.SubmitJob(r.t.Context(), sub.Job.Tenant, sub)
	r.must("submit again", err)
	if !receipt.Replayed || receipt.Job.ID != earlier {
		r.t.Fatalf("got job %s (replayed: %t), want a replay of %s", receipt.Job.ID, receipt.Replayed, earlier)
	}
	return receipt.Job
}

// wantUnwritten demands that a submission left no trace.
func (r *rig) wantUnwritten(sub store.Submission) {
	r.t.Helper()
	_, err := r.s.Job(r.t.Context(), sub.Job.Tenant, sub.Job.ID)
	r.wantCode("read a job that must not have been written", err, penstock.CodeNotFound)
	_, err = r.s.Item(r.t.Context(), sub.Job.Tenant, penstock.ItemID(sub.Job.ID, 0))
	r.wantCode("read an item that must not have been written", err, penstock.CodeNotFound)
}

func idempotencyReplay(r *rig) {
	first := r.submit(r.keyed("order-1", "hash"))
	r.clock.Advance(keyTTL - time.Minute)
	again := r.keyed("order-1", "hash")
	r.wantSame("replayed job", r.wantReplay(again, first.Job.ID), r.job(first.Job.ID))
	r.wantUnwritten(again)
	r.submit(r.keyed("order-2", "hash")) // another key is another job
	r.submitN(1)                         // so is none at all
	r.submitN(1)
	r.audit(first)
}

func idempotencyReplayIsCurrent(r *rig) {
	sub := r.submit(r.keyed("order-1", "hash"))
	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	job := r.wantReplay(r.keyed("order-1", "hash"), sub.Job.ID)
	if job.Status() != penstock.StatusSucceeded {
		r.t.Errorf("replay of a finished job is %s, want succeeded", job.Status())
	}
	r.wantSame("replayed job", job, r.audit(sub))
}

func idempotencyMismatch(r *rig) {
	first := r.submit(r.keyed("order-1", "hash"))
	other := r.keyed("order-1", "another hash")
	_, err := r.s.SubmitJob(r.t.Context(), acme, other)
	r.wantCode("submit another payload", err, penstock.CodeIdempotencyMismatch)
	r.wantUnwritten(other)
	r.wantReplay(r.keyed("order-1", "hash"), first.Job.ID)
	r.verifyLedger()
}

func idempotencyPerTenant(r *rig) {
	mine := r.submit(r.keyed("order-1", "hash"))
	theirs := r.keyed("order-1", "their hash")
	theirs.Job.Tenant = umbra
	r.submit(theirs)
	r.wantReplay(r.keyed("order-1", "hash"), mine.Job.ID)
	again := r.keyed("order-1", "their hash")
	again.Job.Tenant = umbra
	r.wantReplay(again, theirs.Job.ID)
	r.audit(mine)
	r.audit(theirs)
}

func idempotencyExpiry(r *rig) {
	first := r.submit(r.keyed("order-1", "hash"))
	r.clock.Advance(keyTTL + time.Minute)
	second := r.submit(r.keyed("order-1", "another hash"))
	r.wantReplay(r.keyed("order-1", "another hash"), second.Job.ID)
	r.clock.Advance(keyTTL - time.Minute) // the time of the second use counts, not that of the first
	r.wantReplay(r.keyed("order-1", "another hash"), second.Job.ID)
	r.audit(first)
	r.audit(second)
}

func idempotencyConcurrent(r *rig) {
	const callers = 100
	var group errgroup.Group
	var accepted atomic.Int64
	receipts := make([]store.Receipt, callers)
	for i := range callers {
		sub := r.keyed("order-1", "hash")
		group.Go(func() (err error) {
			receipts[i], err = r.s.SubmitJob(r.t.Context(), acme, sub)
			if err == nil && !receipts[i].Replayed {
				accepted.Add(1)
			}
			return err
		})
	}
	r.must("submit together", group.Wait())
	if n := accepted.Load(); n != 1 {
		r.t.Errorf("%d of %d identical submits were accepted as new, want 1", n, callers)
	}
	for _, receipt := range receipts {
		if receipt.Job.ID != receipts[0].Job.ID {
			r.t.Fatalf("identical submits got jobs %s and %s", receipt.Job.ID, receipts[0].Job.ID)
		}
	}
	jobs, err := r.s.ListJobs(r.t.Context(), acme, store.JobFilter{Limit: everything})
	r.must("list jobs", err)
	if report := r.verifyLedger(); len(jobs.Jobs) != 1 || report.Entries != 1 {
		r.t.Errorf("%d jobs and %d ledger entries were written, want one of each", len(jobs.Jobs), report.Entries)
	}
}
