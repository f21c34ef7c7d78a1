package storetest

import "penstock"

func settingsCases() []testCase {
	return []testCase{
		{"a snapshot can be saved again", settingsSnapshot},
		{"tenants can be saved again", settingsTenants},
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

func settingsCheck(r *rig) {
	for range 2 {
		r.must("check", r.s.Check(r.t.Context()))
	}
	r.submitN(1)
	r.must("check a store in use", r.s.Check(r.t.Context()))
}
