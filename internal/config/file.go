package config

import (
	"maps"
	"slices"
	"time"

	"penstock"
)

// File is the configuration file. Every key is optional unless its comment says otherwise; a key
// that is written must have a value within its bounds, so that "slots: 0" is an error and not the
// default. In a File made in memory the zero value of a field stands for its default.
//
// Any string may contain ${NAME}, which the environment replaces. Fields named _ are options that
// are reserved: a file that uses one is refused with the reason in its tag, because an option that
// is not enforced must not look as if it were.
type File struct {
	Process `yaml:",inline"`

	// Retention is how long finished work is kept, for tenants without their own setting.
	Retention Retention `yaml:"retention"`

	Queue Queue `yaml:"queue"`
	Lanes Lanes `yaml:"lanes"`

	// Providers are the upstreams that can be called, by name. Names match [a-z0-9][a-z0-9._-]{0,62}.
	// Zero: none.
	Providers map[string]ProviderConfig `yaml:"providers,omitempty"`

	// Targets are the upstream models that inferences can run on, by name. Names match
	// [a-z0-9][a-z0-9._-]{0,62}. Zero: none.
	Targets map[string]TargetConfig `yaml:"targets,omitempty"`

	// Models are the names that callers ask for. Names match [A-Za-z0-9][A-Za-z0-9._/:-]{0,127}.
	// Zero: none, every call is answered with model_not_found.
	Models map[string]ModelConfig `yaml:"models,omitempty"`

	// MediaHosts are the hosts that a target may fetch images, videos, audio and files from because a body names their URLs:
	// names of hosts, *.example.com for all hosts below a domain, or addresses; public for all hosts but those of local
	// networks; any for every URL, also one that is not http; none for no URL. A public name may resolve to a private address,
	// so public does not protect a model server in your network. Data in the body itself and ids of files are never refused.
	// Zero: the default, public for models all of whose targets run in a public network (see the network of a provider), and
	// none for others. Tenants may have their own.
	MediaHosts []string `yaml:"media_hosts,omitempty"`

	// FallbackModel is the configured model that answers for every model name that is not configured.
	// Meant for development, where any SDK example should run. Zero: unknown names are errors.
	FallbackModel string `yaml:"fallback_model,omitempty"`

	// Unpriced is how targets without a price are treated. With flag, their use is counted, logged and marked on the answer. With
	// refuse, the configuration is rejected. Tenants with a hard budget never use them. Zero:
	// the default, flag.
	Unpriced string `yaml:"unpriced"`

	// Tenants are the customers that may call, by id. Ids match [a-z0-9][a-z0-9._-]{0,62}. Zero: none, every call is refused.
	Tenants map[string]TenantConfig `yaml:"tenants,omitempty"`
}

// Process holds the settings of one process. They are read once, at start: no reload changes them
// and no hash covers them, because two nodes may differ here and still resolve alike.
type Process struct {
	// Listen is the address of the public API, host:port. Port 0 picks a free one. The environment's
	// PENSTOCK_LISTEN overrides it. Zero: the default, 127.0.0.1:8080.
	Listen string `yaml:"listen"`

	// PublicURL is how callers reach the public API, such as https://llm.example.com or, behind a proxy that puts it
	// below a path, https://example.com/llm. Links begin with it. Zero: links begin with the host of the request, and https if a proxy says so.
	PublicURL string `yaml:"public_url"`

	// AdminListen is the address of metrics, profiles and the admin API, host:port. It must differ
	// from Listen. Zero: the default, 127.0.0.1:9090.
	AdminListen string `yaml:"admin_listen"`

	// Data is the directory of the embedded database and of stored payloads. The environment's
	// PENSTOCK_DATA overrides it. Zero: the default, ./penstock-data.
	Data string `yaml:"data"`

	// Database is the URL of a PostgreSQL server, postgres://…, a secret because it holds a password;
	// "postgres://penstock:${DB_PASSWORD}@db/penstock" works. The environment's PENSTOCK_DATABASE_URL
	// overrides it. Zero: SQLite in Data.
	Database Secret `yaml:"database,omitempty"`

	Admin Admin `yaml:"admin,omitempty"`
	Blobs Blobs `yaml:"blobs,omitempty"`

	Log Log `yaml:"log"`

	// ShutdownGrace is how long running work may take to finish after a stop signal, before it is returned to the queue. Zero: the default, 30s. From 1s to 1h.
	ShutdownGrace time.Duration `yaml:"shutdown_grace"`

	Disk    Disk    `yaml:"disk"`
	TLS     TLS     `yaml:"tls,omitempty"`
	Tracing Tracing `yaml:"tracing,omitempty"`
	Work    Work    `yaml:"work"`
	Limits  Limits  `yaml:"limits"`
	Cache   Cache   `yaml:"cache"`

	Webhooks Webhooks `yaml:"webhooks"`
}

// Admin guards the admin API.
type Admin struct {
	// Key is the first key of the admin API. It needs 128 random bits, like the keys of tenants. The environment's PENSTOCK_ADMIN_KEY overrides it. Zero: the first start creates a key in the file admin-key in Data.
	Key Secret `yaml:"key,omitempty"`

	// MetricsKey reads metrics and nothing else, for a scraper in the network. As random as Key. Zero: metrics are read with an
	// admin key, and over loopback without a key.
	MetricsKey Secret `yaml:"metrics_key,omitempty"`

	// Hosts are the host names of the admin API, besides localhost and IP addresses. Calls for other names are refused, since a web
	// page could make a browser send them. Without ports. Zero: none.
	Hosts []string `yaml:"hosts,omitempty"`
}

// Log says what is logged and how.
type Log struct {
	// Level is the least severe level that is written: debug, info, warn or error. Zero: the
	// default, info.
	Level string `yaml:"level"`

	// Format is json for machines or text for people. Zero: the default, json.
	Format string `yaml:"format"`
}

// Retention says how long finished work can be looked up. A reload applies to what is there already:
// a shorter window frees space at once, a longer one keeps what is not yet deleted.
type Retention struct {
	// Results is how long a job is kept after its end, with its items, inputs, results and dead letters,
	// and how long the record of a synchronous call is. Then all of it is deleted. Zero: the default,
	// 168h, or for a tenant the global default. From 1m to 87600h.
	Results time.Duration `yaml:"results"`

	// Events is how long a job's log can be read after its end. Not longer than Results. Zero: the
	// default, 24h, or for a tenant the global default; a shorter Results shortens it. From 1m to 87600h.
	Events time.Duration `yaml:"events"`

	// Idempotency is how long an Idempotency-Key is remembered, from the submit on; it outlives a job
	// that was deleted. Zero: the default, 24h, or for a tenant the global default. From 24h, which
	// callers are promised, to 87600h.
	Idempotency time.Duration `yaml:"idempotency"`

	// Files is how long a file is kept, from its upload on; its own expires_after can only shorten that.
	// Zero: the default, 720h, or for a tenant the global default. From 1m to 87600h.
	Files time.Duration `yaml:"files"`
}

// Disk guards the file systems that Data lies on.
type Disk struct {
	// MinFree is how much must stay free: a size such as "2GiB" or "500MiB", or a part of the disk such
	// as "5%". With less, new jobs are refused, so that there is space to finish what was accepted. "0"
	// turns the guard off. Zero: the default, "512MiB". At most "50%" or "1024TiB".
	MinFree string `yaml:"min_free"`
}

// TLS makes the public API speak HTTPS. Zero: plain HTTP.
type TLS struct {
	// CertFile is the path of a PEM certificate chain. Required with KeyFile. Zero: no TLS.
	CertFile string `yaml:"cert_file,omitempty"`

	// KeyFile is the path of the certificate's PEM private key. Required with CertFile. Zero: no TLS.
	KeyFile string `yaml:"key_file,omitempty"`
}

// Tracing exports spans.
type Tracing struct {
	// OTLPEndpoint is the http or https URL of an OTLP/HTTP collector. Zero: no tracing.
	OTLPEndpoint string `yaml:"otlp_endpoint,omitempty"`

	// SampleRatio is the part of new traces that is recorded; a caller's own decision is honoured.
	// Above 0, at most 1. It needs OTLPEndpoint. Zero: the default, 1.
	SampleRatio float64 `yaml:"sample_ratio,omitempty"`
}

// Work bounds what the workers of one process do.
type Work struct {
	// Slots is how many items run at a time. Zero: the default, 64. From 1 to 10000.
	Slots int `yaml:"slots"`

	// LeaseTimeout is how long a silent process keeps its items: a killed worker's items run again
	// after it. Zero: the default, 10s. From 200ms to 5m.
	LeaseTimeout time.Duration `yaml:"lease_timeout"`

	// PollInterval is how often workers poll the queue when nothing wakes them sooner. From
	// 10ms up to LeaseTimeout. Zero: the default, 500ms on SQLite and 1s on PostgreSQL, where processes
	// wake each other; at most half of LeaseTimeout.
	PollInterval time.Duration `yaml:"poll_interval"`

	// Suspects is how many suspects run at a time: items that were in flight when several workers died. Each runs in a
	// child process of the worker, so that an item which ends its process ends nothing else. They use no Slots. Zero: the
	// default, 8. From 1 to 256.
	Suspects int `yaml:"suspects"`

	// Pools are slots besides Slots that are reserved for the items of some models, so that one slow model cannot occupy all
	// slots. Items of a model that is named here run nowhere else. Zero: none.
	Pools []WorkPool `yaml:"pools,omitempty"`
}

// WorkPool is a number of slots for some models.
type WorkPool struct {
	// Models are the configured models whose items run here. Required. A model is in at most one pool.
	Models []string `yaml:"models"`

	// Slots is how many of their items run at a time. Required. From 1 to 10000.
	Slots int `yaml:"slots"`
}

// Limits bounds what one call may carry.
type Limits struct {
	// MaxBodyBytes is the largest request body, and the largest body of one inference in a job. Zero: the
	// default, 8388608 (8 MiB). From 1024 to 67108864 (64 MiB).
	MaxBodyBytes int64 `yaml:"max_body_bytes"`

	// MaxJobBytes is the largest body of a call that submits a job, and the largest size of its inputs with its defaults filled in. Zero: the default, 67108864 (64 MiB). From 1024 to 268435456 (256 MiB).
	MaxJobBytes int64 `yaml:"max_job_bytes"`

	// MaxJSONDepth is how deep the JSON of a body may nest. Zero: the default, 64. From 8 to 512.
	MaxJSONDepth int `yaml:"max_json_depth"`

	// MaxFileBytes is the largest file that can be uploaded. A line of it holds at most MaxBodyBytes. Zero:
	// the default, 2147483648 (2 GiB). From 1024 to 1099511627776 (1 TiB).
	MaxFileBytes int64 `yaml:"max_file_bytes"`

	Bounds `yaml:",inline"`

	_ reserved `yaml:"max_items" refuse:"cannot be set: a job takes at most 10000 inputs, and a file at most 5000000 lines; remove it"`
}

// Cache bounds the memory of cached answers. It holds nothing unless a model, a key or a call enables it.
type Cache struct {
	// MaxBytes is how much one process holds at most. Zero: the default, 67108864 (64 MiB). From
	// 1048576 (1 MiB) to 68719476736 (64 GiB).
	MaxBytes int64 `yaml:"max_bytes"`

	// MaxEntryBytes is the largest answer that is cached. At most an eighth of MaxBytes. Zero: the default, 1048576
	// (1 MiB), or as much as MaxBytes allows. From 1024.
	MaxEntryBytes int64 `yaml:"max_entry_bytes"`
}

// CacheUse enables cached answers.
type CacheUse struct {
	// TTL is how long an answer is used. Zero: no caching. From 1s to 24h.
	TTL time.Duration `yaml:"ttl,omitempty"`
}

// Webhooks bounds what the URLs that tenants choose can reach.
type Webhooks struct {
	// Allow are networks that may be called although they are not public, such as "10.20.0.0/16", and by plain
	// http too. An address that serves a cloud's metadata is opened by naming it alone, not by a network around
	// it. Zero: none; in development, loopback.
	Allow []string `yaml:"allow,omitempty"`

	// PlainHTTP allows http without TLS everywhere. Zero: public addresses need https.
	PlainHTTP bool `yaml:"plain_http,omitempty"`

	// Timeout is how long a receiver may take to answer. Zero: the default, 15s. From 1s to 30s.
	Timeout time.Duration `yaml:"timeout"`
}

// ProviderConfig is one upstream: an account at it, reached by one protocol.
type ProviderConfig struct {
	// Kind is the protocol it speaks. Required. One of ProviderKinds.
	Kind string `yaml:"kind"`

	// APIKey authenticates Penstock to it. Zero: no key is sent, as local servers want it.
	APIKey Secret `yaml:"api_key,omitempty"`

	// APIKeys are further keys, which take turns with APIKey. Each is taken to have limits of its own. One that is refused
	// or at its limit is left alone for a while. Zero: none. At most 64 keys in all, each once.
	APIKeys []Secret `yaml:"api_keys,omitempty"`

	// BaseURL is the http or https URL that the protocol's paths are appended to, its version
	// included. Zero: the default of the kind; for openai https://api.openai.com/v1,
	// for anthropic https://api.anthropic.com/v1.
	BaseURL string `yaml:"base_url"`

	// Network says where the servers run: private, where they can reach internal addresses, such as those of your own network;
	// or public. The default of MediaHosts depends on it. Zero: the default, public where base_url is the default of the kind or
	// the resource is Azure's, private for all others.
	Network string `yaml:"network,omitempty"`

	// Azure says that an openai provider is a resource of Azure's, which has URLs and a header of its own.
	// Its base_url is then the resource's, without a path. Zero: the provider is not on Azure.
	Azure Azure `yaml:"azure,omitempty"`
}

// Azure is what Azure wants to know besides. Targets name a deployment as their upstream_model.
type Azure struct {
	// APIVersion is sent with every call, such as 2024-10-21. Matches [a-z0-9][a-z0-9._-]{0,62}. Zero: the
	// provider is not Azure's.
	APIVersion string `yaml:"api_version,omitempty"`
}

// TargetConfig is one upstream model, what it costs and how much of it may be used.
type TargetConfig struct {
	// Provider names the provider that reaches it. Required.
	Provider string `yaml:"provider"`

	// UpstreamModel is the name that the upstream knows it by. Required. At most 256 bytes.
	UpstreamModel string `yaml:"upstream_model"`

	// Region says where it runs. Matches [a-z0-9][a-z0-9._-]{0,62}. Zero: not stated.
	Region string `yaml:"region,omitempty"`

	// MaxOutputTokens is the most that it generates for one inference: what is reserved for a call that
	// sets no maximum of its own. Zero: the default, 4096. From 1 to
	// 1000000.
	MaxOutputTokens int64 `yaml:"max_output_tokens"`

	// ContextTokens is how many tokens of input it takes. Calls that are estimated to have more go to
	// other targets. Zero: not stated, nothing is held back. Up to 100000000.
	ContextTokens int64 `yaml:"context_tokens,omitempty"`

	// Capabilities is what it can do, of tools, vision, json_schema and streaming. Calls that need something
	// else go to other targets. Zero: the default, all of them.
	Capabilities []penstock.Capability `yaml:"capabilities"`

	// Quality is how good its answers are, by your own judgement, for models with policy scored. From 0
	// to 1. Zero: the default, 0.5.
	Quality float64 `yaml:"quality"`

	// PromptCache says that the upstream remembers how prompts begin: calls that begin alike are kept
	// together on it. Zero: they are not.
	PromptCache bool `yaml:"prompt_cache,omitempty"`

	// OnDisconnect says what becomes of a stream whose caller left before its end. cancel closes it upstream: what was
	// generated by then is estimated, and the rest of the reservation counts as spent, since the upstream does not report it.
	// drain continues reading, for at most timeouts.drain and 16 MiB, until the upstream reports its usage; it generates, and
	// charges for, all of the answer. Zero: the default, cancel.
	OnDisconnect OnDisconnect `yaml:"on_disconnect"`

	Limits   TargetLimits `yaml:"limits,omitempty"`
	Batching Batching     `yaml:"batching"`
	Price    Price        `yaml:"price,omitempty"`
	Timeouts Timeouts     `yaml:"timeouts"`

	// PriceChanges are prices that take the place of Price, each from a day on, in the order of their days. An
	// attempt costs what its target charged when it began. Zero: Price holds for good.
	PriceChanges []PriceChange `yaml:"price_changes,omitempty"`

	// Surcharges are the features of requests that hard budgets pay for on this target, although the request does not bound their
	// price: service tiers, tools that the upstream runs, and whatever else a refusal names. The name of a feature is that in the
	// refusal. Zero: none.
	Surcharges map[string]Surcharge `yaml:"surcharges,omitempty"`
}

// TargetLimits bounds the use of a target over all models, tenants and lanes.
type TargetLimits struct {
	// Concurrency is how many calls may run at a time, over all processes. Zero: as many as the target
	// itself bears, which is found out. Up to 100000.
	Concurrency int `yaml:"concurrency"`

	// RequestsPerMinute is how many calls may be sent in a minute, over all processes. Zero: what the
	// target's answers say about it. Up to 1000000000.
	RequestsPerMinute int64 `yaml:"requests_per_minute,omitempty"`

	// InputTokensPerMinute is how many tokens may be sent in a minute. Zero and bounds: as above.
	InputTokensPerMinute int64 `yaml:"input_tokens_per_minute,omitempty"`

	// OutputTokensPerMinute is how many tokens may be generated in a minute. Zero and bounds: as above.
	OutputTokensPerMinute int64 `yaml:"output_tokens_per_minute,omitempty"`

	// FreeCachedInput says that the upstream does not count tokens against its limits which it read from its cache.
	// Zero: it does.
	FreeCachedInput bool `yaml:"free_cached_input,omitempty"`

	// MaxShare is the part of the calls that may run at a time which one tenant's synchronous calls may be
	// while other tenants use the target too, or did within a minute. 1 sets no such bound. From 0.01 to 1.
	// Zero: the default, 0.75.
	MaxShare float64 `yaml:"max_share,omitempty"`
}

// Price is what a target charges, in US dollars per million tokens, as decimal strings with at most
// six decimals such as "0.15". Zero: the target has no price, and Unpriced says what that means. A target that
// is free says so with prices of "0".
type Price struct {
	// Input is the price of input tokens. Required with any other price.
	Input string `yaml:"input,omitempty"`

	// CachedInput is the price of input tokens that the upstream had cached. Zero: the default, Input.
	CachedInput string `yaml:"cached_input,omitempty"`

	// CacheWrite is the price of input tokens that the upstream wrote to its cache. Zero: the default, Input.
	CacheWrite string `yaml:"cache_write,omitempty"`

	// CacheWrite1h is the price of those that the upstream keeps for an hour. Zero: the default, CacheWrite; where that is
	// above Input, at least twice Input, which is what upstreams charge that charge for writes.
	CacheWrite1h string `yaml:"cache_write_1h,omitempty"`

	// AudioInput is the price of input tokens that are audio. Zero: the default, Input.
	AudioInput string `yaml:"audio_input,omitempty"`

	// Output is the price of output tokens. Required with any other price.
	Output string `yaml:"output,omitempty"`

	// Reasoning is the price of output tokens that the model reasoned with. Zero: the default, Output.
	Reasoning string `yaml:"reasoning,omitempty"`

	// AudioOutput is the price of output tokens that are audio. Zero: the default, Output.
	AudioOutput string `yaml:"audio_output,omitempty"`

	// PerRequest is what a call costs besides its tokens, in dollars with at most nine decimals. Zero: nothing.
	PerRequest string `yaml:"per_request,omitempty"`

	// PerImage is what an image in a call costs besides its tokens, in dollars. Zero: nothing.
	PerImage string `yaml:"per_image,omitempty"`

	// BatchDiscount is how much less work in the lane bulk costs, in percent. Zero: nothing. Up to 100.
	BatchDiscount int64 `yaml:"batch_discount,omitempty"`
}

// PriceChange is a price from a day on.
type PriceChange struct {
	// From is the first day of the price, such as "2026-01-01", in UTC. Required.
	From string `yaml:"from"`

	// Price is what is charged from then on, all of it. Required.
	Price Price `yaml:"price"`
}

// The policies on targets without a price.
const (
	UnpricedFlag   = "flag"
	UnpricedRefuse = "refuse"
)

// OnDisconnect is what becomes of a stream whose caller left.
type OnDisconnect string

// What can become of it.
const (
	DisconnectCancel OnDisconnect = "cancel"
	DisconnectDrain  OnDisconnect = "drain"
)

// Timeouts bound the phases of one call. A phase never outlasts the one that holds it: Connect is at
// most FirstToken, FirstToken and Idle are at most Total. Defaults that would be longer than what
// is written around them are shortened to it.
type Timeouts struct {
	// Connect bounds dialling and TLS. Zero: the default, 5s. From 1ms.
	Connect time.Duration `yaml:"connect"`

	// FirstToken bounds the wait from sending the call to the first chunk of its answer. Zero: the
	// default, 60s. From 1ms.
	FirstToken time.Duration `yaml:"first_token"`

	// Idle bounds the wait between two chunks. Zero: the default, 30s. From 1ms.
	Idle time.Duration `yaml:"idle"`

	// Total bounds the whole call. Zero: the default, 10m. From 1ms to 24h.
	Total time.Duration `yaml:"total"`

	// Drain bounds how long a stream is read on whose caller left, with on_disconnect: drain. Zero: the default, 30s.
	// From 1ms, and at most Total.
	Drain time.Duration `yaml:"drain"`
}

// ModelConfig is a public name: a policy over targets.
type ModelConfig struct {
	// Policy says how a target is chosen among those that can be used: ordered, the first; weighted, each by
	// its share; scored, the best; cheapest and fastest, which are scores of cost or latency alone. Zero: the
	// default, ordered.
	Policy penstock.Policy `yaml:"policy"`

	// Targets names the targets to choose from, each once. Required. Their order counts for ordered, and
	// decides between equals otherwise.
	Targets []string `yaml:"targets"`

	// Weights are the shares of targets, for policy weighted only, and required there for at least one. From 1
	// to 1000. Zero: 1 for a target without one.
	Weights map[string]int `yaml:"weights,omitempty"`

	// Score is how much each part of a score counts, for policy scored only, and required there.
	Score Score `yaml:"score,omitempty"`

	// Cache says that an identical call of the same tenant may get the answer of an earlier one. Zero: it gets
	// one of its own, unless its key or the call says otherwise.
	Cache CacheUse `yaml:"cache,omitempty"`
}

// Score weighs what a target is chosen by. Only proportions matter. Each from 0 to 1000, not all 0.
type Score struct {
	// Cost prefers what is cheap for the call at hand. Zero: it does not count.
	Cost float64 `yaml:"cost,omitempty"`

	// Latency prefers targets that recently answered quickly. Zero: it does not count.
	Latency float64 `yaml:"latency,omitempty"`

	// Quality prefers what its target's quality says. Zero: it does not count.
	Quality float64 `yaml:"quality,omitempty"`

	// Headroom prefers what has much of its limits left. Zero: it does not count.
	Headroom float64 `yaml:"headroom,omitempty"`
}

// TenantConfig is one who pays.
type TenantConfig struct {
	// Weight is its share of the queue, relative to other tenants. Zero: the default, 1. From 1 to
	// 1000.
	Weight int `yaml:"weight"`

	// Lanes are those it may use: realtime, standard, bulk. Zero: the default, all of them.
	Lanes []penstock.Lane `yaml:"lanes"`

	// Keys are the API keys it calls with. Zero: none, it cannot call.
	Keys []KeyConfig `yaml:"keys,omitempty"`

	// Retention is how long its finished work is kept. Zero fields: the global default.
	Retention Retention `yaml:"retention"`

	Limits TenantLimits `yaml:"limits"`

	// Regions are those that its work may run in: targets without a region, or in another one, are not used
	// for it. Zero: it may run anywhere.
	Regions []string `yaml:"regions,omitempty"`

	// Budget bounds what it may spend. Zero: nothing does.
	Budget Budget `yaml:"budget,omitempty"`

	// ModelBudgets bound what it may spend on single models, by the names that it asks for. Zero: nothing does.
	ModelBudgets map[string]Budget `yaml:"model_budgets,omitempty"`

	// Models are the configured models that it may ask for. Zero: all of them.
	Models []string `yaml:"models,omitempty"`

	// MediaHosts are the hosts that targets may fetch from for it. Zero: the global MediaHosts.
	MediaHosts []string `yaml:"media_hosts,omitempty"`

	// Tier is your own word for tenants of its kind, to list them by. It matches [a-z0-9][a-z0-9._-]{0,62}.
	// Zero: none.
	Tier string `yaml:"tier,omitempty"`
}

// Budget bounds what is spent, in US dollars with at most nine decimals. A reload changes limits; what was spent
// already counts on.
type Budget struct {
	// Daily is the most for a day of UTC. Zero: there is no bound.
	Daily string `yaml:"daily_usd,omitempty" json:"daily_usd,omitzero"`

	// Monthly is the most for a month of UTC. Zero: there is no bound.
	Monthly string `yaml:"monthly_usd,omitempty" json:"monthly_usd,omitzero"`

	// Total is the most for good. Zero: there is no bound.
	Total string `yaml:"total_usd,omitempty" json:"total_usd,omitzero"`

	// Hard refuses whatever could exceed a bound, with 402. Zero: it is admitted, with a warning.
	Hard bool `yaml:"hard,omitempty" json:"hard,omitzero"`
}

// KeyConfig is one API key.
type KeyConfig struct {
	// Name identifies the key in logs and records. Required, unique in its tenant. Matches
	// [a-z0-9][a-z0-9._-]{0,62}.
	Name string `yaml:"name"`

	// Secret is what callers present. Required, unique over all tenants, at most 256 visible ASCII characters, and random: at
	// least 128 bits, as "openssl rand -base64 24" prints. Words, repetitions and sequences are refused.
	Secret Secret `yaml:"secret"`

	// Scopes are what it may do: inference, jobs:write, jobs:read, webhooks, admin. Zero: the default, all but admin.
	Scopes []penstock.Scope `yaml:"scopes"`

	// Cache says that calls with this key may get the answers of earlier identical calls of its tenant, whatever the
	// model. Zero: what the model says.
	Cache CacheUse `yaml:"cache,omitempty"`

	// Limits are those of the key, besides those of its tenant.
	Limits RateLimits `yaml:"limits,omitempty"`

	// Budget bounds what may be spent with it. Zero: nothing does.
	Budget Budget `yaml:"budget,omitempty"`
}

// reserved is the type of the options that this version refuses.
type reserved struct{}

// Keys are all keys of a provider, in the order that they are numbered by.
func (p ProviderConfig) Keys() []Secret {
	if p.APIKey.IsZero() {
		return p.APIKeys
	}
	return append([]Secret{p.APIKey}, p.APIKeys...)
}

// ProviderKinds lists every protocol that a provider can speak.
var ProviderKinds = []string{KindOpenAI, KindAnthropic}

// The networks that a provider can run in.
const (
	NetworkPublic  = "public"
	NetworkPrivate = "private"
)

// private says whether a provider can reach what strangers may not.
func (p ProviderConfig) private() bool {
	switch {
	case p.Network != "":
		return p.Network == NetworkPrivate
	case p.Azure.APIVersion != "":
		return false
	}
	return p.BaseURL != DefaultOpenAIBaseURL && p.BaseURL != DefaultAnthropicBaseURL
}

const (
	// KindOpenAI is OpenAI's API, and that of the many servers compatible with it.
	KindOpenAI = "openai"
	// KindAnthropic is Anthropic's messages API.
	KindAnthropic = "anthropic"
)

// clone copies the file deeply enough that filling it in leaves the original alone.
func (f File) clone() File {
	f.MediaHosts = slices.Clone(f.MediaHosts)
	f.Providers = maps.Clone(f.Providers)
	for name, p := range f.Providers {
		p.APIKeys = slices.Clone(p.APIKeys)
		f.Providers[name] = p
	}
	f.Targets = maps.Clone(f.Targets)
	for name, t := range f.Targets {
		t.Capabilities, t.PriceChanges = slices.Clone(t.Capabilities), slices.Clone(t.PriceChanges)
		f.Targets[name] = t
	}
	f.Models = maps.Clone(f.Models)
	for name, m := range f.Models {
		m.Targets, m.Weights = slices.Clone(m.Targets), maps.Clone(m.Weights)
		f.Models[name] = m
	}
	f.Tenants = maps.Clone(f.Tenants)
	for id, t := range f.Tenants {
		t.Lanes, t.Regions, t.Models = slices.Clone(t.Lanes), slices.Clone(t.Regions), slices.Clone(t.Models)
		t.MediaHosts = slices.Clone(t.MediaHosts)
		t.Keys, t.Limits.Models, t.ModelBudgets = slices.Clone(t.Keys), maps.Clone(t.Limits.Models), maps.Clone(t.ModelBudgets)
		for i := range t.Keys {
			t.Keys[i].Scopes = slices.Clone(t.Keys[i].Scopes)
		}
		f.Tenants[id] = t
	}
	return f
}
