package storetest

import (
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

func streamCases() []testCase {
	return []testCase{
		{"what running items say is in the log, in order", streamLog},
		{"the last deltas of an item come before its end", streamTail},
		{"a stale worker says nothing", streamStale},
		{"one stale worker does not silence the others", streamStaleAlone},
		{"a retried item begins anew", streamReset},
		{"a log is gone once it was kept long enough", streamPurged},
		{"a log goes in bounded steps", streamPurgedInSteps},
		{"a deleted job takes its log along", streamDeleted},
		{"a large job publishes its progress", progressOfLarge},
		{"an event has the state of its job", eventStates},
	}
}

// streaming submits a job of n items that shows its answers while they arrive.
func (r *rig) streaming(n int) store.Submission {
	r.t.Helper()
	sub := r.submission(n)
	sub.Job.Stream = penstock.StreamText
	return r.submit(sub)
}

// appendDeltas appends deltas of claims, and returns which were stored.
func (r *rig) appendDeltas(deltas ...store.ClaimDelta) []bool {
	r.t.Helper()
	added, err := r.s.AppendDeltas(r.t.Context(), deltas)
	r.must("append deltas", err)
	return added
}

func deltaOf(c *store.Claimed, text string) store.ClaimDelta {
	return store.ClaimDelta{Of: c, Delta: store.Delta{Data: []byte(text)}}
}

// logWords is a job's log as words: the types of its events, and the texts of its deltas.
func (r *rig) logWords(job penstock.ID) (words []string) {
	r.t.Helper()
	for _, e := range r.events(r.job(job)) {
		word := string(e.Type)
		if e.Delta != nil {
			word = fmt.Sprintf("%s %d/%d %s", e.Type, itemIndex(job, e.Delta.Item), e.Delta.Attempt, e.Delta.Data)
		}
		words = append(words, word)
	}
	return words
}

func itemIndex(job, item penstock.ID) int {
	j := penstock.Job{ID: job, Counts: penstock.Counts{Total: everything}}
	n, _ := j.IndexOf(item)
	return n
}

func streamLog(r *rig) {
	sub := r.streaming(2)
	claims := r.claimN(r.lease("worker"), 2)
	r.wantSame("stream of a claim", claims[0].Stream, penstock.StreamText)
	r.wantSame("stored", r.appendDeltas(deltaOf(claims[1], "Hel"), deltaOf(claims[0], "good "), deltaOf(claims[1], "lo")), []bool{true, true, true})
	r.win(r.ending(claims[1], penstock.TransitionSucceed))
	r.wantSame("stored", r.appendDeltas(deltaOf(claims[0], "bye")), []bool{true})
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.wantSame("log", r.logWords(sub.Job.ID), []string{
		"job.queued", "job.started", "item.delta 1/1 Hel", "item.delta 0/1 good ", "item.delta 1/1 lo",
		"item.succeeded", "item.delta 0/1 bye", "item.succeeded", "job.finished",
	})
	r.audit(sub)
}

func streamTail(r *rig) {
	sub := r.streaming(1)
	c := r.claimOne(r.lease("worker"))
	r.appendDeltas(deltaOf(c, "a"))
	f := r.ending(c, penstock.TransitionSucceed)
	f.Tail = []store.Delta{{Data: []byte("b")}, {Data: []byte("c")}}
	r.win(f)
	r.wantSame("log", r.logWords(sub.Job.ID), []string{
		"job.queued", "job.started", "item.delta 0/1 a", "item.delta 0/1 b", "item.delta 0/1 c", "item.succeeded", "job.finished",
	})
	r.audit(sub)
}

func streamStale(r *rig) {
	sub := r.streaming(1)
	c := r.claimOne(r.lease("worker"))
	strangers := new(*c)
	strangers.Tenant = umbra
	forged := new(*c)
	forged.Fence++
	unheld := new(*c)
	unheld.Claim = r.newID()
	r.wantSame("stored", r.appendDeltas(deltaOf(strangers, "x"), deltaOf(unheld, "x")), []bool{false, false})

	r.win(r.ending(c, penstock.TransitionRetry))
	r.wantSame("stored while it is queued", r.appendDeltas(deltaOf(c, "x")), []bool{false})
	again := r.claimOne(r.lease("worker"))
	stale := r.ending(c, penstock.TransitionSucceed)
	stale.Tail = []store.Delta{{Data: []byte("x")}}
	r.lose(stale)
	r.wantSame("stored under another's claim", r.appendDeltas(deltaOf(c, "x"), deltaOf(forged, "x"), deltaOf(again, "y")), []bool{false, false, true})
	r.win(r.ending(again, penstock.TransitionSucceed))
	r.wantSame("stored after its end", r.appendDeltas(deltaOf(again, "x")), []bool{false})
	r.wantSame("log", r.logWords(sub.Job.ID), []string{"job.queued", "job.started", "item.delta 0/2 y", "item.succeeded", "job.finished"})
	r.audit(sub)
}

func streamStaleAlone(r *rig) {
	first, second := r.streaming(1), r.streaming(1)
	claims := r.claimN(r.lease("worker"), 2)
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.wantSame("stored", r.appendDeltas(deltaOf(claims[0], "late"), deltaOf(claims[1], "in time")), []bool{false, true})
	r.win(r.ending(claims[1], penstock.TransitionSucceed))
	for _, sub := range []store.Submission{first, second} {
		r.audit(sub)
	}
}

func streamReset(r *rig) {
	sub := r.streaming(1)
	dead := r.lease("dead")
	c := r.claimOne(dead)
	r.appendDeltas(deltaOf(c, "half an ans"))
	r.must("release", r.s.ReleaseLease(r.t.Context(), dead))
	_, err := r.s.RescueItems(r.t.Context(), everything)
	r.must("rescue", err)
	r.wantSame("stored from a dead worker", r.appendDeltas(deltaOf(c, "x")), []bool{false})
	c = r.claimOne(r.lease("worker"))
	r.appendDeltas(store.ClaimDelta{Of: c, Delta: store.Delta{Reset: true}}, deltaOf(c, "a whole answer"))
	r.win(r.ending(c, penstock.TransitionSucceed))
	r.wantSame("log", r.logWords(sub.Job.ID), []string{
		"job.queued", "job.started", "item.delta 0/1 half an ans", "item.reset 0/2 ", "item.delta 0/2 a whole answer",
		"item.succeeded", "job.finished",
	})
	r.audit(sub)
}

// streamed is a finished job with so many deltas.
func (r *rig) streamed(deltas int) store.Submission {
	r.t.Helper()
	sub := r.streaming(1)
	c := r.claimOne(r.lease("worker"))
	for i := range deltas {
		r.appendDeltas(deltaOf(c, fmt.Sprint(i)))
	}
	r.win(r.ending(c, penstock.TransitionSucceed))
	return sub
}

func (r *rig) purgeEvents(tenant penstock.TenantID, limit int) int {
	r.t.Helper()
	return r.purge(limit, func() (store.Purged, error) {
		return r.s.PurgeEvents(r.t.Context(), tenant, store.Purge{Kept: kept, Limit: limit})
	})
}

func streamPurged(r *rig) {
	old := r.streamed(3)
	open := r.streaming(1)
	c := r.claimOne(r.lease("worker"))
	r.appendDeltas(deltaOf(c, "still talking"))
	r.clock.Advance(kept)
	young := r.streamed(2)
	if n := r.purgeEvents(acme, everything); n != 3 {
		r.t.Errorf("purged %d events; 3 were kept long enough", n)
	}
	job := r.job(old.Job.ID)
	for after := range job.Seq {
		// However long logs are shown: this one has no middle any more.
		_, err := r.s.Events(r.t.Context(), acme, store.EventPage{Job: job.ID, After: after, Limit: everything})
		r.wantCode("events of a purged log", err, penstock.CodeGone)
	}
	rest, err := r.s.Events(r.t.Context(), acme, store.EventPage{Job: job.ID, After: job.Seq, Limit: everything})
	r.must("read behind the end", err)
	r.wantSame("behind the end", len(rest), 0)
	r.wantSame("result", string(r.item(penstock.ItemID(job.ID, 0)).Result), `{"answer":0,"fence":1}`)
	r.wantSame("young log", len(r.logWords(young.Job.ID)), 6)
	r.wantSame("open log", r.logWords(open.Job.ID), []string{"job.queued", "job.started", "item.delta 0/1 still talking"})
	r.wantSame("purged again", r.purgeEvents(acme, everything), 0)
}

func streamPurgedInSteps(r *rig) {
	first, second := r.streamed(5), r.streamed(2)
	r.clock.Advance(kept)
	done, err := r.s.PurgeEvents(r.t.Context(), acme, store.Purge{Kept: kept, Limit: 3})
	r.must("purge", err)
	r.wantSame("first step", done, store.Purged{Removed: 3, More: true, Overdue: 0})
	_, err = r.s.Events(r.t.Context(), acme, store.EventPage{Job: first.Job.ID, Limit: everything})
	r.wantCode("events of a log of which a part is gone", err, penstock.CodeGone)
	r.wantSame("the rest", r.purgeEvents(acme, 3), 4)
	_, err = r.s.Events(r.t.Context(), acme, store.EventPage{Job: second.Job.ID, Limit: everything})
	r.wantCode("events of the second", err, penstock.CodeGone)
}

func streamDeleted(r *rig) {
	sub := r.streamed(3)
	r.delete(sub)
	r.wantGone(sub)
	r.clock.Advance(kept)
	r.wantSame("left of its log", r.purgeEvents(acme, everything), 0)
}

func progressOfLarge(r *rig) {
	const total = penstock.MaxItemEvents + 1
	sub := r.batch(total)
	r.split(sub, 0, 4)
	l := r.lease("worker")
	claims := r.claimN(l, 4)
	r.clock.Advance(time.Minute)
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	r.clock.Advance(progressGap / 2)
	r.win(r.ending(claims[1], penstock.TransitionSucceed)) // too soon after the last
	r.clock.Advance(progressGap / 2)
	r.win(r.ending(claims[2], penstock.TransitionFail))

	var log []penstock.Event
	page, err := r.s.Events(r.t.Context(), acme, store.EventPage{Job: sub.Job.ID, Limit: everything})
	r.must("read events", err)
	var counts []penstock.Counts
	for _, e := range page {
		log = append(log, penstock.Event{Seq: e.Seq, Type: e.Type})
		counts = append(counts, e.State.Counts)
	}
	r.wantSame("log", log, []penstock.Event{
		{Seq: 1, Type: penstock.EventJobQueued}, {Seq: 2, Type: penstock.EventJobStarted},
		{Seq: 4, Type: penstock.EventJobProgress}, {Seq: 7, Type: penstock.EventJobProgress},
	})
	r.wantSame("counts", counts, []penstock.Counts{
		{Total: total, Queued: total},
		{Total: total, Queued: total - 4, Running: 4},
		{Total: total, Queued: total - 4, Running: 3, Succeeded: 1},
		{Total: total, Queued: total - 4, Running: 1, Succeeded: 2, Failed: 1},
	})
	if page[3].State.Usage.InputTokens == 0 || page[3].State.Status() != penstock.StatusRunning {
		r.t.Errorf("progress has %+v of a job that is %s", page[3].State.Usage, page[3].State.Status())
	}
	r.wantSame("results", r.indexes(sub.Job.ID, store.ResultPage{Limit: everything}), []int{0, 1, 2})
}

// progressGap is how long lies between two events of a large job's progress at the least.
const progressGap = time.Second

func eventStates(r *rig) {
	sub := r.submitN(3)
	l := r.lease("worker")
	claims := append(r.claim(l, 2), r.claimOne(l))
	r.win(r.endings(claims, penstock.TransitionSucceed)...)
	var counts []penstock.Counts
	var statuses []penstock.Status
	for _, e := range r.events(r.job(sub.Job.ID)) {
		if e.State != nil {
			counts, statuses = append(counts, e.State.Counts), append(statuses, e.State.Status())
		}
	}
	r.wantSame("counts", counts, []penstock.Counts{{Total: 3, Queued: 3}, {Total: 3, Queued: 1, Running: 2}, {Total: 3, Succeeded: 3}})
	r.wantSame("statuses", statuses, []penstock.Status{penstock.StatusQueued, penstock.StatusRunning, penstock.StatusSucceeded})
	r.audit(sub)
}

// askPurgeEvents finds acme's log that was kept long enough.
func askPurgeEvents(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	done, err := r.s.PurgeEvents(r.t.Context(), tenant, store.Purge{Limit: everything})
	return done.Removed > 0, err
}
