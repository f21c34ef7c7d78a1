package storetest

import (
	"penstock"
	"penstock/internal/store"
)

// keepTruncations holds that calls and items remember what was dropped of their inputs, and that a retry does: of the earlier item, if
// it runs the same bytes, or its own.
func keepTruncations(r *rig) {
	dropped := &penstock.Truncation{Policy: penstock.OverflowTruncateOldest, Turns: 3, TokensBefore: 9000, TokensAfter: 4000, ContextTokens: 8192}
	call := r.request()
	call.Truncated = dropped
	r.record(call, r.request())
	got, err := r.s.Request(r.t.Context(), acme, call.ID)
	r.must("read the call", err)
	r.wantSame("truncation of the call", got.Truncated, dropped)
	_, err = r.s.Request(r.t.Context(), umbra, call.ID)
	r.wantCode("read the call of another tenant", err, penstock.CodeNotFound)

	sub := r.submission(3)
	sub.Items[1].Truncated, sub.Items[2].Truncated = dropped, dropped
	r.fail(sub)
	read := func(job penstock.ID, n int) *penstock.Truncation {
		item, err := r.s.Item(r.t.Context(), acme, penstock.ItemID(job, n))
		r.must("read the item", err)
		return item.Truncated
	}
	none := (*penstock.Truncation)(nil)
	r.wantSame("truncation of the first item", read(sub.Job.ID, 0), none)
	r.wantSame("truncation of the second item", read(sub.Job.ID, 1), dropped)

	again := r.retryOf(r.retryable(sub.Job.ID, nil), false)
	anew := &penstock.Truncation{Policy: penstock.OverflowTruncateMiddle, Turns: 1, TokensBefore: 4000, TokensAfter: 2000, ContextTokens: 4096}
	again.Items[2].Truncated = anew
	job := r.retry(again)
	r.wantSame("truncation of the first item of the retry", read(job.ID, 0), none)
	r.wantSame("truncation of an item that runs again", read(job.ID, 1), dropped)
	r.wantSame("truncation of an item that was shortened again", read(job.ID, 2), anew)

	whole := r.batch(2)
	whole.Items[0].Truncated = dropped
	r.split(whole, 0, 2)
	r.wantSame("truncation of a line", read(whole.Job.ID, 0), dropped)
	r.wantSame("truncation of another line", read(whole.Job.ID, 1), none)
	r.must("delete the job", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: sub.Job.ID, Actor: "app"}))
	r.purgeItems(100)
	_, err = r.s.Item(r.t.Context(), acme, penstock.ItemID(sub.Job.ID, 1))
	r.wantCode("read an item of a deleted job", err, penstock.CodeNotFound)
	r.wantSame("truncation of the retry, once the first job is gone", read(job.ID, 1), dropped)
}
