package work

import (
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
)

// Full claims that follow each other read the number of ready items once.
func TestFullClaimsReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 4*MaxClaim, newQueue(items(3*MaxClaim)...), takes(time.Second))
		synctest.Wait()
		// The last read finds nothing.
		if claims, reads := r.queue.count("claim"), r.queue.count("ready"); claims != 3 || reads != 2 || len(r.runner.seen()) != 3*MaxClaim {
			t.Errorf("%d items run after %d claims and %d reads, want all after 3 and 2", len(r.runner.seen()), claims, reads)
		}
	})
}

func TestReadyCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	asked := store.Want{Lanes: []penstock.Lane{penstock.LaneRealtime, penstock.LaneBulk}, Limit: 10, ExceptModels: []string{"slow"}}
	counts := func() *readyCounts {
		return &readyCounts{want: asked, at: now, ready: []store.Ready{{Model: "a", Items: 8}, {Model: "b", Items: 12}}}
	}
	full := make([]*granted, 10)
	for i := range full {
		full[i] = &granted{Claimed: &store.Claimed{ClaimedJob: &store.ClaimedJob{Model: "a"}}}
	}
	for name, c := range map[string]struct {
		change func(c *readyCounts, want *store.Want)
		age    time.Duration
		enough bool
	}{
		"recent": {func(*readyCounts, *store.Want) {}, readFor, true},
		"old":    {func(*readyCounts, *store.Want) {}, readFor + 1, false},
		"lanes in another order": {func(_ *readyCounts, w *store.Want) {
			w.Lanes = []penstock.Lane{penstock.LaneBulk, penstock.LaneRealtime}
		}, 0, true},
		"fewer lanes":             {func(_ *readyCounts, w *store.Want) { w.Lanes = w.Lanes[:1] }, 0, false},
		"a model is open again":   {func(_ *readyCounts, w *store.Want) { w.ExceptModels = nil }, 0, false},
		"a tenant is paused":      {func(_ *readyCounts, w *store.Want) { w.ExceptTenants = []penstock.TenantID{"acme"} }, 0, false},
		"more slots than items":   {func(_ *readyCounts, w *store.Want) { w.Limit = 21 }, 0, false},
		"behind a full claim":     {func(c *readyCounts, w *store.Want) { c.claimed(full, *w) }, 0, true},
		"behind two full claims":  {func(c *readyCounts, w *store.Want) { c.claimed(full, *w); c.claimed(full, *w); w.Limit = 13 }, 0, false},
		"behind a claim not full": {func(c *readyCounts, w *store.Want) { c.claimed(full[:9], *w) }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known, want := counts(), asked
			c.change(known, &want)
			if got := known.enough(want, now.Add(c.age)); got != c.enough {
				t.Errorf("enough: %v, want %v", got, c.enough)
			}
		})
	}
}
