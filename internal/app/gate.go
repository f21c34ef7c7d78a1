package app

import (
	"maps"
	"slices"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/config"
	"penstock/internal/route"
	"penstock/internal/store"
	"penstock/internal/work"
)

// gate keeps items from being claimed that an operator holds back, or while no target of their model has
// room. A model whose targets are all paused is closed like one that was paused itself.
type gate struct{ *app }

// Closed implements work.Gate.
func (g gate) Closed() work.Closed {
	s := g.live.Current()
	closed := work.Closed{Models: g.router.Full(slices.Collect(maps.Values(s.Models)), s.Targets)}
	closed.Models = append(closed.Models, g.controls.Names(store.ControlModel)...)
	for _, name := range g.controls.Names(store.ControlLane) {
		closed.Lanes = append(closed.Lanes, penstock.Lane(name))
	}
	for _, name := range g.controls.Names(store.ControlTenant) {
		closed.Tenants = append(closed.Tenants, penstock.TenantID(name))
	}
	if len(g.controls.Names(store.ControlTarget)) > 0 {
		for name, m := range s.Models {
			if len(g.controls.Open(m.Targets)) == 0 {
				closed.Models = append(closed.Models, name)
			}
		}
	}
	return closed
}

// Reserve implements work.Gate. It goes by the model as it is configured now; an item that was resolved to
// other targets gives the room back and finds its own. Closed knows names that are configured; a model that answers
// for others is paused for them too.
func (g gate) Reserve(c store.Candidate) (work.Grant, bool) {
	s := g.live.Current()
	model, ok := s.Model(c.Model)
	if _, paused := g.controls.Paused(store.ControlModel, model.Name); paused {
		return work.Grant{}, false
	}
	var candidates []*penstock.Target
	if ok {
		candidates, _ = route.Candidates(g.controls.Open(model.Targets), s.Targets) // an error says that there are none
		candidates = slices.DeleteFunc(candidates, func(t *penstock.Target) bool { return !g.runner.Serves(t, c.Endpoint) })
	}
	if len(candidates) == 0 {
		return work.Grant{}, true // running it will tell why
	}
	tokens := capacity.InputTokens(c.InputBytes)
	choice, ok := g.router.TryChoose(route.Query{
		Candidates: candidates, Model: model, Lane: c.Lane, InputTokens: tokens, MaxOutputTokens: max(0, c.Estimate-c.InputBytes),
	})
	return work.Grant{Choice: &choice, Places: g.runner.Places(c.Endpoint, candidates, tokens)}, ok
}

// slotPools are the slots that the configuration sets apart for some models.
func slotPools(pools []config.WorkPool) []work.SlotPool {
	all := make([]work.SlotPool, len(pools))
	for i, p := range pools {
		all[i] = work.SlotPool{Models: p.Models, Slots: p.Slots}
	}
	return all
}

// starter lets jobs start as they are accepted, in the slots of this process.
type starter struct{ *app }

// Offer implements admit.Starter.
func (s starter) Offer(items []store.Candidate) (store.Lease, func([]*store.Claimed, error), bool) {
	if s.pool == nil {
		return store.Lease{}, nil, false
	}
	return s.pool.Offer(items)
}
