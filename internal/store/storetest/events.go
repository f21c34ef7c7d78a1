package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func eventCases() []testCase {
	return []testCase{
		{"the log has a job's transitions in order", eventLog},
		{"a reader can resume anywhere", eventPages},
		{"a job that never ran has no start", eventNeverStarted},
	}
}

func eventLog(r *rig) {
	sub := r.submitN(2)
	times := []time.Time{r.clock.Now()}
	tick := func() {
		r.clock.Advance(time.Second)
		times = append(times, r.clock.Now())
	}
	tick()
	claims := r.claimN(r.lease("worker"), 2)
	tick()
	r.win(r.ending(claims[1], penstock.TransitionSucceed))
	tick()
	r.win(r.ending(claims[0], penstock.TransitionFail))

	job := r.audit(sub)
	var got []penstock.Event
	for _, e := range r.events(job) {
		if e.Item != nil {
			e.Item = &penstock.Item{ID: e.Item.ID} // its fields are the audit's business
		}
		e.State = nil // as another case has it
		got = append(got, e)
	}
	r.wantSame("log", got, []penstock.Event{
		{Job: job.ID, Seq: 1, Type: penstock.EventJobQueued, CreatedAt: times[0]},
		{Job: job.ID, Seq: 2, Type: penstock.EventJobStarted, CreatedAt: times[1]},
		{Job: job.ID, Seq: 3, Type: penstock.EventItemSucceeded, Item: &penstock.Item{ID: claims[1].Item}, CreatedAt: times[2]},
		{Job: job.ID, Seq: 4, Type: penstock.EventItemFailed, Item: &penstock.Item{ID: claims[0].Item}, CreatedAt: times[3]},
		{Job: job.ID, Seq: 5, Type: penstock.EventJobFinished, CreatedAt: times[3]},
	})
}

func eventPages(r *rig) {
	sub := r.submitN(20)
	for _, c := range r.claimN(r.lease("worker"), 20) {
		r.win(r.ending(c, penstock.TransitionSucceed))
	}
	job := r.audit(sub) // reads in pages from the start
	log := r.events(job)
	for after := range int64(len(log)) + 1 {
		for _, limit := range []int{1, 4, everything} {
			page, err := r.s.Events(r.t.Context(), acme, store.EventPage{Job: job.ID, After: after, Limit: limit})
			r.must("read events", err)
			end := min(int(after)+limit, len(log))
			r.wantSame("page of events", page, log[after:end])
		}
	}
	for _, e := range log {
		if e.Item != nil && e.Item.Result != nil {
			r.t.Fatalf("event %d carries its item's result", e.Seq)
		}
	}
}

func eventNeverStarted(r *rig) {
	sub := r.submitN(1)
	r.stop(sub.Job.ID)
	r.drain(10, r.cancel)
	var types []penstock.EventType
	for _, e := range r.events(r.audit(sub)) {
		types = append(types, e.Type)
	}
	r.wantSame("log", types, []penstock.EventType{
		penstock.EventJobQueued, penstock.EventItemCancelled, penstock.EventJobFinished,
	})
}
