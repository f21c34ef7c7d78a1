package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
)

func directoryCases() []testCase {
	return []testCase{
		{"a tenant comes back as it was made", tenantCreate},
		{"a tenant is changed if it was not changed meanwhile", tenantChange},
		{"deleting a tenant disables it and revokes its keys", tenantDelete},
		{"a tenant of the file is the file's", tenantOfFile},
		{"tenants are listed by id and tier", tenantList},
		{"a key comes back without anything but its hash", keyCreate},
		{"a rotated key works on for a while", keyRotate},
		{"limits and budgets are those of a key's name", keyChange},
		{"a key is revoked once", keyRevoke},
		{"keys that ended long ago are forgotten", keyForget},
		{"the latest use of a key stays", keyTouch},
		{"a dry run answers and keeps nothing", directoryDryRun},
		{"every change is in the audit, without a hash", directoryAudit},
		{"changes are read behind a mark, each once", directoryChanges},
		{"changes made together all get a version of their own", directoryTogether},
	}
}

var operator = store.Condition{Actor: "ada"}

func ifVersion(v int64) store.Condition { return store.Condition{Actor: "ada", IfVersion: v} }

func (r *rig) newTenant(id penstock.TenantID) store.NewTenant {
	return store.NewTenant{Enabled: true, Condition: operator, Tenant: penstock.Tenant{
		ID: id, Weight: 3, Tier: "gold", Lanes: []penstock.Lane{penstock.LaneBulk}, Regions: []string{"eu"}, Models: []string{"fast"}, MediaHosts: []string{"*.example.com"},
		Retention: penstock.Retention{Results: time.Hour, Events: time.Minute, Idempotency: 48 * time.Hour},
		Limits:    penstock.Limits{RequestsPerMinute: 600, DailyTokens: 9, Burst: 0.05}, EnqueuedTokens: 77, StoredBytes: 1 << 30,
		ModelLimits: map[string]penstock.Limits{"fast": {Concurrency: 2, Burst: 0.5}},
		Budgets:     []penstock.Budget{{Period: penstock.PeriodMonthly, Limit: 5_000_000_001, Hard: true}, {Model: "fast", Period: penstock.PeriodDaily, Limit: 7}},
	}}
}

func (r *rig) makeTenant(id penstock.TenantID) store.TenantRecord {
	r.t.Helper()
	made, err := r.s.CreateTenant(r.t.Context(), r.newTenant(id))
	r.must("create tenant", err)
	return made
}

func (r *rig) newKey(tenant penstock.TenantID, name string) store.NewKey {
	id := r.newID()
	k := store.NewKey{Condition: operator, Key: store.APIKey{ID: id, Tenant: tenant, Name: name, Prefix: "psk_" + name,
		Scopes: []penstock.Scope{penstock.ScopeInference, penstock.ScopeJobsRead}}}
	copy(k.Key.Hash[:], id)
	return k
}

func (r *rig) makeKey(tenant penstock.TenantID, name string) store.APIKey {
	r.t.Helper()
	made, err := r.s.CreateKey(r.t.Context(), r.newKey(tenant, name))
	r.must("create key", err)
	return made
}

func (r *rig) tenants(f store.TenantFilter) []store.TenantRecord {
	r.t.Helper()
	f.Limit = everything
	all, err := r.s.ListTenants(r.t.Context(), f)
	r.must("list tenants", err)
	return all
}

func (r *rig) keys(f store.KeyFilter) []store.APIKey {
	r.t.Helper()
	f.Limit = everything
	all, err := r.s.ListKeys(r.t.Context(), f)
	r.must("list keys", err)
	return all
}

func tenantCreate(r *rig) {
	made := r.makeTenant(acme)
	if made.Source != store.SourceAPI || !made.Enabled || made.Version == 0 || !made.CreatedAt.Equal(r.clock.Now()) {
		r.t.Errorf("made %+v", made)
	}
	r.wantSame("tenants", r.tenants(store.TenantFilter{}), []store.TenantRecord{made})
	r.wantSame("tenant", made.Tenant, r.newTenant(acme).Tenant)
	_, err := r.s.CreateTenant(r.t.Context(), r.newTenant(acme))
	r.wantCode("create it again", err, penstock.CodeConflict)
	r.audit(r.submitN(1)) // its weight of 3 is in force
}

func tenantChange(r *rig) {
	made := r.makeTenant(acme)
	r.clock.Advance(time.Minute)
	heavier := func(t *store.TenantRecord) error {
		t.Weight, t.ID, t.Source = 7, "other", store.SourceFile // only what an operator may change
		return nil
	}
	changed, err := r.s.ChangeTenant(r.t.Context(), store.TenantChange{ID: acme, Apply: heavier, Condition: ifVersion(made.Version)})
	r.must("change tenant", err)
	want := made
	want.Weight, want.Version, want.UpdatedAt = 7, changed.Version, r.clock.Now()
	r.wantSame("changed", changed, want)
	if changed.Version <= made.Version {
		r.t.Errorf("version %d after %d", changed.Version, made.Version)
	}
	r.wantSame("tenants", r.tenants(store.TenantFilter{}), []store.TenantRecord{changed})

	_, err = r.s.ChangeTenant(r.t.Context(), store.TenantChange{ID: acme, Apply: heavier, Condition: ifVersion(made.Version)})
	r.wantCode("change what was changed meanwhile", err, penstock.CodeConflict)
	refuse := func(*store.TenantRecord) error { return penstock.InvalidParam("weight", "no") }
	_, err = r.s.ChangeTenant(r.t.Context(), store.TenantChange{ID: acme, Apply: refuse, Condition: operator})
	r.wantCode("a change that refuses itself", err, penstock.CodeInvalidRequest)
	_, err = r.s.ChangeTenant(r.t.Context(), store.TenantChange{ID: umbra, Apply: heavier, Condition: operator})
	r.wantCode("change an unknown tenant", err, penstock.CodeNotFound)
	r.wantSame("tenants after refusals", r.tenants(store.TenantFilter{}), []store.TenantRecord{changed})
}

func tenantDelete(r *rig) {
	made := r.makeTenant(acme)
	r.makeTenant(umbra)
	mine, theirs := r.makeKey(acme, "app"), r.makeKey(umbra, "app")
	_, err := r.s.DeleteTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: ifVersion(made.Version + 100)})
	r.wantCode("delete what was changed meanwhile", err, penstock.CodeConflict)
	gone, err := r.s.DeleteTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: ifVersion(made.Version)})
	r.must("delete tenant", err)
	if gone.Enabled {
		r.t.Errorf("deleted %+v", gone)
	}
	mine.RevokedAt, mine.Version = r.clock.Now(), gone.Version
	r.wantSame("keys of the deleted", r.keys(store.KeyFilter{Tenant: acme}), []store.APIKey{mine})
	r.wantSame("keys of another", r.keys(store.KeyFilter{Tenant: umbra}), []store.APIKey{theirs})
	_, err = r.s.DeleteTenant(r.t.Context(), store.TenantChange{ID: "unknown", Condition: operator})
	r.wantCode("delete an unknown tenant", err, penstock.CodeNotFound)
}

func tenantOfFile(r *rig) {
	ofFile := penstock.Tenant{ID: acme, Weight: 2, Lanes: penstock.Lanes}
	r.must("save tenants", r.s.SaveTenants(r.t.Context(), []penstock.Tenant{ofFile}))
	first := r.tenants(store.TenantFilter{ID: acme})[0]
	if first.Source != store.SourceFile || !first.Enabled || first.Weight != 2 {
		r.t.Errorf("kept as %+v", first)
	}
	r.must("save the same", r.s.SaveTenants(r.t.Context(), []penstock.Tenant{ofFile}))
	r.wantSame("tenant that was saved again", r.tenants(store.TenantFilter{ID: acme})[0], first)

	_, err := r.s.CreateTenant(r.t.Context(), r.newTenant(acme))
	r.wantCode("create it", err, penstock.CodeManagedByFile)
	_, err = r.s.ChangeTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: operator})
	r.wantCode("change it", err, penstock.CodeManagedByFile)
	_, err = r.s.DeleteTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: operator})
	r.wantCode("delete it", err, penstock.CodeManagedByFile)
	r.makeKey(acme, "more") // beside those of the file

	adopt := r.newTenant(acme)
	adopt.Adopt = true
	adopted, err := r.s.CreateTenant(r.t.Context(), adopt)
	r.must("adopt it", err)
	if adopted.Source != store.SourceAPI || adopted.Weight != 3 {
		r.t.Errorf("adopted as %+v", adopted)
	}
	r.must("declare it again", r.s.SaveTenants(r.t.Context(), []penstock.Tenant{ofFile}))
	if back := r.tenants(store.TenantFilter{ID: acme})[0]; back.Source != store.SourceFile || back.Version <= adopted.Version {
		r.t.Errorf("declared again as %+v", back)
	}
}

func tenantList(r *rig) {
	for _, id := range []penstock.TenantID{"c", "a", "b"} {
		n := r.newTenant(id)
		if id == "b" {
			n.Tenant.Tier = "free"
		}
		_, err := r.s.CreateTenant(r.t.Context(), n)
		r.must("create tenant", err)
	}
	ids := func(f store.TenantFilter) (ids string) {
		all, err := r.s.ListTenants(r.t.Context(), f)
		r.must("list tenants", err)
		for _, t := range all {
			ids += string(t.ID)
		}
		return ids
	}
	for want, f := range map[string]store.TenantFilter{
		"abc": {Limit: 10}, "ab": {Limit: 2}, "bc": {After: "a", Limit: 10}, "ac": {Tier: "gold", Limit: 10}, "b": {ID: "b", Limit: 1}, "": {ID: "x", Limit: 1},
	} {
		if got := ids(f); got != want {
			r.t.Errorf("%+v lists %q, want %q", f, got, want)
		}
	}
}

func keyCreate(r *rig) {
	_, err := r.s.CreateKey(r.t.Context(), r.newKey(acme, "app"))
	r.wantCode("a key of an unknown tenant", err, penstock.CodeNotFound)
	r.makeTenant(acme)
	n := r.newKey(acme, "app")
	n.Key.ExpiresAt = r.clock.Now().Add(time.Hour)
	made, err := r.s.CreateKey(r.t.Context(), n)
	r.must("create key", err)
	want := n.Key
	want.CreatedAt, want.Version = r.clock.Now(), made.Version
	r.wantSame("made", made, want)
	r.wantSame("keys", r.keys(store.KeyFilter{ID: made.ID}), []store.APIKey{want})

	_, err = r.s.CreateKey(r.t.Context(), r.newKey(acme, "app"))
	r.wantCode("the same name again", err, penstock.CodeConflict)
	r.clock.Advance(2 * time.Hour)
	r.makeKey(acme, "app") // the first one expired
}

func keyRotate(r *rig) {
	r.makeTenant(acme)
	old := r.makeKey(acme, "app")
	rotation := func(of penstock.ID) store.KeyRotation {
		next := r.newKey(umbra, "ignored").Key
		next.Scopes = nil
		return store.KeyRotation{ID: of, Next: next, Overlap: time.Hour, Condition: operator}
	}
	made, err := r.s.RotateKey(r.t.Context(), rotation(old.ID))
	r.must("rotate key", err)
	if made.Tenant != acme || made.Name != "app" || len(made.Scopes) != 2 || made.ID == old.ID {
		r.t.Errorf("made %+v", made)
	}
	old.ReplacedBy, old.ExpiresAt, old.Version = made.ID, r.clock.Now().Add(time.Hour), made.Version
	r.wantSame("keys", r.keys(store.KeyFilter{Tenant: acme}), []store.APIKey{old, made})
	_, err = r.s.RotateKey(r.t.Context(), rotation(old.ID))
	r.wantCode("rotate it twice", err, penstock.CodeConflict)
	_, err = r.s.RotateKey(r.t.Context(), rotation(r.newID()))
	r.wantCode("rotate nothing", err, penstock.CodeNotFound)

	again, err := r.s.RotateKey(r.t.Context(), rotation(made.ID))
	r.must("rotate the new one", err)
	stale := rotation(again.ID)
	stale.IfVersion = again.Version - 1
	_, err = r.s.RotateKey(r.t.Context(), stale)
	r.wantCode("rotate what was changed meanwhile", err, penstock.CodeConflict)
}

func keyChange(r *rig) {
	r.makeTenant(acme)
	other := r.makeKey(acme, "other")
	old := r.makeKey(acme, "app")
	next, err := r.s.RotateKey(r.t.Context(), store.KeyRotation{ID: old.ID, Next: r.newKey(acme, "ignored").Key, Overlap: time.Hour, Condition: operator})
	r.must("rotate key", err)
	limits := penstock.Limits{RequestsPerMinute: 60, Burst: 0.05}
	budgets := []penstock.Budget{{Key: "app", Period: penstock.PeriodTotal, Limit: 1_500_000_000, Hard: true}}
	change := func(c store.Condition) store.KeyChange {
		return store.KeyChange{ID: next.ID, Condition: c, Apply: func(k *store.APIKey) error {
			k.Limits, k.Budgets, k.Name, k.Scopes = limits, budgets, "stolen", nil // only the first two are its to say
			return nil
		}}
	}
	_, err = r.s.ChangeKey(r.t.Context(), change(ifVersion(next.Version+9)))
	r.wantCode("change what was changed meanwhile", err, penstock.CodeConflict)
	_, err = r.s.ChangeKey(r.t.Context(), change(store.Condition{Actor: "ada", DryRun: true}))
	r.must("try to change", err)
	if kept := r.keys(store.KeyFilter{ID: next.ID})[0]; !kept.Limits.None() || kept.Budgets != nil {
		r.t.Errorf("a dry run left %+v", kept)
	}
	now, err := r.s.ChangeKey(r.t.Context(), change(ifVersion(next.Version)))
	r.must("change key", err)
	if now.Limits != limits || now.Name != "app" || len(now.Scopes) != 2 || now.Version <= next.Version {
		r.t.Errorf("changed to %+v", now)
	}
	for _, k := range r.keys(store.KeyFilter{Tenant: acme}) {
		if mine := k.Name == "app"; mine != (k.Limits == limits) || mine != (len(k.Budgets) == 1) || k.ID == other.ID && k.Version != other.Version {
			r.t.Errorf("key %s has %+v and %+v", k.Name, k.Limits, k.Budgets)
		}
	}
	third, err := r.s.RotateKey(r.t.Context(), store.KeyRotation{ID: next.ID, Next: r.newKey(acme, "ignored").Key, Condition: operator})
	r.must("rotate again", err)
	r.wantSame("what goes on over a rotation", third.Budgets, budgets)
	if e := r.auditOf(acme); e[1].Action != store.ActionChangeKey || !strings.Contains(string(e[1].After), `"limit_usd":"1.500000000"`) || strings.Contains(string(e[1].Before), "limit_usd") {
		r.t.Errorf("the audit says %s: %s, %s", e[1].Action, e[1].Before, e[1].After)
	}
	_, err = r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: third.ID, Condition: operator})
	r.must("revoke", err)
	_, err = r.s.ChangeKey(r.t.Context(), store.KeyChange{ID: third.ID, Condition: operator, Apply: func(*store.APIKey) error { return nil }})
	r.wantCode("change a key that ended", err, penstock.CodeConflict)
}

func keyRevoke(r *rig) {
	r.makeTenant(acme)
	k := r.makeKey(acme, "app")
	_, err := r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: k.ID, Condition: ifVersion(k.Version + 9)})
	r.wantCode("revoke what was changed meanwhile", err, penstock.CodeConflict)
	revoked, err := r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: k.ID, Condition: ifVersion(k.Version)})
	r.must("revoke key", err)
	k.RevokedAt, k.Version = r.clock.Now(), revoked.Version
	r.wantSame("revoked", revoked, k)
	r.clock.Advance(time.Minute)
	again, err := r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: k.ID, Condition: operator})
	r.must("revoke it again", err)
	r.wantSame("revoked again", again, k)
	r.makeKey(acme, "app") // the name is free
	_, err = r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: r.newID(), Condition: operator})
	r.wantCode("revoke nothing", err, penstock.CodeNotFound)
}

func keyForget(r *rig) {
	r.makeTenant(acme)
	old := r.makeKey(acme, "old")
	_, err := r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: old.ID, Condition: operator})
	r.must("revoke key", err)
	r.clock.Advance(store.KeyMemory - time.Hour)
	kept := r.makeKey(acme, "kept")
	if all := r.keys(store.KeyFilter{Tenant: acme}); len(all) != 2 {
		r.t.Errorf("%d keys, want the one that ended lately too", len(all))
	}
	r.clock.Advance(2 * time.Hour)
	more := r.makeKey(acme, "more")
	r.wantSame("keys", r.keys(store.KeyFilter{Tenant: acme}), []store.APIKey{kept, more})
}

func keyTouch(r *rig) {
	r.makeTenant(acme)
	a, b := r.makeKey(acme, "a"), r.makeKey(acme, "b")
	late, early := r.clock.Now().Add(time.Minute), r.clock.Now()
	for _, at := range []time.Time{late, early} {
		r.must("touch keys", r.s.TouchKeys(r.t.Context(), []store.KeyUse{{Key: b.ID, At: at}, {Key: r.newID(), At: at}}))
	}
	r.must("touch none", r.s.TouchKeys(r.t.Context(), nil))
	b.LastUsedAt = late
	r.wantSame("keys", r.keys(store.KeyFilter{Tenant: acme}), []store.APIKey{a, b})
}

func directoryDryRun(r *rig) {
	dry := store.Condition{Actor: "ada", DryRun: true}
	n := r.newTenant(acme)
	n.Condition = dry
	would, err := r.s.CreateTenant(r.t.Context(), n)
	r.must("try to create a tenant", err)
	r.wantSame("what would be", would.Tenant, n.Tenant)
	r.wantSame("tenants", r.tenants(store.TenantFilter{}), []store.TenantRecord{})

	made, key := r.makeTenant(acme), r.makeKey(acme, "app")
	_, err = r.s.DeleteTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: dry})
	r.must("try to delete the tenant", err)
	next := r.newKey(acme, "app")
	_, err = r.s.RotateKey(r.t.Context(), store.KeyRotation{ID: key.ID, Next: next.Key, Condition: dry})
	r.must("try to rotate", err)
	_, err = r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: key.ID, Condition: dry})
	r.must("try to revoke", err)
	again := r.newKey(acme, "app")
	again.Condition = dry
	_, err = r.s.CreateKey(r.t.Context(), again)
	r.wantCode("try what would be refused", err, penstock.CodeConflict)
	r.wantSame("tenants after trials", r.tenants(store.TenantFilter{}), []store.TenantRecord{made})
	r.wantSame("keys after trials", r.keys(store.KeyFilter{}), []store.APIKey{key})
	if entries := r.auditOf(acme); len(entries) != 2 {
		r.t.Errorf("the audit has %d entries, want those of what was done alone", len(entries))
	}
}

func (r *rig) auditOf(tenant penstock.TenantID) []store.AuditEntry {
	r.t.Helper()
	entries, err := r.s.AuditEntries(r.t.Context(), tenant, store.AuditPage{Limit: everything})
	r.must("read the audit", err)
	return entries
}

func directoryAudit(r *rig) {
	r.makeTenant(acme)
	_, err := r.s.ChangeTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: operator, Apply: func(t *store.TenantRecord) error {
		t.Weight = 5
		return nil
	}})
	r.must("change tenant", err)
	k := r.makeKey(acme, "app")
	next, err := r.s.RotateKey(r.t.Context(), store.KeyRotation{ID: k.ID, Next: r.newKey(acme, "app").Key, Condition: operator})
	r.must("rotate key", err)
	_, err = r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: next.ID, Condition: operator})
	r.must("revoke key", err)
	_, err = r.s.DeleteTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: operator})
	r.must("delete tenant", err)
	var lines []string
	for _, e := range r.auditOf(acme) {
		var before, after struct {
			Weight  int
			Enabled *bool
		}
		r.must("read what was", json.Unmarshal(e.Before, &before))
		r.must("read what became of it", json.Unmarshal(e.After, &after))
		lines = append(lines, fmt.Sprintf("%s %s %s %d>%d", e.Actor, e.Action, strings.SplitN(e.Subject, "/", 2)[0], before.Weight, after.Weight))
		if text := strings.ToLower(string(e.Before) + string(e.After)); strings.Contains(text, "hash") {
			r.t.Errorf("the audit contains a hash: %s", text)
		}
	}
	r.wantSame("audit", lines, []string{
		"ada tenant.delete tenant 5>5", "ada key.revoke key 0>0", "ada key.rotate key 0>0", "ada key.create key 0>0",
		"ada tenant.change tenant 3>5", "ada tenant.create tenant 0>3",
	})
	r.wantSame("audit of another", len(r.auditOf(umbra)), 0)
}

// readDirectory reads all that changed behind a mark, in small steps.
func (r *rig) readDirectory(mark *store.DirectoryMark) (seen []string) {
	r.t.Helper()
	for {
		changes, err := r.s.DirectoryChanges(r.t.Context(), *mark, 2)
		r.must("read changes", err)
		for _, t := range changes.Tenants {
			seen = append(seen, string(t.ID))
		}
		for _, k := range changes.Keys {
			seen = append(seen, string(k.Tenant)+"/"+k.Name)
		}
		*mark = changes.Mark
		if !changes.More {
			return seen
		}
	}
}

func directoryChanges(r *rig) {
	var mark store.DirectoryMark
	r.wantSame("an empty directory", len(r.readDirectory(&mark)), 0)
	r.makeTenant(acme)
	var keys []store.APIKey
	for n := range 5 {
		keys = append(keys, r.makeKey(acme, fmt.Sprintf("k%d", n)))
	}
	r.wantSame("all of it", r.readDirectory(&mark), []string{"acme", "acme/k0", "acme/k1", "acme/k2", "acme/k3", "acme/k4"})
	r.wantSame("nothing new", len(r.readDirectory(&mark)), 0)
	r.must("touch keys", r.s.TouchKeys(r.t.Context(), []store.KeyUse{{Key: keys[1].ID, At: r.clock.Now()}}))
	_, err := r.s.RevokeKey(r.t.Context(), store.KeyRevocation{ID: keys[3].ID, Condition: operator})
	r.must("revoke key", err)
	r.wantSame("one key", r.readDirectory(&mark), []string{"acme/k3"})
	_, err = r.s.DeleteTenant(r.t.Context(), store.TenantChange{ID: acme, Condition: operator}) // many rows of one version
	r.must("delete tenant", err)
	r.wantSame("tenant and keys", r.readDirectory(&mark), []string{"acme", "acme/k0", "acme/k1", "acme/k2", "acme/k4"})
}

func directoryTogether(r *rig) {
	r.makeTenant(acme)
	var group errgroup.Group
	const many = 12
	fresh := make([]store.NewKey, many)
	for n := range fresh {
		fresh[n] = r.newKey(acme, fmt.Sprintf("k%d", n%(many/2))) // every name twice
	}
	conflicts := make([]bool, many)
	for n, k := range fresh {
		group.Go(func() error {
			_, err := r.s.CreateKey(r.t.Context(), k)
			if conflicts[n] = penstock.ErrorCode(err) == penstock.CodeConflict; conflicts[n] {
				return nil
			}
			return err
		})
	}
	r.must("create keys together", group.Wait())
	versions := map[int64]bool{}
	for _, k := range r.keys(store.KeyFilter{}) {
		versions[k.Version] = true
	}
	if len(versions) != many/2 {
		r.t.Errorf("%d keys with versions of their own, want one for each name", len(versions))
	}
}
