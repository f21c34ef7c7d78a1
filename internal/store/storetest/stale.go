package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func staleCases() []testCase {
	return []testCase{
		{"a rescued claim loses and its spend is forfeited once", staleAfterRescue},
		{"finishing again after an outcome changes nothing", staleAfterOutcome},
		{"finishing again after a retry changes nothing", staleAfterRetry},
		{"no outcome can be replaced", staleOutcomes},
		{"a loser does not stop its group", staleInGroup},
		{"an unknown item does not stop its group", staleUnknown},
	}
}

// view is all that the store returns of a job, for comparing before and after.
type view struct {
	Job      penstock.Job
	Items    []penstock.Item
	Attempts [][]penstock.Attempt
	Entries  []penstock.LedgerEntry
	Events   []penstock.Event
	Dead     []store.DeadLetter
}

func (r *rig) view(sub store.Submission) view {
	r.t.Helper()
	v := view{Job: r.audit(sub), Entries: r.entries(sub.Job.ID), Dead: r.deadLetters(acme)}
	v.Events = r.events(v.Job)
	for n := range sub.Items {
		v.Items = append(v.Items, r.item(penstock.ItemID(sub.Job.ID, n)))
		v.Attempts = append(v.Attempts, r.attempts(penstock.ItemID(sub.Job.ID, n)))
	}
	return v
}

func staleAfterRescue(r *rig) {
	sub := r.submitN(1)
	old := r.claimOne(r.lease("slow"))
	r.clock.Advance(pastLease)
	r.drain(10, r.rescue)
	next := r.claimOne(r.lease("quick"))

	late := r.ending(old, penstock.TransitionSucceed)
	if v := r.lose(late); v.Status != penstock.StatusRunning {
		r.t.Errorf("verdict says %s, want running: another worker has it", v.Status)
	}
	forfeits := r.entriesOf(old, penstock.EntryForfeit)
	if got := sumCost(forfeits); got < late.Cost {
		r.t.Errorf("the loser spent %v, of which %v is booked as forfeit", late.Cost, got)
	}
	before := r.view(sub)
	r.clock.Advance(time.Second)
	for range 3 {
		r.lose(late)
	}
	r.wantSame("job after repeating a stale finish", r.view(sub), before)

	won := r.ending(next, penstock.TransitionSucceed)
	r.win(won)
	if v := r.lose(late); v.Status != penstock.StatusSucceeded {
		r.t.Errorf("verdict says %s, want succeeded", v.Status)
	}
	r.wantSame("forfeits after the outcome", r.entriesOf(old, penstock.EntryForfeit), forfeits)
	job := r.audit(sub)
	if job.Cost != won.Cost || job.Usage != won.Usage {
		r.t.Errorf("job costs %v, want %v: a loser is not invoiced", job.Cost, won.Cost)
	}
	r.wantSame("result", r.item(next.Item).Result, won.Result)
	r.verifyLedger()
}

// staleAfterOutcome sends a finish again, as a worker does that did not get the answer. Its spend is
// settled already, so nothing at all may be added.
func staleAfterOutcome(r *rig) {
	sub := r.submitN(2)
	claims := r.claimN(r.lease("worker"), 2)
	group := []store.Finish{
		r.ending(claims[0], penstock.TransitionSucceed), r.ending(claims[1], penstock.TransitionFail),
	}
	r.win(group...)
	before := r.view(sub)
	r.clock.Advance(time.Second)
	for _, f := range group {
		r.lose(f)
	}
	r.wantSame("job after finishing again", r.view(sub), before)
	r.verifyLedger()
}

func staleAfterRetry(r *rig) {
	sub := r.submitN(1)
	l := r.lease("worker")
	f := r.ending(r.claimOne(l), penstock.TransitionRetry)
	r.win(f)
	before := r.view(sub)
	if v := r.lose(f); v.Status != penstock.StatusQueued {
		r.t.Errorf("verdict says %s, want queued", v.Status)
	}
	r.wantSame("job after retrying again", r.view(sub), before)

	next := r.claimOne(l)
	before = r.view(sub)
	if v := r.lose(f); v.Status != penstock.StatusRunning {
		r.t.Errorf("verdict says %s, want running", v.Status)
	}
	r.wantSame("job after retrying again under the next claim", r.view(sub), before)
	r.win(r.ending(next, penstock.TransitionSucceed))
	r.audit(sub)
	r.verifyLedger()
}

// staleOutcomes tries every transition on every outcome, under the fence that led to it.
func staleOutcomes(r *rig) {
	l := r.lease("worker")
	all := []penstock.Transition{
		penstock.TransitionSucceed, penstock.TransitionFail, penstock.TransitionRetry,
		penstock.TransitionCancel, penstock.TransitionExpire,
	}
	for _, first := range all {
		if first == penstock.TransitionRetry {
			continue // no outcome
		}
		sub := r.submitN(1)
		c := r.claimOne(l)
		r.win(r.ending(c, first))
		before := r.view(sub)
		for _, second := range all {
			if v := r.lose(r.ending(c, second)); v.Status != before.Items[0].Status {
				r.t.Errorf("%s after %s: verdict says %s, want %s", second, first, v.Status, before.Items[0].Status)
			}
		}
		after := r.view(sub)
		r.wantSame("item", after.Items, before.Items)
		r.wantSame("job", after.Job, before.Job)
		r.wantSame("events", after.Events, before.Events)
		r.wantSame("dead letters", after.Dead, before.Dead)
	}
	r.verifyLedger()
}

func staleInGroup(r *rig) {
	sub := r.submitN(4)
	slow := r.lease("slow")
	lost := r.claim(slow, 2)
	r.must("release", r.s.ReleaseLease(r.t.Context(), slow))
	r.drain(10, r.rescue)
	claims := r.claimN(r.lease("quick"), 4)

	verdicts := r.finish(
		r.ending(lost[0], penstock.TransitionFail),
		r.ending(claims[2], penstock.TransitionSucceed),
		r.ending(lost[1], penstock.TransitionSucceed),
		r.ending(claims[3], penstock.TransitionSucceed),
	)
	r.wantSame("verdicts", verdicts, []store.Verdict{
		{Status: penstock.StatusRunning},
		{Won: true, Status: penstock.StatusSucceeded},
		{Status: penstock.StatusRunning},
		{Won: true, Status: penstock.StatusSucceeded},
	})
	job := r.audit(sub)
	r.wantSame("counts", job.Counts, penstock.Counts{Total: 4, Running: 2, Succeeded: 2})
	r.win(r.endings(claims[:2], penstock.TransitionSucceed)...)
	r.audit(sub)
	r.verifyLedger()
}

func staleUnknown(r *rig) {
	sub := r.submitN(1)
	c := r.claimOne(r.lease("worker"))
	ghost := new(*c)
	ghost.Job = r.newID()
	ghost.Item = penstock.ItemID(ghost.Job, 0)
	verdicts := r.finish(r.ending(ghost, penstock.TransitionSucceed), r.ending(c, penstock.TransitionSucceed))
	if verdicts[0].Won || !verdicts[1].Won || !verdicts[1].JobFinished {
		r.t.Errorf("verdicts %+v, want a loser and a winner that ends its job", verdicts)
	}
	r.audit(sub)
	r.verifyLedger()
}
