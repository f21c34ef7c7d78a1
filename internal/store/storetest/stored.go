package storetest

import (
	"context"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/store"
)

func storedCases() []testCase {
	return []testCase{
		{"inputs and results count until their job is deleted", storedByJob},
		{"files count until they go", storedFiles},
		{"lines of a file count as they become items", storedLines},
		{"a quota refuses new work, and accepted work finishes", storedQuota},
		{"a quota does not refuse a replay", storedReplay},
		{"a quota refuses a file", storedFileQuota},
	}
}

// recountStored compares what the store says of each tenant with its jobs and files. Every test ends with it.
func recountStored(t *testing.T, s store.Store) {
	ctx := context.Background() // that of the test is over
	all, err := s.StoredByTenant(ctx)
	if err != nil {
		return // a test that took the store away
	}
	for _, tenant := range []penstock.TenantID{acme, umbra} {
		var rows store.Stored
		jobs, err := s.ListJobs(ctx, tenant, store.JobFilter{Limit: everything})
		if err != nil {
			return
		}
		for _, j := range jobs.Jobs {
			rows.JobBytes += j.StoredBytes
		}
		files, err := s.ListFiles(ctx, tenant, store.FilePage{Limit: everything})
		if err != nil {
			return
		}
		for _, f := range files {
			rows.FileBytes += f.Bytes
		}
		one, err := s.Stored(ctx, tenant)
		if err != nil || one != all[tenant] || one != rows {
			t.Errorf("%s is said to have stored %+v, and among all %+v, but its jobs and files have %+v: %v", tenant, one, all[tenant], rows, err)
		}
	}
}

// auditStoredBytes counts the payloads of a job.
func (r *rig) auditStoredBytes(job penstock.Job, sub store.Submission, items []penstock.Item) {
	r.t.Helper()
	if job.File != "" || job.Tenant != sub.Job.Tenant {
		return
	}
	var want int64
	for n := range items {
		want += int64(len(sub.Items[n].Body) + len(items[n].Result))
	}
	if job.StoredBytes != want {
		r.t.Errorf("the job says to have stored %d bytes; its inputs and results have %d", job.StoredBytes, want)
	}
}

func (r *rig) stored(tenant penstock.TenantID) store.Stored {
	r.t.Helper()
	sum, err := r.s.Stored(r.t.Context(), tenant)
	r.must("read what is stored", err)
	return sum
}

func inputBytes(sub store.Submission) (sum int64) {
	for _, item := range sub.Items {
		sum += int64(len(item.Body))
	}
	return sum
}

func storedByJob(r *rig) {
	large := r.submission(3)
	large.Items[1].Body = []byte(`{"messages":"` + strings.Repeat("x", 2*store.InlinePayloadBytes) + `"}`) // a blob
	r.submit(large)
	if got := r.stored(acme); got != (store.Stored{JobBytes: inputBytes(large)}) {
		r.t.Fatalf("after a submit %+v is stored, want %d bytes of jobs", got, inputBytes(large))
	}
	if got := r.stored(umbra); got != (store.Stored{}) {
		r.t.Errorf("another tenant has stored %+v", got)
	}
	claims := r.claimN(r.lease("worker"), 3)
	success := r.ending(claims[0], penstock.TransitionSucceed)
	success.Result = []byte(`{"text":"` + strings.Repeat("y", 3*store.InlinePayloadBytes) + `"}`)
	r.win(success, r.ending(claims[1], penstock.TransitionFail), r.ending(claims[2], penstock.TransitionCancel))
	r.audit(large)
	stale := success
	stale.Result = []byte(`{"text":"late"}`)
	before := r.stored(acme)
	_, err := r.s.FinishItems(r.t.Context(), []store.Finish{stale})
	r.must("finish late", err)
	if got := r.stored(acme); got != before {
		r.t.Errorf("a finish that lost changed what is stored from %+v to %+v", before, got)
	}
	r.must("delete", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: large.Job.ID}))
	if got := r.stored(acme); got != (store.Stored{}) {
		r.t.Errorf("%+v is stored after all was deleted", got)
	}
}

func storedFiles(r *rig) {
	first, second := r.keep(r.file()), r.keep(r.file())
	if got, want := r.stored(acme), (store.Stored{FileBytes: first.Bytes + second.Bytes}); got != want {
		r.t.Fatalf("%+v is stored, want %+v", got, want)
	}
	r.must("delete", r.s.DeleteFile(r.t.Context(), acme, store.FileDeletion{File: first.ID}))
	if got, want := r.stored(acme), (store.Stored{FileBytes: second.Bytes}); got != want {
		r.t.Errorf("after one was deleted %+v is stored, want %+v", got, want)
	}
	r.clock.Advance(kept)
	_, err := r.s.PurgeFiles(r.t.Context(), acme, store.Purge{Kept: kept, Limit: everything})
	r.must("purge files", err)
	if got := r.stored(acme); got != (store.Stored{}) {
		r.t.Errorf("%+v is stored after all were swept", got)
	}
}

func storedLines(r *rig) {
	b := r.batch(3)
	before := r.stored(acme)
	lines := r.submission(3).Items
	_, err := r.s.SplitJob(r.t.Context(), acme, store.Split{Job: b.Job.ID, Items: lines})
	r.must("split", err)
	want := before
	for _, l := range lines {
		want.JobBytes += int64(len(l.Body))
	}
	if got := r.stored(acme); got != want {
		r.t.Errorf("with its lines %+v is stored, want %+v", got, want)
	}
}

func storedQuota(r *rig) {
	first := r.submission(1)
	limit := inputBytes(first) + 10
	first.StoredLimit = limit
	r.submit(first)
	second := r.submission(1)
	second.StoredLimit = limit
	_, err := r.s.SubmitJob(r.t.Context(), acme, second)
	r.wantCode("a submit beyond the quota", err, penstock.CodeQuotaExceeded)
	if e := penstock.AsError(err); !strings.Contains(e.Message, "stored_bytes") || !strings.Contains(e.Message, "Delete") || e.Code.Retryable() {
		r.t.Errorf("the refusal reads %q", e.Message)
	}
	elsewhere := r.submission(1)
	elsewhere.Job.Tenant, elsewhere.StoredLimit = umbra, limit
	r.submit(elsewhere) // what others have stored does not matter
	claims := r.claimN(r.lease("worker"), 2)
	for _, c := range claims {
		f := r.ending(c, penstock.TransitionSucceed)
		f.Result = []byte(`{"text":"` + strings.Repeat("long", 100) + `"}`)
		r.win(f)
	}
	r.audit(first)
	if got := r.stored(acme).Bytes(); got <= limit {
		r.t.Fatalf("the result was not kept: %d bytes are stored", got)
	}
	r.must("delete", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: first.Job.ID}))
	r.submit(second)
}

func storedReplay(r *rig) {
	sub := r.keyed("order", "hash")
	sub.StoredLimit = inputBytes(sub)
	r.submit(sub)
	again := r.keyed("order", "hash")
	again.StoredLimit = 1
	receipt, err := r.s.SubmitJob(r.t.Context(), acme, again)
	r.must("replay", err)
	if !receipt.Replayed || receipt.Job.ID != sub.Job.ID {
		r.t.Errorf("the replay got %+v", receipt.Job)
	}
}

func storedFileQuota(r *rig) {
	f := r.file()
	f.StoredLimit = f.Bytes
	r.keep(f)
	second := r.file()
	second.StoredLimit = f.Bytes
	_, err := r.s.CreateFile(r.t.Context(), acme, second)
	r.wantCode("a file beyond the quota", err, penstock.CodeQuotaExceeded)
}

func askStored(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	sum, err := r.s.Stored(r.t.Context(), tenant)
	return sum == r.stored(acme), err // the other tenant has its own work by now
}
