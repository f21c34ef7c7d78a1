package storetest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

// togetherCases are of many items that one claim took and that end in one commit: an engine may keep them together.
func togetherCases() []testCase {
	return []testCase{
		{"what a half-finished claim left runs again, and nothing else", togetherRescued},
		{"a slow worker keeps the items that were not rescued", togetherHalfRescued},
		{"a group that is sent again counts once", togetherRepeated},
		{"a finish under a claim that the store does not have loses", togetherLostClaim},
		{"a cancel leaves what ended", togetherCancelled},
		{"ends of every kind in one group keep their order", togetherMixed},
		{"items from both ends of a large job can end together", togetherFarApart},
		{"large results can end together", togetherLarge},
		{"an attempt is stored as it was", togetherAttempts},
		{"a streamed item has one end event", togetherStreamed},
		{"a deleted job takes them along", togetherDeleted},
	}
}

// wantAgain claims what is due and demands that it be the given items, under their second fence.
func (r *rig) wantAgain(want []*store.Claimed) []*store.Claimed {
	r.t.Helper()
	again := r.claimN(r.lease("next"), len(want))
	key := func(c *store.Claimed) string { return fmt.Sprint(c.Item, " ", c.Fence) }
	var got, expected []string
	for i := range want {
		got = append(got, key(again[i]))
		second := new(*want[i])
		second.Fence++
		expected = append(expected, key(second))
	}
	slices.Sort(got)
	slices.Sort(expected)
	r.wantSame("what runs again", got, expected)
	return again
}

// apart takes every nth of the claims from the others.
func apart(claims []*store.Claimed, nth int) (some, rest []*store.Claimed) {
	for i, c := range claims {
		if i%nth == 0 {
			some = append(some, c)
		} else {
			rest = append(rest, c)
		}
	}
	return some, rest
}

func togetherRescued(r *rig) {
	sub := r.submitN(150)
	l := r.lease("dies")
	claims := r.claimN(l, 150)
	ended, left := apart(claims, 3)
	r.win(r.endings(ended[:20], penstock.TransitionSucceed)...)
	r.win(r.endings(ended[20:], penstock.TransitionSucceed)...)
	held, err := r.s.HeldItems(r.t.Context(), l)
	r.must("held items", err)
	if len(held) != len(left) {
		r.t.Errorf("the lease holds %d items, want the %d that did not end", len(held), len(left))
	}
	before := r.audit(sub)
	r.clock.Advance(pastLease)
	if step := r.drain(40, r.rescue); step.Items != len(left) || step.Queued != len(left) {
		r.t.Errorf("rescued %+v, want %d items", step, len(left))
	}
	after := r.audit(sub)
	if after.Counts.Succeeded != before.Counts.Succeeded || after.Counts.Queued != len(left) {
		r.t.Errorf("counts after the rescue: %+v", after.Counts)
	}
	again := r.wantAgain(left)
	for _, v := range r.finish(r.endings(claims, penstock.TransitionSucceed)...) {
		if v.Won {
			r.t.Errorf("a stale end was taken: %+v", v)
		}
	}
	r.win(r.endings(again, penstock.TransitionSucceed)...)
	if job := r.audit(sub); job.Counts.Succeeded != 150 || job.Status() != penstock.StatusSucceeded {
		r.t.Errorf("job is %s with %+v", job.Status(), job.Counts)
	}
	r.verifyLedger()
}

func togetherHalfRescued(r *rig) {
	sub := r.submitN(10)
	claims := r.claimN(r.lease("slow"), 10)
	r.clock.Advance(pastLease)
	step, err := r.rescue(4)
	r.must("rescue", err)
	if step.Items != 4 {
		r.t.Fatalf("rescued %d items, want 4", step.Items)
	}
	won := 0
	for i, v := range r.finish(r.endings(claims, penstock.TransitionSucceed)...) {
		if status := r.item(claims[i].Item).Status; v.Status != status || v.Won != (status == penstock.StatusSucceeded) {
			r.t.Errorf("verdict %+v of an item that is %s", v, status)
		}
		if v.Won {
			won++
		}
	}
	if won != 6 {
		r.t.Errorf("%d ends were taken, want those of the 6 items that were not rescued", won)
	}
	r.audit(sub)
	r.win(r.endings(r.claimN(r.lease("next"), 4), penstock.TransitionSucceed)...)
	r.audit(sub)
	r.verifyLedger()
}

func togetherRepeated(r *rig) {
	sub := r.submitN(8)
	claims := r.claimN(r.lease("worker"), 8)
	group := r.endings(claims[:5], penstock.TransitionSucceed)
	r.win(group...)
	before := r.view(sub)
	r.clock.Advance(time.Second)
	for i, v := range r.finish(group...) {
		r.wantSame(fmt.Sprint("verdict ", i), v, store.Verdict{Status: penstock.StatusSucceeded})
	}
	r.wantSame("job after the group was repeated", r.view(sub), before)

	more := append(slices.Clone(group[2:]), r.endings(claims[5:], penstock.TransitionSucceed)...)
	more = append(more, more[len(more)-1]) // and one twice in the same group
	var won []bool
	for _, v := range r.finish(more...) {
		won = append(won, v.Won)
	}
	r.wantSame("won", won, []bool{false, false, false, true, true, true, false})
	if job := r.audit(sub); job.Counts.Succeeded != 8 {
		r.t.Errorf("counts: %+v", job.Counts)
	}
	if slices.ContainsFunc(r.entries(sub.Job.ID), func(e penstock.LedgerEntry) bool { return e.Kind == penstock.EntryForfeit }) {
		r.t.Error("what was settled is forfeited as well")
	}
	r.verifyLedger()
}

func togetherLostClaim(r *rig) {
	sub := r.submitN(3)
	claims := r.claimN(r.lease("worker"), 3)
	group := r.endings(claims, penstock.TransitionSucceed)
	for i := range group {
		lost := new(*claims[i])
		lost.Claim = r.newID()
		group[i].Of = lost
	}
	for _, v := range r.finish(group...) {
		if v.Won {
			r.t.Errorf("an end was taken under a claim that the store does not have: %+v", v)
		}
	}
	if job := r.audit(sub); job.Counts.Running != 3 {
		r.t.Errorf("counts: %+v, want all three running", job.Counts)
	}
	r.win(r.endings(claims, penstock.TransitionSucceed)...)
	r.audit(sub)
	r.verifyLedger()
}

func togetherCancelled(r *rig) {
	sub := r.submitN(90)
	claims := r.claim(r.lease("worker"), 70)
	ended, running := apart(claims, 2)
	r.win(r.endings(ended, penstock.TransitionSucceed)...)
	r.stop(sub.Job.ID)
	r.drain(10, r.cancel)
	late, stopped := running[:5], running[5:] // some had an answer before they learned of the cancel
	r.win(append(r.endings(late, penstock.TransitionSucceed), r.endings(stopped, penstock.TransitionCancel)...)...)
	for _, v := range r.finish(r.endings(slices.Concat(ended, late), penstock.TransitionCancel)...) {
		r.wantSame("verdict", v, store.Verdict{Status: penstock.StatusSucceeded})
	}
	job := r.audit(sub)
	if job.Counts.Succeeded != len(ended)+5 || job.Counts.Cancelled != 90-len(ended)-5 || job.Status() != penstock.StatusCancelled {
		r.t.Errorf("job is %s with %+v", job.Status(), job.Counts)
	}
	r.verifyLedger()
}

func togetherMixed(r *rig) {
	sub := r.submitN(300)
	claims := r.claimN(r.lease("worker"), 300)
	slices.Reverse(claims)
	for group := range slices.Chunk(claims, 70) {
		var ends []store.Finish
		for i, c := range group {
			how := penstock.TransitionSucceed
			if i%11 == 5 {
				how = penstock.TransitionFail
			}
			ends = append(ends, r.ending(c, how))
		}
		r.win(ends...)
	}
	job := r.audit(sub)
	for _, p := range []store.ResultPage{{Order: store.OrderCompletion, After: 100, Limit: 37}, {Order: store.OrderInput, After: 100, Limit: 37}} {
		items, _, err := r.s.Results(r.t.Context(), acme, sub.Job.ID, p)
		r.must("read results", err)
		all := r.results(job, p.Order)
		from := slices.IndexFunc(all, func(item penstock.Item) bool {
			return (p.Order == store.OrderInput && int64(item.Index) > p.After) || (p.Order == store.OrderCompletion && item.Seq > p.After)
		})
		r.wantSame("a page of "+string(p.Order), items, all[from:from+37])
	}
	for _, status := range []penstock.Status{penstock.StatusSucceeded, penstock.StatusFailed} {
		items, err := r.s.Items(r.t.Context(), acme, sub.Job.ID, store.ItemPage{After: 20, Status: status, Limit: 10})
		r.must("list items", err)
		if len(items) != 10 || slices.ContainsFunc(items, func(i penstock.Item) bool { return i.Status != status || i.Index <= 20 }) {
			r.t.Errorf("items that %s: %+v", status, items)
		}
	}
	r.verifyLedger()
}

func togetherFarApart(r *rig) {
	const items = 4500
	sub := r.submitN(items)
	claims := r.claimN(r.lease("worker"), items)
	r.win(r.endings([]*store.Claimed{claims[0], claims[items-1], claims[1], claims[items-2], claims[2]}, penstock.TransitionSucceed)...)
	r.wantSame("input order", r.indexes(sub.Job.ID, store.ResultPage{Order: store.OrderInput, After: -1, Limit: 10}), []int{0, 1, 2})
	r.wantSame("from the second on", r.indexes(sub.Job.ID, store.ResultPage{Order: store.OrderInput, After: 0, Limit: 3}), []int{1, 2})
	r.wantSame("from the last that runs on", r.indexes(sub.Job.ID, store.ResultPage{Order: store.OrderInput, After: items - 3, Limit: 3}), []int{items - 2, items - 1})
	r.wantSame("completion order", r.indexes(sub.Job.ID, store.ResultPage{Order: store.OrderCompletion, After: -1, Limit: 10}),
		[]int{0, items - 1, 1, items - 2, 2})
	r.wantSame("the last", r.item(claims[items-1].Item).Status, penstock.StatusSucceeded)
	r.wantSame("one between", r.item(claims[3000].Item).Status, penstock.StatusRunning)
	r.verifyLedger()
}

// noise is text that does not compress.
func noise(seed, bytes int) []byte {
	var text []byte
	for i := 0; len(text) < bytes; i++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d", seed, i))
		text = append(text, sum[:]...)
	}
	return text[:bytes]
}

func togetherLarge(r *rig) {
	sub := r.submitN(100)
	group := r.endings(r.claimN(r.lease("worker"), 100), penstock.TransitionSucceed)
	for i := range group {
		size := 30_000
		if i%10 == 9 {
			size = 3 * store.InlinePayloadBytes
		}
		group[i].Result = noise(i, size)
	}
	r.win(group...)
	for i, item := range r.results(r.job(sub.Job.ID), store.OrderCompletion) { // to compare all views of so much takes long
		if string(item.Result) != string(group[i].Result) {
			r.t.Errorf("result %d differs from the finish", i)
		}
	}
	r.verifyLedger()
}

func togetherAttempts(r *rig) {
	sub := r.submitN(4)
	claims := r.claimN(r.lease("worker"), 4)
	group := r.endings(claims, penstock.TransitionSucceed)
	attempt := group[1].Attempts[0]
	attempt.Target, attempt.StatusCode, attempt.Cost, attempt.PriceVersion = "second", 201, 1, "price_2"
	attempt.Usage, attempt.UsageKnown = penstock.Usage{InputTokens: -1, OutputTokens: 1 << 40}, false
	attempt.FirstTokenAt = time.Time{}
	group[1].Attempts[0] = attempt
	group[2].Attempts[0].StartedAt, group[2].Attempts[0].FirstTokenAt, group[2].Attempts[0].FinishedAt = time.Time{}, time.Time{}, time.Time{}
	group[3].Counted, group[3].Result = 0, nil
	r.win(group...)
	for i, c := range claims {
		r.wantSame("attempts", r.attempts(c.Item), []penstock.Attempt{group[i].Attempts[0]})
		item := r.item(c.Item)
		if item.Target != group[i].Target || item.Cost != group[i].Cost || item.Usage != group[i].Usage || item.Attempts != group[i].Counted {
			r.t.Errorf("item %d: %+v", i, item)
		}
		if none, err := r.s.Attempts(r.t.Context(), umbra, c.Item); err != nil || len(none) > 0 {
			r.t.Errorf("another tenant reads %+v, %v", none, err)
		}
	}
	if job := r.job(sub.Job.ID); job.Counts.Succeeded != 4 {
		r.t.Errorf("counts: %+v", job.Counts)
	}
	r.verifyLedger()
}

func togetherStreamed(r *rig) {
	sub := r.streaming(3)
	group := r.endings(r.claimN(r.lease("worker"), 3), penstock.TransitionSucceed)
	for i := range group {
		group[i].Tail = []store.Delta{{Data: fmt.Append(nil, i)}}
	}
	r.win(group...)
	r.wantSame("log", r.logWords(sub.Job.ID), []string{
		"job.queued", "job.started", "item.delta 0/1 0", "item.succeeded", "item.delta 1/1 1", "item.succeeded",
		"item.delta 2/1 2", "item.succeeded", "job.finished",
	})
	r.audit(sub)
	r.verifyLedger()
}

func togetherDeleted(r *rig) {
	const items = 700
	sub, stays := r.submitN(items), r.submitN(5)
	for group := range slices.Chunk(r.claimN(r.lease("worker"), items+5), 100) {
		r.win(r.endings(group, penstock.TransitionSucceed)...)
	}
	r.verifyLedger()
	r.delete(sub)
	r.wantGone(sub)
	steps := 0
	for more := true; more; steps++ {
		done, err := r.s.PurgeItems(r.t.Context(), 300)
		r.must("purge items", err)
		more = done.More
		r.verifyLedger()
	}
	if steps < 2 {
		r.t.Errorf("what %d items left went in %d steps of 300", items, steps)
	}
	r.wantGone(sub)
	r.audit(stays)
	if report := r.verifyLedger(); report.Items != 5 {
		r.t.Errorf("%d items are left, want the 5 of the other job", report.Items)
	}
}
