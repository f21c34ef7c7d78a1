package provider

import (
	"net/http"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestParseRateLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		header map[string]string
		want   RateLimits
	}{
		{"nothing", nil, RateLimits{}},
		{"OpenAI", map[string]string{
			"x-ratelimit-limit-requests": "600", "x-ratelimit-remaining-requests": "599", "x-ratelimit-reset-requests": "100ms",
			"x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s",
		}, RateLimits{
			Requests: Allowance{Limit: 600, Remaining: 599, HasRemaining: true, Reset: 100 * time.Millisecond},
			Tokens:   Allowance{Limit: 150000, HasRemaining: true, Reset: 6 * time.Minute},
		}},
		{"Groq", map[string]string{
			"x-ratelimit-limit-requests": "14400", "x-ratelimit-reset-requests": "2m59.56s",
		}, RateLimits{Requests: Allowance{Limit: 14400, Reset: 179560 * time.Millisecond}}},
		{"Azure knows nothing", map[string]string{
			"x-ratelimit-limit-requests": "-1", "x-ratelimit-remaining-requests": "-1", "x-ratelimit-reset-requests": "0",
			"x-ratelimit-limit-tokens": "0", "x-ratelimit-remaining-tokens": "7",
		}, RateLimits{Tokens: Allowance{Remaining: 7, HasRemaining: true}}},
		{"Anthropic", map[string]string{
			"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "49",
			"anthropic-ratelimit-requests-reset":     "2026-03-01T12:00:01Z",
			"anthropic-ratelimit-input-tokens-limit": "20000", "anthropic-ratelimit-input-tokens-remaining": "19000",
			"anthropic-ratelimit-input-tokens-reset":  "2026-03-01T11:59:00Z",
			"anthropic-ratelimit-output-tokens-limit": "8000", "anthropic-ratelimit-tokens-limit": "28000",
		}, RateLimits{
			Requests: Allowance{Limit: 50, Remaining: 49, HasRemaining: true, Reset: time.Second},
			Input:    Allowance{Limit: 20000, Remaining: 19000, HasRemaining: true},
			Output:   Allowance{Limit: 8000},
			Tokens:   Allowance{Limit: 28000},
		}},
		{"nonsense", map[string]string{
			"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "1.5", "x-ratelimit-reset-requests": "soon",
			"x-ratelimit-limit-tokens": "9223372036854775807",
		}, RateLimits{Tokens: Allowance{Limit: maxAllowance}}},
	} {
		h := http.Header{}
		for name, value := range tt.header {
			h.Set(name, value)
		}
		if got := ParseRateLimits(h, noon); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"none", http.Header{}, 0},
		{"seconds", http.Header{"Retry-After": {"3"}}, 3 * time.Second},
		{"parts of a second", http.Header{"Retry-After": {" 0.25 "}}, 250 * time.Millisecond},
		{"negative", http.Header{"Retry-After": {"-3"}, "Retry-After-Ms": {"-1"}}, 0},
		{"no number", http.Header{"Retry-After": {"NaN"}}, 0},
		{"infinite", http.Header{"Retry-After": {"Inf"}}, MaxRetryAfter},
		{"huge", http.Header{"Retry-After-Ms": {"1e300"}}, MaxRetryAfter},
		{"text", http.Header{"Retry-After": {"soon"}}, 0},
		{"date", http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:05 GMT"}}, 5 * time.Second},
		{"past date", http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:28:00 GMT"}}, 0},
		{"milliseconds win", http.Header{"Retry-After": {"3"}, "Retry-After-Ms": {"100"}}, 100 * time.Millisecond},
		{"Azure's milliseconds", http.Header{"X-Ms-Retry-After-Ms": {"20"}}, 20 * time.Millisecond},
	} {
		if got := ParseRetryAfter(tt.header, noon); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestWaitForTheLimitThatIsUsedUp(t *testing.T) {
	t.Parallel()
	limits := func(remainingRequests, resetRequests, remainingTokens, resetTokens string) http.Header {
		return http.Header{
			"X-Ratelimit-Remaining-Requests": {remainingRequests}, "X-Ratelimit-Reset-Requests": {resetRequests},
			"X-Ratelimit-Remaining-Tokens": {remainingTokens}, "X-Ratelimit-Reset-Tokens": {resetTokens},
		}
	}
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"requests used up", limits("0", "12ms", "5", "6m0s"), 12 * time.Millisecond},
		{"tokens used up", limits("5", "12ms", "0", "6m0s"), 6 * time.Minute},
		{"both used up", limits("0", "12ms", "0", "6m0s"), 6 * time.Minute},
		{"neither used up", limits("5", "12ms", "5", "6m0s"), 12 * time.Millisecond},
		{"one is useless", limits("0", "-1", "5", "2s"), 2 * time.Second},
		{"seconds without a unit", limits("0", "1.5", "5", ""), 1500 * time.Millisecond},
		{"bounded", limits("0", "24h", "5", ""), MaxRetryAfter},
		{"nothing told", http.Header{}, 0},
	} {
		if got := ParseRateLimits(tt.header, noon).Wait(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func FuzzRateLimits(f *testing.F) {
	f.Add("600", "599", "100ms", "3")
	f.Add("-1", "0", "2026-03-01T12:00:01Z", "Sun, 01 Mar 2026 12:00:05 GMT")
	f.Add("9999999999999999999", "1e9", "-6m", "NaN")
	f.Fuzz(func(t *testing.T, limit, remaining, reset, after string) {
		for _, prefix := range []string{"X-Ratelimit-", "Anthropic-Ratelimit-"} {
			h := http.Header{"Retry-After": {after}, "Retry-After-Ms": {after}}
			for part, value := range map[string]string{"Limit": limit, "Remaining": remaining, "Reset": reset} {
				h[prefix+part+"-Requests"] = []string{value}
				h[prefix+"Input-Tokens-"+part] = []string{value}
			}
			l := ParseRateLimits(h, noon)
			for _, a := range []Allowance{l.Requests, l.Tokens, l.Input, l.Output} {
				if a.Limit < 0 || a.Limit > maxAllowance || a.Remaining < 0 || a.Remaining > maxAllowance ||
					a.Reset < 0 || a.Reset > MaxRetryAfter || (!a.HasRemaining && a.Remaining != 0) {
					t.Errorf("allowance %+v is out of bounds", a)
				}
			}
			for _, wait := range []time.Duration{l.Wait(), ParseRetryAfter(h, noon)} {
				if wait < 0 || wait > MaxRetryAfter {
					t.Errorf("wait of %v", wait)
				}
			}
		}
	})
}
