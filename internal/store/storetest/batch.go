package storetest

import (
	"slices"

	"penstock"
	"penstock/internal/store"
)

func batchCases() []testCase {
	return []testCase{
		{"a job gets the lines of its file in steps", splitSteps},
		{"a step is taken once", splitOnce},
		{"only so many items wait", splitAhead},
		{"what a job lacks when it is stopped is cancelled", splitStopped},
		{"what a job lacks at its deadline expires", splitExpired},
		{"a large job's results come in both orders", largeResults},
		{"results are written where they are wanted", wantResults},
		{"one of many writes the files of a batch", batchClaimed},
		{"a batch for several models is several jobs", batchParts},
		{"the jobs of a batch are accepted together or not at all", batchPartsTogether},
		{"the jobs of a batch are deleted together", batchPartsDeleted},
		{"the jobs of a batch are kept as long as the last of them", batchPartsKept},
	}
}

func wantResults(r *rig) {
	open := func() []penstock.ID {
		unfinished, err := r.s.UnfinishedBatches(r.t.Context(), everything)
		r.must("look for batches", err)
		var ids []penstock.ID
		for _, b := range unfinished {
			ids = append(ids, b.ID)
		}
		return ids
	}
	sub := r.submission(2)
	r.submit(sub)
	for range 2 { // asking again changes nothing
		b, err := r.s.WantResults(r.t.Context(), acme, sub.Job.ID)
		r.must("want results", err)
		if b.Kind != store.BatchNative || b.Job.ID != sub.Job.ID || !b.DoneAt.IsZero() {
			r.t.Errorf("wanted %+v", b)
		}
	}
	r.wantSame("listed without a file", r.natives(), []penstock.ID(nil))
	r.wantSame("before the end", open(), []penstock.ID(nil))
	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	r.wantSame("after the end", open(), []penstock.ID{sub.Job.ID})
	file := r.file()
	_, done, err := r.s.FinishBatch(r.t.Context(), acme, store.BatchFiles{Job: sub.Job.ID, Output: &file})
	r.must("finish", err)
	b, err := r.s.WantResults(r.t.Context(), acme, sub.Job.ID)
	r.must("want them again", err)
	if !done || b.Output != file.ID || b.DoneAt.IsZero() {
		r.t.Errorf("finished %+v", b)
	}
	r.wantSame("when they are written", open(), []penstock.ID(nil))
}

// natives lists the jobs over files.
func (r *rig) natives() (ids []penstock.ID) {
	r.t.Helper()
	all, err := r.s.ListBatches(r.t.Context(), acme, store.BatchPage{Kind: store.BatchNative, Limit: everything})
	r.must("list", err)
	for _, b := range all {
		ids = append(ids, b.ID)
	}
	return ids
}

// batch submits a job of n items that are the lines of a file, and returns it with the items it will get.
func (r *rig) batch(n int, edits ...func(*store.Submission)) store.Submission {
	r.t.Helper()
	whole := r.submission(n)
	whole.Job.File = r.keep(r.file()).ID
	for _, edit := range edits {
		edit(&whole)
	}
	sub := whole
	sub.Items, sub.Lines, sub.Batch = nil, n, &store.Batch{Kind: store.BatchOpenAI, Defaults: []byte(`{"max_tokens":3}`), Metadata: map[string]string{"team": "search"}}
	r.submit(sub)
	return whole
}

// split gives a job the items of its file from one index to another.
func (r *rig) split(sub store.Submission, from, to int) store.Step {
	r.t.Helper()
	step, err := r.s.SplitJob(r.t.Context(), acme, store.Split{Job: sub.Job.ID, From: from, Items: sub.Items[from:to]})
	r.must("split", err)
	return step
}

// unsplit is where the jobs stand that lack items.
func (r *rig) unsplit() map[penstock.ID]int {
	r.t.Helper()
	jobs, err := r.s.UnsplitJobs(r.t.Context(), everything)
	r.must("unsplit jobs", err)
	next := map[penstock.ID]int{}
	for _, u := range jobs {
		next[u.Job.ID] = u.Next
	}
	return next
}

func splitSteps(r *rig) {
	sub := r.batch(5)
	r.submitN(1) // which lacks nothing
	r.wantSame("counts at once", r.job(sub.Job.ID).Counts, penstock.Counts{Total: 5, Queued: 5})
	l := r.lease("worker")
	r.win(r.endings(r.claimN(l, 1), penstock.TransitionSucceed)...)
	r.wantSame("lacking", r.unsplit(), map[penstock.ID]int{sub.Job.ID: 0})

	r.split(sub, 0, 2)
	r.wantSame("lacking", r.unsplit(), map[penstock.ID]int{sub.Job.ID: 2})
	claims := r.claimN(l, 2)
	for i, c := range claims {
		if c.Index != i || string(c.Body) != string(sub.Items[i].Body) || c.CustomID != sub.Items[i].CustomID {
			r.t.Errorf("item %d was claimed as %d, %q, with %s", i, c.Index, c.CustomID, c.Body)
		}
	}
	r.win(r.endings(claims, penstock.TransitionSucceed)...)
	if j := r.job(sub.Job.ID); !j.FinishedAt.IsZero() || j.Counts.Queued != 3 {
		r.t.Errorf("a job that lacks items finished at %v with %+v", j.FinishedAt, j.Counts)
	}
	r.split(sub, 2, 5)
	r.wantSame("lacking", r.unsplit(), map[penstock.ID]int{})
	r.win(r.endings(r.claimN(l, 3), penstock.TransitionFail)...)
	r.audit(sub)
	r.verifyLedger()
}

func splitOnce(r *rig) {
	sub := r.batch(4)
	r.split(sub, 0, 2)
	for _, s := range []store.Split{
		{Job: sub.Job.ID, From: 0, Items: sub.Items[:2]},
		{Job: sub.Job.ID, From: 3, Items: sub.Items[3:]},
		{Job: sub.Job.ID, From: 2, Items: sub.Items}, // more than the file has
	} {
		_, err := r.s.SplitJob(r.t.Context(), acme, s)
		r.wantCode("a step that does not follow", err, penstock.CodeConflict)
	}
	r.claimN(r.lease("worker"), 2)
	r.verifyLedger()
}

func splitAhead(r *rig) {
	sub := r.batch(100)
	steps := 0
	for from := 0; r.unsplit()[sub.Job.ID] == from && from < 100; from++ {
		r.split(sub, from, from+1)
		steps++
	}
	if steps < 2 || steps == 100 {
		r.t.Errorf("a job got %d ranges before any of them was claimed", steps)
	}
	r.claimN(r.lease("worker"), steps)
	if _, lacks := r.unsplit()[sub.Job.ID]; !lacks {
		r.t.Error("a job of which nothing waits gets no more items")
	}
}

func splitStopped(r *rig) {
	sub := r.batch(6)
	r.split(sub, 0, 3)
	running := r.claim(r.lease("worker"), 1)
	r.stop(sub.Job.ID)
	r.drain(10, r.cancel)
	r.win(r.ending(running[0], penstock.TransitionSucceed))
	r.wantSame("lacking", r.unsplit(), map[penstock.ID]int{sub.Job.ID: 3})
	step := r.split(sub, 3, 6)
	r.wantSame("finished by the last step", step.Finished, []penstock.ID{sub.Job.ID})
	if j := r.audit(sub); j.Status() != penstock.StatusCancelled || j.Counts.Cancelled != 5 {
		r.t.Errorf("the job is %s: %+v", j.Status(), j.Counts)
	}
	again, err := r.s.Retryable(r.t.Context(), acme, store.RetrySelection{Job: sub.Job.ID, Limit: everything})
	r.must("retryable", err)
	if len(again.Items) != 5 || string(again.Items[4].Body) != string(sub.Items[5].Body) {
		r.t.Errorf("%d items can be retried", len(again.Items))
	}
	r.verifyLedger()
}

func splitExpired(r *rig) {
	sub := r.batch(4)
	r.split(sub, 0, 2)
	r.clock.Advance(deadlineIn)
	r.drain(10, r.expire)
	r.split(sub, 2, 4)
	if j := r.audit(sub); j.Counts.Expired != 4 {
		r.t.Errorf("the job's counts are %+v", j.Counts)
	}
	r.verifyLedger()
}

// largeResults holds that the order in which many items ended is kept, also where a page ends in the middle
// of those that ended together, and by status.
func largeResults(r *rig) {
	const n = 600
	sub := r.submitN(n)
	claims := r.claimN(r.lease("worker"), n)
	slices.Reverse(claims)
	ways := []penstock.Transition{penstock.TransitionSucceed, penstock.TransitionFail}
	for group := range slices.Chunk(claims, 70) {
		var ends []store.Finish
		for _, c := range group {
			ends = append(ends, r.ending(c, ways[c.Index%2]))
		}
		r.win(ends...)
	}
	job := r.audit(sub)
	failed := r.indexes(job.ID, store.ResultPage{Order: store.OrderCompletion, After: -1, Status: penstock.StatusFailed, Limit: 100})
	want := []int{}
	for i := n - 1; len(want) < 100; i -= 2 {
		want = append(want, i)
	}
	r.wantSame("the first that failed", failed, want)
	r.must("delete", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: job.ID}))
	for range everything {
		done, err := r.s.PurgeItems(r.t.Context(), 50)
		r.must("purge", err)
		if !done.More {
			break
		}
	}
	r.verifyLedger()
}
