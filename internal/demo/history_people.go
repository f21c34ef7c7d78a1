package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"penstock"
	"penstock/internal/directory"
	"penstock/internal/identity"
	"penstock/internal/store"
	"penstock/internal/webhook"
)

// operators are the people who run Penstock, and what they change.
type operators struct{ *history }

// found makes the companies, their keys and their webhooks, in the first hour of the past.
func (h operators) found(ctx context.Context) error {
	if err := h.grant(ctx, company{by: maya, members: staff}, "penstock.example"); err != nil {
		return err
	}
	for _, c := range companies {
		h.Clock.Walk(time.Duration(2+h.draw.IntN(5)) * time.Minute)
		_, err := h.Editor.CreateTenant(ctx, c.id, func(t *store.TenantRecord) error {
			t.Tier, t.Weight, t.Limits, t.Budgets, t.ModelLimits = c.tier, c.weight, c.limits, c.budgets, c.models
			return nil
		}, store.Condition{Actor: c.by})
		if err != nil {
			return fmt.Errorf("making tenant %s: %w", c.id, err)
		}
		for _, name := range c.keys {
			h.Clock.Walk(time.Duration(20+h.draw.IntN(60)) * time.Second)
			if err := h.newKey(ctx, c, name); err != nil {
				return err
			}
		}
		if err := h.grant(ctx, c, string(c.id)+".example"); err != nil {
			return err
		}
	}
	return h.addHooks(ctx)
}

// grant gives the people of a company their roles.
func (h operators) grant(ctx context.Context, c company, domain string) error {
	for _, m := range c.members {
		h.Clock.Walk(time.Duration(10+h.draw.IntN(20)) * time.Second)
		_, err := h.Members.Grant(ctx, identity.Member{
			ID: h.ids.New(h.Clock.Now()), Email: m.name + "@" + domain, Tenant: c.id, Role: m.role, Actor: c.by,
		}, store.Condition{Actor: c.by})
		if err != nil {
			return fmt.Errorf("giving %s a role: %w", m.name, err)
		}
	}
	return nil
}

// promote gives a person of a company another role.
func (h operators) promote(ctx context.Context, email string, role penstock.Role, actor string) error {
	all, err := h.Members.Members(ctx, identity.MemberPage{Limit: identity.MaxMembers})
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Email == email {
			_, err = h.Members.Change(ctx, m.ID, role, store.Condition{Actor: actor})
		}
	}
	return err
}

func (h operators) newKey(ctx context.Context, c company, name string) error {
	key, err := h.Editor.CreateKey(ctx, store.APIKey{Tenant: c.id, Name: name, Scopes: penstock.Scopes}, store.Condition{Actor: c.by})
	if err != nil {
		return fmt.Errorf("making key %s of %s: %w", name, c.id, err)
	}
	h.state.Keys = append(h.state.Keys, Key{Tenant: c.id, Name: name, Secret: key.Secret})
	return nil
}

// addHooks makes the webhooks.
func (h operators) addHooks(ctx context.Context) error {
	for _, w := range []struct {
		tenant            penstock.TenantID
		key, path, within string
		events            []penstock.EventType
	}{
		{"northwind-support", "helpdesk", hookReliable, "Helpdesk: attach drafts to the case", []penstock.EventType{penstock.EventJobFinished}},
		{"lumen-shop", "catalogue", hookFlaky, "ERP import of product texts", []penstock.EventType{penstock.EventJobStarted, penstock.EventJobFinished}},
		{"lumen-shop", "catalogue", hookReliable + "/budget", "Budget warnings to the shop's chat", []penstock.EventType{penstock.EventBudgetExceeded}},
		{"brightway-insurance", "claims", hookBroken, "Claims workflow, old connector", []penstock.EventType{penstock.EventJobFinished}},
		{"brightway-insurance", "customer-portal", hookReliable + "/portal", "Customer portal: the answer is there", []penstock.EventType{penstock.EventJobFinished}},
	} {
		h.Clock.Walk(time.Minute)
		id := h.ids.New(h.Clock.Now())
		if _, err := h.Endpoints.Create(ctx, w.tenant, webhook.NewEndpoint{
			ID: id, URL: h.Receiver + w.path, Description: w.within, Events: w.events, Secret: []byte(fmt.Sprintf("%032x", h.draw.Uint64())), Actor: w.key,
		}); err != nil {
			return fmt.Errorf("making the webhooks of %s: %w", w.tenant, err)
		}
		h.hooks[id] = w.path
	}
	return nil
}

const day = 24 * time.Hour

// changes are what they changed in the month.
func (h operators) changes() []event {
	tenant := func(id penstock.TenantID, actor string, edit func(*store.TenantRecord)) step {
		return func(ctx context.Context) error {
			_, err := h.Editor.ChangeTenant(ctx, id, func(t *store.TenantRecord) error { edit(t); return nil }, store.Condition{Actor: actor})
			return err
		}
	}
	pause := func(kind store.ControlKind, name, reason, actor string) step {
		return func(ctx context.Context) error {
			_, err := h.Store.SetControl(ctx, store.Control{Kind: kind, Name: name, State: store.ControlPaused, Reason: reason, Actor: actor}, store.Condition{Actor: actor})
			return err
		}
	}
	resume := func(kind store.ControlKind, name, actor string) step {
		return func(ctx context.Context) error {
			return h.Store.LiftControl(ctx, store.Control{Kind: kind, Name: name}, store.Condition{Actor: actor})
		}
	}
	return []event{
		{26 * day, tenant("northwind-support", maya, func(t *store.TenantRecord) { t.Weight = 4 })},
		{21*day + 3*time.Hour, tenant("brightway-insurance", tom, func(t *store.TenantRecord) { t.Limits.RequestsPerMinute = 1_200 })},
		{18 * day, func(ctx context.Context) error { return h.revoke(ctx, "northwind-support", "qa-sandbox", tom) }},
		{16*day + 5*time.Hour, pause(store.ControlTarget, targetLlamaOwn, "GPU driver update on the vLLM nodes", tom)},
		{16*day + 2*time.Hour, resume(store.ControlTarget, targetLlamaOwn, tom)},
		{12 * day, tenant("halden-legal", priya, func(t *store.TenantRecord) { t.Limits.Concurrency = 30 })},
		{11 * day, func(ctx context.Context) error {
			return h.promote(ctx, "lotte.vries@northwind-support.example", penstock.RoleDeveloper, maya)
		}},
		{9 * day, func(ctx context.Context) error { return h.rotate(ctx, "lumen-shop", "search", elena) }},
		{7*day + time.Hour, pause(store.ControlLane, string(penstock.LaneBulk), "Quarter-end reports first", maya)},
		{7*day + 25*time.Minute, resume(store.ControlLane, string(penstock.LaneBulk), maya)},
		{4*day + 2*time.Hour, func(ctx context.Context) error { return h.dismiss(ctx, "halden-legal", jonas) }},
		{2*day + 4*time.Hour, tenant(pilot, priya, func(t *store.TenantRecord) { t.Limits.RequestsPerMinute = 90 })},
		{95 * time.Minute, pause(store.ControlModel, modelPaused, "Price change under review until Thursday", priya)},
		{25 * time.Minute, h.lowerPilot},
	}
}

// lowerPilot sets the budget of the pilot to a little more than it has spent, so that it is nearly used up whatever the day of the month is.
func (h operators) lowerPilot(ctx context.Context) error {
	states, err := h.Store.BudgetStates(ctx, pilot, 1)
	if err != nil || len(states) == 0 {
		return err
	}
	const cents = penstock.NanoUSD(10_000_000)
	limit := (states[0].Balance.Settled*100/93/cents + 1) * cents
	_, err = h.Editor.ChangeTenant(ctx, pilot, func(t *store.TenantRecord) error {
		t.Budgets = []penstock.Budget{{Period: penstock.PeriodTotal, Limit: limit}}
		return nil
	}, store.Condition{Actor: priya})
	if err := errors.Join(err, h.returnBudgets(ctx)); err != nil {
		return err
	}
	// The next call withdraws money, which makes the new limit that of the period.
	r, err := h.call(ctx, h.workloads.of(pilot, "abstract-screening"), h.Clock.Now())
	if err != nil || r == nil {
		return err
	}
	h.number(r)
	h.Clock.WalkTo(r.FinishedAt)
	h.made.Calls++
	return h.Store.RecordRequests(ctx, []penstock.Request{*r})
}

// key returns the newest key of a name.
func (h operators) key(ctx context.Context, tenant penstock.TenantID, name string) (penstock.ID, error) {
	keys, err := h.Store.ListKeys(ctx, store.KeyFilter{Tenant: tenant, Limit: store.MaxKeysPerTenant})
	for _, k := range slices.Backward(keys) {
		if k.Name == name {
			return k.ID, nil
		}
	}
	return "", fmt.Errorf("no key %s of %s: %w", name, tenant, err)
}

func (h operators) revoke(ctx context.Context, tenant penstock.TenantID, name, actor string) error {
	id, err := h.key(ctx, tenant, name)
	if err != nil {
		return err
	}
	h.state.Keys = slices.DeleteFunc(h.state.Keys, func(k Key) bool { return k.Tenant == tenant && k.Name == name })
	_, err = h.Editor.RevokeKey(ctx, id, store.Condition{Actor: actor})
	return err
}

// rotate replaces a key. The old one still works for a day.
func (h operators) rotate(ctx context.Context, tenant penstock.TenantID, name, actor string) error {
	id, err := h.key(ctx, tenant, name)
	if err != nil {
		return err
	}
	next, err := h.Editor.RotateKey(ctx, directory.Rotation{Key: id, Overlap: directory.DefaultOverlap}, store.Condition{Actor: actor})
	for i := range h.state.Keys {
		if k := &h.state.Keys[i]; k.Tenant == tenant && k.Name == name {
			k.Secret = next.Secret
		}
	}
	return err
}

// dismiss marks old dead letters of a tenant as dealt with.
func (h operators) dismiss(ctx context.Context, tenant penstock.TenantID, actor string) error {
	groups, _, err := h.Store.DeadLetterGroups(ctx, tenant, store.DeadLetterGroupPage{Limit: 1})
	if err != nil || len(groups) == 0 {
		return err
	}
	n, err := h.Store.DismissDeadLetters(ctx, tenant, store.Dismissal{
		Filter: store.DeadLetterFilter{Fingerprint: groups[0].Fingerprint}, Limit: 100, Actor: actor,
	})
	h.made.DeadLetters -= n
	return err
}
