package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func loadCases() []testCase {
	return []testCase{
		{"depths count open items", loadDepths},
		{"a backlog counts what is queued and drained", loadBacklogs},
		{"items that are queued again are subtracted from the drained counters", loadComesBack},
		{"what ends in the queue was never drained", loadLeaves},
		{"the next item's wait begins when it is due", loadWaited},
		{"the deepest backlog comes first", loadOrder},
		{"a job keeps its place and its promised time", loadPromise},
		{"processes report their state", loadProcesses},
		{"open jobs are counted by what they were resolved to", loadResolutions},
	}
}

func loadResolutions(r *rig) {
	open := func() []store.Resolution {
		r.t.Helper()
		all, err := r.s.OpenResolutions(r.t.Context())
		r.must("read resolutions", err)
		return all
	}
	r.wantSame("without jobs", open(), []store.Resolution{})
	first := r.submitN(3)
	other := r.submission(2)
	other.Job.Tenant, other.Job.Resolved.Targets, other.Job.Resolved.Config = umbra, []string{"second"}, "cfg_2"
	r.submit(other)
	again := r.submission(4)
	again.Job.Resolved.Config = "cfg_2"
	r.submit(again)
	both := first.Job.Resolved.Targets
	r.wantSame("all are open", open(), []store.Resolution{{Targets: both, Jobs: 2, Items: 7}, {Targets: []string{"second"}, Jobs: 1, Items: 2}})
	claims := r.claim(r.lease("worker"), everything)
	var ends []store.Finish
	for _, c := range claims {
		if c.Job != again.Job.ID {
			ends = append(ends, r.ending(c, penstock.TransitionSucceed))
		}
	}
	r.win(ends...)
	r.wantSame("one is left", open(), []store.Resolution{{Targets: both, Jobs: 1, Items: 4}})
}

func loadProcesses(r *rig) {
	processes := func() []store.Process {
		r.t.Helper()
		all, err := r.s.Processes(r.t.Context())
		r.must("read processes", err)
		return all
	}
	r.wantSame("without processes", processes(), []store.Process{})
	api, worker := r.lease("api"), r.lease("worker")
	fresh := store.ProcessState{Works: true}
	r.wantSame("without reports", processes(), []store.Process{{Name: "api", ProcessState: fresh}, {Name: "worker", ProcessState: fresh}})
	busy := store.ProcessState{Works: true, Blocked: map[string]penstock.Reason{"first": penstock.WaitingOnProvider}}
	r.must("renew", r.s.RenewLease(r.t.Context(), api, store.Renewal{TTL: leaseTTL}))
	r.must("renew", r.s.RenewLease(r.t.Context(), worker, store.Renewal{TTL: 2 * leaseTTL, State: busy}))
	r.wantSame("both reported", processes(), []store.Process{{Name: "api"}, {Name: "worker", ProcessState: busy}})
	r.clock.Advance(pastLease)
	r.wantSame("one is gone", processes(), []store.Process{{Name: "worker", ProcessState: busy}})
	r.lease("worker")
	r.wantSame("it begins anew", processes(), []store.Process{{Name: "worker", ProcessState: fresh}})
}

// depths returns what is open, by lane and status; an engine may leave zeros out or not.
func (r *rig) depths() map[store.Depth]bool {
	r.t.Helper()
	list, err := r.s.Depths(r.t.Context())
	r.must("read depths", err)
	out := map[store.Depth]bool{}
	for _, d := range list {
		if d.Items > 0 {
			out[d] = true
		}
	}
	return out
}

func loadDepths(r *rig) {
	r.wantSame("depths of an empty store", r.depths(), map[store.Depth]bool{})
	bulk := r.submission(3)
	bulk.Job.Lane, bulk.Job.Tenant = penstock.LaneBulk, umbra
	r.submit(bulk)
	r.clock.Advance(time.Minute)
	r.submitN(2)
	r.clock.Advance(time.Minute)
	r.submitN(4)
	l := r.lease("worker")
	running := r.claim(l, 1) // of the older standard job
	r.clock.Advance(time.Second)

	r.wantSame("depths", r.depths(), map[store.Depth]bool{
		{Lane: penstock.LaneBulk, Status: penstock.StatusQueued, Items: 3, Oldest: 2*time.Minute + time.Second}:    true,
		{Lane: penstock.LaneStandard, Status: penstock.StatusQueued, Items: 5, Oldest: time.Minute + time.Second}:  true,
		{Lane: penstock.LaneStandard, Status: penstock.StatusRunning, Items: 1, Oldest: time.Minute + time.Second}: true,
	})

	r.win(r.endings(append(running, r.claim(l, everything)...), penstock.TransitionSucceed)...)
	r.wantSame("depths after all is done", r.depths(), map[store.Depth]bool{})
}

func (r *rig) backlogs() []store.Backlog {
	r.t.Helper()
	list, err := r.s.Backlogs(r.t.Context())
	r.must("read backlogs", err)
	return list
}

// onlyBacklog returns the one backlog there is.
func (r *rig) onlyBacklog() store.Backlog {
	r.t.Helper()
	list := r.backlogs()
	if len(list) != 1 {
		r.t.Fatalf("there are %d backlogs, want one: %+v", len(list), list)
	}
	return list[0]
}

// tokensOf and bytesOf are what items of a submission weigh together.
func tokensOf(items []store.NewItem) (sum int64) {
	for _, i := range items {
		sum += i.EstimateTokens
	}
	return sum
}

func bytesOf(items []store.NewItem) (sum int64) {
	for _, i := range items {
		sum += int64(len(i.Body))
	}
	return sum
}

func loadBacklogs(r *rig) {
	r.wantSame("backlogs of an empty store", r.backlogs(), []store.Backlog{})
	sub := r.submitN(5)
	want := store.Backlog{
		Lane: penstock.LaneStandard, Tenant: acme, Model: "fast", Ready: 5, Tokens: tokensOf(sub.Items), Bytes: bytesOf(sub.Items),
	}
	r.wantSame("backlog after the submit", r.onlyBacklog(), want)

	l := r.lease("worker")
	claims := r.claim(l, 2)
	r.clock.Advance(time.Minute)
	taken := sub.Items[:2]
	want.Ready, want.Running, want.DrainedItems = 3, 2, 2
	want.Tokens, want.Bytes, want.DrainedTokens = tokensOf(sub.Items[2:]), bytesOf(sub.Items[2:]), tokensOf(taken)
	want.Waited, want.RunningFor = time.Minute, time.Minute
	// The lease is over by now, but the items are not rescued yet.
	r.wantSame("backlog after a claim", r.onlyBacklog(), want)

	r.win(r.endings(claims, penstock.TransitionSucceed)...)
	want.Running, want.RunningFor = 0, 0
	r.wantSame("backlog after the claimed items ended", r.onlyBacklog(), want)

	l = r.lease("worker")
	r.win(r.endings(r.claimN(l, 3), penstock.TransitionFail)...)
	r.wantSame("a backlog that is drained", r.onlyBacklog(), store.Backlog{
		Lane: want.Lane, Tenant: acme, Model: "fast", DrainedItems: 5, DrainedTokens: tokensOf(sub.Items),
	})
}

func loadComesBack(r *rig) {
	sub := r.submitN(2)
	l := r.lease("worker")
	claims := r.claimN(l, 2)
	later := r.ending(claims[0], penstock.TransitionRetry)
	later.RetryIn = time.Minute
	r.win(later, r.ending(claims[1], penstock.TransitionRetry))
	b := r.onlyBacklog()
	if b.Ready != 1 || b.Parked != 1 || b.Tokens != tokensOf(sub.Items) || b.DrainedItems != 0 || b.DrainedTokens != 0 {
		r.t.Errorf("after two retries: %+v", b)
	}
	r.claimN(l, 1)
	if b = r.onlyBacklog(); b.DrainedItems != 1 || b.Parked != 1 || b.Waited != 0 {
		r.t.Errorf("after a second claim: %+v", b)
	}
	r.clock.Advance(pastLease)
	r.drain(everything, r.rescue)
	if b = r.onlyBacklog(); b.Queued() != 2 || b.DrainedItems != 0 || b.DrainedTokens != 0 || b.Running != 0 {
		r.t.Errorf("after a rescue: %+v", b)
	}
	r.clock.Advance(time.Minute)
	r.win(r.endings(r.claimN(r.lease("successor"), 2), penstock.TransitionSucceed)...)
	if b = r.onlyBacklog(); b.Queued() != 0 || b.DrainedItems != 2 || b.DrainedTokens != tokensOf(sub.Items) {
		r.t.Errorf("at the end: %+v", b)
	}
	r.audit(sub)
}

func loadLeaves(r *rig) {
	cancelled, expired := r.submitN(2), r.submitN(3)
	r.stop(cancelled.Job.ID)
	if b := r.onlyBacklog(); b.Ready != 3 || b.Tokens != tokensOf(expired.Items) || b.DrainedItems != 0 {
		r.t.Errorf("after a cancel: %+v", b)
	}
	r.clock.Advance(2 * deadlineIn)
	r.drain(everything, r.expire)
	r.wantSame("after the deadline", r.onlyBacklog(), store.Backlog{Lane: penstock.LaneStandard, Tenant: acme, Model: "fast"})
}

func loadWaited(r *rig) {
	r.submitN(1)
	r.clock.Advance(time.Second)
	r.submitN(1)
	r.clock.Advance(time.Second)
	if b := r.onlyBacklog(); b.Waited != 2*time.Second {
		r.t.Errorf("the first of two has waited %v", b.Waited)
	}
	l := r.lease("worker")
	first := r.claimOne(l)
	if b := r.onlyBacklog(); b.Waited != time.Second || b.RunningFor != 2*time.Second {
		r.t.Errorf("the second has waited %v beside one of %v", b.Waited, b.RunningFor)
	}
	r.claimOne(l)
	again := r.ending(first, penstock.TransitionRetry)
	again.RetryIn = 3 * time.Second
	r.win(again)
	r.clock.Advance(5 * time.Second)
	if b := r.onlyBacklog(); b.Waited != 0 {
		r.t.Errorf("an item that waits to be tried again is next for %v", b.Waited)
	}
}

func loadOrder(r *rig) {
	for _, of := range []struct {
		tenant penstock.TenantID
		model  string
		items  int
	}{{acme, "fast", 1}, {umbra, "fast", 3}, {acme, "smart", 2}} {
		sub := r.submission(of.items)
		sub.Job.Tenant, sub.Job.Model = of.tenant, of.model
		r.submit(sub)
	}
	var got []string
	for _, b := range r.backlogs() {
		got = append(got, string(b.Tenant)+"/"+b.Model)
	}
	r.wantSame("backlogs", got, []string{"umbra/fast", "acme/smart", "acme/fast"})
}

func loadPromise(r *rig) {
	sub := r.submission(2)
	sub.Job.QueueMark, sub.Job.QueueTokens, sub.Job.PromisedAt = 1234, 201, r.clock.Now().Add(90*time.Second)
	r.submit(sub)
	job := r.job(sub.Job.ID)
	if job.QueueMark != 1234 || job.QueueTokens != 201 || !job.PromisedAt.Equal(sub.Job.PromisedAt) {
		r.t.Errorf("the job has mark %d, tokens %d, promise %v", job.QueueMark, job.QueueTokens, job.PromisedAt)
	}
	untold, stopped := r.submitN(1), r.submission(1)
	stopped.Job.PromisedAt = sub.Job.PromisedAt
	r.submit(stopped)
	claims := r.claimN(r.lease("worker"), 4)
	r.stop(stopped.Job.ID)
	for i, v := range r.finish(r.endings(claims, penstock.TransitionSucceed)...) {
		want := 90 * time.Second
		if claims[i].Job != sub.Job.ID {
			want = 0
		}
		if v.PromisedIn != want {
			r.t.Errorf("item %s was promised in %v, want %v", claims[i].Item, v.PromisedIn, want)
		}
	}
	r.audit(untold)
}
