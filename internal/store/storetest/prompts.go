package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// keepPrompts holds that calls and items remember the prompts in their inputs, that a retry does, and that the variables of a call go with
// its record.
func keepPrompts(r *rig) {
	use := penstock.PromptUse{Name: "support/answer", Version: 3, SHA256: "5f1c", Label: "production"}
	call, plain := r.request(), r.request()
	call.Prompt = &penstock.PromptCall{PromptUse: use, Variables: []byte("sealed")}
	r.record(call, plain)
	got, err := r.s.Request(r.t.Context(), acme, call.ID)
	r.must("read the call", err)
	r.wantSame("prompt of the call", got.Prompt, call.Prompt)
	_, err = r.s.Request(r.t.Context(), umbra, call.ID)
	r.wantCode("read the call of another tenant", err, penstock.CodeNotFound)
	listed := func(tenant penstock.TenantID, by penstock.PromptUse) int {
		page, err := r.lists().ListRequests(r.t.Context(), tenant, store.RequestFilter{Prompt: by, Limit: 10})
		r.must("list calls", err)
		return len(page.Requests)
	}
	r.wantSame("calls with the prompt", listed(acme, penstock.PromptUse{Name: use.Name}), 1)
	r.wantSame("calls with the version", listed(acme, penstock.PromptUse{Name: use.Name, Version: 3}), 1)
	r.wantSame("calls with another version", listed(acme, penstock.PromptUse{Name: use.Name, Version: 2}), 0)
	r.wantSame("calls of another tenant", listed(umbra, penstock.PromptUse{Name: use.Name}), 0)

	keepItemPrompts(r, use)
	r.clock.Advance(2 * time.Hour)
	_, err = r.s.PurgeRequests(r.t.Context(), acme, store.Purge{Kept: time.Hour, Limit: 100})
	r.must("purge calls", err)
	r.wantSame("calls with the prompt, once their records are removed", listed(acme, penstock.PromptUse{Name: use.Name}), 0)
}

// keepItemPrompts holds the same of items. A job whose items all use one prompt names it, and its items have no rows.
func keepItemPrompts(r *rig, use penstock.PromptUse) {
	other := penstock.PromptUse{Name: "support/answer", Version: 4, SHA256: "77aa"}
	read := func(job penstock.ID, n int) *penstock.PromptUse {
		item, err := r.s.Item(r.t.Context(), acme, penstock.ItemID(job, n))
		r.must("read the item", err)
		return item.Prompt
	}
	none := (*penstock.PromptUse)(nil)
	sub := r.submission(3)
	sub.Job.Resolved.Prompts = []penstock.PromptPin{{Written: "a", PromptUse: use}, {Written: "b", PromptUse: other}}
	sub.Items[1].Prompt, sub.Items[2].Prompt = &use, &other
	r.fail(sub)
	r.wantSame("prompt of the first item", read(sub.Job.ID, 0), none)
	r.wantSame("prompt of the second item", read(sub.Job.ID, 1), &use)
	r.wantSame("prompt of the third item", read(sub.Job.ID, 2), &other)

	again := r.retryOf(r.retryable(sub.Job.ID, nil), false)
	again.Job.Resolved.Prompts = sub.Job.Resolved.Prompts
	again.Items[2].Prompt = &use
	job := r.retry(again)
	r.wantSame("prompt of the first item of the retry", read(job.ID, 0), none)
	r.wantSame("prompt of an item that runs again", read(job.ID, 1), &use)
	r.wantSame("prompt of an item that was rendered again", read(job.ID, 2), &use)

	all := r.submission(2)
	all.Job.Resolved.Prompts = []penstock.PromptPin{{Written: "a", PromptUse: use, Every: true}}
	all.Items[0].Prompt, all.Items[1].Prompt = &use, &use
	r.submit(all)
	r.wantSame("prompt of every item", read(all.Job.ID, 1), &use)
	r.must("delete the job", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: sub.Job.ID, Actor: "app"}))
	r.purgeItems(100)
	r.wantSame("prompt of the retry, once the first job is gone", read(job.ID, 1), &use)
}
