package provider

import (
	"net/http"
	"testing"
	"time"
)

// What upstreams say when they refuse a call for a limit, in their own words.
func TestReadQuota(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		codes      []string
		want       Quota
	}{
		{"OpenAI, tokens", "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 25000, Requested 8000. Please try again in 6s.",
			[]string{"rate_limit_exceeded", "tokens"}, Quota{Resource: ResourceTokens, Window: time.Minute, Limit: 30000, Requested: 8000, Wait: 6 * time.Second}},
		{"OpenAI, requests of a day", "Rate limit reached for gpt-4o on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.",
			[]string{"rate_limit_exceeded", "requests"}, Quota{Resource: ResourceRequests, Window: day, Limit: 200, Requested: 1, Wait: 7*time.Minute + 12*time.Second}},
		{"OpenAI, too large", "Request too large for gpt-4o (for limit gpt-4o) in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced.",
			[]string{"rate_limit_exceeded", "tokens"}, Quota{Resource: ResourceTokens, Window: time.Minute, Limit: 30000, Requested: 45000, Oversized: true}},
		{"OpenAI, by its type alone", "Rate limit reached", []string{"rate_limit_exceeded", "requests"}, Quota{Resource: ResourceRequests}},
		{"OpenAI, images", "Rate limit reached for gpt-image-1 on images per min (IPM): Limit 5, Used 5, Requested 1.", nil,
			Quota{Resource: ResourceImages, Window: time.Minute, Limit: 5, Requested: 1}},
		{"Groq", "Request too large for model `llama` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size",
			[]string{"tokens"}, Quota{Resource: ResourceTokens, Window: time.Minute, Limit: 6000, Requested: 14810, Oversized: true}},
		{"Groq, a day", "Rate limit reached for model `llama` on tokens per day (TPD): Limit 100000, Used 99800, Requested 1443. Please try again in 17m53.76s.",
			nil, Quota{Resource: ResourceTokens, Window: day, Limit: 100000, Requested: 1443, Wait: 17*time.Minute + 53760*time.Millisecond}},
		{"Anthropic, input", "This request would exceed your organization's rate limit of 30,000 input tokens per minute (org: 1, model: x). Please reduce the prompt length or the maximum tokens requested, or try again later.",
			nil, Quota{Resource: ResourceInput, Window: time.Minute, Limit: 30000}},
		{"Anthropic, before", "This request would exceed the rate limit for your organization (d3f2) of 40,000 input tokens per minute.", nil,
			Quota{Resource: ResourceInput, Window: time.Minute, Limit: 40000}},
		{"Anthropic, output", "This request would exceed your organization's rate limit of 8,000 output tokens per minute.", nil,
			Quota{Resource: ResourceOutput, Window: time.Minute, Limit: 8000}},
		{"Anthropic, requests", "This request would exceed your organization's rate limit of 50 requests per minute.", nil,
			Quota{Resource: ResourceRequests, Window: time.Minute, Limit: 50}},
		{"Anthropic, growth", "This request would exceed your organization's maximum usage increase rate for input tokens per minute. Please scale up your input tokens usage more gradually.",
			nil, Quota{Growing: true}},
		{"Anthropic, connections", "Number of concurrent connections has exceeded your rate limit.", nil, Quota{Resource: ResourceConcurrency}},
		{"Azure, tokens", "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-02-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 9 seconds.",
			[]string{"429"}, Quota{Resource: ResourceTokens, Window: time.Minute, Wait: 9 * time.Second}},
		{"Azure, calls", "Requests to the Embeddings_Create Operation have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 1 second.",
			nil, Quota{Resource: ResourceRequests, Window: time.Minute, Wait: time.Second}},
		{"Mistral", "Requests rate limit exceeded", []string{"1300", "rate_limited"}, Quota{Resource: ResourceRequests}},
		{"Cerebras", "Tokens per minute limit exceeded - too many tokens processed.", nil, Quota{Resource: ResourceTokens, Window: time.Minute}},
		{"Gemini", `You exceeded your current quota. Please retry in 45.57s. [{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]`, nil,
			Quota{Resource: ResourceRequests, Window: day, Wait: 45570 * time.Millisecond}},
		{"nothing", "Too Many Requests", nil, Quota{}},
		{"numbers that are none", "limit 99999999999999999999, requested 7", nil, Quota{Requested: 7}},
	} {
		if got := ReadQuota(tt.text, tt.codes...); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Headers show whether the named limit is used up, or the call is too large for the rest.
func TestJudgeQuota(t *testing.T) {
	t.Parallel()
	tokens := func(left, limit string) RateLimits {
		return ParseRateLimits(http.Header{"X-Ratelimit-Limit-Tokens": {limit}, "X-Ratelimit-Remaining-Tokens": {left}, "X-Ratelimit-Limit-Requests": {"500"},
			"X-Ratelimit-Remaining-Requests": {"499"}}, noon)
	}
	named := Quota{Resource: ResourceTokens, Window: time.Minute}
	for _, tt := range []struct {
		name      string
		quota     Quota
		limits    RateLimits
		size      Size
		plenty    bool
		oversized bool
		resource  Resource
	}{
		{"used up", named, tokens("0", "30000"), Size{Tokens: 90000}, false, false, ResourceTokens},
		{"nearly used up", named, tokens("2000", "30000"), Size{Tokens: 90000}, false, false, ResourceTokens},
		{"too large for what is left", named, tokens("9000", "30000"), Size{Tokens: 12000}, true, false, ResourceTokens},
		{"larger than all of it", named, tokens("9000", "30000"), Size{Tokens: 90000}, true, true, ResourceTokens},
		{"refused by a limit that nobody used", named, tokens("30000", "30000"), Size{}, true, true, ResourceTokens},
		{"no headers", named, RateLimits{}, Size{Tokens: 90000}, false, false, ResourceTokens},
		{"a minute that takes a day", named, RateLimits{}, Size{Wait: day}, false, true, ResourceTokens},
		{"a day says nothing by its minute", Quota{Resource: ResourceTokens, Window: day, Limit: 100000}, tokens("30000", "30000"), Size{Wait: day}, false, false, ResourceTokens},
		{"requests are never too large", Quota{Resource: ResourceRequests}, tokens("0", "30000"), Size{Tokens: 90000}, true, false, ResourceRequests},
		{"not named, but one is used up", Quota{}, tokens("0", "30000"), Size{}, false, false, ResourceTokens},
		{"not named, and plenty of all", Quota{}, tokens("29000", "30000"), Size{}, true, false, ""},
		{"use that grew too fast is no matter of size", Quota{Growing: true}, tokens("30000", "30000"), Size{Tokens: 90000}, false, false, ""},
		{"nothing is known", Quota{}, RateLimits{}, Size{}, false, false, ""},
	} {
		got := tt.quota.Judge(tt.limits, tt.size)
		if got.Plenty != tt.plenty || got.Oversized != tt.oversized || got.Resource != tt.resource {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func TestQuotaBoundsWaits(t *testing.T) {
	t.Parallel()
	for window, want := range map[time.Duration]time.Duration{
		0: MaxRetryAfter, time.Second: time.Second, time.Minute: time.Minute, time.Hour: time.Hour, day: 20 * time.Hour,
	} {
		if got := (Quota{Window: window}).Bound(20 * time.Hour); got != want {
			t.Errorf("a limit per %v bounds a wait to %v, want %v", window, got, want)
		}
	}
}

func FuzzReadQuota(f *testing.F) {
	f.Add("Limit 30000, Requested 45000 tokens per min. Please try again in 6m0.5s.")
	f.Fuzz(func(t *testing.T, text string) {
		q := ReadQuota(text, text)
		if q.Limit < 0 || q.Limit > maxAllowance || q.Requested < 0 || q.Requested > maxAllowance || q.Wait < 0 || q.Wait > day {
			t.Errorf("%q: %+v", text, q)
		}
	})
}
