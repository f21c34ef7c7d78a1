package api

import (
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/rest"
)

// Every answer to a limited caller reports the state of its limits, in the fields that its SDK reads.
func TestLimitHeaders(t *testing.T) {
	t.Parallel()
	limits := config.TenantLimits{
		RateLimits: config.RateLimits{RequestsPerMinute: 60, InputTokensPerMinute: 60_000, OutputTokensPerMinute: 6000, DailyTokens: 1_000_000},
		Models:     map[string]config.RateLimits{"fast": {RequestsPerMinute: 20}},
	}
	r := newLimitedRig(t, limits, penstock.EndpointChat, penstock.EndpointMessages)
	answer := frames{wires: []string{`{}`}, meta: provider.Meta{StatusCode: 200, ContentType: rest.TypeJSON,
		Usage: penstock.Usage{InputTokens: 100, OutputTokens: 20}, UsageKnown: true}}
	r.answers(answer)

	a := r.post("/v1/chat/completions", `{"model":"smart","messages":[]}`)
	for name, want := range map[string]string{
		"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "2", "x-ratelimit-limit-tokens": "6000",
	} {
		if got := a.header.Get(name); a.status != 200 || got != want {
			t.Errorf("%d, %s: %q, want %q", a.status, name, got, want)
		}
	}
	if d, err := time.ParseDuration(a.header.Get("x-ratelimit-reset-requests")); err != nil || d <= 0 || d > 2*time.Second {
		t.Errorf("reset %v, %v", d, err)
	}
	if got, want := a.header.Get("RateLimit-Policy"), `"tenant-requests";q=60;w=60, "tenant-input_tokens";q=60000;w=60, `+
		`"tenant-output_tokens";q=6000;w=60, "tenant-daily_tokens";q=1000000;w=86400`; got != want {
		t.Errorf("RateLimit-Policy: %s, want %s", got, want)
	}
	if got := a.header.Get("RateLimit"); !strings.HasPrefix(got, `"tenant-requests";r=2;t=`) || strings.Count(got, ", ") != 3 {
		t.Errorf("RateLimit: %s", got)
	}

	r.answers(answer)
	a = r.post("/v1/messages", `{"model":"fast","max_tokens":10,"messages":[]}`)
	for name, want := range map[string]string{
		"anthropic-ratelimit-requests-limit": "20", "anthropic-ratelimit-requests-remaining": "0",
		"anthropic-ratelimit-input-tokens-limit": "60000", "anthropic-ratelimit-output-tokens-limit": "6000", "x-ratelimit-limit-requests": "",
	} {
		if got := a.header.Get(name); a.status != 200 || got != want {
			t.Errorf("%d, %s: %q, want %q", a.status, name, got, want)
		}
	}
	if at, err := time.Parse(time.RFC3339, a.header.Get("anthropic-ratelimit-requests-reset")); err != nil || time.Until(at) > 5*time.Second {
		t.Errorf("reset %v, %v", at, err)
	}

	a = r.post("/v1/messages", `{"model":"fast","max_tokens":10,"messages":[]}`)
	if a.status != 429 || a.header.Get("Retry-After") == "" || a.header.Get("anthropic-ratelimit-requests-remaining") != "0" ||
		!strings.Contains(a.body, `"rate_limit_error"`) || !strings.Contains(a.body, "Tenant search with model fast is at its limit: 20 requests a minute, 1 at once; a place is kept for this key at ") {
		t.Errorf("past the limit: %+v", a)
	}
	for _, a := range []reply{r.get("/v1/models"), r.post("/v1/chat/completions", `{`)} {
		if a.header.Get("x-ratelimit-limit-requests") != "60" {
			t.Errorf("an answer without a call says nothing of limits: %+v", a)
		}
	}
	if a := newRig(t).get("/v1/models"); a.header.Get("RateLimit") != "" {
		t.Errorf("without limits: %+v", a.header)
	}
}

// The unused part of a call's estimate is refunded at its end.
func TestLimitsAreSettled(t *testing.T) {
	t.Parallel()
	r := newLimitedRig(t, config.TenantLimits{RateLimits: config.RateLimits{DailyTokens: 1000, Concurrency: 1}}, penstock.EndpointChat)
	for n := range 5 {
		r.answers(frames{wires: []string{`{}`}, meta: provider.Meta{StatusCode: 200, ContentType: rest.TypeJSON,
			Usage: penstock.Usage{InputTokens: 150, OutputTokens: 50}, UsageKnown: true}})
		if a := r.post("/v1/chat/completions", `{"model":"fast","messages":[]}`); a.status != 200 {
			t.Fatalf("call %d: %+v", n, a)
		}
	}
	if a := r.post("/v1/chat/completions", `{"model":"fast","messages":[]}`); a.status != 429 || !strings.Contains(a.body, "1000 tokens a day") {
		t.Errorf("past the day's tokens: %+v", a)
	}
}
