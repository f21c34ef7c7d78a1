package storetest

import (
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store"
)

func fairCases() []testCase {
	return []testCase{
		{"tenants with the same weight get the same tokens", fairEqual},
		{"a heavier tenant gets more", fairWeights},
		{"tokens count, not items", fairTokens},
		{"splitting work over jobs gains nothing", fairSplit},
		{"idleness banks nothing", fairIdle},
		{"work done alone is no debt", fairAlone},
		{"tenants that wait do not hide those behind them", fairBehindWaiting},
		{"a retried item is found again", fairRetried},
		{"what was really used is charged", fairCorrections},
	}
}

// backlog queues n items of the same size for a tenant, in one job.
func (r *rig) backlog(tenant penstock.TenantID, n int, tokens int64) store.Submission {
	r.t.Helper()
	sub := r.submission(n)
	sub.Job.Tenant = tenant
	for i := range sub.Items {
		sub.Items[i].EstimateTokens = tokens
	}
	return r.submit(sub)
}

// given claims n items, few at a time, and counts them by tenant.
func (r *rig) given(l store.Lease, n, atATime int) map[penstock.TenantID]int {
	r.t.Helper()
	got := map[penstock.TenantID]int{}
	for taken := 0; taken < n; {
		claims := r.claim(l, min(atATime, n-taken))
		if len(claims) == 0 {
			r.t.Fatalf("nothing left to claim after %d of %d", taken, n)
		}
		for _, c := range claims {
			got[c.Tenant]++
		}
		taken += len(claims)
	}
	return got
}

// near fails the test unless a tenant got about what it should.
func (r *rig) near(got map[penstock.TenantID]int, tenant penstock.TenantID, want, slack int) {
	r.t.Helper()
	if diff := got[tenant] - want; diff < -slack || diff > slack {
		r.t.Errorf("%s got %d items of %v, want %d ± %d", tenant, got[tenant], got, want, slack)
	}
}

func fairEqual(r *rig) {
	r.backlog(acme, 250, 1000)
	r.backlog(umbra, 60, 1000)
	got := r.given(r.lease("worker"), 100, 4)
	r.near(got, umbra, 50, 16)
	r.near(got, acme, 50, 16)
}

func fairWeights(r *rig) {
	err := r.s.SaveTenants(r.t.Context(), []penstock.Tenant{{ID: acme, Weight: 3, Lanes: penstock.Lanes}, {ID: umbra, Weight: 1, Lanes: penstock.Lanes}})
	r.must("save tenants", err)
	r.backlog(acme, 250, 2000)
	r.backlog(umbra, 250, 2000)
	got := r.given(r.lease("worker"), 200, 4)
	r.near(got, acme, 150, 16)
}

func fairTokens(r *rig) {
	r.backlog(acme, 200, 8000)
	r.backlog(umbra, 250, 800)
	got := r.given(r.lease("worker"), 110, 2)
	r.near(got, umbra, 100, 22)
}

func fairSplit(r *rig) {
	for range 25 {
		r.backlog(acme, 10, 1000)
	}
	r.backlog(umbra, 250, 1000)
	got := r.given(r.lease("worker"), 200, 4)
	r.near(got, acme, 100, 16)
}

func fairIdle(r *rig) {
	r.backlog(acme, 250, 1000)
	l := r.lease("worker")
	r.given(l, 150, 8) // umbra has nothing queued meanwhile
	r.backlog(umbra, 100, 1000)
	got := r.given(l, 100, 4)
	r.near(got, acme, 50, 17)
}

// fairAlone lets a tenant work while nobody else has work, before a new tenant comes and then the first one again.
func fairAlone(r *rig) {
	l := r.lease("worker")
	r.backlog(acme, 150, 1000)
	r.given(l, 150, 8)
	r.claimN(l, 0) // finds nothing: acme is idle
	r.backlog(umbra, 200, 1000)
	r.given(l, 20, 4)
	r.backlog(acme, 100, 1000)
	got := r.given(l, 100, 4)
	r.near(got, acme, 50, 17)
}

// fairBehindWaiting gives the best standing to many tenants whose items are not due.
func fairBehindWaiting(r *rig) {
	l := r.lease("worker")
	for i := range 40 {
		r.backlog(penstock.TenantID(fmt.Sprintf("waiting-%02d", i)), 1, 1)
	}
	for _, c := range r.claimN(l, 40) {
		f := r.ending(c, penstock.TransitionRetry)
		f.RetryIn = time.Minute
		r.win(f)
	}
	r.backlog(acme, 3, 100_000)
	r.given(l, 1, 1) // acme is behind all of them from here on
	if got := r.claim(l, 10); len(got) != 2 {
		r.t.Errorf("claimed %d items, want the 2 behind those who wait", len(got))
	}
}

// fairRetried empties a tenant's backlog before its only item comes back.
func fairRetried(r *rig) {
	r.backlog(acme, 1, 100)
	l := r.lease("worker")
	c := r.claimOne(l)
	if got := r.claim(l, 10); len(got) != 0 {
		r.t.Fatalf("claimed %d items of an empty queue", len(got))
	}
	f := r.ending(c, penstock.TransitionRetry)
	f.RetryIn = 0
	r.win(f)
	if again := r.claimOne(l); again.Item != c.Item {
		r.t.Errorf("claimed %s, want %s again", again.Item, c.Item)
	}
}

// fairCorrections charges acme by high estimates of which little was used.
func fairCorrections(r *rig) {
	r.backlog(acme, 250, 10_000)
	r.backlog(umbra, 250, 1_000)
	l := r.lease("worker")
	got := map[penstock.TenantID]int{}
	var corrections []store.Correction
	for range 100 {
		claims, err := r.s.ClaimItems(r.t.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: 2, Corrections: corrections})
		r.must("claim", err)
		corrections = nil
		for _, c := range claims {
			got[c.Tenant]++
			corrections = append(corrections, store.Correction{Lane: c.Lane, Tenant: c.Tenant, Tokens: 1000 - c.Estimate})
		}
	}
	r.near(got, acme, 100, 20) // as much as umbra: both really use 1,000 tokens an item
}
