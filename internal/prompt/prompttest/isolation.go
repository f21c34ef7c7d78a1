package prompttest

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
)

// owned are objects of acme's.
type owned struct{ request penstock.ID }

// ask calls one method for acme's objects on behalf of any tenant, and reports whether any of them was returned or changed.
type ask func(r *rig, h owned, tenant penstock.TenantID) (seen bool, err error)

type probe struct {
	ask   ask
	hides penstock.Code // the error of another tenant; "" where the answer is just empty
}

// hidden are the probes of methods that answer not_found to strangers.
func hidden() map[string]ask {
	actor := penstock.Author{ID: "key:x", Name: "x", Audit: "x"}
	return map[string]ask{
		"Prompt": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			p, err := r.s.Prompt(r.Context(), tenant, "kept")
			return p.ID != "", err
		},
		"Archive": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			p, err := r.s.Archive(r.Context(), tenant, prompt.Archival{Name: "spare", State: prompt.Archived, Actor: actor})
			return p.ID != "", err
		},
		"Draft": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			d, err := r.s.Draft(r.Context(), tenant, "kept")
			return d.Revision > 0, err
		},
		"DeleteDraft": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			err := r.s.DeleteDraft(r.Context(), tenant, prompt.DraftRemoval{Name: "spare"})
			return err == nil, err
		},
		"Version": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			v, err := r.s.Version(r.Context(), tenant, prompt.VersionKey{Name: "kept", N: 1})
			return v.N > 0, err
		},
		"ListVersions": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			all, err := r.s.ListVersions(r.Context(), tenant, prompt.VersionPage{Name: "kept", Limit: everything})
			return len(all) > 0, err
		},
		"DeleteVersion": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			err := r.s.DeleteVersion(r.Context(), tenant, prompt.VersionRemoval{VersionKey: prompt.VersionKey{Name: "third", N: 1}, Actor: actor})
			return err == nil, err
		},
		"Uses": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			u, err := r.s.Uses(r.Context(), tenant, prompt.VersionKey{Name: "kept", N: 1})
			return len(u.Labels) > 0, err
		},
		"MoveLabel": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			l, err := r.s.MoveLabel(r.Context(), tenant, prompt.LabelMove{Name: "kept", Label: "probe", Version: 1, Actor: actor})
			return l.Version > 0, err
		},
		"History": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			all, err := r.s.History(r.Context(), tenant, prompt.HistoryPage{Name: "kept", Limit: everything})
			return len(all) > 0, err
		},
		"AddRequest": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			var ids penstock.IDs
			q, err := r.s.AddRequest(r.Context(), tenant, prompt.NewRequest{ID: ids.New(time.Now()), Move: prompt.LabelMove{Name: "kept", Label: "asked", Version: 1, Actor: actor}})
			return q.Version > 0, err
		},
		"Request": func(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
			q, err := r.s.Request(r.Context(), tenant, "kept", h.request)
			return q.ID != "", err
		},
		"ListRequests": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			all, err := r.s.ListRequests(r.Context(), tenant, prompt.RequestPage{Name: "kept", Limit: everything})
			return len(all) > 0, err
		},
		"DecideRequest": func(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
			q, err := r.s.DecideRequest(r.Context(), tenant, prompt.Decision{ID: h.request, Name: "kept", State: prompt.RequestRejected, Actor: actor})
			return q.ID != "", err
		},
		"RemoveProtection": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			err := r.s.RemoveProtection(r.Context(), tenant, prompt.ProtectionChange{Protection: prompt.Protection{Label: "guarded"}, Actor: actor})
			return err == nil, err
		},
		"Head": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			h, err := r.s.Head(r.Context(), tenant, "kept")
			return h.ID != "", err
		},
	}
}

// hiddenIDs are those of aliases.
func hiddenIDs() map[string]ask {
	return map[string]ask{
		"Aliases": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			all, err := r.s.Aliases(r.Context(), tenant, "kept")
			return len(all) > 0, err
		},
		"NameOf": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			name, err := r.s.NameOf(r.Context(), tenant, "pmpt_kept")
			return name != "", err
		},
	}
}

// apart are the probes of methods that work for strangers on objects of their own.
func apart() map[string]ask {
	actor := penstock.Author{ID: "key:x", Name: "x", Audit: "x"}
	var ids penstock.IDs
	return map[string]ask{
		"List": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			l, err := r.s.List(r.Context(), tenant, prompt.Page{Limit: everything, Archived: true})
			return slices.ContainsFunc(l.Prompts, func(p prompt.Prompt) bool { return p.Tenant == acme }), err
		},
		"PutDraft": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			_, err := r.s.PutDraft(r.Context(), tenant, prompt.NewDraft{ID: ids.New(time.Now()), Name: "kept", Content: textOf("theirs"), Actor: actor})
			r.must("put draft", err)
			d, err := r.s.Draft(r.Context(), acme, "kept")
			return d.Content.Text == "theirs", err
		},
		"SaveVersion": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			c := textOf("theirs")
			sum, err := c.Hash(nil)
			r.must("hash", err)
			_, _, err = r.s.SaveVersion(r.Context(), tenant, prompt.NewVersion{ID: ids.New(time.Now()), Name: "kept", Content: c, SHA256: sum, Author: actor})
			r.must("save", err)
			all, err := r.s.ListVersions(r.Context(), acme, prompt.VersionPage{Name: "kept", Limit: everything})
			return slices.ContainsFunc(all, func(v prompt.Version) bool { return v.SHA256 == sum }), err
		},
		"Import": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			c := textOf("imported")
			sum, err := c.Hash(nil)
			r.must("hash", err)
			_, err = r.s.Import(r.Context(), tenant, prompt.NewImport{ID: ids.New(time.Now()), Name: "kept", Kind: c.Kind, Actor: actor,
				Versions: []prompt.NewVersion{{Name: "kept", Content: c, SHA256: sum, Author: actor}}, Labels: []prompt.NewLabel{{Label: "brought", Index: 0}}, Existing: prompt.MoveLabels})
			r.must("import", err)
			all, err := r.s.ListVersions(r.Context(), acme, prompt.VersionPage{Name: "kept", Limit: everything})
			return slices.ContainsFunc(all, func(v prompt.Version) bool { return v.SHA256 == sum }), err
		},
		"Protections": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			all, err := r.s.Protections(r.Context(), tenant)
			return len(all) > 0, err
		},
		"SetProtection": func(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
			_, err := r.s.SetProtection(r.Context(), tenant, prompt.ProtectionChange{Protection: prompt.Protection{Label: "probe", Roles: prompt.DefaultRoles}, Actor: actor})
			r.must("protect", err)
			all, err := r.s.Protections(r.Context(), acme)
			return slices.ContainsFunc(all, func(p prompt.Protection) bool { return p.Label == "probe" }), err
		},
	}
}

// probes covers every method of the contracts that takes a tenant; isolationProbes checks that it does.
func probes() map[string]probe {
	all := map[string]probe{}
	for name, a := range hidden() {
		all[name] = probe{a, penstock.CodeNotFound}
	}
	for name, a := range hiddenIDs() {
		all[name] = probe{a, penstock.CodeNotFound}
	}
	for name, a := range apart() {
		all[name] = probe{a, ""}
	}
	return all
}

func isolationProbes(r *rig) {
	table := probes()
	names := slices.Sorted(maps.Keys(table))
	r.wantSame("methods with a probe", names, methodsWithTenant())
	h := r.owned()
	state := func() []any {
		d, err := r.Draft(r.Context(), acme, "kept")
		r.must("draft", err)
		return []any{r.prompt("kept"), r.prompt("spare"), r.prompt("third"), d}
	}
	before := state()
	// The probes that make objects of the stranger's come last: it has a prompt of the same name then.
	order := slices.Concat(slices.Sorted(maps.Keys(hidden())), slices.Sorted(maps.Keys(hiddenIDs())), []string{"List", "Protections", "Import", "PutDraft", "SaveVersion", "SetProtection"})
	for _, name := range order {
		seen, err := table[name].ask(r, h, umbra)
		r.wantCode(name+" for another tenant", err, table[name].hides)
		if seen {
			r.Errorf("%s shows another tenant acme's prompts", name)
		}
	}
	r.wantSame("after the other tenant's calls", state(), before)
	for _, name := range names {
		seen, err := table[name].ask(r, h, acme)
		if err != nil || !seen {
			r.Errorf("%s does not show the owner its own prompts (%v): the probe proves nothing", name, err)
		}
	}
}

// methodsWithTenant lists the methods that take a tenant, so that none is added without a probe.
func methodsWithTenant() []string {
	var names []string
	tenant := reflect.TypeFor[penstock.TenantID]()
	for method := range reflect.TypeFor[Store]().Methods() {
		for in := range method.Type.Ins() {
			if in == tenant {
				names = append(names, method.Name)
				break
			}
		}
	}
	slices.Sort(names)
	return names
}

func (r *rig) owned() (h owned) {
	r.Helper()
	for _, name := range []string{"kept", "spare", "third"} {
		r.save(name, "text of "+name)
		_, err := r.PutDraft(r.Context(), app, prompt.DraftOrder{Name: name, Content: textOf("draft")})
		r.must("draft", err)
	}
	r.move("kept", content.LabelDefault, 1)
	r.importAs("kept", "pmpt_kept", "text of kept")
	q, err := r.RequestMove(r.Context(), app, prompt.LabelMove{Name: "kept", Label: "canary", Version: 1})
	r.must("request", err)
	_, err = r.SetProtection(r.Context(), person("BOS", penstock.RoleAdmin), prompt.Protection{Label: "guarded"}, prompt.Condition{})
	r.must("protect", err)
	return owned{q.ID}
}
