package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func batchFileCases() []testCase {
	return []testCase{
		{"a line that cannot be run fails and does not stop others", splitRefused},
		{"a job's items are listed wherever they are", itemPages},
		{"a file stays while a job needs it", fileInUse},
		{"a job needs its file", fileMissing},
		{"lines that a job does not have yet are queued", unsplitLoad},
		{"a batch reads back, is listed by its API, and gets its files once", batchLife},
		{"a batch that was refused says why, for a while", batchRefused},
	}
}

// splitRefused refuses lines at the ends and in the middle of an input group, so that several ranges are left.
func splitRefused(r *rig) {
	sub := r.batch(7)
	why := &penstock.ItemError{Code: penstock.CodeInvalidRequest, Message: "Line 1: no."}
	for _, n := range []int{0, 3, 4, 6} {
		sub.Items[n].Refusal = why
	}
	r.split(sub, 0, 7)
	if c := r.job(sub.Job.ID).Counts; c.Failed != 4 || c.Queued != 3 {
		r.t.Errorf("counts are %+v", c)
	}
	l := r.lease("worker")
	var claimed []int
	for range 3 { // one at a time, so that ranges are taken apart
		c := r.claimOne(l)
		claimed = append(claimed, c.Index)
		if string(c.Body) != string(sub.Items[c.Index].Body) || c.Estimate != sub.Items[c.Index].EstimateTokens {
			r.t.Errorf("item %d was claimed with %s and an estimate of %d", c.Index, c.Body, c.Estimate)
		}
		r.win(r.ending(c, penstock.TransitionSucceed))
	}
	r.wantSame("claimed", claimed, []int{1, 2, 5})
	if j := r.job(sub.Job.ID); j.Counts.Failed != 4 || j.Counts.Succeeded != 3 || j.FinishedAt.IsZero() {
		r.t.Errorf("the job ended as %+v", j.Counts)
	}
	r.wantSame("the refusal", r.item(penstock.ItemID(sub.Job.ID, 3)).Error, why)
	r.verifyLedger()

	all := r.batch(2)
	all.Items[0].Refusal, all.Items[1].Refusal = why, why
	if step := r.split(all, 0, 2); len(step.Finished) != 1 {
		r.t.Errorf("a job of nothing but refused lines did not end: %+v", step)
	}
	r.verifyLedger()
}

// itemPages lists items that ended, run, wait in line, wait for their time, and are not there yet.
func itemPages(r *rig) {
	sub := r.batch(8)
	r.split(sub, 0, 6)
	l := r.lease("worker")
	claims := r.claim(l, 4)
	again := r.ending(claims[2], penstock.TransitionRetry)
	again.RetryIn = time.Hour
	r.win(r.ending(claims[0], penstock.TransitionFail), again)
	want := map[penstock.Status][]int{
		penstock.StatusFailed: {0}, penstock.StatusRunning: {1, 3}, penstock.StatusQueued: {2, 4, 5, 6, 7}, penstock.StatusSucceeded: {},
		"": {0, 1, 2, 3, 4, 5, 6, 7},
	}
	for status, indexes := range want {
		for _, limit := range []int{1, 2, 100} {
			got := []int{}
			for after := -1; ; {
				page, err := r.s.Items(r.t.Context(), acme, sub.Job.ID, store.ItemPage{After: after, Status: status, Limit: limit})
				r.must("items", err)
				for _, item := range page {
					got = append(got, item.Index)
					after = item.Index
					if status != "" && item.Status != status {
						r.t.Errorf("item %d is %s in a list of those that are %s", item.Index, item.Status, status)
					}
					if name := sub.Items[item.Index].CustomID; item.Index < 6 && item.CustomID != name {
						r.t.Errorf("item %d is called %q, want %q", item.Index, item.CustomID, name)
					}
				}
				if len(page) < limit {
					break
				}
			}
			r.wantSame("items that are "+string(status), got, indexes)
		}
	}
}

func fileInUse(r *rig) {
	sub := r.batch(2)
	d := store.FileDeletion{File: sub.Job.File, Actor: "app"}
	r.wantCode("delete a file that a job reads", r.s.DeleteFile(r.t.Context(), acme, d), penstock.CodeConflict)
	r.clock.Advance(time.Hour)
	old := store.Purge{Kept: time.Minute, Limit: everything}
	done, err := r.s.PurgeFiles(r.t.Context(), acme, old)
	r.must("purge files", err)
	if done.Removed != 0 || done.Overdue != 0 {
		r.t.Errorf("purged %+v while a job needs the file", done)
	}
	r.split(sub, 0, 2)
	if done, err = r.s.PurgeFiles(r.t.Context(), acme, old); err != nil || done.Removed != 1 {
		r.t.Errorf("purged %+v, %v after the job had all of its lines", done, err)
	}
	other := r.batch(1)
	r.split(other, 0, 1)
	r.must("delete a file that no job reads", r.s.DeleteFile(r.t.Context(), acme, store.FileDeletion{File: other.Job.File}))
}

func fileMissing(r *rig) {
	theirs := r.file()
	theirs.Tenant = umbra
	for what, file := range map[string]penstock.ID{"no file": r.newID(), "another's file": r.keep(theirs).ID} {
		sub := r.submission(0)
		sub.Job.File, sub.Lines = file, 3
		_, err := r.s.SubmitJob(r.t.Context(), acme, sub)
		r.wantCode("submit over "+what, err, penstock.CodeNotFound)
	}
}

func unsplitLoad(r *rig) {
	sub := r.batch(10)
	if b := r.onlyBacklog(); b.Unsplit != 10 || b.Queued() != 10 {
		r.t.Errorf("the backlog is %+v", b)
	}
	r.split(sub, 0, 4)
	if b := r.onlyBacklog(); b.Unsplit != 6 || b.Ready != 4 || b.Queued() != 10 {
		r.t.Errorf("the backlog is %+v", b)
	}
}

func batchLife(r *rig) {
	first, second := r.batch(1), r.batch(1)
	b, err := r.s.Batch(r.t.Context(), acme, first.Job.ID)
	r.must("read batch", err)
	if b.Kind != store.BatchOpenAI || b.File != first.Job.File || b.Endpoint != first.Job.Endpoint || b.Metadata["team"] != "search" ||
		b.Job.ID != b.ID || b.Split != 0 || b.Refused() || !b.DoneAt.IsZero() {
		r.t.Errorf("the batch is %+v", b)
	}
	unsplit, err := r.s.UnsplitJobs(r.t.Context(), everything)
	r.must("unsplit", err)
	if len(unsplit) != 2 || string(unsplit[0].Defaults) != `{"max_tokens":3}` {
		r.t.Errorf("unsplit jobs are %+v", unsplit)
	}
	ids := func(p store.BatchPage) (ids []penstock.ID) {
		p.Kind = store.BatchOpenAI
		all, err := r.s.ListBatches(r.t.Context(), acme, p)
		r.must("list", err)
		for _, b := range all {
			ids = append(ids, b.ID)
		}
		return ids
	}
	r.wantSame("all, newest first", ids(store.BatchPage{Limit: 10}), []penstock.ID{second.Job.ID, first.Job.ID})
	r.wantSame("after the newest", ids(store.BatchPage{After: second.Job.ID, Limit: 10}), []penstock.ID{first.Job.ID})
	r.wantSame("before the oldest", ids(store.BatchPage{Before: first.Job.ID, Limit: 10}), []penstock.ID{second.Job.ID})
	other, err := r.s.ListBatches(r.t.Context(), acme, store.BatchPage{Kind: store.BatchAnthropic, Limit: 10})
	r.must("list another API", err)
	r.wantSame("of another API", len(other), 0)

	r.wantSame("unfinished before the job ended", r.unfinished(), []penstock.ID(nil))
	r.split(first, 0, 1)
	r.win(r.endings(r.claimN(r.lease("worker"), 1), penstock.TransitionSucceed)...)
	r.wantSame("unfinished", r.unfinished(), []penstock.ID{first.Job.ID})
	file := r.file()
	got, done, err := r.s.FinishBatch(r.t.Context(), acme, store.BatchFiles{Job: first.Job.ID, Output: &file})
	r.must("finish", err)
	if !done || got.Output != file.ID || got.ErrorOutput != "" || got.DoneAt.IsZero() {
		r.t.Errorf("finished as %+v", got)
	}
	late := r.file()
	got, done, err = r.s.FinishBatch(r.t.Context(), acme, store.BatchFiles{Job: first.Job.ID, Output: &late})
	r.must("finish again", err)
	if done || got.Output != file.ID {
		r.t.Errorf("finished a second time as %+v", got)
	}
	_, err = r.s.File(r.t.Context(), acme, late.ID)
	r.wantCode("read the file of the late finish", err, penstock.CodeNotFound)
	r.wantSame("unfinished at last", r.unfinished(), []penstock.ID(nil))
	r.must("delete", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: first.Job.ID}))
	_, err = r.s.Batch(r.t.Context(), acme, first.Job.ID)
	r.wantCode("read a batch whose job was deleted", err, penstock.CodeNotFound)
}

func (r *rig) unfinished() (ids []penstock.ID) {
	r.t.Helper()
	all, err := r.s.UnfinishedBatches(r.t.Context(), everything)
	r.must("unfinished batches", err)
	for _, b := range all {
		ids = append(ids, b.ID)
	}
	return ids
}

func batchRefused(r *rig) {
	why := []store.LineError{{Line: 3, Code: "invalid_json_line", Message: "The line is no JSON.", Param: "body"}}
	b := store.Batch{ID: r.newID(), Kind: store.BatchOpenAI, File: r.newID(), Endpoint: penstock.EndpointChat, Errors: why}
	_, err := r.s.RefuseBatch(r.t.Context(), acme, b)
	r.must("refuse", err)
	got, err := r.s.Batch(r.t.Context(), acme, b.ID)
	r.must("read", err)
	if !got.Refused() || got.DoneAt.IsZero() || got.Job.ID != "" {
		r.t.Errorf("the batch is %+v", got)
	}
	r.wantSame("reasons", got.Errors, why)
	r.clock.Advance(time.Hour)
	_, err = r.s.PurgeFiles(r.t.Context(), acme, store.Purge{Kept: time.Minute, Limit: everything})
	r.must("purge", err)
	_, err = r.s.Batch(r.t.Context(), acme, b.ID)
	r.wantCode("read after it was kept long enough", err, penstock.CodeNotFound)
}

func askItems(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	items, err := r.s.Items(r.t.Context(), tenant, h.done.Job.ID, store.ItemPage{After: -1, Limit: everything})
	return len(items) > 0, err
}

func askBatch(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	b, err := r.s.Batch(r.t.Context(), tenant, h.batch.Job.ID)
	return b.ID != "", err
}

func askWantResults(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	b, err := r.s.WantResults(r.t.Context(), tenant, h.done.Job.ID)
	return b.ID != "", err
}

func askListBatches(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	all, err := r.s.ListBatches(r.t.Context(), tenant, store.BatchPage{Kind: store.BatchOpenAI, Limit: everything})
	return len(all) > 0, err
}

// askRefuseBatch writes a batch of the tenant's own, and looks whether acme sees it.
func askRefuseBatch(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	b := store.Batch{ID: r.newID(), Kind: store.BatchOpenAI, Errors: []store.LineError{{Line: 1, Code: "x", Message: "X."}}}
	if _, err := r.s.RefuseBatch(r.t.Context(), tenant, b); err != nil {
		return false, err
	}
	_, err := r.s.Batch(r.t.Context(), acme, b.ID)
	return err == nil, nil
}

func askFinishBatch(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	_, done, err := r.s.FinishBatch(r.t.Context(), tenant, store.BatchFiles{Job: h.batch.Job.ID})
	return done, err
}
