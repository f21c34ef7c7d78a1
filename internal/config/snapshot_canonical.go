package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"penstock"
)

// canonical is what is hashed and stored: what decides how an inference resolves, and nothing else.
// It is spelled out apart from File, so that a new setting of a process cannot change the hashes of
// the world by accident. Changing its JSON changes every hash.
type canonical struct {
	Providers     map[string]canonicalProvider `json:"providers"`
	Targets       map[string]canonicalTarget   `json:"targets"`
	Models        map[string]canonicalModel    `json:"models"`
	FallbackModel string                       `json:"fallback_model"`
	Tenants       map[string]canonicalTenant   `json:"tenants"`

	// Left out where it is not set, as in targets.
	MediaHosts []string `json:"media_hosts,omitempty"`
}

type canonicalProvider struct {
	Kind    string `json:"kind"`
	BaseURL string `json:"base_url"`

	// Left out where it is not set, as in targets.
	AzureAPIVersion string `json:"azure_api_version,omitzero"`
	Network         string `json:"network,omitzero"`
	AWSRegion       string `json:"aws_region,omitzero"`
}

type canonicalTarget struct {
	Provider          string `json:"provider"`
	UpstreamModel     string `json:"upstream_model"`
	Region            string `json:"region"`
	MaxOutputTokens   int64  `json:"max_output_tokens"`
	Concurrency       int    `json:"concurrency"`
	PriceInput        string `json:"price_input"`
	PriceCachedInput  string `json:"price_cached_input"`
	PriceOutput       string `json:"price_output"`
	ConnectTimeout    string `json:"connect_timeout"`
	FirstTokenTimeout string `json:"first_token_timeout"`
	IdleTimeout       string `json:"idle_timeout"`
	TotalTimeout      string `json:"total_timeout"`

	// Left out where they are not set: configurations from before they existed keep their hashes.
	RequestsPerMinute     int64 `json:"requests_per_minute,omitzero"`
	InputTokensPerMinute  int64 `json:"input_tokens_per_minute,omitzero"`
	OutputTokensPerMinute int64 `json:"output_tokens_per_minute,omitzero"`

	ContextTokens int64                 `json:"context_tokens,omitzero"`
	Lacks         []penstock.Capability `json:"lacks,omitempty"`
	Rerank        string                `json:"rerank,omitzero"`
	Quality       float64               `json:"quality,omitzero"` // left out where it is the default
	PromptCache   bool                  `json:"prompt_cache,omitzero"`
	Price         canonicalPrice        `json:"price,omitzero"`
	PriceChanges  []canonicalPrice      `json:"price_changes,omitempty"`
	DrainTimeout  string                `json:"drain_timeout,omitzero"`

	FreeCachedInput bool `json:"free_cached_input,omitzero"`

	Surcharges map[string]penstock.Surcharge `json:"surcharges,omitempty"`

	PriceSource string `json:"price_source,omitzero"` // where the price comes from, if not from the file
}

type canonicalModel struct {
	Policy  penstock.Policy `json:"policy"`
	Targets []string        `json:"targets"`

	Weights map[string]int `json:"weights,omitempty"`
	Score   canonicalScore `json:"score,omitzero"`

	CacheTTL string `json:"cache_ttl,omitzero"`

	OnIncapable penstock.OnIncapable `json:"on_incapable,omitzero"` // if it is not the default
	OnOverflow  penstock.OnOverflow  `json:"on_overflow,omitzero"`  // the same
}

type canonicalScore struct {
	Cost     float64 `json:"cost"`
	Latency  float64 `json:"latency"`
	Quality  float64 `json:"quality"`
	Headroom float64 `json:"headroom"`
}

type canonicalTenant struct {
	Weight int             `json:"weight"`
	Lanes  []penstock.Lane `json:"lanes"`
	Keys   []canonicalKey  `json:"keys"`

	Regions []string `json:"regions,omitempty"`
	Models  []string `json:"models,omitempty"`

	MediaHosts []string `json:"media_hosts,omitempty"`

	Limits         penstock.Limits            `json:"limits,omitzero"`
	ModelLimits    map[string]penstock.Limits `json:"model_limits,omitempty"`
	QueuedItems    int64                      `json:"queued_items,omitzero"` // these two, where they are not the global ones
	QueuedBytes    int64                      `json:"queued_bytes,omitzero"`
	EnqueuedTokens int64                      `json:"enqueued_tokens,omitzero"`
	StoredBytes    int64                      `json:"stored_bytes,omitzero"`
	Budget         Budget                     `json:"budget,omitzero"`
	ModelBudgets   map[string]Budget          `json:"model_budgets,omitempty"`
	TagBudgets     map[string]Budget          `json:"tag_budgets,omitempty"`
	Tier           string                     `json:"tier,omitzero"`
	Retention      []string                   `json:"retention,omitempty"` // results, events, idempotency, files, where they are not the global ones
}

type canonicalKey struct {
	Name   string           `json:"name"`
	Scopes []penstock.Scope `json:"scopes"`

	CacheTTL string          `json:"cache_ttl,omitzero"`
	Limits   penstock.Limits `json:"limits,omitzero"`
	Budget   Budget          `json:"budget,omitzero"`
}

// canonicalOf expects a normalized file. Its maps are made even when empty, because null and {}
// must not hash apart.
func canonicalOf(f File, known facts) canonical {
	c := canonical{
		Providers:     map[string]canonicalProvider{},
		Targets:       map[string]canonicalTarget{},
		Models:        map[string]canonicalModel{},
		FallbackModel: f.FallbackModel,
		MediaHosts:    f.MediaHosts,
		Tenants:       map[string]canonicalTenant{},
	}
	for name, p := range f.Providers {
		c.Providers[name] = canonicalProvider{Kind: p.Kind, BaseURL: p.BaseURL, AzureAPIVersion: p.Azure.APIVersion, Network: p.Network, AWSRegion: p.AWS.Region}
	}
	for name, t := range f.Targets {
		price := t.Price.rates()
		quality := t.Quality
		if quality == DefaultQuality {
			quality = 0
		} else if quality == 0 {
			quality = -1 // apart from one that is left out
		}
		drain := ""
		if d := t.drain(); d > 0 {
			drain = durationText(d)
		}
		c.Targets[name] = canonicalTarget{
			Provider:          t.Provider,
			UpstreamModel:     t.UpstreamModel,
			Region:            t.Region,
			MaxOutputTokens:   t.MaxOutputTokens,
			Concurrency:       t.Limits.Concurrency,
			PriceInput:        price.Input.String(),
			PriceCachedInput:  price.CachedInput.String(),
			PriceOutput:       price.Output.String(),
			ConnectTimeout:    durationText(t.Timeouts.Connect),
			FirstTokenTimeout: durationText(t.Timeouts.FirstToken),
			IdleTimeout:       durationText(t.Timeouts.Idle),
			TotalTimeout:      durationText(t.Timeouts.Total),

			RequestsPerMinute:     t.Limits.RequestsPerMinute,
			InputTokensPerMinute:  t.Limits.InputTokensPerMinute,
			OutputTokensPerMinute: t.Limits.OutputTokensPerMinute,

			ContextTokens: t.ContextTokens, Lacks: (t.lacks() &^ rerank).List(), Rerank: t.canonicalRerank(), Quality: quality, PromptCache: t.PromptCache,
			Price: t.Price.canonical(), PriceChanges: t.canonicalChanges(), DrainTimeout: drain, FreeCachedInput: t.Limits.FreeCachedInput,
			Surcharges: t.surcharges(), PriceSource: known.canonical(name),
		}
	}
	for name, m := range f.Models {
		c.Models[name] = canonicalModel{Policy: m.Policy, Targets: m.Targets, Weights: m.Weights, Score: canonicalScore(m.Score),
			CacheTTL: m.Cache.canonical(), OnIncapable: m.canonicalOnIncapable(), OnOverflow: m.canonicalOnOverflow()}
	}
	for id, t := range f.Tenants {
		c.Tenants[id] = t.canonical(f)
	}
	return c
}

// canonicalOnIncapable is "" for the default: models that do not set it keep their hashes.
func (m ModelConfig) canonicalOnIncapable() penstock.OnIncapable {
	if m.OnIncapable == penstock.IncapableSameVendor {
		return ""
	}
	return m.OnIncapable
}

// canonicalOnOverflow is "" for the default, for the same reason.
func (m ModelConfig) canonicalOnOverflow() penstock.OnOverflow {
	if m.OnOverflow.Truncates() {
		return m.OnOverflow
	}
	return ""
}

// canonical leaves out what follows the global settings: tenants that set nothing of their own keep their hashes.
func (t TenantConfig) canonical(f File) canonicalTenant {
	tenant := canonicalTenant{
		Weight: t.Weight, Lanes: t.Lanes, Keys: []canonicalKey{}, Regions: t.Regions, Models: t.Models, MediaHosts: t.MediaHosts,
		Limits: t.Limits.limits(), ModelLimits: t.Limits.modelLimits(), EnqueuedTokens: t.Limits.EnqueuedTokens, StoredBytes: t.Limits.StoredBytes,
		Budget: t.Budget, ModelBudgets: t.ModelBudgets, TagBudgets: t.TagBudgets, Tier: t.Tier,
	}
	if t.Limits.QueuedItems != f.Queue.TenantMaxItems {
		tenant.QueuedItems = t.Limits.QueuedItems
	}
	if t.Limits.QueuedBytes != f.Queue.TenantMaxBytes {
		tenant.QueuedBytes = t.Limits.QueuedBytes
	}
	if r := t.Retention; r != f.Retention {
		for _, d := range []time.Duration{r.Results, r.Events, r.Idempotency, r.Files} {
			tenant.Retention = append(tenant.Retention, durationText(d))
		}
	}
	for _, k := range t.Keys {
		tenant.Keys = append(tenant.Keys, canonicalKey{Name: k.Name, Scopes: k.Scopes, CacheTTL: k.Cache.canonical(), Limits: k.Limits.limits(), Budget: k.Budget})
	}
	return tenant
}

// canonical is "" where the cache is not used.
func (u CacheUse) canonical() string {
	if u.TTL == 0 {
		return ""
	}
	return durationText(u.TTL)
}

// definitions hashes what each model means: itself, its targets, and how they are reached. Answers of one definition
// can stand in for each other, whatever else changes in the file.
func (c canonical) definitions() map[string]string {
	all := make(map[string]string, len(c.Models))
	for name, m := range c.Models {
		part := canonical{
			Models: map[string]canonicalModel{name: m}, Targets: map[string]canonicalTarget{}, Providers: map[string]canonicalProvider{},
		}
		for _, t := range m.Targets {
			target := c.Targets[t]
			part.Targets[t] = target
			part.Providers[target.Provider] = c.Providers[target.Provider]
		}
		all[name] = hashOf(part)
	}
	return all
}

// hashOf is the whole digest of a part of a configuration.
func hashOf(c canonical) string {
	body, err := json.Marshal(c)
	if err != nil {
		panic("config: encode a checked configuration: " + err.Error())
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

var rerank = penstock.NewCapabilities(penstock.CapabilityRerank)

// canonicalRerank is whether a target ranks documents, "" where that follows from its other capabilities: a target that has all of
// them does, and one that lacks some does not. So files of older versions keep their hashes.
func (t TargetConfig) canonicalRerank() string {
	lacks := t.lacks()
	switch able, plain := lacks&rerank == 0, lacks&^rerank == 0; {
	case able == plain:
		return ""
	case able:
		return "yes"
	default:
		return "no"
	}
}
