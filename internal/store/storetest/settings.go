package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func settingsCases() []testCase {
	return []testCase{
		{"a snapshot can be saved again", settingsSnapshot},
		{"tenants can be saved again", settingsTenants},
		{"depths count open items", settingsDepths},
		{"a working store passes its check", settingsCheck},
	}
}

func settingsSnapshot(r *rig) {
	for range 2 { // every process of a cluster saves the one it runs
		r.must("save snapshot", r.s.SaveSnapshot(r.t.Context(), "cfg_1", []byte(`{"models":{}}`)))
	}
	r.must("save another snapshot", r.s.SaveSnapshot(r.t.Context(), "cfg_2", []byte(`{"models":{"größer":1}}`)))
}

func settingsTenants(r *rig) {
	tenants := []penstock.Tenant{
		{ID: acme, Weight: 3, Lanes: penstock.Lanes},
		{ID: umbra, Weight: 1, Lanes: []penstock.Lane{penstock.LaneBulk}},
	}
	r.must("save tenants", r.s.SaveTenants(r.t.Context(), tenants))
	tenants[1].Weight = 2
	r.must("save tenants again", r.s.SaveTenants(r.t.Context(), tenants))
	r.must("save fewer tenants", r.s.SaveTenants(r.t.Context(), tenants[:1]))
	r.must("save no tenants", r.s.SaveTenants(r.t.Context(), nil))
	r.audit(r.submitN(1))
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

func settingsDepths(r *rig) {
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

func settingsCheck(r *rig) {
	for range 2 {
		r.must("check", r.s.Check(r.t.Context()))
	}
	r.submitN(1)
	r.must("check a store in use", r.s.Check(r.t.Context()))
}
