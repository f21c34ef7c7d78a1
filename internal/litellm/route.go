package litellm

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// strategies are LiteLLM's, with the policies that come closest.
var strategies = map[string]string{
	"": "weighted", "simple-shuffle": "weighted", "latency-based-routing": "fastest", "cost-based-routing": "cheapest",
	"least-busy": "scored", "usage-based-routing": "scored", "usage-based-routing-v2": "scored",
}

// route gives each model its policy and the targets of the models that stand in for it.
func (im *importer) route() {
	policy, known := strategies[im.strategy]
	if !known {
		policy = "weighted"
		im.dropped("router_settings.routing_strategy", "%q is not known; models with several targets use policy: weighted", im.strategy)
	}
	if policy == "scored" {
		im.carried("router_settings.routing_strategy", "models with several targets use policy: scored by free capacity, which comes closest to %s", im.strategy)
	}
	own := map[string][]string{}
	for name, m := range im.models {
		own[name] = m.Targets
	}
	for _, name := range im.order {
		m := im.models[name]
		im.policy(m, policy)
		im.backUp(name, m, own)
		if im.cacheTTL != "" {
			m.Cache = map[string]string{"ttl": im.cacheTTL}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(im.backups)) {
		if im.models[name] == nil {
			im.dropped("fallbacks", "there is no model %q; remove its fallbacks", name)
		}
	}
}

// policy chooses among the own targets of a model.
func (im *importer) policy(m *model, policy string) {
	if len(m.Targets) < 2 {
		return
	}
	ranked := slices.ContainsFunc(m.Targets, func(id string) bool { return im.targets[id].rank > 0 })
	if ranked {
		slices.SortStableFunc(m.Targets, func(a, b string) int { return cmp.Compare(im.targets[a].rank, im.targets[b].rank) })
		return // ordered, the default
	}
	m.Policy = policy
	switch policy {
	case "scored":
		m.Score = map[string]float64{"headroom": 1}
	case "weighted":
		m.Weights = map[string]int64{}
		for _, id := range m.Targets {
			m.Weights[id] = min(max(1, im.targets[id].weight), 1000)
		}
	}
}

// backUp adds the targets of the models that answer when all targets of a model failed. Only the policy ordered keeps
// them for last.
func (im *importer) backUp(name string, m *model, own map[string][]string) {
	names := im.backups[name]
	if len(names) == 0 && !slices.Contains(im.defaults, name) {
		names = im.defaults
	}
	added := false
	for _, other := range names {
		if own[other] == nil {
			im.dropped("fallbacks", "%s names %q, which is no model of this file", name, other)
			continue
		}
		for _, id := range own[other] {
			if !slices.Contains(m.Targets, id) {
				m.Targets, added = append(m.Targets, id), true
			}
		}
	}
	if added && m.Policy != "" {
		im.carried("fallbacks", "%s has several deployments and fallbacks: its targets are used in the order %s, so that fallbacks come last; load is not spread over the first ones",
			name, strings.Join(m.Targets, ", "))
		m.Policy, m.Weights, m.Score = "", nil, nil
	}
}
