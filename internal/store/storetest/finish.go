package storetest

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

func finishCases() []testCase {
	return []testCase{
		{"every transition leads where it should", finishTransitions},
		{"an outcome is settled", finishSettles},
		{"a group ends its job once", finishGroup},
		{"a mixed job adds up", finishMixed},
		{"attempts come back in order", finishAttempts},
		{"retries add up in the settlement", finishAfterRetries},
		{"unreported spend is forfeited beside the settlement", finishForfeits},
		{"text from upstream may be anything", finishOddText},
		{"a claim twice in one group counts once", finishTwiceInGroup},
		{"a claim finished by many counts once", finishConcurrently},
		{"an empty group is no work", finishNothing},
		{"an expired lease that was not rescued can finish", finishAfterLease},
		{"an error leaves nothing behind", finishErrorWritesNothing},
	}
}

func finishTransitions(r *rig) {
	l := r.lease("worker")
	for how, want := range map[penstock.Transition]penstock.Status{
		penstock.TransitionSucceed: penstock.StatusSucceeded,
		penstock.TransitionFail:    penstock.StatusFailed,
		penstock.TransitionCancel:  penstock.StatusCancelled,
		penstock.TransitionExpire:  penstock.StatusExpired,
		penstock.TransitionRetry:   penstock.StatusQueued,
	} {
		sub := r.submitN(1)
		c := r.claimOne(l)
		r.clock.Advance(time.Second)
		f := r.ending(c, how)
		f.RetryIn = deadlineIn / 2 // keeps the retried one from the claims of the others
		verdict := r.win(f)[0]
		r.wantSame(string(how), verdict, store.Verdict{Won: true, Status: want, JobFinished: want.Terminal()})

		item := r.item(c.Item)
		if item.Status != want || item.Attempts != 1 {
			r.t.Errorf("after %s the item is %s with %d attempts, want %s with 1", how, item.Status, item.Attempts, want)
		}
		if want.Terminal() {
			r.wantSame("item after "+string(how), item, penstock.Item{
				ID:         c.Item,
				Job:        c.Job,
				Tenant:     acme,
				CustomID:   sub.Items[0].CustomID,
				Status:     want,
				Seq:        3, // after job.queued and job.started
				Attempts:   1,
				Fence:      1,
				Target:     f.Target,
				StatusCode: f.StatusCode,
				Result:     f.Result,
				Error:      f.Error,
				Usage:      f.Usage,
				Cost:       f.Cost,
				FinishedAt: r.clock.Now(),
			})
		}
		job := r.audit(sub)
		if got := *job.Counts.Of(want); got != 1 {
			r.t.Errorf("after %s the job counts %+v", how, job.Counts)
		}
		if want.Terminal() && !job.FinishedAt.Equal(r.clock.Now()) {
			r.t.Errorf("job finished at %v, want %v", job.FinishedAt, r.clock.Now())
		}
	}
}

func finishSettles(r *rig) {
	sub := r.submitN(2)
	c := r.claimOne(r.lease("worker"))
	f := r.ending(c, penstock.TransitionSucceed)
	r.clock.Advance(time.Second)
	r.win(f)
	entries := r.entriesOf(c, penstock.EntrySettle)
	if len(entries) != 1 {
		r.t.Fatalf("a success has %d settlements, want 1", len(entries))
	}
	r.wantSame("settlement", entries[0], penstock.LedgerEntry{
		Key:          entries[0].Key,
		Tenant:       acme,
		Kind:         penstock.EntrySettle,
		Subject:      c.Item,
		Outcomes:     1,
		Job:          c.Job,
		Target:       f.Target,
		Reserved:     sub.Items[c.Index].Reserved,
		Cost:         f.Cost,
		Usage:        f.Usage,
		PriceVersion: f.PriceVersion,
		CreatedAt:    r.clock.Now(),
	})
	r.verifyLedger()
}

func finishGroup(r *rig) {
	first, second := r.submitN(3), r.submitN(2)
	claims := r.claimN(r.lease("worker"), 5)
	open := claims[len(claims)-1] // of the second job
	verdicts := r.win(r.endings(claims[:4], penstock.TransitionSucceed)...)
	ended := 0
	for i, v := range verdicts {
		if v.JobFinished {
			ended++
			if claims[i].Job != first.Job.ID {
				r.t.Errorf("job %s was reported to be finished while an item is running", claims[i].Job)
			}
		}
	}
	if ended != 1 {
		r.t.Errorf("the end of a job was reported %d times in its group, want once", ended)
	}
	r.audit(first)
	r.audit(second)
	if v := r.win(r.ending(open, penstock.TransitionFail))[0]; !v.JobFinished {
		r.t.Error("the end of the second job was not reported")
	}
	r.audit(second)
	r.verifyLedger()
}

func finishMixed(r *rig) {
	sub := r.submitN(4)
	claims := r.claimN(r.lease("worker"), 4)
	var group []store.Finish
	var usage penstock.Usage
	var cost penstock.NanoUSD
	for i, how := range []penstock.Transition{
		penstock.TransitionSucceed, penstock.TransitionFail, penstock.TransitionExpire, penstock.TransitionSucceed,
	} {
		f := r.ending(claims[i], how)
		usage, cost = usage.Plus(f.Usage), cost+f.Cost
		group = append(group, f)
	}
	r.win(group...)
	job := r.audit(sub)
	r.wantSame("counts", job.Counts, penstock.Counts{Total: 4, Succeeded: 2, Failed: 1, Expired: 1})
	if job.Usage != usage || job.Cost != cost {
		r.t.Errorf("job spent %+v, %v; want %+v, %v", job.Usage, job.Cost, usage, cost)
	}
	if job.Status() != penstock.StatusSucceeded || job.Counts.Outcome() != penstock.OutcomeMixed {
		r.t.Errorf("job is %s, %s; want succeeded, mixed", job.Status(), job.Counts.Outcome())
	}
	r.verifyLedger()
}

func finishAttempts(r *rig) {
	sub := r.submitN(2)
	l := r.lease("worker")
	var want []penstock.Attempt
	for n := range 3 {
		c := r.claimOne(l)
		f := r.ending(c, penstock.TransitionRetry)
		if n == 2 {
			f = r.ending(c, penstock.TransitionSucceed)
		}
		silent := r.attempt(c)
		silent.Number++
		silent.UsageKnown, silent.Usage, silent.Cost = false, penstock.Usage{}, 0
		silent.FirstTokenAt = time.Time{}
		silent.ErrorKind, silent.ErrorMessage = "network", "connection reset"
		f.Attempts = append(f.Attempts, silent)
		want = append(want, f.Attempts...)
		r.win(f)
		r.clock.Advance(time.Second)
	}
	r.wantSame("attempts", r.attempts(penstock.ItemID(sub.Job.ID, 0)), want)
	r.wantSame("attempts at an item that was never tried", r.attempts(penstock.ItemID(sub.Job.ID, 1)), []penstock.Attempt{})
}

// finishAfterRetries checks that what earlier claims spent is settled with the outcome, even when the
// outcome is reached in the queue, where no worker reports anything.
func finishAfterRetries(r *rig) {
	for _, c := range []struct {
		name string
		end  func(l store.Lease, job penstock.ID) (penstock.Usage, penstock.NanoUSD)
	}{
		{"success", func(l store.Lease, _ penstock.ID) (penstock.Usage, penstock.NanoUSD) {
			f := r.ending(r.claimOne(l), penstock.TransitionSucceed)
			r.win(f)
			return f.Usage, f.Cost
		}},
		{"cancel in the queue", func(_ store.Lease, job penstock.ID) (penstock.Usage, penstock.NanoUSD) {
			r.stop(job)
			r.drain(10, r.cancel)
			return penstock.Usage{}, 0
		}},
		{"expiry in the queue", func(store.Lease, penstock.ID) (penstock.Usage, penstock.NanoUSD) {
			r.clock.Advance(deadlineIn + time.Second)
			r.drain(10, r.expire)
			return penstock.Usage{}, 0
		}},
	} {
		sub := r.submitN(1)
		l := r.lease("worker")
		var usage penstock.Usage
		var cost penstock.NanoUSD
		for range 2 {
			f := r.ending(r.claimOne(l), penstock.TransitionRetry)
			r.win(f)
			usage, cost = usage.Plus(f.Usage), cost+f.Cost
		}
		lastUsage, lastCost := c.end(l, sub.Job.ID)
		usage, cost = usage.Plus(lastUsage), cost+lastCost

		r.audit(sub) // ties the settlement and the job's sums to the item
		item := r.item(penstock.ItemID(sub.Job.ID, 0))
		if item.Usage != usage || item.Cost != cost {
			r.t.Errorf("%s after retries: item spent %+v, %v; want %+v, %v", c.name, item.Usage, item.Cost, usage, cost)
		}
	}
	r.verifyLedger()
}

func finishForfeits(r *rig) {
	sub := r.submitN(1)
	l := r.lease("worker")
	c := r.claimOne(l)
	retry := r.ending(c, penstock.TransitionRetry)
	retry.Forfeit = 111
	r.win(retry)
	last := r.ending(r.claimOne(l), penstock.TransitionSucceed)
	last.Forfeit = 222
	r.win(last)

	if got := sumCost(r.entriesOf(c, penstock.EntryForfeit)); got != 111+222 {
		r.t.Errorf("%v is booked as forfeit, want 333 nano-dollars", got)
	}
	job := r.audit(sub)
	if job.Cost != retry.Cost+last.Cost {
		r.t.Errorf("job costs %v, want %v: what is forfeited is not invoiced", job.Cost, retry.Cost+last.Cost)
	}
	r.verifyLedger()
}

// finishOddText finishes with messages that a database may refuse to store as text. They come from
// upstream, so they may hold anything, and must not keep a group from committing.
func finishOddText(r *rig) {
	sub := r.submitN(2)
	claims := r.claimN(r.lease("worker"), 2)
	odd := r.ending(claims[0], penstock.TransitionFail)
	const text = "nul \x00, broken \xff\xfe UTF-8, 'quotes' and emoji 🙂"
	odd.Error.Message = text
	odd.Attempts[0].ErrorMessage = text
	r.win(odd, r.ending(claims[1], penstock.TransitionSucceed))
	if e := r.item(claims[0].Item).Error; e == nil || e.Code != penstock.CodeUpstreamRejected || e.Message == "" {
		r.t.Errorf("error of the item is %+v", e)
	}
	r.audit(sub)
}

func finishTwiceInGroup(r *rig) {
	sub := r.submitN(1)
	c := r.claimOne(r.lease("worker"))
	won, lost := r.ending(c, penstock.TransitionSucceed), r.ending(c, penstock.TransitionFail)
	verdicts := r.finish(won, lost)
	r.wantSame("verdicts", verdicts, []store.Verdict{
		{Won: true, Status: penstock.StatusSucceeded, JobFinished: true},
		{Won: false, Status: penstock.StatusSucceeded},
	})
	// The loser had an attempt of its own, and that was paid for.
	if got := sumCost(r.entriesOf(c, penstock.EntryForfeit)); got != lost.Cost {
		r.t.Errorf("%v is booked as forfeit, want the %v that the loser spent", got, lost.Cost)
	}
	r.audit(sub)
	r.verifyLedger()
}

func finishConcurrently(r *rig) {
	sub := r.submitN(1)
	c := r.claimOne(r.lease("worker"))
	outcomes := []penstock.Transition{
		penstock.TransitionSucceed, penstock.TransitionFail, penstock.TransitionCancel, penstock.TransitionExpire,
	}
	var group errgroup.Group
	var won, ended atomic.Int64
	for i := range 12 {
		f := r.ending(c, outcomes[i%len(outcomes)])
		group.Go(func() error {
			verdicts, err := r.s.FinishItems(r.t.Context(), []store.Finish{f})
			if slices.ContainsFunc(verdicts, func(v store.Verdict) bool { return v.Won }) {
				won.Add(1)
			}
			if slices.ContainsFunc(verdicts, func(v store.Verdict) bool { return v.JobFinished }) {
				ended.Add(1)
			}
			return err
		})
	}
	r.must("finish together", group.Wait())
	if won.Load() != 1 || ended.Load() != 1 {
		r.t.Errorf("%d of 12 finishes won and %d ended the job, want one each", won.Load(), ended.Load())
	}
	r.audit(sub)
	r.verifyLedger()
}

func finishNothing(r *rig) {
	verdicts, err := r.s.FinishItems(r.t.Context(), nil)
	if err != nil || len(verdicts) != 0 {
		r.t.Errorf("finishing nothing: %+v, %v", verdicts, err)
	}
}

// finishAfterLease: only the fence decides, and it has not moved yet. Throwing the result away would
// only pay for it twice.
func finishAfterLease(r *rig) {
	sub := r.submitN(1)
	c := r.claimOne(r.lease("worker"))
	r.clock.Advance(pastLease)
	r.win(r.ending(c, penstock.TransitionSucceed))
	if step := r.drain(10, r.rescue); step.Items != 0 {
		r.t.Errorf("%d finished items were rescued", step.Items)
	}
	r.audit(sub)
}

func finishErrorWritesNothing(r *rig) {
	sub := r.submitN(2)
	claims := r.claimN(r.lease("worker"), 2)
	group := r.endings(claims, penstock.TransitionSucceed)
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	if _, err := r.s.FinishItems(ctx, group); err == nil {
		r.t.Fatal("a finish whose caller is gone was recorded")
	}
	if job := r.audit(sub); job.Counts.Running != 2 {
		r.t.Errorf("after an error the job counts %+v, want both running", job.Counts)
	}
	if tries := r.attempts(claims[0].Item); len(tries) != 0 {
		r.t.Errorf("an error left attempts behind: %+v", tries)
	}
	r.win(group...)
	r.audit(sub)
}
