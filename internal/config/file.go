package config

import (
	"maps"
	"slices"
	"time"

	"penstock"
	"penstock/internal/provider/preset"
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

	// Models are the models that callers can use, by their public names. Names match
	// [A-Za-z0-9][A-Za-z0-9._/:-]{0,127}. A name that ends with a star, such as claude-*, answers for all names that begin
	// like it and are not configured; the longest such name takes precedence. Zero: none, every call is answered with
	// model_not_found.
	Models map[string]ModelConfig `yaml:"models,omitempty"`

	Catalogue CatalogueConfig `yaml:"catalogue,omitempty"`

	// MediaHosts are the hosts that the URLs of images, videos, audio and files in a body may name, because a target
	// fetches from them. An entry is a host name, *.example.com for all hosts below a domain, or an address. The entry
	// public allows all hosts except those of local networks, any allows every URL, even if it is not http, and none
	// allows no URL. A public name may resolve to a private address, so public does not protect a model server in your
	// network. Data in the body itself and ids of files are never refused. Zero: the default, public for models whose
	// targets all run in a public network (see the network of a provider), and none for others. Tenants may have their
	// own list.
	MediaHosts []string `yaml:"media_hosts,omitempty"`

	// FallbackModel is the configured model that answers for every model name that is not configured.
	// Meant for development, where any SDK example should run. Zero: unknown names are errors.
	FallbackModel string `yaml:"fallback_model,omitempty"`

	// Unpriced is the treatment of targets without a price. With flag, their use is counted, logged and marked on the
	// answer. With refuse, the configuration is rejected. Tenants with a hard budget never use them. Zero: the default,
	// flag.
	Unpriced string `yaml:"unpriced"`

	// StoreResponses says which responses of /v1/responses are stored, for the retention time of results. With by_default,
	// all but those that say store: false. With on_request, those that say store: true or belong to a conversation. Responses in
	// the background are always stored. Zero: the default, by_default.
	StoreResponses string `yaml:"store_responses"`

	Playground Playground `yaml:"playground"`

	// Tenants are the customers that may call, by id. Ids match [a-z0-9][a-z0-9._-]{0,62}. Further tenants can be in
	// the database. Zero: none in the file.
	Tenants map[string]TenantConfig `yaml:"tenants,omitempty"`

	// ClientTokens are the issuers whose OAuth tokens (JWT) services may send in place of an API key, by name. Names match
	// [a-z0-9][a-z0-9._-]{0,62}; records show a caller as jwt:NAME/SUBJECT. Zero: no tokens are accepted.
	ClientTokens map[string]TokenIssuer `yaml:"client_tokens,omitempty"`

	ClientCertificates ClientCertificates `yaml:"client_certificates,omitempty"`
}

// Process holds the settings of one process. They are read once, at start: no reload changes them
// and no hash covers them, because two nodes may differ here and still resolve alike.
type Process struct {
	// Listen is the address of the public API, host:port. Port 0 picks a free one. The environment's
	// PENSTOCK_LISTEN overrides it. Zero: the default, 127.0.0.1:8080.
	Listen string `yaml:"listen"`

	// PublicURL is the URL at which callers reach the public API, such as https://llm.example.com or, behind a proxy
	// that serves it below a path, https://example.com/llm. Links begin with it. Zero: links begin with the host of the
	// request, and with https if the proxy sends X-Forwarded-Proto: https.
	PublicURL string `yaml:"public_url"`

	// AdminListen is the address of metrics, profiles and the admin API, host:port. It must differ
	// from Listen. The environment's PENSTOCK_ADMIN_LISTEN overrides it. Zero: the default, 127.0.0.1:9090.
	AdminListen string `yaml:"admin_listen"`

	// Data is the directory of the embedded database and of stored payloads. The environment's
	// PENSTOCK_DATA overrides it. Zero: the default, ./penstock-data.
	Data string `yaml:"data"`

	// Database is the URL of a PostgreSQL server, postgres://…. It is a secret because it contains a password;
	// "postgres://penstock:${DB_PASSWORD}@db/penstock" works. The environment's PENSTOCK_DATABASE_URL overrides it.
	// Zero: SQLite in Data.
	Database Secret `yaml:"database,omitempty"`

	// Environment is the name of this installation on the pages of the console, so that people know where they act: production,
	// staging or dev. Zero: the default, production.
	Environment string `yaml:"environment"`

	CORS   CORS   `yaml:"cors,omitempty"`
	Admin  Admin  `yaml:"admin,omitempty"`
	SignIn SignIn `yaml:"sign_in"`
	Blobs  Blobs  `yaml:"blobs,omitempty"`

	Console Console `yaml:"console,omitempty"`

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

// CORS is which web pages may call the public API from a browser.
type CORS struct {
	// Origins are the origins of these pages, such as https://app.example.com: a scheme, a host and, unless it is the usual
	// one, a port. Each is listed by itself; there is no wildcard, because a page that calls the API holds a key of a tenant.
	// At most 100. Zero: none, browsers refuse all pages.
	Origins []string `yaml:"origins,omitempty"`
}

// Admin are the keys and the host names of the admin API.
type Admin struct {
	// Key is the first key of the admin API. It needs 128 random bits, like the keys of tenants. The environment's PENSTOCK_ADMIN_KEY overrides it. Zero: the first start creates a key in the file admin-key in Data.
	Key Secret `yaml:"key,omitempty"`

	// MetricsKey is a key that can only read metrics, for a scraper in the network. It needs 128 random bits too. Zero:
	// metrics are read with an admin key, and over loopback without a key.
	MetricsKey Secret `yaml:"metrics_key,omitempty"`

	// Hosts are the host names of the admin API, besides localhost and IP addresses. Calls for other names are refused, since a web
	// page could make a browser send them. Without ports. Zero: none.
	Hosts []string `yaml:"hosts,omitempty"`

	// TLS is the certificate of AdminListen. Zero: plain HTTP.
	TLS TLS `yaml:"tls,omitempty"`
}

// Log is the level and the format of the log.
type Log struct {
	// Level is the least severe level that is written: debug, info, warn or error. Zero: the
	// default, info.
	Level string `yaml:"level"`

	// Format is the format of log lines: json for machines, text for people. Zero: the default, json.
	Format string `yaml:"format"`
}

// Retention is how long finished work is kept. A reload also applies to existing data: a shorter window frees space at
// once, and a longer window keeps data that is not deleted yet.
type Retention struct {
	// Results is how long a job is kept after its end, with its items, inputs, results and dead letters, and how long
	// the record of a synchronous call is kept. Then all of it is deleted. Zero: the default, 168h, or for a tenant the
	// global default. From 1m to 87600h.
	Results time.Duration `yaml:"results"`

	// Events is how long a job's log can be read after its end. Not longer than Results. Zero: the
	// default, 24h, or for a tenant the global default; a shorter Results shortens it. From 1m to 87600h.
	Events time.Duration `yaml:"events"`

	// Idempotency is how long an Idempotency-Key is stored after the submit, even if its job is deleted. Zero: the
	// default, 24h, or for a tenant the global default. From 24h, the time that the API promises, to 87600h.
	Idempotency time.Duration `yaml:"idempotency"`

	// Files is how long a file is kept after its upload; its own expires_after can only shorten this time. Zero: the
	// default, 720h, or for a tenant the global default. From 1m to 87600h.
	Files time.Duration `yaml:"files"`
}

// Disk is the check of free space on the file systems of Data.
type Disk struct {
	// MinFree is the space that must stay free: a size such as "2GiB" or "500MiB", or a part of the disk such as "5%".
	// With less free space, new jobs are refused, so that accepted work can finish. "0" turns the check off. Zero: the
	// default, "512MiB". At most "50%" or "1024TiB".
	MinFree string `yaml:"min_free"`
}

// TLS is the certificate with which a listener serves HTTPS, and the client certificates that it accepts. The files are
// read again when they change. Zero: plain HTTP.
type TLS struct {
	// CertFile is the path of a PEM certificate chain. Required with KeyFile. Zero: no TLS.
	CertFile string `yaml:"cert_file,omitempty"`

	// KeyFile is the path of the certificate's PEM private key. Required with CertFile. Zero: no TLS.
	KeyFile string `yaml:"key_file,omitempty"`

	// ClientCAFile is the path of a PEM file with the certificates of the authorities that sign client certificates (mTLS).
	// It needs CertFile. ClientCertificates map certificates to tenants. Zero: client certificates are not asked for.
	ClientCAFile string `yaml:"client_ca_file,omitempty"`

	// ClientAuth is whether a connection needs a client certificate: optional, or required, also for health checks. Zero:
	// the default, optional with ClientCAFile.
	ClientAuth string `yaml:"client_auth,omitempty"`
}

// Tracing is the export of spans.
type Tracing struct {
	// OTLPEndpoint is the http or https URL of an OTLP/HTTP collector. Zero: no tracing.
	OTLPEndpoint string `yaml:"otlp_endpoint,omitempty"`

	// SampleRatio is the part of new traces that is recorded. The decision in a caller's traceparent takes precedence.
	// Above 0, at most 1. It needs OTLPEndpoint. Zero: the default, 1.
	SampleRatio float64 `yaml:"sample_ratio,omitempty"`
}

// Work are the bounds of the workers of one process.
type Work struct {
	// Slots is how many items run at a time. Zero: the default, 64. From 1 to 10000.
	Slots int `yaml:"slots"`

	// LeaseTimeout is how long a process that sends no heartbeat keeps its items. The items of a killed worker run
	// again after this time. Zero: the default, 10s. From 200ms to 5m.
	LeaseTimeout time.Duration `yaml:"lease_timeout"`

	// PollInterval is how often workers poll the queue if no signal wakes them earlier. From 10ms up to LeaseTimeout.
	// Zero: the default, 500ms on SQLite and 1s on PostgreSQL, where processes wake each other; at most half of
	// LeaseTimeout.
	PollInterval time.Duration `yaml:"poll_interval"`

	// Suspects is how many suspects run at a time: items that were in flight when several workers died. Each runs in a
	// child process of the worker, so that an item that crashes its process affects no other item. Suspects use no
	// Slots. Zero: the default, 8. From 1 to 256.
	Suspects int `yaml:"suspects"`

	// Pools are slots besides Slots that are reserved for the items of some models, so that one slow model cannot
	// occupy all slots. Items of such a model run only in these slots. Zero: none.
	Pools []WorkPool `yaml:"pools,omitempty"`
}

// WorkPool is a number of slots for some models.
type WorkPool struct {
	// Models are the configured models whose items run here. Required. A model is in at most one pool.
	Models []string `yaml:"models"`

	// Slots is how many of their items run at a time. Required. From 1 to 10000.
	Slots int `yaml:"slots"`
}

// Limits are the bounds on the size of calls, and on the memory and the open calls of one process.
type Limits struct {
	// MaxBodyBytes is the largest request body, and the largest body of one inference in a job. Zero: the
	// default, 8388608 (8 MiB). From 1024 to 67108864 (64 MiB).
	MaxBodyBytes int64 `yaml:"max_body_bytes"`

	// MaxJobBytes is the largest body of a call that submits a job, and the largest size of its inputs with the
	// defaults added. Zero: the default, 67108864 (64 MiB). From 1024 to 268435456 (256 MiB).
	MaxJobBytes int64 `yaml:"max_job_bytes"`

	// MaxJSONDepth is how deep the JSON of a body may nest. Zero: the default, 64. From 8 to 512.
	MaxJSONDepth int `yaml:"max_json_depth"`

	// MaxFileBytes is the largest file that can be uploaded. A line of the file has at most MaxBodyBytes. Zero: the
	// default, 2147483648 (2 GiB). From 1024 to 1099511627776 (1 TiB).
	MaxFileBytes int64 `yaml:"max_file_bytes"`

	Bounds `yaml:",inline"`

	_ reserved `yaml:"max_items" refuse:"cannot be set: a job takes at most 10000 inputs, and a file at most 5000000 lines; remove it"`
}

// Cache is the memory for cached answers. It is empty unless a model, a key or a call enables the cache.
type Cache struct {
	// MaxBytes is the largest size of the cache in one process. Zero: the default, 67108864 (64 MiB). From 1048576 (1
	// MiB) to 68719476736 (64 GiB).
	MaxBytes int64 `yaml:"max_bytes"`

	// MaxEntryBytes is the largest answer that is cached. At most an eighth of MaxBytes. Zero: the default, 1048576
	// (1 MiB), or as much as MaxBytes allows. From 1024.
	MaxEntryBytes int64 `yaml:"max_entry_bytes"`
}

// CacheUse is the use of cached answers.
type CacheUse struct {
	// TTL is how long an answer is used. Zero: no caching. From 1s to 24h.
	TTL time.Duration `yaml:"ttl,omitempty"`
}

// Webhooks are the bounds on webhook URLs, which tenants choose.
type Webhooks struct {
	// Allow are networks that may be called although they are not public, such as "10.20.0.0/16", also by plain http.
	// An address of a cloud's metadata service is allowed only if the list has that single address, not by a network
	// that contains it. Zero: none; in development, loopback.
	Allow []string `yaml:"allow,omitempty"`

	// PlainHTTP is whether http without TLS is allowed for public addresses. Zero: public addresses need https.
	PlainHTTP bool `yaml:"plain_http,omitempty"`

	// Timeout is how long a receiver may take to answer. Zero: the default, 15s. From 1s to 30s.
	Timeout time.Duration `yaml:"timeout"`
}

// ProviderConfig is an account at an upstream, and the protocol of that upstream.
type ProviderConfig struct {
	// Kind is the vendor, or the protocol of the upstream: openai, anthropic, gemini, bedrock, mistral, groq, together, xai,
	// deepseek, openrouter, fireworks, perplexity, vllm, sglang, ollama or llamacpp. Required.
	Kind string `yaml:"kind"`

	// APIKey is the key that Penstock sends to the upstream. Zero: no key is sent, which suits local servers.
	APIKey Secret `yaml:"api_key,omitempty"`

	// APIKeys are further keys, which take turns with APIKey. Penstock assumes that each key has its own limits. A key
	// that is refused or at its limit is not used for a while. Zero: none. At most 64 keys in all, each once.
	APIKeys []Secret `yaml:"api_keys,omitempty"`

	// BaseURL is the http or https URL that the protocol's paths are appended to, its version
	// included. Zero: the default of the kind; for openai https://api.openai.com/v1,
	// for anthropic https://api.anthropic.com/v1. "Connect a provider" lists the others.
	BaseURL string `yaml:"base_url"`

	// Network is where the servers run: private if they can reach internal addresses, such as those of your own
	// network, otherwise public. The default of media_hosts depends on it. Zero: the default, public if base_url is the
	// default of the kind or the provider is on Azure, otherwise private.
	Network string `yaml:"network,omitempty"`

	// Azure is for an openai provider that is a resource at Microsoft, which has its own URLs and its own header. Its
	// base_url is then the URL of the resource, without a path. Zero: the provider is not such a resource.
	Azure Azure `yaml:"azure,omitempty"`

	// AWS is for a bedrock provider: its region, and the credentials that sign its calls. Zero: the provider is not AWS's.
	AWS AWS `yaml:"aws,omitempty"`
}

// AWS are the settings of AWS Bedrock. The upstream_model of its targets is the id of a model or of an inference profile. A
// provider has either access_key_id and secret_access_key, or a Bedrock API key as api_key.
type AWS struct {
	// Region is where the models run, such as eu-central-1. Matches [a-z0-9][a-z0-9._-]{0,62}. Required for bedrock.
	Region string `yaml:"region,omitempty"`

	// AccessKeyID is the id of the access key. Zero: api_key is sent instead of a signature.
	AccessKeyID string `yaml:"access_key_id,omitempty"`

	// SecretAccessKey signs each call. Required with access_key_id.
	SecretAccessKey Secret `yaml:"secret_access_key,omitempty"`

	// SessionToken belongs to temporary credentials. Zero: the credentials are permanent.
	SessionToken Secret `yaml:"session_token,omitempty"`
}

// BaseURL is the address of Bedrock in the region.
func (a AWS) BaseURL() string { return "https://bedrock-runtime." + a.Region + ".amazonaws.com" }

// Azure are the settings of an Azure OpenAI resource. The upstream_model of its targets is the name of a deployment.
type Azure struct {
	// APIVersion is sent with every call, such as 2024-10-21. Matches [a-z0-9][a-z0-9._-]{0,62}. Zero: the
	// provider is not Azure's.
	APIVersion string `yaml:"api_version,omitempty"`
}

// TargetConfig is one upstream model, with its price and its limits.
type TargetConfig struct {
	// Provider is the name of the provider that serves it. Required.
	Provider string `yaml:"provider"`

	// UpstreamModel is its name at the upstream. Required. At most 256 bytes.
	UpstreamModel string `yaml:"upstream_model"`

	// Catalogue is the entry of the catalogue of models that describes it, as vendor/model, such as openai/gpt-4o-mini
	// for a deployment at Azure, or none. Its price, ContextTokens, Capabilities and MaxOutputTokens come from there if
	// they are not set here. Zero: the default, the entry of the provider's vendor under UpstreamModel, if the provider
	// is a known vendor and has such an entry.
	Catalogue string `yaml:"catalogue,omitempty"`

	// Region is the region in which it runs. Matches [a-z0-9][a-z0-9._-]{0,62}. Zero: not stated.
	Region string `yaml:"region,omitempty"`

	// MaxOutputTokens is the largest number of tokens that it generates for one inference. It is reserved for a call
	// that sets no maximum itself. Zero: the default, 4096. From 1 to 1000000.
	MaxOutputTokens int64 `yaml:"max_output_tokens"`

	// ContextTokens is how many tokens of input it accepts. Calls with a higher estimate go to other targets. Zero: no
	// bound is known, and no call is excluded. Up to 100000000.
	ContextTokens int64 `yaml:"context_tokens,omitempty"`

	// Capabilities are some of tools, vision, json_schema and streaming. Calls that need a capability that is not
	// listed go to other targets. Zero: the default, all of them.
	Capabilities []penstock.Capability `yaml:"capabilities"`

	// Quality is how good its answers are, by your own judgement, for models with policy scored. From 0
	// to 1. Zero: the default, 0.5.
	Quality float64 `yaml:"quality"`

	// PromptCache is whether the upstream caches the beginnings of prompts. Calls with the same beginning then go to
	// the same target. Zero: they do not.
	PromptCache bool `yaml:"prompt_cache,omitempty"`

	// OnDisconnect is what happens to the upstream's stream when the caller disconnects before its end. With cancel,
	// Penstock closes the stream. The usage until then is estimated, and the rest of the reservation counts as spent,
	// since the upstream does not report the usage. With drain, Penstock continues to read, for at most timeouts.drain
	// and 16 MiB, until the upstream reports its usage; the upstream generates, and charges for, the whole answer.
	// Zero: the default, cancel.
	OnDisconnect OnDisconnect `yaml:"on_disconnect"`

	Limits   TargetLimits `yaml:"limits,omitempty"`
	Batching Batching     `yaml:"batching"`
	Price    Price        `yaml:"price,omitempty"`
	Timeouts Timeouts     `yaml:"timeouts"`

	// PriceChanges are prices that take the place of Price, each from a day on, in the order of their days. An attempt
	// is charged the price at its start. Zero: Price does not change.
	PriceChanges []PriceChange `yaml:"price_changes,omitempty"`

	// Surcharges are the features of requests that hard budgets pay for on this target, although the request does not
	// bound their price: service tiers, tools that the upstream runs, and other features that a refusal names. The key
	// is the name of the feature in the refusal. Zero: none.
	Surcharges map[string]Surcharge `yaml:"surcharges,omitempty"`
}

// TargetLimits are the limits of a target, over all models, tenants and lanes.
type TargetLimits struct {
	// Concurrency is how many calls may run at a time, over all processes. Zero: Penstock adapts the number to the
	// target. Up to 100000.
	Concurrency int `yaml:"concurrency"`

	// RequestsPerMinute is how many calls may be sent in a minute, over all processes. Zero: the limit in the headers
	// of the target's answers, if there is one. Up to 1000000000.
	RequestsPerMinute int64 `yaml:"requests_per_minute,omitempty"`

	// InputTokensPerMinute is how many tokens may be sent in a minute. Zero and bounds: as above.
	InputTokensPerMinute int64 `yaml:"input_tokens_per_minute,omitempty"`

	// OutputTokensPerMinute is how many tokens may be generated in a minute. Zero and bounds: as above.
	OutputTokensPerMinute int64 `yaml:"output_tokens_per_minute,omitempty"`

	// FreeCachedInput is whether the upstream's limits ignore input tokens that it read from its cache. Zero: they
	// count.
	FreeCachedInput bool `yaml:"free_cached_input,omitempty"`

	// MaxShare is the largest part of the target's concurrency that the synchronous calls of one tenant may use, while
	// other tenants use the target too or did so within a minute. 1 sets no such bound. From 0.01 to 1. Zero: the
	// default, 0.75.
	MaxShare float64 `yaml:"max_share,omitempty"`
}

// Price is what a target charges, in US dollars per million tokens, as decimal strings with at most six decimals such
// as "0.15". Zero: the target has no price, and the key unpriced decides about its use. A free target has prices of
// "0".
type Price struct {
	// Input is the price of input tokens. Required with any other price.
	Input string `yaml:"input,omitempty"`

	// CachedInput is the price of input tokens that the upstream had cached. Zero: the default, Input.
	CachedInput string `yaml:"cached_input,omitempty"`

	// CacheWrite is the price of input tokens that the upstream wrote to its cache. Zero: the default, Input.
	CacheWrite string `yaml:"cache_write,omitempty"`

	// CacheWrite1h is the price of input tokens that the upstream wrote to its cache for an hour. Zero: the default,
	// CacheWrite, or twice Input if CacheWrite is above Input and below that.
	CacheWrite1h string `yaml:"cache_write_1h,omitempty"`

	// AudioInput is the price of input tokens that are audio. Zero: the default, Input.
	AudioInput string `yaml:"audio_input,omitempty"`

	// Output is the price of output tokens. Required with any other price.
	Output string `yaml:"output,omitempty"`

	// Reasoning is the price of output tokens that the model reasoned with. Zero: the default, Output.
	Reasoning string `yaml:"reasoning,omitempty"`

	// AudioOutput is the price of output tokens that are audio. Zero: the default, Output.
	AudioOutput string `yaml:"audio_output,omitempty"`

	// InputAbove200k is the price of input tokens in calls with more than 200000 input tokens. The prices of the other
	// classes of input rise in proportion. Zero: the default, Input.
	InputAbove200k string `yaml:"input_above_200k,omitempty"`

	// OutputAbove200k is the price of output tokens in such calls. Reasoning and AudioOutput rise in proportion. Zero:
	// the default, Output.
	OutputAbove200k string `yaml:"output_above_200k,omitempty"`

	// PerRequest is the price of a call besides its tokens, in dollars with at most nine decimals. Zero: nothing.
	PerRequest string `yaml:"per_request,omitempty"`

	// PerImage is the price of an image in a call besides its tokens, in dollars. Zero: nothing.
	PerImage string `yaml:"per_image,omitempty"`

	// PerSearch is the price of a search unit of a call for reranking besides its tokens, in dollars. A search unit ranks
	// up to 100 documents; longer documents count several times. Zero: nothing.
	PerSearch string `yaml:"per_search,omitempty"`

	// BatchDiscount is the discount on work in the lane bulk, in percent. Zero: nothing. Up to 100.
	BatchDiscount int64 `yaml:"batch_discount,omitempty"`
}

// PriceChange is a price from a day on.
type PriceChange struct {
	// From is the first day of the price, such as "2026-01-01", in UTC. Required.
	From string `yaml:"from"`

	// Price is the whole price from that day on. Required.
	Price Price `yaml:"price"`
}

// The policies on storing responses.
const (
	StoreByDefault = "by_default"
	StoreOnRequest = "on_request"
)

// The policies on targets without a price.
const (
	UnpricedFlag   = "flag"
	UnpricedRefuse = "refuse"
)

// OnDisconnect is what happens to an upstream's stream when the caller disconnects.
type OnDisconnect string

// The values of [OnDisconnect].
const (
	DisconnectCancel OnDisconnect = "cancel"
	DisconnectDrain  OnDisconnect = "drain"
)

// Timeouts bound the phases of one call. Each phase is at most as long as the phase that contains it: connect is at
// most first_token, and first_token and idle are at most total. A default that would be longer than a configured
// timeout is shortened to it.
type Timeouts struct {
	// Connect is the timeout for the connection and the TLS handshake. Zero: the default, 5s. From 1ms.
	Connect time.Duration `yaml:"connect"`

	// FirstToken is the timeout from sending the call to the first chunk of its answer. Zero: the default, 60s. From
	// 1ms.
	FirstToken time.Duration `yaml:"first_token"`

	// Idle is the timeout between two chunks. Zero: the default, 30s. From 1ms.
	Idle time.Duration `yaml:"idle"`

	// Total is the timeout of the whole call. Zero: the default, 10m. From 1ms to 24h.
	Total time.Duration `yaml:"total"`

	// Drain is how long Penstock reads a stream after its caller disconnected, with on_disconnect: drain. Zero: the
	// default, 30s. From 1ms, and at most Total.
	Drain time.Duration `yaml:"drain"`
}

// ModelConfig is a public name: a policy over targets.
type ModelConfig struct {
	// Policy is how a target is chosen among the usable targets: ordered takes the first, weighted takes each by its
	// share, scored takes the target with the best score. cheapest and fastest are scores of cost or latency alone.
	// Zero: the default, ordered.
	Policy penstock.Policy `yaml:"policy"`

	// Targets are the names of the targets to choose from, each once. Required. ordered uses their order; the other
	// policies use it between equal targets.
	Targets []string `yaml:"targets"`

	// OnIncapable is what happens to a call that asks for a capability that a target does not have, or for a feature
	// that cannot be expressed in the dialect of the target. With same_vendor, the call moves to other targets of the
	// same vendor: a target is used only if every vendor that the model lists before the target's vendor can serve the
	// call too; if no target is left, the call gets 400. With skip, the call moves to any other target of the model.
	// With refuse, it does not move: with policy ordered, targets after an incapable target are not used; with other
	// policies, every target must be able. An answer names the skipped targets in x-penstock-skipped-targets. Two
	// targets have the same vendor if their providers have the same kind and host. Zero: the default, same_vendor.
	OnIncapable penstock.OnIncapable `yaml:"on_incapable"`

	// OnOverflow is what happens to a conversation (chat, messages, responses) that is longer than the context of every
	// target that may serve it, by the context_tokens of the targets. With reject, the call gets 400. With
	// truncate_oldest, Penstock drops the oldest turns until the rest fits. With truncate_middle, it keeps the first turn
	// and the newest ones. Instructions, tools and the last turn of the user are always kept; if they alone do not fit, the
	// call gets 400 context_too_long. An answer says in x-penstock-truncated what was dropped. Zero: the default, reject.
	OnOverflow penstock.OnOverflow `yaml:"on_overflow"`

	// Weights are the shares of targets, for policy weighted only, which requires at least one. From 1 to 1000. Zero: 1
	// for a target without a weight.
	Weights map[string]int `yaml:"weights,omitempty"`

	// Score is how much each part of a score counts, for policy scored only, which requires it.
	Score Score `yaml:"score,omitempty"`

	// Cache is whether an identical call of the same tenant may get the answer of an earlier call. Zero: it may not,
	// unless its key or the call enables the cache.
	Cache CacheUse `yaml:"cache,omitempty"`
}

// Score are the weights of the parts of a target's score. Only their proportions matter. Each from 0 to 1000, not all
// 0.
type Score struct {
	// Cost is the weight of a low cost of the call. Zero: it does not count.
	Cost float64 `yaml:"cost,omitempty"`

	// Latency is the weight of recent fast answers. Zero: it does not count.
	Latency float64 `yaml:"latency,omitempty"`

	// Quality is the weight of the target's quality. Zero: it does not count.
	Quality float64 `yaml:"quality,omitempty"`

	// Headroom is the weight of free capacity. Zero: it does not count.
	Headroom float64 `yaml:"headroom,omitempty"`
}

// TenantConfig is a customer: it pays for its work, and has its own keys, limits and budgets.
type TenantConfig struct {
	// Weight is its share of the queue, relative to other tenants. Zero: the default, 1. From 1 to
	// 1000.
	Weight int `yaml:"weight"`

	// Lanes are the lanes that it may use: realtime, standard, bulk. Zero: the default, all of them.
	Lanes []penstock.Lane `yaml:"lanes"`

	// Keys are its API keys. Zero: none in the file.
	Keys []KeyConfig `yaml:"keys,omitempty"`

	// Retention is how long its finished work is kept. Zero fields: the global default.
	Retention Retention `yaml:"retention"`

	Limits TenantLimits `yaml:"limits"`

	// Regions are the regions in which its work may run. Targets without a region, or in another region, are not used
	// for it. Zero: it may run anywhere.
	Regions []string `yaml:"regions,omitempty"`

	// Budget is the limit on its spending. Zero: no limit.
	Budget Budget `yaml:"budget,omitempty"`

	// ModelBudgets are the limits on its spending for single models, by their public names. Zero: no limits.
	ModelBudgets map[string]Budget `yaml:"model_budgets,omitempty"`

	// TagBudgets are the limits on its spending under single tags, by key:value, such as team:search. Work without the tag does not count against them. Zero: no limits.
	TagBudgets map[string]Budget `yaml:"tag_budgets,omitempty"`

	// Models are the configured models that it may use. Zero: all of them.
	Models []string `yaml:"models,omitempty"`

	// MediaHosts are the hosts that URLs in its bodies may name. Zero: the global MediaHosts.
	MediaHosts []string `yaml:"media_hosts,omitempty"`

	Playground TenantPlayground `yaml:"playground,omitempty"`

	// Tier is your own label for a kind of tenant, for lists. It matches [a-z0-9][a-z0-9._-]{0,62}. Zero: none.
	Tier string `yaml:"tier,omitempty"`
}

// Budget is a limit on spending, in US dollars with at most nine decimals. After a reload, money that was spent before
// still counts.
type Budget struct {
	// Daily is the limit for a day in UTC. Zero: no limit.
	Daily string `yaml:"daily_usd,omitempty" json:"daily_usd,omitzero"`

	// Monthly is the limit for a month in UTC. Zero: no limit.
	Monthly string `yaml:"monthly_usd,omitempty" json:"monthly_usd,omitzero"`

	// Total is the limit without a period. Zero: no limit.
	Total string `yaml:"total_usd,omitempty" json:"total_usd,omitzero"`

	// Hard is whether work that could exceed a limit is refused with 402. Zero: it is admitted, with a warning.
	Hard bool `yaml:"hard,omitempty" json:"hard,omitzero"`
}

// KeyConfig is one API key.
type KeyConfig struct {
	// Name is the name of the key in logs and records. Required, unique in its tenant. Matches
	// [a-z0-9][a-z0-9._-]{0,62}.
	Name string `yaml:"name"`

	// Secret is the text that callers send as their key. Required, unique over all tenants, at most 256 visible ASCII
	// characters, with at least 128 random bits. "openssl rand -base64 24" prints such a text. Words, repetitions and
	// sequences are refused.
	Secret Secret `yaml:"secret"`

	// Scopes are some of inference, jobs:write, jobs:read, webhooks and admin. Zero: the default, all except admin.
	Scopes []penstock.Scope `yaml:"scopes"`

	// Cache is whether calls with this key may get the answers of earlier identical calls of its tenant, for any model.
	// Zero: the setting of the model applies.
	Cache CacheUse `yaml:"cache,omitempty"`

	// Limits are the limits of the key, in addition to those of its tenant.
	Limits RateLimits `yaml:"limits,omitempty"`

	// Budget is the limit on the spending with the key. Zero: no limit.
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
var ProviderKinds = append([]string{KindOpenAI, KindAnthropic, KindGemini, KindBedrock}, preset.Kinds()...)

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
	case p.Kind == KindBedrock:
		return p.BaseURL != p.AWS.BaseURL()
	}
	return p.BaseURL != defaultBaseURL(p.Kind) || isLocal(p.Kind)
}

// defaultBaseURL is the address of a kind, "" if it has none.
func defaultBaseURL(kind string) string {
	switch kind {
	case KindOpenAI:
		return DefaultOpenAIBaseURL
	case KindAnthropic:
		return DefaultAnthropicBaseURL
	case KindGemini:
		return DefaultGeminiBaseURL
	}
	vendor, _ := preset.Of(kind)
	return vendor.BaseURL
}

// isLocal says whether operators run the servers of a kind themselves.
func isLocal(kind string) bool {
	vendor, _ := preset.Of(kind)
	return vendor.Private
}

const (
	// KindOpenAI is OpenAI's API, and that of the many servers compatible with it.
	KindOpenAI = "openai"
	// KindAnthropic is Anthropic's messages API.
	KindAnthropic = "anthropic"
	// KindGemini is Google's Gemini API.
	KindGemini = "gemini"
	// KindBedrock is the Converse API of AWS Bedrock.
	KindBedrock = "bedrock"
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
	f.ClientTokens, f.ClientCertificates = maps.Clone(f.ClientTokens), f.ClientCertificates.clone()
	for name, i := range f.ClientTokens {
		f.ClientTokens[name] = i.clone()
	}
	f.Tenants = maps.Clone(f.Tenants)
	for id, t := range f.Tenants {
		t.Lanes, t.Regions, t.Models = slices.Clone(t.Lanes), slices.Clone(t.Regions), slices.Clone(t.Models)
		t.MediaHosts = slices.Clone(t.MediaHosts)
		t.Keys, t.Limits.Models, t.ModelBudgets, t.TagBudgets = slices.Clone(t.Keys), maps.Clone(t.Limits.Models), maps.Clone(t.ModelBudgets), maps.Clone(t.TagBudgets)
		for i := range t.Keys {
			t.Keys[i].Scopes = slices.Clone(t.Keys[i].Scopes)
		}
		f.Tenants[id] = t
	}
	return f
}
