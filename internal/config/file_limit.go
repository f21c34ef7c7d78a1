package config

import (
	"maps"
	"slices"
	"time"

	"penstock"
)

// RateLimits are the limits of a tenant, of a key, or of a tenant's calls for one model, over all processes. They are
// independent: a call needs capacity under all limits that apply to it. A reload changes them at once.
type RateLimits struct {
	// RequestsPerMinute is how many calls may be made in a minute; the submit of a job is one. Zero: any
	// number. Up to 1000000000.
	RequestsPerMinute int64 `yaml:"requests_per_minute,omitempty"`

	// InputTokensPerMinute is how many tokens synchronous calls may send in a minute. Zero and bounds: as above.
	InputTokensPerMinute int64 `yaml:"input_tokens_per_minute,omitempty"`

	// OutputTokensPerMinute is how many tokens may be generated for them in a minute. Zero and bounds: as above.
	OutputTokensPerMinute int64 `yaml:"output_tokens_per_minute,omitempty"`

	// DailyTokens is how many tokens, input and output, may be used from midnight to midnight UTC. Items of
	// jobs count when they have run, for their tenant and its model. Zero and bounds: as above.
	DailyTokens int64 `yaml:"daily_tokens,omitempty"`

	// Concurrency is how many synchronous calls may run at a time. Zero: any number. Up to 100000.
	Concurrency int `yaml:"concurrency,omitempty"`

	// Burst is the part of a limit per minute that may be used at once; the rest is spread evenly over the minute. No
	// minute has more than the limit: with 0.01 a steady load uses 99 % of it, with 0.2 only 80 %. From 0.001 to 0.5.
	// Zero: the default, 0.05.
	Burst float64 `yaml:"burst,omitempty"`

	// Wait is the longest that a call or submit waits for this limit before it is refused: for its turn under a limit per
	// minute, or for another call to end. Calls never wait for a limit per day. From 0s to 30s; 0s refuses at once. Default 2s.
	Wait time.Duration `yaml:"wait,omitempty"`

	_ reserved `yaml:"tokens_per_minute" refuse:"is two limits here: input_tokens_per_minute and output_tokens_per_minute"`
}

// DefaultBurst is three seconds' worth.
const DefaultBurst = 0.05

const (
	minBurst          = 0.001
	maxBurst          = 0.5
	minShare          = 0.01
	maxEnqueuedTokens = 1_000_000_000_000_000
	maxStoredBytes    = 1 << 50
)

func (l *RateLimits) fillDefaults(written places, at path) {
	if *l != (RateLimits{}) { // what limits nothing needs no burst
		fill(written, at+".burst", &l.Burst, DefaultBurst)
		fill(written, at+".wait", &l.Wait, penstock.DefaultLimitWait)
	}
}

// limits is what checked limits mean to the rest of Penstock.
func (l RateLimits) limits() penstock.Limits {
	if l == (RateLimits{}) {
		return penstock.Limits{}
	}
	return penstock.Limits{
		RequestsPerMinute: l.RequestsPerMinute, InputTokensPerMinute: l.InputTokensPerMinute,
		OutputTokensPerMinute: l.OutputTokensPerMinute, DailyTokens: l.DailyTokens, Concurrency: l.Concurrency, Burst: l.Burst,
		Wait: penstock.WaitFor(l.Wait),
	}
}

// modelLimits are those of a tenant's models.
func (l TenantLimits) modelLimits() map[string]penstock.Limits {
	if len(l.Models) == 0 {
		return nil
	}
	all := make(map[string]penstock.Limits, len(l.Models))
	for name, m := range l.Models {
		all[name] = m.limits()
	}
	return all
}

// tenantLimits checks all limits of a tenant.
func (c *checker) tenantLimits(at path, t TenantConfig) {
	c.rateLimits(at+".limits", t.Limits.RateLimits)
	c.optional(at+".limits.enqueued_tokens", t.Limits.EnqueuedTokens, maxEnqueuedTokens)
	c.optional(at+".limits.stored_bytes", t.Limits.StoredBytes, maxStoredBytes)
	for _, name := range slices.Sorted(maps.Keys(t.Limits.Models)) {
		at := (at + ".limits.models").key(name)
		if !modelName.MatchString(name) {
			c.fail(at, "the name of a model must match %s", modelName)
		}
		c.rateLimits(at, t.Limits.Models[name])
	}
	for i, k := range t.Keys {
		c.rateLimits((at+".keys").index(i)+".limits", k.Limits)
	}
}

func (c *checker) rateLimits(at path, l RateLimits) {
	c.optional(at+".requests_per_minute", l.RequestsPerMinute, maxPerMinute)
	c.optional(at+".input_tokens_per_minute", l.InputTokensPerMinute, maxPerMinute)
	c.optional(at+".output_tokens_per_minute", l.OutputTokensPerMinute, maxPerMinute)
	c.optional(at+".daily_tokens", l.DailyTokens, maxPerMinute)
	c.optional(at+".concurrency", int64(l.Concurrency), maxConcurrency)
	if _, written := c.draft.places[at+".burst"]; written || l.Burst != 0 {
		within(c, at+".burst", l.Burst, bounds[float64]{minBurst, maxBurst})
	}
	within(c, at+".wait", l.Wait, bounds[time.Duration]{0, penstock.MaxLimitWait})
}

// optional checks a bound that may be left out, but not written as 0, which would be ambiguous.
func (c *checker) optional(at path, v, most int64) {
	if _, written := c.draft.places[at]; written || v != 0 {
		within(c, at, v, bounds[int64]{1, most})
	}
}
