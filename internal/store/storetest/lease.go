package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func leaseCases() []testCase {
	return []testCase{
		{"renewing keeps a lease alive", leaseRenew},
		{"an expired lease cannot claim", leaseExpiredCannotClaim},
		{"an expired lease that was not taken over can be renewed", leaseRenewLate},
		{"an expired lease whose items were rescued is lost", leaseLost},
		{"an unknown lease is no lease", leaseUnknown},
		{"acquiring again makes a new epoch", leaseNewEpoch},
		{"an epoch never comes back", leaseEpochsNeverRepeat},
		{"acquiring again gives up the old epoch's items", leaseNewEpochRescues},
		{"releasing gives up the items", leaseRelease},
		{"a released lease stays released", leaseReleaseIsFinal},
		{"a late release of an old epoch changes nothing", leaseReleaseStale},
	}
}

func (r *rig) renew(l store.Lease) error {
	return r.s.RenewLease(r.t.Context(), l, store.Renewal{TTL: leaseTTL})
}

// wantNoLease demands that a lease can neither be renewed nor claim.
func (r *rig) wantNoLease(l store.Lease) {
	r.t.Helper()
	r.wantCode("renew", r.renew(l), penstock.CodeConflict)
	_, err := r.s.ClaimItems(r.t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: 1})
	r.wantCode("claim", err, penstock.CodeConflict)
}

func leaseRenew(r *rig) {
	sub := r.submitN(2)
	l := r.lease("worker")
	held := r.claimOne(l)
	for range 5 {
		r.clock.Advance(leaseTTL / 2)
		r.must("renew", r.renew(l))
		if step := r.drain(10, r.rescue); step.Items != 0 {
			r.t.Fatalf("%d items of a renewed lease were rescued", step.Items)
		}
	}
	other := r.claimOne(l)
	r.win(r.ending(held, penstock.TransitionSucceed), r.ending(other, penstock.TransitionSucceed))
	r.audit(sub)
}

func leaseExpiredCannotClaim(r *rig) {
	r.submitN(1)
	l := r.lease("worker")
	r.clock.Advance(pastLease)
	_, err := r.s.ClaimItems(r.t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: 1})
	r.wantCode("claim", err, penstock.CodeConflict)
	r.claimN(r.lease("other"), 1)
}

func leaseRenewLate(r *rig) {
	sub := r.submitN(2)
	l := r.lease("worker")
	held := r.claimOne(l)
	r.clock.Advance(pastLease)
	r.must("renew late, with nothing taken", r.renew(l))
	if step := r.drain(10, r.rescue); step.Items != 0 {
		r.t.Fatalf("%d items of a renewed lease were rescued", step.Items)
	}
	r.win(r.ending(held, penstock.TransitionSucceed), r.ending(r.claimOne(l), penstock.TransitionSucceed))
	r.audit(sub)
}

func leaseLost(r *rig) {
	sub := r.submitN(1)
	l := r.lease("worker")
	r.claimOne(l)
	r.clock.Advance(pastLease)
	if step := r.drain(10, r.rescue); step.Items != 1 {
		r.t.Fatalf("%d items of a dead lease were rescued, want 1", step.Items)
	}
	r.wantNoLease(l)
	r.audit(sub)
}

func leaseUnknown(r *rig) {
	r.submitN(1)
	r.wantNoLease(store.Lease{Process: "unknown", Epoch: 1})
	l := r.lease("worker")
	r.wantNoLease(store.Lease{Process: l.Process, Epoch: l.Epoch + 1})
	r.wantNoLease(store.Lease{Process: "worker ", Epoch: l.Epoch})
	r.claimN(l, 1)
}

func leaseNewEpoch(r *rig) {
	r.submitN(1)
	first := r.lease("worker")
	second := r.lease("worker")
	if second.Process != "worker" || second.Epoch <= first.Epoch {
		r.t.Fatalf("acquired %+v after %+v, want a higher epoch", second, first)
	}
	r.wantNoLease(first)
	r.must("renew the new epoch", r.renew(second))
	other := r.lease("other")
	r.must("renew beside another process", r.renew(second))
	r.must("renew the other process", r.renew(other))
	r.claimN(second, 1)
}

// leaseEpochsNeverRepeat lets a process go and others come in the meantime, when a store may tidy up: a
// frozen process that wakes up with its old lease must never find that lease valid again.
func leaseEpochsNeverRepeat(r *rig) {
	for _, away := range []time.Duration{0, time.Hour, 90 * 24 * time.Hour} {
		old := r.lease("worker")
		r.must("release", r.s.ReleaseLease(r.t.Context(), old))
		r.clock.Advance(away)
		r.lease("other")
		l := r.lease("worker")
		if l.Epoch <= old.Epoch {
			r.t.Errorf("epoch %d follows epoch %d after a release and %v", l.Epoch, old.Epoch, away)
		}
		r.wantCode("renew the old lease", r.renew(old), penstock.CodeConflict)
	}
}

func leaseNewEpochRescues(r *rig) {
	sub := r.submitN(1)
	old := r.claimOne(r.lease("worker"))
	l := r.lease("worker")
	if step := r.drain(10, r.rescue); step.Items != 1 || step.Queued != 1 {
		r.t.Fatalf("rescue after a restart: %+v, want one item queued again", step)
	}
	next := r.claimOne(l)
	if next.Item != old.Item || next.Fence <= old.Fence {
		r.t.Fatalf("claimed %s under fence %d, want %s above %d", next.Item, next.Fence, old.Item, old.Fence)
	}
	r.lose(r.ending(old, penstock.TransitionSucceed))
	r.win(r.ending(next, penstock.TransitionSucceed))
	r.audit(sub)
}

func leaseRelease(r *rig) {
	sub := r.submitN(2)
	l, other := r.lease("worker"), r.lease("other")
	released, kept := r.claimOne(l), r.claimOne(other)
	r.must("release", r.s.ReleaseLease(r.t.Context(), l))
	if step := r.drain(10, r.rescue); step.Items != 1 || step.Queued != 1 {
		r.t.Fatalf("rescue after a release: %+v, want one item queued again", step)
	}
	next := r.claimOne(other)
	if next.Item != released.Item {
		r.t.Fatalf("claimed %s, want the released %s", next.Item, released.Item)
	}
	r.win(r.ending(kept, penstock.TransitionSucceed), r.ending(next, penstock.TransitionSucceed))
	r.audit(sub)
}

// leaseReleaseIsFinal: the heartbeat of a process that shuts down may come after its release, and must
// not keep the items from being rescued.
func leaseReleaseIsFinal(r *rig) {
	r.submitN(2)
	l := r.lease("worker")
	r.claimOne(l)
	r.must("release", r.s.ReleaseLease(r.t.Context(), l))
	r.wantNoLease(l)
	if step := r.drain(10, r.rescue); step.Items != 1 {
		r.t.Errorf("%d items were rescued after a release and a late renewal, want 1", step.Items)
	}
}

func leaseReleaseStale(r *rig) {
	sub := r.submitN(2)
	old := r.lease("worker")
	l := r.lease("worker")
	held := r.claimOne(l)
	// Whether it is an error to release what is gone already is not the point here.
	_ = r.s.ReleaseLease(r.t.Context(), old)
	r.clock.Advance(time.Second)
	if step := r.drain(10, r.rescue); step.Items != 0 {
		r.t.Fatalf("releasing an old epoch put %d items of the new one up for rescue", step.Items)
	}
	r.must("renew", r.renew(l))
	r.win(r.ending(held, penstock.TransitionSucceed), r.ending(r.claimOne(l), penstock.TransitionSucceed))
	r.audit(sub)
}
