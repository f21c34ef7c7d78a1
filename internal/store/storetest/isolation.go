package storetest

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

func isolationCases() []testCase {
	return []testCase{
		{"no method shows or changes the work of another tenant", isolationProbes},
		{"a job belongs to the tenant that submits it", isolationOwner},
		{"a taken id is refused", isolationTakenID},
		{"a claim names its tenant", isolationClaims},
	}
}

// owned is some work of acme's, of every kind that can be asked for.
type owned struct {
	done    store.Submission // finished: a success and a failure
	open    store.Submission // queued, under an idempotency key
	request penstock.Request
	spare   store.Submission // finished, to be deleted
	old     store.Submission // finished longer than oldAge ago
	call    penstock.Request // as old

	file, spareFile, oldFile store.File
	batch                    store.Submission // lacks its items
}

const oldAge = time.Hour

func (r *rig) owned() owned {
	r.t.Helper()
	h := owned{old: r.finished(1), call: r.request()}
	r.record(h.call)
	h.oldFile = r.keep(r.file())
	r.streamed(1)
	r.clock.Advance(oldAge)
	h.file, h.spareFile = r.keep(r.file()), r.keep(r.file())
	h.spare = r.finished(1)
	h.done, h.request = r.submitN(2), r.request()
	claims := r.claimN(r.lease("worker"), 2)
	r.win(r.ending(claims[0], penstock.TransitionSucceed), r.ending(claims[1], penstock.TransitionFail))
	r.dismiss(store.DeadLetterFilter{Job: r.fail(r.submission(1)).Job.ID}, 1) // for the audit
	h.open = r.submit(r.keyed("secret-order", "hash"))
	h.batch = r.batch(1)
	r.record(h.request)
	return h
}

// ask calls one method for acme's work on behalf of any tenant, and reports whether it returned any of that work.
type ask func(r *rig, h owned, tenant penstock.TenantID) (seen bool, err error)

type probe struct {
	ask   ask
	hides penstock.Code // the error of another tenant; "" where the answer is just empty
}

// probes covers every method of the contract that takes a tenant; isolationProbes checks that it does.
func probes() map[string]probe {
	return map[string]probe{
		"SubmitJob":   {askSubmitJob, ""},
		"JobByKey":    {askJobByKey, penstock.CodeNotFound},
		"Job":         {askJob, penstock.CodeNotFound},
		"ListJobs":    {askListJobs, ""},
		"CancelJob":   {askCancelJob, penstock.CodeNotFound},
		"Results":     {askResults, penstock.CodeNotFound},
		"SplitJob":    {askSplitJob, penstock.CodeNotFound},
		"Items":       {askItems, penstock.CodeNotFound},
		"Batch":       {askBatch, penstock.CodeNotFound},
		"WantResults": {askWantResults, penstock.CodeNotFound},
		"ListBatches": {askListBatches, ""},
		"Stored":      {askStored, ""},
		"RefuseBatch": {askRefuseBatch, ""},
		"FinishBatch": {askFinishBatch, penstock.CodeNotFound},
		"ClaimBatch":  {askClaimBatch, ""},
		"Item":        {askItem, penstock.CodeNotFound},
		"ItemInput":   {askItemInput, penstock.CodeNotFound},
		"Attempts":    {askAttempts, ""},
		"Events":      {askEvents, penstock.CodeNotFound},
		"DeadLetters": {askDeadLetters, ""},

		"DeadLetterGroups":   {askDeadLetterGroups, ""},
		"DeadLetterJobs":     {askDeadLetterJobs, ""},
		"CountDeadLetters":   {askCountDeadLetters, ""},
		"Retryable":          {askRetryable, penstock.CodeNotFound},
		"RetryItems":         {askRetryItems, penstock.CodeNotFound},
		"DismissDeadLetters": {askDismissDeadLetters, ""},
		"AuditEntries":       {askAuditEntries, ""},

		"Request":    {askRequest, penstock.CodeNotFound},
		"JobEntries": {askJobEntries, penstock.CodeNotFound},
		"Spending":   {askSpending, ""},

		"Hold":         {askBudgetDraw, ""},
		"BudgetStates": {askBudgetStates, ""},
		"Balances":     {askBalances, ""},

		"DeleteJob":     {askDeleteJob, penstock.CodeNotFound},
		"PurgeJobs":     {askPurgeJobs, ""},
		"PurgeRequests": {askPurgeRequests, ""},

		"CreateFile":  {askCreateFile, ""},
		"File":        {askFile, penstock.CodeNotFound},
		"ListFiles":   {askListFiles, ""},
		"DeleteFile":  {askDeleteFile, penstock.CodeNotFound},
		"PurgeFiles":  {askPurgeFiles, ""},
		"PurgeEvents": {askPurgeEvents, ""},
	}
}

// askSubmitJob sends acme's idempotency key: another tenant must get its own job.
func askSubmitJob(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	sub := r.keyed("secret-order", "hash")
	sub.Job.Tenant = tenant
	receipt, err := r.s.SubmitJob(r.t.Context(), tenant, sub)
	return receipt.Replayed || receipt.Job.ID == h.open.Job.ID, err
}

func askJobByKey(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	job, err := r.s.JobByKey(r.t.Context(), tenant, *h.open.Idempotency)
	return job.ID == h.open.Job.ID, err
}

func askJob(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	job, err := r.s.Job(r.t.Context(), tenant, h.done.Job.ID)
	return job.ID != "", err
}

func askListJobs(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	jobs, err := r.s.ListJobs(r.t.Context(), tenant, store.JobFilter{Limit: everything})
	return slices.ContainsFunc(jobs.Jobs, func(j penstock.Job) bool {
		return j.Tenant == acme || j.ID == h.done.Job.ID || j.ID == h.open.Job.ID
	}), err
}

func askCancelJob(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	job, err := r.s.CancelJob(r.t.Context(), tenant, h.open.Job.ID)
	return job.ID != "", err
}

func askResults(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	page := store.ResultPage{Order: store.OrderInput, After: -1, Limit: everything}
	items, _, err := r.s.Results(r.t.Context(), tenant, h.done.Job.ID, page)
	return len(items) > 0, err
}

func askSplitJob(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	_, err := r.s.SplitJob(r.t.Context(), tenant, store.Split{Job: h.open.Job.ID, Items: h.open.Items})
	if penstock.ErrorCode(err) == penstock.CodeConflict {
		return true, nil // it has its items
	}
	return false, err
}

func askItem(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	item, err := r.s.Item(r.t.Context(), tenant, penstock.ItemID(h.done.Job.ID, 0))
	return item.ID != "" || item.Result != nil, err
}

func askItemInput(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	body, err := r.s.ItemInput(r.t.Context(), tenant, penstock.ItemID(h.done.Job.ID, 0))
	return body != nil, err
}

func askAttempts(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	ofItem, err := r.s.Attempts(r.t.Context(), tenant, penstock.ItemID(h.done.Job.ID, 0))
	if err != nil {
		return false, err
	}
	ofRequest, err := r.s.Attempts(r.t.Context(), tenant, h.request.ID)
	return len(ofItem)+len(ofRequest) > 0, err
}

func askEvents(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	events, err := r.s.Events(r.t.Context(), tenant, store.EventPage{Job: h.done.Job.ID, Limit: everything})
	return len(events) > 0, err
}

func askDeadLetters(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	deadLetters, _, err := r.s.DeadLetters(r.t.Context(), tenant, store.DeadLetterPage{Limit: everything})
	return len(deadLetters) > 0, err
}

func askDeadLetterGroups(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	groups, _, err := r.s.DeadLetterGroups(r.t.Context(), tenant, store.DeadLetterGroupPage{Limit: everything})
	return len(groups) > 0, err
}

func askDeadLetterJobs(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	jobs, err := r.s.DeadLetterJobs(r.t.Context(), tenant, store.DeadLetterJobPage{DeadLetters: everything, Jobs: everything})
	return len(jobs) > 0, err
}

func askCountDeadLetters(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	n, err := r.s.CountDeadLetters(r.t.Context(), tenant, store.DeadLetterFilter{})
	return n > 0, err
}

func askRetryable(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	found, err := r.s.Retryable(r.t.Context(), tenant, store.RetrySelection{Job: h.done.Job.ID, Limit: everything})
	return found.Job.ID != "" || len(found.Items) > 0, err
}

func askRetryItems(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	again := r.retryOf(store.Retryable{Job: h.done.Job, Items: []store.RetryableItem{{ID: penstock.ItemID(h.done.Job.ID, 1)}}}, false)
	receipt, err := r.s.RetryItems(r.t.Context(), tenant, again)
	return err == nil && receipt.Job.RetryOf == h.done.Job.ID, err
}

func askDismissDeadLetters(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	n, err := r.s.DismissDeadLetters(r.t.Context(), tenant, store.Dismissal{Actor: "stranger", Limit: everything})
	return n > 0, err
}

func askAuditEntries(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	entries, err := r.s.AuditEntries(r.t.Context(), tenant, store.AuditPage{Limit: everything})
	return len(entries) > 0, err
}

func askRequest(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	request, err := r.s.Request(r.t.Context(), tenant, h.request.ID)
	return request.ID != "" || len(request.Attempts) > 0, err
}

func askJobEntries(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	entries, err := r.s.JobEntries(r.t.Context(), tenant, h.done.Job.ID)
	return len(entries) > 0, err
}

func askDeleteJob(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	err := r.s.DeleteJob(r.t.Context(), tenant, store.Deletion{Job: h.spare.Job.ID})
	return err == nil, err
}

func askPurgeJobs(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	done, err := r.s.PurgeJobs(r.t.Context(), tenant, store.Purge{Kept: oldAge, Limit: everything})
	return done.Removed > 0, err
}

func askPurgeRequests(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	done, err := r.s.PurgeRequests(r.t.Context(), tenant, store.Purge{Kept: oldAge - time.Second, Limit: everything})
	return done.Removed > 0, err
}

// isolationProbes calls every method first for another tenant and then for the owner. The owner's turn
// shows that the probe would have found something.
func isolationProbes(r *rig) {
	table := probes()
	names := slices.Sorted(maps.Keys(table))
	r.wantSame("methods with a probe", names, methodsWithTenant())

	h := r.owned()
	done, open, old := r.view(h.done), r.view(h.open), r.view(h.old)
	for _, name := range names {
		seen, err := table[name].ask(r, h, umbra)
		r.wantCode(name+" for another tenant", err, table[name].hides)
		if seen {
			r.t.Errorf("%s shows another tenant acme's work", name)
		}
	}
	r.wantSame("finished job after the other tenant's calls", r.view(h.done), done)
	r.wantSame("open job after the other tenant's calls", r.view(h.open), open)
	r.wantSame("old job after the other tenant's calls", r.view(h.old), old)
	r.wantRequest(h.request)
	r.wantRequest(h.call)

	for _, name := range names {
		seen, err := table[name].ask(r, h, acme)
		if err != nil || !seen {
			r.t.Errorf("%s does not show the owner its own work (%v): the probe proves nothing", name, err)
		}
	}
}

// methodsWithTenant lists the methods of the contract that take a tenant, so that a new one cannot be
// added without a probe.
func methodsWithTenant() []string {
	var names []string
	tenant := reflect.TypeFor[penstock.TenantID]()
	for method := range reflect.TypeFor[store.Store]().Methods() {
		for in := range method.Type.Ins() {
			if in == tenant {
				names = append(names, method.Name)
				break
			}
		}
	}
	slices.Sort(names)
	return names
}

// isolationOwner names one tenant in the call and another in the job. The call decides; refusing is
// right as well.
func isolationOwner(r *rig) {
	sub := r.submission(1)
	sub.Job.Tenant = umbra
	if _, err := r.s.SubmitJob(r.t.Context(), acme, sub); err == nil {
		sub.Job.Tenant = acme
		r.audit(sub)
	}
	_, err := r.s.Job(r.t.Context(), umbra, sub.Job.ID)
	r.wantCode("read a job that another tenant submitted", err, penstock.CodeNotFound)
}

func isolationTakenID(r *rig) {
	mine := r.submitN(1)
	before := r.view(mine)
	theirs := r.submission(3)
	theirs.Job.ID, theirs.Job.Tenant = mine.Job.ID, umbra
	if _, err := r.s.SubmitJob(r.t.Context(), umbra, theirs); err == nil {
		r.t.Error("a job was accepted under the id of another tenant's")
	}
	_, err := r.s.Job(r.t.Context(), umbra, mine.Job.ID)
	r.wantCode("read the job as the other tenant", err, penstock.CodeNotFound)
	_, err = r.s.Item(r.t.Context(), umbra, penstock.ItemID(mine.Job.ID, 2))
	r.wantCode("read an item of the refused job", err, penstock.CodeNotFound)
	r.wantSame("the job whose id was taken", r.view(mine), before)
	r.verifyLedger()
}

func isolationClaims(r *rig) {
	mine, theirs := r.submission(2), r.submission(2)
	theirs.Job.Tenant = umbra
	r.submit(mine)
	r.submit(theirs)
	claims := r.claimN(r.lease("worker"), 4)
	for _, c := range claims {
		want := acme
		if c.Job == theirs.Job.ID {
			want = umbra
		}
		if c.Tenant != want {
			r.t.Errorf("item %s of %s was claimed as %s's", c.Item, want, c.Tenant)
		}
	}
	r.win(r.endings(claims, penstock.TransitionSucceed)...) // one group over both tenants
	r.audit(mine)
	r.audit(theirs)
	r.verifyLedger()
}
