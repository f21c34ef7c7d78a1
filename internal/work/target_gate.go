package work

import (
	"maps"
	"slices"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/route"
	"penstock/internal/store"
)

// Router reserves calls at targets.
type Router interface {
	// Full returns the models none of whose targets has capacity.
	Full(models []penstock.Model, targets map[string]*penstock.Target) []string
	// Reserve reserves up to n calls.
	Reserve(q route.Query, n int) []*route.Choice
}

// Upstreams says what targets can serve.
type Upstreams interface {
	// Serves reports whether a target serves an endpoint, by itself or by translation.
	Serves(t *penstock.Target, e penstock.Endpoint) bool
	// Together bounds the embeddings that can share one call to any of the targets; inputs below 2 for none.
	Together(targets []*penstock.Target) (inputs int, tokens int64)
}

// GateDeps are the dependencies of a TargetGate.
type GateDeps struct {
	Config    *config.Live
	Controls  Controls
	Router    Router
	Upstreams Upstreams
}

// TargetGate keeps items from being claimed that an operator paused, or while no target of their model has capacity. A model
// whose targets are all paused is closed like a paused model. It is safe for concurrent use.
type TargetGate struct{ GateDeps }

// NewTargetGate returns a gate over the targets of the current configuration.
func NewTargetGate(d GateDeps) *TargetGate { return &TargetGate{d} }

// Closed implements Gate.
func (g *TargetGate) Closed() Closed {
	s := g.Config.Current()
	closed := Closed{Models: g.Router.Full(slices.Collect(maps.Values(s.Models)), s.Targets)}
	closed.Models = append(closed.Models, g.Controls.Names(store.ControlModel)...)
	for _, name := range g.Controls.Names(store.ControlLane) {
		closed.Lanes = append(closed.Lanes, penstock.Lane(name))
	}
	for _, name := range g.Controls.Names(store.ControlTenant) {
		closed.Tenants = append(closed.Tenants, penstock.TenantID(name))
	}
	if len(g.Controls.Names(store.ControlTarget)) > 0 {
		for name, m := range s.Models {
			if len(g.Controls.Open(m.Targets)) == 0 {
				closed.Models = append(closed.Models, name)
			}
		}
	}
	return closed
}

// Reserve implements Gate. It uses the current configuration of the models; an item that was resolved to other targets
// releases its call and finds its own target. Closed has configured names only; a model that serves other names is paused
// for them too.
func (g *TargetGate) Reserve(ready []store.Ready, n int) []Reservation {
	s := g.Config.Current()
	var all []Reservation
	for _, r := range ready {
		model, known := s.Model(r.Model)
		if _, paused := g.Controls.Paused(store.ControlModel, model.Name); paused {
			continue
		}
		m := modelCalls{gate: g, ready: r, model: model, wanted: min(r.Items, n)}
		if known {
			m.targets, _ = route.Candidates(g.Controls.Open(model.Targets), s.Targets) // an error means that there are none
		}
		m.reserve()
		all = append(all, m.reserved...)
	}
	return all
}

// modelCalls are the calls that are reserved for the items of one model.
type modelCalls struct {
	gate     *TargetGate
	ready    store.Ready
	model    penstock.Model
	targets  []*penstock.Target
	wanted   int
	reserved []Reservation
}

// reserve reserves as many calls as are wanted for every endpoint that the items may have: their endpoints are known only
// after the claim. Nearly always the same targets serve all endpoints, so this is one step.
func (m *modelCalls) reserve() {
	endpoints := penstock.Endpoints
	if m.ready.Endpoint != "" {
		endpoints = []penstock.Endpoint{m.ready.Endpoint}
	}
	var unserved []penstock.Endpoint
	for _, e := range endpoints {
		serving := m.serving(e)
		if len(serving) == 0 {
			unserved = append(unserved, e)
			continue
		}
		if missing := m.wanted - m.callsFor(e); missing > 0 {
			m.reserveAt(serving, missing)
		}
	}
	if len(unserved) > 0 { // their attempts will report why no target serves them
		m.reserved = append(m.reserved, Reservation{Reserved: store.Reserved{Model: m.ready.Model, Endpoints: unserved, Calls: m.wanted}})
	}
}

// serving are the targets that serve an endpoint.
func (m *modelCalls) serving(e penstock.Endpoint) []*penstock.Target {
	return slices.DeleteFunc(slices.Clone(m.targets), func(t *penstock.Target) bool { return !m.gate.Upstreams.Serves(t, e) })
}

// callsFor counts the calls that are reserved for items of an endpoint.
func (m *modelCalls) callsFor(e penstock.Endpoint) (n int) {
	for _, r := range m.reserved {
		if slices.Contains(r.Endpoints, e) {
			n += r.Calls
		}
	}
	return n
}

// reserveAt reserves up to n calls at some targets, for items of average size.
func (m *modelCalls) reserveAt(targets []*penstock.Target, n int) {
	tokens := penstock.InputTokens(m.ready.InputBytes)
	choices := m.gate.Router.Reserve(route.Query{
		Candidates: targets, Model: m.model, InputTokens: tokens, MaxOutputTokens: max(0, m.ready.Estimate-m.ready.InputBytes),
	}, n)
	for _, c := range choices {
		r := m.at(c.Target)
		r.Calls++
		r.Choices = append(r.Choices, c)
		if c.CountsInput() {
			r.InputTokens += max(tokens, 1)
		}
	}
}

// at returns the reservation at a target, and creates a missing one.
func (m *modelCalls) at(t *penstock.Target) *Reservation {
	for i := range m.reserved {
		if m.reserved[i].Target == t.Name {
			return &m.reserved[i]
		}
	}
	r := Reservation{Reserved: store.Reserved{Model: m.ready.Model, Target: t.Name}}
	for _, e := range penstock.Endpoints {
		if m.gate.Upstreams.Serves(t, e) {
			r.Endpoints = append(r.Endpoints, e)
		}
	}
	r.SharedInputs, r.SharedTokens = m.gate.Upstreams.Together(m.serving(penstock.EndpointEmbeddings))
	m.reserved = append(m.reserved, r)
	return &m.reserved[len(m.reserved)-1]
}
