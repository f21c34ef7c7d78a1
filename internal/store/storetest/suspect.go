package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/store"
)

func suspectCases() []testCase {
	return []testCase{
		{"claims of items and of suspects are apart", suspectsApart},
		{"only deaths of children make poison", suspectPoison},
		{"a death of a child counts once for each claim", suspectDeathOnce},
		{"a suspect comes sealed", suspectSealed},
		{"tenants take turns with their suspects", suspectTurns},
		{"a claim of suspects takes what is wanted", suspectWant},
		{"a suspect waits until its time", suspectWaits},
		{"suspects are cancelled and expire", suspectsEnd},
	}
}

// claimSuspects claims suspects and demands that their inputs are there.
func (r *rig) claimSuspects(l store.Lease, limit int) []*store.Claimed {
	r.t.Helper()
	claims, err := r.s.ClaimSuspects(r.t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: limit})
	r.must("claim suspects", err)
	if len(claims) > limit {
		r.t.Fatalf("claimed %d suspects with a limit of %d", len(claims), limit)
	}
	for _, c := range claims {
		if c.BodyErr != nil || c.Body != nil || c.Sealed == nil || len(c.Sealed.Input) == 0 || c.Charged != 0 {
			r.t.Fatalf("suspect %s came with body %q (%v), sealed %+v, charged %d", c.Item, c.Body, c.BodyErr, c.Sealed, c.Charged)
		}
	}
	return claims
}

// makeSuspects has workers die with all that can be claimed, which shall be n items, until they are suspects.
func (r *rig) makeSuspects(n int) {
	r.t.Helper()
	for range store.SuspectCrashes {
		r.claimN(r.lease("victim"), n)
		r.clock.Advance(pastLease)
		r.drain(everything, r.rescue)
	}
}

// childDeath is the end of a claim whose child died.
func (r *rig) childDeath(c *store.Claimed) store.Finish {
	f := r.ending(c, penstock.TransitionRetry)
	f.Counted, f.ChildDied, f.ErrorKind, f.Usage, f.Cost, f.Forfeit = 0, true, penstock.AttemptDied, penstock.Usage{}, 0, c.Reserved
	try := &f.Attempts[0]
	try.ErrorKind, try.ErrorMessage, try.Usage, try.UsageKnown, try.Cost, try.Isolated = penstock.AttemptDied, "It died.", penstock.Usage{}, false, 0, true
	return f
}

func (r *rig) suspects() int64 {
	r.t.Helper()
	n, err := r.s.Suspects(r.t.Context())
	r.must("count suspects", err)
	return n
}

func suspectsApart(r *rig) {
	suspects := r.submitN(3)
	r.makeSuspects(3)
	ordinary := r.submitN(2)
	if n := r.suspects(); n != 3 {
		r.t.Errorf("%d suspects wait, want 3", n)
	}
	l := r.lease("worker")
	for _, c := range r.claimN(l, 2) {
		if c.Job != ordinary.Job.ID {
			r.t.Errorf("a claim of items took a suspect")
		}
		r.win(r.ending(c, penstock.TransitionSucceed))
	}
	few := r.claimSuspects(l, 2)
	rest := r.claimSuspects(l, 10)
	if len(few) != 2 || len(rest) != 1 || r.suspects() != 0 {
		r.t.Fatalf("claimed %d and %d suspects; %d are left", len(few), len(rest), r.suspects())
	}
	all := append(few, rest...)
	for _, c := range all {
		if c.Job != suspects.Job.ID || c.Spent.Crashes != store.SuspectCrashes || c.Fence != store.SuspectCrashes+1 || c.Attempts != 0 {
			r.t.Errorf("claimed %+v", c)
		}
	}
	held, err := r.s.HeldItems(r.t.Context(), l)
	r.must("held items", err)
	if len(held) != 3 {
		r.t.Errorf("the lease holds %d items, want the 3 suspects", len(held))
	}
	r.win(r.ending(all[0], penstock.TransitionSucceed), r.ending(all[1], penstock.TransitionRetry), r.ending(all[2], penstock.TransitionFail))
	if again := r.claimSuspects(l, 10); len(again) != 1 || again[0].Item != all[1].Item {
		r.t.Errorf("a suspect that is tried again is %+v", again)
	} else {
		r.win(r.ending(again[0], penstock.TransitionSucceed))
	}
	r.audit(suspects)
	r.audit(ordinary)
	r.verifyLedger()

	old := l
	r.lease("worker")
	_, err = r.s.ClaimSuspects(r.t.Context(), old, store.Want{Lanes: penstock.Lanes, Limit: 1})
	if err != nil { // with no suspect there is nothing to refuse
		r.wantCode("claim under a lease that is over", err, penstock.CodeConflict)
	}
}

func suspectPoison(r *rig) {
	sub := r.submitN(2)
	r.makeSuspects(2)
	l := r.lease("worker")
	claims := r.claimSuspects(l, 2)
	guilty, innocent := claims[0], claims[1]
	r.win(r.childDeath(guilty), r.ending(innocent, penstock.TransitionRetry))
	if item := r.item(guilty.Item); item.Status != penstock.StatusQueued || item.Attempts != 0 {
		r.t.Fatalf("after one death the item is %s with %d attempts that count", item.Status, item.Attempts)
	}
	// The death of a worker between the two changes nothing.
	for _, c := range r.claimSuspects(r.lease("worker"), 2) {
		if want := map[penstock.ID]int{guilty.Item: 1}[c.Item]; c.Spent.ChildDeaths != want {
			r.t.Errorf("%s is known to have ended %d children, want %d", c.Item, c.Spent.ChildDeaths, want)
		}
	}
	r.clock.Advance(pastLease)
	r.drain(10, r.rescue)
	for _, c := range r.claimSuspects(r.lease("worker"), 2) {
		if c.Item == guilty.Item {
			if v := r.win(r.childDeath(c)); v[0].Status != penstock.StatusFailed {
				r.t.Errorf("the second death leaves it %s", v[0].Status)
			}
			continue
		}
		r.win(r.ending(c, penstock.TransitionSucceed))
	}
	item := r.item(guilty.Item)
	if item.Error == nil || item.Error.Code != penstock.CodePoison {
		r.t.Errorf("the item ends with %+v, want poison", item.Error)
	}
	if deadLetters := r.deadLetters(acme); len(deadLetters) != 1 || deadLetters[0].Item != guilty.Item || deadLetters[0].Code != penstock.CodePoison {
		r.t.Errorf("dead letters: %+v, want the poison", deadLetters)
	}
	died := 0
	for _, try := range r.attempts(guilty.Item) {
		if try.ErrorKind == penstock.AttemptDied {
			died++
			if !try.Isolated {
				r.t.Error("an attempt in a child does not say so")
			}
		}
	}
	// One forfeit for each worker and each child that died, and one for the worker in between.
	if forfeits := r.entriesOf(guilty, penstock.EntryForfeit); died != 2 || len(forfeits) != store.SuspectCrashes+3 {
		r.t.Errorf("%d attempts in children that died, %d forfeits", died, len(forfeits))
	}
	if job := r.audit(sub); job.Counts.Succeeded != 1 || job.Counts.Failed != 1 {
		r.t.Errorf("the job ends with %+v", job.Counts)
	}
	r.verifyLedger()
}

func suspectDeathOnce(r *rig) {
	sub := r.submitN(1)
	r.makeSuspects(1)
	c := r.claimSuspects(r.lease("worker"), 1)[0]
	death := r.childDeath(c)
	r.win(death)
	r.lose(death) // its worker did not get the answer
	next := r.claimSuspects(r.lease("worker"), 1)[0]
	if next.Spent.ChildDeaths != 1 {
		r.t.Fatalf("%d deaths are counted, want 1", next.Spent.ChildDeaths)
	}
	r.lose(death) // nor later
	r.clock.Advance(pastLease)
	r.drain(10, r.rescue)
	r.lose(r.childDeath(next)) // a worker that was presumed dead says nothing about its item
	last := r.claimSuspects(r.lease("worker"), 1)[0]
	if last.Spent.ChildDeaths != 1 {
		r.t.Errorf("%d deaths are counted, want 1", last.Spent.ChildDeaths)
	}
	r.win(r.ending(last, penstock.TransitionSucceed))
	r.audit(sub)
	r.verifyLedger()
}

func suspectSealed(r *rig) {
	sub := r.submission(2)
	sub.Items[1].Body = slices.Concat([]byte(`{"model":"fast","text":"`), fmt.Appendf(nil, "%x", noise(1, 3*store.InlinePayloadBytes)), []byte(`"}`))
	r.submit(sub)
	r.makeSuspects(2)
	for _, c := range r.claimSuspects(r.lease("worker"), 2) {
		owner := store.PayloadOwner{Tenant: string(c.Tenant), ID: string(c.Item), Part: "input"}
		r.wantSame("whom the input belongs to", c.Sealed.Opens, owner)
		owner.Part = "result"
		r.wantSame("whom the result belongs to", c.Sealed.Result, owner)
		if bytes.Contains(c.Sealed.Input, []byte("model")) {
			r.t.Error("the input can be read")
		}
		f := r.ending(c, penstock.TransitionSucceed)
		r.win(f)
		if got := r.item(c.Item).Result; string(got) != string(f.Result) {
			r.t.Errorf("the result reads %q, want %q", got, f.Result)
		}
	}
	r.audit(sub)
	r.verifyLedger()
}

func suspectTurns(r *rig) {
	big := r.submitN(20)
	others := []penstock.TenantID{umbra, "zeta"}
	for _, id := range others {
		sub := r.submission(1)
		sub.Job.Tenant = id
		r.submit(sub)
	}
	r.makeSuspects(22)
	l, after := r.lease("worker"), penstock.TenantID("")
	got := map[penstock.TenantID]int{}
	for range 3 {
		claims, err := r.s.ClaimSuspects(r.t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: 2, AfterTenant: after})
		r.must("claim suspects", err)
		for _, c := range claims {
			got[c.Tenant]++
			after = c.Tenant
		}
		r.win(r.endings(claims, penstock.TransitionSucceed)...)
	}
	for _, id := range others {
		if got[id] != 1 {
			r.t.Errorf("%s was served %d times in the first six, want once: a tenant with many suspects is in its way", id, got[id])
		}
	}
	if sum := got[acme] + got[umbra] + got["zeta"]; sum != 6 {
		r.t.Errorf("claimed %d suspects, want 6", sum)
	}
	r.win(r.endings(r.claimSuspects(l, everything), penstock.TransitionSucceed)...)
	r.audit(big)
	r.verifyLedger()
}

func suspectWant(r *rig) {
	urgent, late := r.submission(1), r.submission(1)
	urgent.Job.Lane = penstock.LaneRealtime
	late.Job.Lane = penstock.LaneBulk
	other := r.submission(1)
	other.Job.Model = "other"
	for _, sub := range []store.Submission{late, urgent, other} {
		r.submit(sub)
	}
	r.makeSuspects(3)
	l := r.lease("worker")
	ready, more, err := r.s.(store.ReadyReader).ReadySuspects(r.t.Context(), store.Want{Lanes: penstock.Lanes, Limit: 10, ExceptModels: []string{"other"}})
	r.must("ready suspects", err)
	if len(ready) != 1 || ready[0].Items != 2 || ready[0].Model != urgent.Job.Model || ready[0].InputBytes != int64(len(urgent.Items[0].Body)) || more {
		r.t.Errorf("ready suspects %+v, more %v; want both of one model", ready, more)
	}
	claim := func(w store.Want) []penstock.ID {
		w.Limit = max(w.Limit, 1)
		if w.Lanes == nil {
			w.Lanes = penstock.Lanes
		}
		claims, err := r.s.ClaimSuspects(r.t.Context(), l, w)
		r.must("claim suspects", err)
		jobs := make([]penstock.ID, len(claims))
		for i, c := range claims {
			jobs[i] = c.Job
			f := r.ending(c, penstock.TransitionRetry)
			f.Attempts, f.Counted, f.Cost, f.Usage = nil, 0, 0, penstock.Usage{}
			r.win(f)
		}
		return jobs
	}
	none, calls := []store.Reserved{}, []store.Reserved{{Model: "other", Target: "a", Calls: 2}}
	for _, tt := range []struct {
		name string
		want store.Want
		jobs []penstock.ID
	}{
		{"the most urgent lane is first", store.Want{}, []penstock.ID{urgent.Job.ID}},
		{"a lane that is closed is left alone", store.Want{Lanes: []penstock.Lane{penstock.LaneBulk}}, []penstock.ID{late.Job.ID}},
		{"models", store.Want{Models: []string{"other"}}, []penstock.ID{other.Job.ID}},
		{"tenants that are paused", store.Want{ExceptTenants: []penstock.TenantID{acme}}, nil},
		{"no calls", store.Want{Limit: 3, Reserved: none}, nil},
		{"calls for another model", store.Want{Limit: 3, Reserved: calls}, []penstock.ID{other.Job.ID}},
	} {
		if got := claim(tt.want); !slices.Equal(got, tt.jobs) {
			r.t.Errorf("%s: claimed of %v, want %v", tt.name, got, tt.jobs)
		}
	}
	r.verifyLedger()
}

func suspectWaits(r *rig) {
	sub := r.submitN(1)
	r.makeSuspects(1)
	l := r.lease("worker")
	f := r.ending(r.claimSuspects(l, 1)[0], penstock.TransitionRetry)
	f.RetryIn = 5 * time.Second
	r.win(f)
	if early := r.claimSuspects(l, 1); len(early) != 0 {
		r.t.Error("a suspect runs before its time")
	}
	r.clock.Advance(6 * time.Second)
	if ordinary := r.claim(l, 1); len(ordinary) != 0 {
		r.t.Error("a suspect that waited runs among others")
	}
	r.win(r.ending(r.claimSuspects(l, 1)[0], penstock.TransitionSucceed))
	r.audit(sub)
	r.verifyLedger()
}

func suspectsEnd(r *rig) {
	stopped, expiring := r.submitN(2), r.submission(1)
	r.submit(expiring)
	r.makeSuspects(3)
	r.stop(stopped.Job.ID)
	r.drain(10, r.cancel)
	if job := r.audit(stopped); job.Counts.Cancelled != 2 {
		r.t.Errorf("the job that was stopped has %+v", job.Counts)
	}
	running := r.submitN(1)
	r.makeSuspects(1)
	l := r.lease("worker")
	var death store.Finish
	for _, c := range r.claimSuspects(l, 10) {
		if c.Job == running.Job.ID {
			death = r.childDeath(c)
		} else {
			r.win(r.ending(c, penstock.TransitionRetry))
		}
	}
	r.stop(running.Job.ID)
	if v := r.win(death); v[0].Status != penstock.StatusCancelled {
		r.t.Errorf("a child that died of a job that was stopped leaves its item %s", v[0].Status)
	}
	r.clock.Advance(deadlineIn + time.Second)
	if late := r.claimSuspects(r.lease("worker"), 10); len(late) != 0 {
		r.t.Error("a suspect past its deadline was claimed")
	}
	r.drain(10, r.expire)
	if job := r.audit(expiring); job.Counts.Expired != 1 {
		r.t.Errorf("the job past its deadline has %+v", job.Counts)
	}
	if n := r.suspects(); n != 0 {
		r.t.Errorf("%d suspects are left", n)
	}
	r.verifyLedger()
}
