package config

import (
	"slices"
	"strings"
	"time"

	"penstock"
)

// The defaults of the file's fields.
const (
	DefaultListen            = "127.0.0.1:8080"
	DefaultAdminListen       = "127.0.0.1:9090"
	DefaultData              = "./penstock-data"
	DefaultLogLevel          = "info"
	DefaultLogFormat         = "json"
	DefaultShutdownGrace     = 30 * time.Second
	DefaultRetentionResults  = 168 * time.Hour
	DefaultRetentionEvents   = 24 * time.Hour
	DefaultRetentionKeys     = 24 * time.Hour
	DefaultRetentionFiles    = 720 * time.Hour
	DefaultMinFree           = "512MiB"
	DefaultSampleRatio       = 1.0
	DefaultSlots             = 64
	DefaultSuspects          = 8
	DefaultLeaseTimeout      = 10 * time.Second
	DefaultPollInterval      = 500 * time.Millisecond
	DefaultSharedPoll        = time.Second // on a database whose processes wake each other
	DefaultMaxBodyBytes      = 8 << 20
	DefaultMaxJSONDepth      = 64
	DefaultMaxJobBytes       = 64 << 20
	DefaultMaxFileBytes      = 2 << 30
	DefaultCacheBytes        = 64 << 20
	DefaultCacheEntryBytes   = 1 << 20
	DefaultOpenAIBaseURL     = "https://api.openai.com/v1"
	DefaultAnthropicBaseURL  = "https://api.anthropic.com/v1"
	DefaultGeminiBaseURL     = "https://generativelanguage.googleapis.com/v1beta"
	DefaultMaxOutputTokens   = 4096
	DefaultConnectTimeout    = 5 * time.Second
	DefaultFirstTokenTimeout = 60 * time.Second
	DefaultIdleTimeout       = 30 * time.Second
	DefaultDrainTimeout      = 30 * time.Second
	DefaultTotalTimeout      = 10 * time.Minute
	DefaultWeight            = 1
	DefaultQuality           = 0.5
	DefaultWebhookTimeout    = 15 * time.Second
)

// fillDefaults gives every field that the file does not set its default, and every list its canonical order
// where order means nothing. What was written stays as it is, also when it is zero, for check to see.
func (f *File) fillDefaults(written places, known facts) {
	f.Process.fillDefaults(written)
	f.Retention.fillDefaults(written, "retention", Retention{DefaultRetentionResults, DefaultRetentionEvents, DefaultRetentionKeys, DefaultRetentionFiles})
	fill(written, "unpriced", &f.Unpriced, UnpricedFlag)
	fill(written, "store_responses", &f.StoreResponses, StoreByDefault)
	f.Playground.fillDefaults(written)
	f.Queue.fillDefaults(written)
	f.Lanes.fillDefaults(written)
	for name, p := range f.Providers {
		at := path("providers").key(name)
		if url := defaultBaseURL(p.Kind); url != "" {
			fill(written, at+".base_url", &p.BaseURL, url)
		}
		if p.Kind == KindBedrock && p.AWS.Region != "" {
			fill(written, at+".base_url", &p.BaseURL, p.AWS.BaseURL())
		}
		p.BaseURL = strings.TrimRight(p.BaseURL, "/")
		f.Providers[name] = p
	}
	for name, t := range f.Targets {
		known.describe(name, &t, f.Providers[t.Provider], written)
		t.fillDefaults(written, path("targets").key(name))
		f.Targets[name] = t
	}
	for name, m := range f.Models {
		fill(written, path("models").key(name)+".policy", &m.Policy, penstock.PolicyOrdered)
		fill(written, path("models").key(name)+".on_incapable", &m.OnIncapable, penstock.IncapableSameVendor)
		fill(written, path("models").key(name)+".on_overflow", &m.OnOverflow, penstock.OverflowReject)
		m.fillWeights()
		f.Models[name] = m
	}
	for id, t := range f.Tenants {
		at := path("tenants").key(id)
		t.fillDefaults(written, at)
		t.Retention.fillDefaults(written, at+".retention", f.Retention)
		t.Limits.fillDefaults(written, at+".limits", f.Queue)
		f.Tenants[id] = t
	}
	for name, i := range f.ClientTokens {
		i.fillDefaults(written, path("client_tokens").key(name))
		f.ClientTokens[name] = i
	}
	f.ClientCertificates.fillDefaults(written)
}

func (p *Process) fillDefaults(written places) {
	fill(written, "listen", &p.Listen, DefaultListen)
	fill(written, "admin_listen", &p.AdminListen, DefaultAdminListen)
	fill(written, "data", &p.Data, DefaultData)
	fill(written, "environment", &p.Environment, EnvironmentProduction)
	p.SignIn.fillDefaults(written)
	p.Blobs.fillDefaults(written)
	fill(written, "log.level", &p.Log.Level, DefaultLogLevel)
	fill(written, "log.format", &p.Log.Format, DefaultLogFormat)
	fill(written, "shutdown_grace", &p.ShutdownGrace, DefaultShutdownGrace)
	fill(written, "disk.min_free", &p.Disk.MinFree, DefaultMinFree)
	p.TLS.fillDefaults(written, "tls")
	p.Admin.TLS.fillDefaults(written, "admin.tls")
	if p.Tracing.OTLPEndpoint != "" {
		fill(written, "tracing.sample_ratio", &p.Tracing.SampleRatio, DefaultSampleRatio)
	}
	fill(written, "work.slots", &p.Work.Slots, DefaultSlots)
	fill(written, "work.suspects", &p.Work.Suspects, DefaultSuspects)
	fill(written, "work.lease_timeout", &p.Work.LeaseTimeout, DefaultLeaseTimeout)
	poll := DefaultPollInterval
	if !p.Database.IsZero() {
		poll = DefaultSharedPoll
	}
	fill(written, "work.poll_interval", &p.Work.PollInterval, shorter(poll, p.Work.LeaseTimeout/2))
	fill(written, "limits.max_body_bytes", &p.Limits.MaxBodyBytes, DefaultMaxBodyBytes)
	fill(written, "limits.max_job_bytes", &p.Limits.MaxJobBytes, DefaultMaxJobBytes)
	fill(written, "limits.max_json_depth", &p.Limits.MaxJSONDepth, DefaultMaxJSONDepth)
	fill(written, "limits.max_file_bytes", &p.Limits.MaxFileBytes, DefaultMaxFileBytes)
	p.Limits.Bounds.fillDefaults(written, p.Limits.MaxJobBytes)
	fill(written, "cache.max_bytes", &p.Cache.MaxBytes, DefaultCacheBytes)
	fill(written, "cache.max_entry_bytes", &p.Cache.MaxEntryBytes, min(DefaultCacheEntryBytes, p.Cache.MaxBytes/maxCacheEntryPart))
	fill(written, "webhooks.timeout", &p.Webhooks.Timeout, DefaultWebhookTimeout)
}

func (r *Retention) fillDefaults(written places, at path, byDefault Retention) {
	fill(written, at+".results", &r.Results, byDefault.Results)
	fill(written, at+".events", &r.Events, shorter(byDefault.Events, r.Results))
	fill(written, at+".idempotency", &r.Idempotency, byDefault.Idempotency)
	fill(written, at+".files", &r.Files, byDefault.Files)
}

func (t *TargetConfig) fillDefaults(written places, at path) {
	fill(written, at+".max_output_tokens", &t.MaxOutputTokens, DefaultMaxOutputTokens)
	t.Capabilities = fillList(written, at+".capabilities", t.Capabilities, penstock.AllCapabilities)
	fill(written, at+".quality", &t.Quality, DefaultQuality)
	t.Batching.fillDefaults(written, at+".batching")
	t.Price.fillDefaults(written, at+".price")
	for i := range t.PriceChanges {
		t.PriceChanges[i].Price.fillDefaults(written, (at+".price_changes").index(i)+".price")
	}
	out := &t.Timeouts
	// From the outside in, so that an inner default can yield to what was written around it.
	fill(written, at+".timeouts.total", &out.Total, DefaultTotalTimeout)
	fill(written, at+".timeouts.idle", &out.Idle, shorter(DefaultIdleTimeout, out.Total))
	fill(written, at+".on_disconnect", &t.OnDisconnect, DisconnectCancel)
	fill(written, at+".timeouts.drain", &out.Drain, shorter(DefaultDrainTimeout, out.Total))
	fill(written, at+".timeouts.first_token", &out.FirstToken, shorter(DefaultFirstTokenTimeout, out.Total))
	fill(written, at+".timeouts.connect", &out.Connect, shorter(DefaultConnectTimeout, out.FirstToken))
}

func (p *Price) fillDefaults(written places, at path) {
	for _, f := range p.followers() {
		fill(written, at.key(f.name), f.quote, f.followed())
	}
}

// fillWeights gives each target of a weighted model a share.
func (m *ModelConfig) fillWeights() {
	if m.Policy != penstock.PolicyWeighted || len(m.Weights) == 0 {
		return
	}
	for _, target := range m.Targets {
		if _, ok := m.Weights[target]; !ok {
			m.Weights[target] = DefaultWeight
		}
	}
}

func (t *TenantConfig) fillDefaults(written places, at path) {
	fill(written, at+".weight", &t.Weight, DefaultWeight)
	t.Lanes = fillList(written, at+".lanes", t.Lanes, penstock.Lanes)
	for i := range t.Keys {
		k := &t.Keys[i]
		k.Scopes = fillList(written, (at+".keys").index(i)+".scopes", k.Scopes, penstock.Scopes)
		k.Limits.fillDefaults(written, (at+".keys").index(i)+".limits")
	}
}

// fill sets a value that is zero and was not written.
func fill[T comparable](written places, at path, value *T, byDefault T) {
	var zero T
	if _, ok := written[at]; !ok && *value == zero {
		*value = byDefault
	}
}

// fillList returns all for a list that is empty and was not written.
func fillList[T comparable](written places, at path, list, all []T) []T {
	if _, ok := written[at]; !ok && len(list) == 0 {
		return slices.Clone(all)
	}
	return list
}

// shorter is a default that yields to what was written around it, unless that makes no sense itself.
func shorter(byDefault, limit time.Duration) time.Duration {
	if limit <= 0 {
		return byDefault
	}
	return min(byDefault, limit)
}

// overrides maps paths to the environment variables that set them.
type overrides map[path]string

// Override lets the environment win over the file: PENSTOCK_LISTEN over listen, PENSTOCK_ADMIN_LISTEN over admin_listen,
// PENSTOCK_DATA over data, PENSTOCK_DATABASE_URL over database and PENSTOCK_ADMIN_KEY over admin.key. An empty variable counts as unset. [Load] and
// [Parse] do this on their own.
func (f *File) Override(env Env) {
	d := draft{file: *f}
	d.override(env)
	*f = d.file
}

func (d *draft) override(env Env) {
	d.overridden = overrides{}
	take := func(name string, at path, set func(string)) {
		if value, ok := env(name); ok && value != "" {
			set(value)
			d.overridden[at] = name
			delete(d.places, at) // its problems are no longer found in the file
		}
	}
	take("PENSTOCK_LISTEN", "listen", func(v string) { d.file.Listen = v })
	take("PENSTOCK_ADMIN_LISTEN", "admin_listen", func(v string) { d.file.AdminListen = v })
	take("PENSTOCK_DATA", "data", func(v string) { d.file.Data = v })
	take("PENSTOCK_DATABASE_URL", "database", func(v string) { d.file.Database = NewSecret(v) })
	take("PENSTOCK_ADMIN_KEY", "admin.key", func(v string) { d.file.Admin.Key = NewSecret(v) })
}
