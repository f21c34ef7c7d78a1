package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func startCases() []testCase {
	return []testCase{
		{"items start as they are accepted where nothing waits", startAtOnce},
		{"a started job overtakes no other", startWaits},
		{"a lease that is not current starts nothing", startStale},
		{"what a starter took is rescued when it dies", startRescued},
		{"a replay starts nothing", startReplayed},
	}
}

// submitTo submits a job whose items a lease would start at once.
func (r *rig) submitTo(l store.Lease, sub store.Submission) store.Receipt {
	r.t.Helper()
	sub.Starter = &l
	receipt, err := r.s.SubmitJob(r.t.Context(), sub.Job.Tenant, sub)
	r.must("submit", err)
	return receipt
}

func startAtOnce(r *rig) {
	l := r.lease("worker")
	sub := r.submission(3)
	receipt := r.submitTo(l, sub)
	r.wantSame("the job before it began", receipt.Job.Counts, penstock.Counts{Total: 3, Queued: 3})
	r.wantSame("the job", r.job(sub.Job.ID).Counts, penstock.Counts{Total: 3, Running: 3})

	plain := r.submission(3) // claimed in the usual way, it must look the same
	plain.Job.Lane = penstock.LaneBulk
	r.submit(plain)
	for i, want := range r.claimN(l, 3) {
		got := receipt.Claimed[i]
		want.Item, want.Job, want.Lane = penstock.ItemID(sub.Job.ID, i), sub.Job.ID, sub.Job.Lane
		want.Claim, want.Charged = got.Claim, got.Charged
		r.wantSame("what was started", got, want)
	}
	held, err := r.s.HeldItems(r.t.Context(), l)
	r.must("held items", err)
	if len(held) != 6 {
		r.t.Errorf("the lease holds %d items", len(held))
	}
	r.clock.Advance(time.Second)
	r.win(r.ending(receipt.Claimed[1], penstock.TransitionSucceed), r.ending(receipt.Claimed[0], penstock.TransitionFail))
	r.win(r.ending(receipt.Claimed[2], penstock.TransitionRetry))
	r.win(r.ending(r.claimOne(l), penstock.TransitionSucceed))
	r.audit(sub)
	r.verifyLedger()
}

func startWaits(r *rig) {
	l := r.lease("worker")
	first := r.submitN(1)
	second := r.submission(1)
	if receipt := r.submitTo(l, second); len(receipt.Claimed) > 0 {
		r.t.Error("a job overtook one of its lane")
	}
	urgent := r.submission(1)
	urgent.Job.Lane = penstock.LaneRealtime
	if receipt := r.submitTo(l, urgent); len(receipt.Claimed) != 1 {
		r.t.Error("a job waits for those of another lane")
	}
	claims := r.claimN(l, 2)
	if claims[0].Job != first.Job.ID || claims[1].Job != second.Job.ID {
		r.t.Error("the jobs changed places")
	}
	held := r.submission(2)
	held.Items[1].StartIn = time.Minute
	if receipt := r.submitTo(l, held); len(receipt.Claimed) > 0 {
		r.t.Error("an item that is held back was started")
	}
	r.verifyLedger()
}

func startStale(r *rig) {
	l := r.lease("worker")
	r.clock.Advance(pastLease)
	if receipt := r.submitTo(l, r.submission(1)); len(receipt.Claimed) > 0 {
		r.t.Error("an expired lease started an item")
	}
	now := r.lease("worker")
	r.claimN(now, 1)
	if receipt := r.submitTo(l, r.submission(1)); len(receipt.Claimed) > 0 {
		r.t.Error("an earlier epoch started an item")
	}
}

func startRescued(r *rig) {
	sub := r.submission(2)
	receipt := r.submitTo(r.lease("dead"), sub)
	r.clock.Advance(pastLease)
	r.drain(10, r.rescue)
	claims := r.claimN(r.lease("worker"), 2)
	r.lose(r.ending(receipt.Claimed[0], penstock.TransitionSucceed))
	r.win(r.endings(claims, penstock.TransitionSucceed)...)
	r.audit(sub)
	r.verifyLedger()
}

func startReplayed(r *rig) {
	l := r.lease("worker")
	first := r.submitTo(l, r.keyed("key", "hash"))
	again := r.submitTo(l, r.keyed("key", "hash"))
	if !again.Replayed || len(again.Claimed) > 0 || again.Job.ID != first.Job.ID {
		r.t.Errorf("a replay got %+v", again)
	}
}
