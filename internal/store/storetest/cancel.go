package storetest

import (
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

func cancelCases() []testCase {
	return []testCase{
		{"queued items are cancelled", cancelQueued},
		{"a large job is cancelled in bounded steps", cancelLarge},
		{"a worker learns of its own running items", cancelRunning},
		{"a new epoch does not answer for the old one", cancelOldEpoch},
		{"a retry becomes a cancel", cancelRetry},
		{"a running item may still end otherwise", cancelTooLateForItem},
		{"cancelling again changes nothing", cancelTwice},
		{"cancelling too late changes nothing", cancelTooLate},
	}
}

func cancelQueued(r *rig) {
	sub, other := r.submitN(3), r.submitN(1)
	r.clock.Advance(time.Minute)
	asked := r.clock.Now()
	r.wantSame("answer to the cancel", r.stop(sub.Job.ID), r.job(sub.Job.ID))
	r.clock.Advance(time.Second)
	r.drain(10, r.cancel)

	job := r.audit(sub)
	r.wantSame("counts", job.Counts, penstock.Counts{Total: 3, Cancelled: 3})
	if !job.CancelRequestedAt.Equal(asked) || job.Status() != penstock.StatusCancelled || !job.StartedAt.IsZero() {
		r.t.Errorf("job is %s, cancel asked at %v, started at %v; want cancelled, %v, never",
			job.Status(), job.CancelRequestedAt, job.StartedAt, asked)
	}
	for n := range sub.Items {
		id := penstock.ItemID(sub.Job.ID, n)
		if e := r.item(id).Error; e == nil || e.Code != penstock.CodeCancelled || e.Message == "" {
			r.t.Errorf("error of a cancelled item is %+v", e)
		}
		released := selectEntries(r.entries(sub.Job.ID), id, penstock.EntryRelease)
		if len(released) != 1 {
			r.t.Errorf("an item that never ran has %d releases, want 1", len(released))
		}
	}
	if job := r.audit(other); job.Counts.Queued != 1 {
		r.t.Errorf("cancelling a job left another with %+v", job.Counts)
	}
	r.verifyLedger()
}

// cancelLarge does not know how many items CancelJob takes on itself, only that the rest falls to
// CancelItems, step by step.
func cancelLarge(r *rig) {
	const items, limit = 1500, 100
	sub := r.submitN(items)
	job := r.stop(sub.Job.ID)
	if job.Counts.Cancelled == 0 || job.CancelRequestedAt.IsZero() {
		r.t.Errorf("the cancel did nothing at once: %+v", job.Counts)
	}
	left := job.Counts.Queued
	r.claimN(r.lease("worker"), 0)
	if left > limit {
		step, err := r.cancel(limit)
		r.must("cancel items", err)
		if step.Items == 0 || step.Items > limit || !step.More || len(step.Finished) != 0 {
			r.t.Fatalf("first step with %d items left: %+v, want up to %d and more to come", left, step, limit)
		}
		left -= step.Items
	}
	rest := r.drain(limit, r.cancel)
	if rest.Items != left {
		r.t.Errorf("steps cancelled %d items, want the %d that were left", rest.Items, left)
	}
	if left > 0 && !slices.Equal(rest.Finished, []penstock.ID{sub.Job.ID}) {
		r.t.Errorf("the steps reported the end of jobs %v, want the cancelled one", rest.Finished)
	}
	if job := r.job(sub.Job.ID); job.Counts.Cancelled != items || job.Status() != penstock.StatusCancelled {
		r.t.Errorf("job is %s with %+v, want all cancelled", job.Status(), job.Counts)
	}
	if again, err := r.cancel(limit); err != nil || again.Items != 0 || again.More {
		r.t.Errorf("a step with nothing to do: %+v, %v", again, err)
	}
	r.verifyLedger()
}

func (r *rig) cancelled(l store.Lease) []penstock.ID {
	r.t.Helper()
	held, err := r.s.HeldItems(r.t.Context(), l)
	r.must("read held items", err)
	ids := []penstock.ID{}
	for _, h := range held {
		if h.Cancelled {
			ids = append(ids, h.Item)
		}
	}
	slices.Sort(ids)
	return ids
}

func cancelRunning(r *rig) {
	stopping, other := r.submitN(4), r.submitN(1)
	l, second, idle := r.lease("worker"), r.lease("second"), r.lease("idle")
	mine, theirs := r.claim(l, 2), r.claim(second, 1)
	r.wantSame("cancelled items before the cancel", r.cancelled(l), []penstock.ID{})
	if job := r.stop(stopping.Job.ID); job.Status() != penstock.StatusRunning {
		r.t.Errorf("a job with running items is %s, want running", job.Status())
	}
	r.drain(10, r.cancel)
	rest := r.claim(second, everything) // only the other job is left to claim

	r.wantSame("cancelled items of a worker", r.cancelled(l), []penstock.ID{mine[0].Item, mine[1].Item})
	r.wantSame("cancelled items of the second worker", r.cancelled(second), []penstock.ID{theirs[0].Item})
	r.wantSame("cancelled items of an idle worker", r.cancelled(idle), []penstock.ID{})
	r.win(r.ending(mine[0], penstock.TransitionCancel))
	r.wantSame("cancelled items after one ended", r.cancelled(l), []penstock.ID{mine[1].Item})

	r.win(r.ending(mine[1], penstock.TransitionCancel))
	if v := r.win(r.ending(theirs[0], penstock.TransitionCancel))[0]; !v.JobFinished {
		r.t.Error("the end of the job was not reported")
	}
	r.win(r.endings(rest, penstock.TransitionSucceed)...)
	if job := r.audit(stopping); job.Status() != penstock.StatusCancelled {
		r.t.Errorf("job is %s, want cancelled", job.Status())
	}
	if job := r.audit(other); job.Status() != penstock.StatusSucceeded {
		r.t.Errorf("the other job is %s, want succeeded", job.Status())
	}
	r.verifyLedger()
}

// cancelOldEpoch: a process that restarted does not run what it ran before, so it has nothing to stop.
func cancelOldEpoch(r *rig) {
	sub := r.submitN(2)
	r.claimOne(r.lease("worker"))
	l := r.lease("worker")
	mine := r.claimOne(l)
	r.stop(sub.Job.ID)
	r.wantSame("cancelled items of the new epoch", r.cancelled(l), []penstock.ID{mine.Item})
}

func cancelRetry(r *rig) {
	sub := r.submitN(1)
	c := r.claimOne(r.lease("worker"))
	r.stop(sub.Job.ID)
	f := r.ending(c, penstock.TransitionRetry)
	v := r.win(f)[0]
	r.wantSame("verdict", v, store.Verdict{Won: true, Status: penstock.StatusCancelled, JobFinished: true})
	item := r.item(c.Item)
	if item.Status != penstock.StatusCancelled || item.Error == nil || item.Error.Code != penstock.CodeCancelled {
		r.t.Errorf("item is %s with %+v, want cancelled", item.Status, item.Error)
	}
	if item.Cost != f.Cost {
		r.t.Errorf("item costs %v, want %v: what its last attempt spent", item.Cost, f.Cost)
	}
	r.audit(sub)
	r.verifyLedger()
}

func cancelTooLateForItem(r *rig) {
	sub := r.submitN(1)
	c := r.claimOne(r.lease("worker"))
	r.stop(sub.Job.ID)
	r.win(r.ending(c, penstock.TransitionSucceed))
	if job := r.audit(sub); job.Status() != penstock.StatusSucceeded {
		r.t.Errorf("job is %s, want succeeded: the cancel stopped nothing", job.Status())
	}
}

func cancelTwice(r *rig) {
	sub := r.submitN(2)
	r.claimOne(r.lease("worker"))
	r.stop(sub.Job.ID)
	r.drain(10, r.cancel)
	before := r.view(sub)
	r.clock.Advance(time.Minute)
	r.wantSame("answer to the second cancel", r.stop(sub.Job.ID), before.Job)
	r.drain(10, r.cancel)
	r.wantSame("job after the second cancel", r.view(sub), before)
}

func cancelTooLate(r *rig) {
	sub := r.submitN(2)
	r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionSucceed)...)
	before := r.view(sub)
	r.clock.Advance(time.Minute)
	r.wantSame("answer to a late cancel", r.stop(sub.Job.ID), before.Job)
	r.wantSame("job after a late cancel", r.view(sub), before)
}
