package storetest

import (
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

func ledgerCases() []testCase {
	return []testCase{
		{"the ledger of an empty store is right", ledgerEmpty},
		{"the ledger adds up after all transitions together", ledgerMixed},
		{"free work is settled too", ledgerFree},
		{"spending is added up by what is asked for, also of what was deleted", ledgerSpending},
	}
}

func ledgerEmpty(r *rig) {
	r.wantSame("report", r.verifyLedger(), store.LedgerReport{})
}

// ledgerMixed takes items through every way that a job can go and counts what must have been booked.
func ledgerMixed(r *rig) {
	var subs []store.Submission
	for range 3 {
		subs = append(subs, r.submitN(5))
	}
	dead := r.lease("dead")
	r.claimN(dead, 15)
	r.clock.Advance(pastLease)
	r.drain(4, r.rescue)

	l := r.lease("worker")
	claims := r.claimN(l, 15)
	r.finishInOrder(claims, mixedEndings(), 0, 1, 2, 3, 4)
	r.win(r.endings(claims[5:8], penstock.TransitionRetry)...) // of the second job, which is then stopped
	r.stop(subs[1].Job.ID)
	r.drain(2, r.cancel)
	r.win(r.endings(claims[8:10], penstock.TransitionRetry)...)
	r.win(r.endings(claims[10:12], penstock.TransitionSucceed)...) // of the third, of which the rest expires
	r.win(r.endings(claims[12:], penstock.TransitionRetry)...)
	r.clock.Advance(deadlineIn)
	r.drain(2, r.expire)
	requests := []penstock.Request{r.request(), r.failedRequest()}
	r.record(requests...)

	for _, sub := range subs {
		r.audit(sub)
		booked := r.entries(sub.Job.ID)
		forfeits := 0
		for n := range sub.Items {
			forfeits += len(selectEntries(booked, penstock.ItemID(sub.Job.ID, n), penstock.EntryForfeit))
		}
		if forfeits != len(sub.Items) {
			r.t.Errorf("a job has %d forfeits, want one for each of the %d items that crashed", forfeits, len(sub.Items))
		}
		if freed := freedBy(booked); freed != reservation(sub) {
			r.t.Errorf("a job reserved %v and freed %v", reservation(sub), freed)
		}
	}
	report := r.verifyLedger()
	r.wantSame("report", report, store.LedgerReport{Entries: report.Entries, Items: 15, Requests: 2})
}

func freedBy(entries []penstock.LedgerEntry) penstock.NanoUSD {
	var freed penstock.NanoUSD
	for _, e := range entries {
		if slices.Contains([]penstock.EntryKind{penstock.EntrySettle, penstock.EntryRelease}, e.Kind) {
			freed += e.Reserved
		}
	}
	return freed
}

// ledgerFree runs work on a target without a price: amounts of nothing are still outcomes.
func ledgerFree(r *rig) {
	sub := r.submission(3)
	for i := range sub.Items {
		sub.Items[i].Reserved = 0
	}
	r.submit(sub)
	crashed := r.lease("dead")
	r.claimN(crashed, 3)
	r.must("release", r.s.ReleaseLease(r.t.Context(), crashed))
	r.drain(10, r.rescue)
	claims := r.claimN(r.lease("worker"), 3)
	group := r.endings(claims, penstock.TransitionSucceed)
	for i := range group {
		group[i].Cost = 0
	}
	r.win(group[:2]...)
	r.stop(sub.Job.ID)
	group[2].Transition = penstock.TransitionCancel
	r.win(group[2])
	r.audit(sub)
	r.verifyLedger()
}

// spending is what acme spent on the day that it is.
func (r *rig) spending(q store.SpendingQuery) []store.Spending {
	r.t.Helper()
	q.From = penstock.PeriodDaily.Start(r.clock.Now())
	q.To, q.Limit = q.From.AddDate(0, 0, 1), everything
	all, err := r.s.Spending(r.t.Context(), acme, q)
	r.must("spending", err)
	return all
}

func ledgerSpending(r *rig) {
	sub := r.submitN(2)
	claims := r.claimN(r.lease("worker"), 2)
	r.submitN(1) // never runs: nothing is spent
	lost := r.ending(claims[1], penstock.TransitionFail)
	lost.Forfeit = 70
	r.win(r.ending(claims[0], penstock.TransitionSucceed), lost)
	call := r.request()
	r.record(call)

	jobs := store.Spending{Outcomes: 2, Cost: 300 + 301, Forfeit: 70, Usage: claimsUsage(r, sub)}
	all := jobs
	all.Outcomes++
	all.Cost += call.Cost
	all.Usage = all.Usage.Plus(call.Usage)
	all.Tags = map[string]string{}
	r.wantSame("in all", r.spending(store.SpendingQuery{}), []store.Spending{all})

	of := r.spending(store.SpendingQuery{ByLane: true, ByKey: true, ByModel: true, ByTags: true})
	jobs.Key, jobs.Model, jobs.Lane, jobs.Tags = sub.Job.Key, sub.Job.Model, sub.Job.Lane, sub.Job.Tags
	at := slices.IndexFunc(of, func(s store.Spending) bool { return s.Lane == sub.Job.Lane })
	if len(of) != 2 || at < 0 {
		r.t.Fatalf("grouped there are %+v, want those of the job and of the call", of)
	}
	r.wantSame("of the job", of[at], jobs)
	each := store.SpendingQuery{ByLane: true, ByKey: true, ByModel: true, ByTags: true}
	for _, only := range []store.SpendingOf{{Lane: sub.Job.Lane}, {Lane: sub.Job.Lane, Key: sub.Job.Key, Model: sub.Job.Model}} {
		each.Only = only
		r.wantSame("only of the job", r.spending(each), []store.Spending{jobs})
	}
	for _, none := range []store.SpendingOf{{Key: "nobody"}, {Model: "nothing"}, {Lane: "nowhere"}} {
		r.wantSame("of nobody", r.spending(store.SpendingQuery{Only: none}), []store.Spending(nil))
	}
	r.must("delete", r.s.DeleteJob(r.t.Context(), acme, store.Deletion{Job: sub.Job.ID}))
	r.wantSame("after the job is gone", r.spending(store.SpendingQuery{ByLane: true, ByKey: true, ByModel: true, ByTags: true}), of)
	r.clock.Advance(24 * time.Hour)
	r.wantSame("the next day", r.spending(store.SpendingQuery{}), []store.Spending(nil))
}

// claimsUsage is what the items of a job used, as the job says.
func claimsUsage(r *rig, sub store.Submission) penstock.Usage { return r.job(sub.Job.ID).Usage }

func askSpending(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	now := r.clock.Now()
	all, err := r.s.Spending(r.t.Context(), tenant, store.SpendingQuery{From: now.AddDate(0, 0, -2), To: now.AddDate(0, 0, 2), Limit: everything})
	return len(all) > 0, err
}
