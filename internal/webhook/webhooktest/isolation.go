package webhooktest

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"penstock"
	"penstock/internal/webhook"
)

// owned are endpoints and deliveries of acme's.
type owned struct {
	kept, spare penstock.Webhook
	old, late   penstock.ID // deliveries: one that can be purged, one that is too young
}

// ask calls one method for acme's objects on behalf of any tenant, and reports whether any of them was returned.
type ask func(r *rig, h owned, tenant penstock.TenantID) (seen bool, err error)

type probe struct {
	ask   ask
	hides penstock.Code // the error of another tenant; "" where the answer is just empty
}

// probes covers every method of the contracts that takes a tenant; isolationProbes checks that it does.
func probes() map[string]probe {
	return map[string]probe{
		"Create":          {askCreate, ""},
		"List":            {askList, ""},
		"Endpoint":        {askEndpoint, penstock.CodeNotFound},
		"Change":          {askChange, penstock.CodeNotFound},
		"Delete":          {askDelete, penstock.CodeNotFound},
		"RotateSecret":    {askRotateSecret, penstock.CodeNotFound},
		"Test":            {askTest, penstock.CodeNotFound},
		"Deliveries":      {askDeliveries, penstock.CodeNotFound},
		"Delivery":        {askDelivery, penstock.CodeNotFound},
		"Redeliver":       {askRedeliver, penstock.CodeNotFound},
		"PurgeDeliveries": {askPurgeDeliveries, ""},
	}
}

func isolationProbes(r *rig) {
	table := probes()
	names := slices.Sorted(maps.Keys(table))
	r.wantSame("methods with a probe", names, methodsWithTenant())
	h := r.owned()
	before := []any{r.webhook(h.kept.ID), r.webhook(h.spare.ID), r.deliveriesOf(h.kept.ID)}
	for _, name := range names {
		seen, err := table[name].ask(r, h, umbra)
		r.wantCode(name+" for another tenant", err, table[name].hides)
		if seen {
			r.t.Errorf("%s shows another tenant acme's webhooks", name)
		}
	}
	r.wantSame("after the other tenant's calls", []any{r.webhook(h.kept.ID), r.webhook(h.spare.ID), r.deliveriesOf(h.kept.ID)}, before)
	for _, name := range names {
		seen, err := table[name].ask(r, h, acme)
		if err != nil || !seen {
			r.t.Errorf("%s does not show the owner its own webhooks (%v): the probe proves nothing", name, err)
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
	r.t.Helper()
	h.spare = r.hook(penstock.EventJobFinished)
	h.kept = r.hook(penstock.EventJobFinished)
	for _, id := range []*penstock.ID{&h.old, &h.late} {
		d, err := r.s.Test(r.t.Context(), acme, h.kept.ID)
		r.must("test webhook", err)
		*id = d.ID
		r.settled(r.delivering(1)[0], webhook.OutcomeDelivered)
		r.clock.Advance(2 * time.Minute)
	}
	return h
}

// askCreate: an endpoint of another tenant must not appear among acme's.
func askCreate(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	w, err := r.s.Create(r.t.Context(), tenant, webhook.NewEndpoint{ID: r.newID(), URL: "https://stranger.example", Secret: []byte("s")})
	r.must("create", err)
	_, err = r.s.Endpoint(r.t.Context(), acme, w.ID)
	seen := err == nil
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		err = nil
	}
	return seen, err
}

func askList(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	all, err := r.s.List(r.t.Context(), tenant, webhook.Page{Limit: everything})
	for _, w := range all {
		if w.Tenant == acme || w.ID == h.kept.ID {
			return true, err
		}
	}
	return false, err
}

func askEndpoint(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	w, err := r.s.Endpoint(r.t.Context(), tenant, h.kept.ID)
	return w.ID != "", err
}

func askChange(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	about := "mine now"
	w, err := r.s.Change(r.t.Context(), tenant, webhook.Change{Ref: webhook.Ref{ID: h.kept.ID}, Description: &about})
	return w.ID != "", err
}

func askDelete(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	err := r.s.Delete(r.t.Context(), tenant, webhook.Removal{Ref: webhook.Ref{ID: h.spare.ID}})
	return err == nil, err
}

func askRotateSecret(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	until, err := r.s.RotateSecret(r.t.Context(), tenant, webhook.Rotation{Webhook: webhook.Ref{ID: h.kept.ID}, Secret: []byte("s"), Overlap: time.Hour})
	return !until.IsZero(), err
}

func askTest(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	d, err := r.s.Test(r.t.Context(), tenant, h.kept.ID)
	return d.ID != "", err
}

func askDeliveries(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	all, _, err := r.s.Deliveries(r.t.Context(), tenant, webhook.DeliveryPage{Webhook: h.kept.ID, Limit: everything})
	return len(all) > 0, err
}

func askDelivery(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	d, err := r.s.Delivery(r.t.Context(), tenant, h.late)
	return d.ID != "", err
}

func askRedeliver(r *rig, h owned, tenant penstock.TenantID) (bool, error) {
	d, err := r.s.Redeliver(r.t.Context(), tenant, h.late)
	return d.ID != "", err
}

func askPurgeDeliveries(r *rig, _ owned, tenant penstock.TenantID) (bool, error) {
	done, err := r.s.PurgeDeliveries(r.t.Context(), tenant, webhook.Purge{Kept: 3 * time.Minute, Limit: everything})
	return done.Removed > 0, err
}
