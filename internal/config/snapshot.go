package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"penstock"
)

// newSnapshot makes a snapshot of a file that has been checked.
func newSnapshot(file File, known facts) *Snapshot {
	file.normalize()
	s := &Snapshot{
		Targets:       map[string]*penstock.Target{},
		Models:        map[string]penstock.Model{},
		Tenants:       map[penstock.TenantID]penstock.Tenant{},
		Providers:     file.Providers,
		FallbackModel: file.FallbackModel,
		MediaHosts:    file.MediaHosts,
		Retention:     penstock.Retention(file.Retention),

		ClientTokens:       file.ClientTokens,
		ClientCertificates: file.ClientCertificates,

		StoreResponses: file.StoreResponses,
		Playground:     file.Playground,
		Queue:          file.Queue,
		Lanes:          file.Lanes,
		Process:        file.Process,
		candidates:     map[string][]*penstock.Target{},
		facts:          known,
		callers:        map[uint64][]keyed{},
		file:           file,
	}
	if s.Providers == nil {
		s.Providers = map[string]ProviderConfig{}
	}
	whole := canonicalOf(file, known)
	body, err := json.Marshal(whole)
	if err != nil {
		panic("config: encode a checked configuration: " + err.Error())
	}
	sum := sha256.Sum256(body)
	s.Body, s.Hash = body, "cfg_"+hex.EncodeToString(sum[:])[:12]

	for name, t := range file.Targets {
		s.Targets[name] = t.target(name, s.Hash)
		s.Targets[name].PriceVersion, s.Targets[name].PriceSource = known.versionOf(name, s.Hash), known.sourceOf(name)
		file.Providers[t.Provider].describe(s.Targets[name])
	}
	definitions := whole.definitions()
	for name, m := range file.Models {
		model := m.model(name)
		model.Definition = definitions[name]
		if prefix, ok := strings.CutSuffix(name, anySuffix); ok {
			s.prefixes = append(s.prefixes, prefix)
		}
		s.Models[name] = model
		for _, target := range model.Targets {
			s.candidates[name] = append(s.candidates[name], s.Targets[target])
		}
	}
	slices.SortFunc(s.prefixes, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for id, t := range file.Tenants {
		tenant := penstock.Tenant{ID: penstock.TenantID(id), Weight: t.Weight, Lanes: t.Lanes, Retention: penstock.Retention(t.Retention),
			Regions: t.Regions, Models: t.Models, Tier: t.Tier, MediaHosts: t.MediaHosts, Limits: t.Limits.limits(), ModelLimits: t.Limits.modelLimits(),
			EnqueuedTokens: t.Limits.EnqueuedTokens, StoredBytes: t.Limits.StoredBytes, Budgets: t.budgets()}
		s.Tenants[tenant.ID] = tenant
		for i, k := range t.Keys {
			digest := k.Secret.digest()
			at := binary.LittleEndian.Uint64(digest[:])
			s.callers[at] = append(s.callers[at], keyed{digest, penstock.Principal{Kind: penstock.PrincipalKey,
				Tenant: tenant, Key: k.Name, Scopes: k.Scopes, CacheTTL: k.Cache.TTL, Limits: k.Limits.limits()}})
			t.Keys[i].Secret = digest.secret()
		}
	}
	return s
}

// normalize gives everything that may be written in several ways one form, so that it is hashed,
// shown and compared alike.
func (f *File) normalize() {
	for name, t := range f.Targets {
		sortLike(t.Capabilities, penstock.AllCapabilities)
		t.Price = t.Price.normal()
		for i := range t.PriceChanges {
			t.PriceChanges[i].Price = t.PriceChanges[i].Price.normal()
		}
		f.Targets[name] = t
	}
	slices.Sort(f.MediaHosts)
	for _, i := range f.ClientTokens {
		sortLike(i.Algorithms, TokenAlgorithms)
		sortLike(i.Scopes, penstock.AllScopes)
	}
	for _, r := range f.ClientCertificates.Callers {
		sortLike(r.Scopes, penstock.AllScopes)
		sortLike(r.Roles, penstock.Roles)
	}
	for _, t := range f.Tenants {
		slices.Sort(t.MediaHosts)
		sortLike(t.Lanes, penstock.Lanes)
		slices.Sort(t.Regions)
		slices.Sort(t.Models)
		slices.SortFunc(t.Keys, func(a, b KeyConfig) int { return cmp.Compare(a.Name, b.Name) })
		for _, k := range t.Keys {
			sortLike(k.Scopes, penstock.AllScopes)
		}
	}
}

// sortLike orders list as its words are ordered in all.
func sortLike[T comparable](list, all []T) {
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Compare(slices.Index(all, a), slices.Index(all, b))
	})
}

// model is what a checked ModelConfig means to the rest of Penstock.
func (m ModelConfig) model(name string) penstock.Model {
	score := penstock.ScoreWeights(m.Score)
	switch m.Policy {
	case penstock.PolicyCheapest:
		score = penstock.ScoreWeights{Cost: 1}
	case penstock.PolicyFastest:
		score = penstock.ScoreWeights{Latency: 1}
	}
	return penstock.Model{
		Name: name, Policy: m.Policy, Targets: m.Targets, Weights: m.Weights, Score: score, CacheTTL: m.Cache.TTL,
		OnIncapable: m.canonicalOnIncapable(), OnOverflow: m.canonicalOnOverflow(),
	}
}

// target is what a checked TargetConfig means to the rest of Penstock.
func (t TargetConfig) target(name, priceVersion string) *penstock.Target {
	return &penstock.Target{
		Name:                  name,
		Provider:              t.Provider,
		UpstreamModel:         t.UpstreamModel,
		Price:                 t.Price.rates(),
		PriceVersion:          priceVersion,
		PriceChanges:          t.changes(priceVersion),
		Unpriced:              t.Price == Price{},
		Concurrency:           t.Limits.Concurrency,
		RequestsPerMinute:     t.Limits.RequestsPerMinute,
		InputTokensPerMinute:  t.Limits.InputTokensPerMinute,
		OutputTokensPerMinute: t.Limits.OutputTokensPerMinute,
		FreeCachedInput:       t.Limits.FreeCachedInput,
		MaxShare:              t.Limits.MaxShare,
		Batching:              t.Batching.batching(),
		Region:                t.Region,
		MaxOutputTokens:       t.MaxOutputTokens,
		ContextTokens:         t.ContextTokens,
		Lacks:                 t.lacks(),
		Quality:               t.Quality,
		PromptCache:           t.PromptCache,
		Surcharges:            t.surcharges(),
		ConnectTimeout:        t.Timeouts.Connect,
		FirstTokenTimeout:     t.Timeouts.FirstToken,
		IdleTimeout:           t.Timeouts.Idle,
		TotalTimeout:          t.Timeouts.Total,
		DrainTimeout:          t.drain(),
	}
}

// drain is how long a stream is read on whose caller left, 0 where it is closed.
func (t TargetConfig) drain() time.Duration {
	if t.OnDisconnect != DisconnectDrain {
		return 0
	}
	return t.Timeouts.Drain
}

// lacks is what a target cannot do.
func (t TargetConfig) lacks() penstock.Capabilities {
	return penstock.NewCapabilities(penstock.AllCapabilities...) &^ penstock.NewCapabilities(t.Capabilities...)
}
