package storetest

import (
	"slices"
	"time"

	"penstock"
)

func expireCases() []testCase {
	return []testCase{
		{"queued items past their deadline expire", expireQueued},
		{"running items are left to their workers", expireRunning},
		{"expiry is bounded", expireBounded},
		{"a stopping job can expire", expireStopping},
	}
}

func expireQueued(r *rig) {
	short, long := r.submission(2), r.submission(1)
	short.DeadlineIn = time.Minute
	r.submit(short)
	r.submit(long)
	if step := r.drain(10, r.expire); step.Items != 0 {
		r.t.Fatalf("%d items expired before their deadline", step.Items)
	}
	r.clock.Advance(time.Minute + time.Second)
	step := r.drain(10, r.expire)
	if step.Items != 2 || step.Queued != 0 || !slices.Equal(step.Finished, []penstock.ID{short.Job.ID}) {
		r.t.Errorf("expiry: %+v, want two items and the end of their job", step)
	}
	for n := range short.Items {
		id := penstock.ItemID(short.Job.ID, n)
		item := r.item(id)
		if item.Status != penstock.StatusExpired || item.Error == nil || item.Error.Code != penstock.CodeDeadlineExceeded {
			r.t.Errorf("item is %s with %+v, want expired with deadline_exceeded", item.Status, item.Error)
		}
		if released := selectEntries(r.entries(short.Job.ID), id, penstock.EntryRelease); len(released) != 1 {
			r.t.Errorf("an item that never ran has %d releases, want 1", len(released))
		}
	}
	if job := r.audit(short); job.Status() != penstock.StatusFailed {
		r.t.Errorf("a job of which nothing succeeded is %s, want failed", job.Status())
	}
	if job := r.audit(long); job.Counts.Queued != 1 {
		r.t.Errorf("the other job has counts %+v, want its item queued", job.Counts)
	}
	r.verifyLedger()
}

func expireRunning(r *rig) {
	sub := r.submission(3)
	sub.DeadlineIn = leaseTTL / 2
	r.submit(sub)
	l := r.lease("worker")
	claims := r.claim(l, 2)
	r.clock.Advance(leaseTTL/2 + time.Second)
	if step := r.drain(10, r.expire); step.Items != 1 || len(step.Finished) != 0 {
		r.t.Errorf("expiry: %+v, want the queued item alone", step)
	}
	r.win(r.ending(claims[0], penstock.TransitionSucceed), r.ending(claims[1], penstock.TransitionExpire))
	job := r.audit(sub)
	r.wantSame("counts", job.Counts, penstock.Counts{Total: 3, Succeeded: 1, Expired: 2})
	r.verifyLedger()
}

func expireBounded(r *rig) {
	first, second := r.submitN(15), r.submitN(10)
	r.clock.Advance(deadlineIn + time.Second)
	step, err := r.expire(10)
	r.must("expire", err)
	if step.Items == 0 || step.Items > 10 || !step.More {
		r.t.Fatalf("first step of three: %+v, want up to 10 and more to come", step)
	}
	rest := r.drain(10, r.expire)
	if step.Items+rest.Items != 25 {
		r.t.Errorf("expired %d and then %d items, want 25 in all", step.Items, rest.Items)
	}
	ended := slices.Sorted(slices.Values(append(step.Finished, rest.Finished...)))
	r.wantSame("jobs that ended", ended, []penstock.ID{first.Job.ID, second.Job.ID})
	if again, err := r.expire(10); err != nil || again.Items != 0 || again.More {
		r.t.Errorf("a step with nothing to do: %+v, %v", again, err)
	}
	r.audit(first)
	r.audit(second)
	r.verifyLedger()
}

// expireStopping lets a job that was asked to stop reach its deadline with an item that came back to
// the queue by a rescue: it must end one way or the other, and once.
func expireStopping(r *rig) {
	sub := r.submitN(1)
	r.claimOne(r.lease("dead"))
	r.stop(sub.Job.ID)
	r.clock.Advance(deadlineIn + time.Second)
	r.drain(10, r.rescue)
	r.drain(10, r.expire)
	r.drain(10, r.cancel)
	if job := r.audit(sub); job.Counts.Open() != 0 {
		r.t.Errorf("job has counts %+v, want none open", job.Counts)
	}
	r.verifyLedger()
}
