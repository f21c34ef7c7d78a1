package storetest

import (
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

func rescueCases() []testCase {
	return []testCase{
		{"a dead worker's items run again", rescueRequeues},
		{"live leases are left alone", rescueLeavesLive},
		{"however many workers die, no item fails of it", rescueNeverFails},
		{"a lost attempt keeps its target and its start", rescueKeepsTarget},
		{"a rescue is bounded", rescueBounded},
		{"a rescued item of a stopping job is cancelled", rescueStopping},
		{"a rescued item past its deadline expires", rescueExpired},
	}
}

func rescueRequeues(r *rig) {
	sub := r.submitN(1)
	c := r.claimOne(r.lease("dead"))
	r.clock.Advance(leaseTTL / 2)
	if step := r.drain(10, r.rescue); step.Items != 0 {
		r.t.Fatalf("rescued %d items of a lease that still runs", step.Items)
	}
	r.clock.Advance(leaseTTL)
	step, err := r.rescue(10)
	r.must("rescue", err)
	r.wantSame("rescue", step, store.Step{Items: 1, Queued: 1})
	if item := r.item(c.Item); item.Status != penstock.StatusQueued {
		r.t.Errorf("a rescued item is %s, want queued", item.Status)
	}
	if again, err := r.rescue(10); err != nil || again.Items != 0 || again.More {
		r.t.Errorf("a second rescue: %+v, %v; want nothing to do", again, err)
	}

	tries := r.attempts(c.Item)
	if len(tries) != 1 {
		r.t.Fatalf("%d attempts are recorded, want 1: the lost one", len(tries))
	}
	try := tries[0]
	if !try.ID.Valid() || try.Subject != c.Item || try.Number != 1 || try.Fence != c.Fence {
		r.t.Errorf("the unknown attempt is not of the lost claim: %+v", try)
	}
	if try.UsageKnown || try.ErrorKind == "" {
		r.t.Errorf("the unknown attempt claims to have succeeded, or to know its usage: %+v", try)
	}
	forfeits := r.entriesOf(c, penstock.EntryForfeit)
	if len(forfeits) != 1 || forfeits[0].Cost != sub.Items[0].Reserved {
		r.t.Errorf("the unknown attempt is booked as %+v, want one forfeit of %v", forfeits, sub.Items[0].Reserved)
	}
	r.audit(sub)

	next := r.claimOne(r.lease("alive"))
	if next.Item != c.Item || next.Fence != c.Fence+1 || next.Tries != 1 {
		r.t.Errorf("claimed %s under fence %d after %d tries; want %s under %d after 1",
			next.Item, next.Fence, next.Tries, c.Item, c.Fence+1)
	}
	r.win(r.ending(next, penstock.TransitionSucceed))
	if tries := r.attempts(c.Item); len(tries) != 2 || tries[0].ID != try.ID {
		r.t.Errorf("attempts after the rescue: %+v", tries)
	}
	r.audit(sub)
	r.verifyLedger()
}

func rescueLeavesLive(r *rig) {
	sub := r.submitN(4)
	dead, alive := r.lease("dead"), r.lease("alive")
	lost, kept := r.claim(dead, 2), r.claim(alive, 2)
	r.clock.Advance(leaseTTL - time.Second)
	r.must("renew", r.renew(alive))
	r.clock.Advance(2 * time.Second)
	if step := r.drain(10, r.rescue); step.Items != 2 || step.Queued != 2 {
		r.t.Fatalf("rescue: %+v, want the two items of the dead lease", step)
	}
	for _, c := range lost {
		if got := r.item(c.Item).Status; got != penstock.StatusQueued {
			r.t.Errorf("item of the dead lease is %s, want queued", got)
		}
	}
	r.win(r.endings(kept, penstock.TransitionSucceed)...)
	r.audit(sub)
}

// The death of workers counts for nothing by itself, however often it happens and however few attempts a job allows.
func rescueNeverFails(r *rig) {
	sub := r.submission(2)
	sub.Job.MaxAttempts = 1
	r.submit(sub)
	const crashes = 3 * store.SuspectCrashes
	for crash := range crashes {
		claims := r.claim(r.lease("victim"), everything)
		suspects := r.claimSuspects(r.lease("victim"), everything)
		if crash < store.SuspectCrashes && (len(claims) != 2 || len(suspects) != 0) || crash >= store.SuspectCrashes && (len(claims) != 0 || len(suspects) != 2) {
			r.t.Fatalf("after %d crashes, %d items and %d suspects could be claimed", crash, len(claims), len(suspects))
		}
		r.clock.Advance(pastLease)
		step, err := r.rescue(10)
		r.must("rescue", err)
		r.wantSame("rescue", step, store.Step{Items: 2, Queued: 2})
	}
	id := penstock.ItemID(sub.Job.ID, 0)
	item := r.item(id)
	if item.Status != penstock.StatusQueued || item.Attempts != 0 {
		r.t.Errorf("after %d crashes the item is %s with %d attempts that count, want queued with none", crashes, item.Status, item.Attempts)
	}
	for i, try := range r.attempts(id) {
		if try.ErrorKind != penstock.AttemptLost || try.Isolated != (i >= store.SuspectCrashes) {
			r.t.Errorf("attempt %d: %+v", i+1, try)
		}
	}
	r.win(r.endings(r.claimSuspects(r.lease("alive"), everything), penstock.TransitionSucceed)...)
	if tries := r.attempts(id); len(tries) != crashes+1 {
		r.t.Errorf("%d attempts are recorded, want %d", len(tries), crashes+1)
	}
	if job := r.audit(sub); job.Counts.Succeeded != 2 {
		r.t.Errorf("the job ends with %+v", job.Counts)
	}
	r.verifyLedger()
}

// What a claim knows of an attempt is kept when its worker dies: where capacity was taken for it, and since when.
func rescueKeepsTarget(r *rig) {
	sub := r.submitN(3)
	target := map[penstock.ID]string{}
	for n, name := range []string{"near", "near", "far"} {
		target[penstock.ItemID(sub.Job.ID, n)] = name
	}
	want := store.Want{Lanes: penstock.Lanes, Limit: 10, Reserved: []store.Reserved{
		{Model: sub.Job.Model, Target: "near", Calls: 2}, {Model: sub.Job.Model, Target: "far", Calls: 1}, {Model: sub.Job.Model, Target: "near", Calls: 1},
	}}
	l := r.lease("victim")
	claimed := r.clock.Now()
	claims, err := r.s.ClaimItems(r.t.Context(), l, want)
	r.must("claim", err)
	started := r.submission(1)
	started.Job.Lane, started.StartTargets = penstock.LaneBulk, []string{"near"}
	receipt := r.submitTo(l, started)
	if len(claims) != 3 || len(receipt.Claimed) != 1 {
		r.t.Fatalf("claimed %d items, started %d", len(claims), len(receipt.Claimed))
	}
	target[receipt.Claimed[0].Item] = "near"
	for range 2 { // the second time the items have rows
		r.clock.Advance(pastLease)
		r.drain(10, r.rescue)
		for id, want := range target {
			tries := r.attempts(id)
			last := tries[len(tries)-1]
			if last.Target != want || last.StartedAt.Before(claimed.Add(-time.Second)) || last.StartedAt.After(claimed.Add(time.Second)) || !last.FinishedAt.After(last.StartedAt) {
				r.t.Errorf("the lost attempt ran on %q from %v to %v, want %q from %v", last.Target, last.StartedAt, last.FinishedAt, want, claimed)
			}
		}
		claimed = r.clock.Now()
		claims, err = r.s.ClaimItems(r.t.Context(), r.lease("victim"), want)
		r.must("claim", err)
		if len(claims) != 4 {
			r.t.Fatalf("claimed %d items again, want 4", len(claims))
		}
	}
	r.verifyLedger()
}

func rescueBounded(r *rig) {
	first, second := r.submitN(15), r.submitN(10)
	dead := r.lease("dead")
	r.claimN(dead, 25)
	r.clock.Advance(pastLease)
	step, err := r.rescue(10)
	r.must("rescue", err)
	if step.Items == 0 || !step.More {
		r.t.Fatalf("first step of three: %+v, want more to come", step)
	}
	rest := r.drain(10, r.rescue)
	if step.Items+rest.Items != 25 || step.Queued+rest.Queued != 25 {
		r.t.Errorf("rescued %d and then %d items, want 25 in all", step.Items, rest.Items)
	}
	r.audit(first)
	r.audit(second)
	claims := r.claimN(r.lease("alive"), 25)
	if slices.ContainsFunc(claims, func(c *store.Claimed) bool { return c.Fence != 2 }) {
		r.t.Error("a rescued item was not claimed under its second fence")
	}
	r.verifyLedger()
}

func rescueStopping(r *rig) {
	sub := r.submitN(2)
	r.claimN(r.lease("dead"), 2)
	r.stop(sub.Job.ID)
	r.clock.Advance(pastLease)
	r.drain(10, r.rescue)
	r.drain(10, r.cancel)
	job := r.audit(sub)
	if job.Counts.Cancelled != 2 || job.Status() != penstock.StatusCancelled {
		r.t.Errorf("job is %s with %+v, want both items cancelled", job.Status(), job.Counts)
	}
	r.verifyLedger()
}

func rescueExpired(r *rig) {
	sub := r.submission(2)
	sub.DeadlineIn = leaseTTL / 2
	r.submit(sub)
	r.claimN(r.lease("dead"), 2)
	r.clock.Advance(pastLease)
	r.drain(10, r.rescue)
	r.claimN(r.lease("alive"), 0)
	r.drain(10, r.expire)
	if job := r.audit(sub); job.Counts.Expired != 2 {
		r.t.Errorf("job has counts %+v, want both items expired", job.Counts)
	}
	r.verifyLedger()
}
