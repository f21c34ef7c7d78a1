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
		{"an item that keeps killing workers is poison", rescuePoison},
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
		r.t.Fatalf("%d attempts are recorded, want 1: the one that nobody will tell of", len(tries))
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
	r.verifyBooks()
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

func rescuePoison(r *rig) {
	sub := r.submitN(1)
	id := penstock.ItemID(sub.Job.ID, 0)
	for crash := range store.MaxCrashes {
		if crash > 1 {
			// An item that lost two workers is a suspect: it waits, so that it runs alone.
			if early := r.claim(r.lease("early"), 1); len(early) != 0 {
				r.t.Errorf("a suspect runs again at once")
			}
			r.clock.Advance(10 * time.Second)
		}
		c := r.claimOne(r.lease("victim"))
		r.clock.Advance(pastLease)
		step, err := r.rescue(10)
		r.must("rescue", err)
		want := store.Step{Items: 1, Queued: 1}
		if crash == store.MaxCrashes-1 {
			want = store.Step{Items: 1, Finished: []penstock.ID{sub.Job.ID}}
		}
		r.wantSame("rescue", step, want)
		if forfeits := r.entriesOf(c, penstock.EntryForfeit); len(forfeits) != crash+1 {
			r.t.Errorf("%d forfeits after %d crashes", len(forfeits), crash+1)
		}
	}
	item := r.item(id)
	if item.Status != penstock.StatusFailed || item.Error == nil || item.Error.Code != penstock.CodePoison {
		r.t.Errorf("after %d crashes the item is %s with %+v, want failed as poison", store.MaxCrashes, item.Status, item.Error)
	}
	letters := r.deadLetters(acme)
	if len(letters) != 1 || letters[0].Item != id || letters[0].Code != penstock.CodePoison {
		r.t.Errorf("dead letters: %+v, want the poison", letters)
	}
	if tries := r.attempts(id); len(tries) != store.MaxCrashes {
		r.t.Errorf("%d attempts are recorded, want %d", len(tries), store.MaxCrashes)
	}
	if job := r.audit(sub); job.Status() != penstock.StatusFailed {
		r.t.Errorf("job is %s, want failed", job.Status())
	}
	r.verifyBooks()
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
	r.verifyBooks()
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
	r.verifyBooks()
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
	r.verifyBooks()
}
