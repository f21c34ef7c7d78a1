package provider

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Allowance is one limit per minute in the words of an upstream.
type Allowance struct {
	Limit     int64         // what it grants in full; 0 when it did not say
	Remaining int64         // what is left of it, if HasRemaining
	Reset     time.Duration // until it is whole again, 0 when it did not say

	HasRemaining bool
}

// RateLimits is what an upstream's answer says about its limits, on success and on failure alike. The
// zero value says nothing.
type RateLimits struct {
	Requests Allowance
	Tokens   Allowance // input and output together
	Input    Allowance // input tokens
	Output   Allowance // output tokens
}

const (
	// MaxRetryAfter bounds how long an upstream can put us off. Past it, trying once in vain is cheaper
	// than believing a broken clock.
	MaxRetryAfter = time.Hour
	// maxAllowance bounds a limit that is believed; more is as good as none.
	maxAllowance = 1_000_000_000
)

// ParseRateLimits reads the headers in which OpenAI, the many servers that follow it, Azure and
// Anthropic report their limits. Invalid numbers, such as Azure's -1, are ignored.
func ParseRateLimits(h http.Header, now time.Time) RateLimits {
	return defaultLimitHeaders.Parse(h, now)
}

// LimitNames are the last words of the headers that report limits per minute, in canonical form: x-ratelimit-limit-requests is
// "Requests". A limit without a name is not reported.
type LimitNames struct{ Requests, Tokens, Input, Output string }

// DefaultLimitNames are OpenAI's and Anthropic's.
var DefaultLimitNames = LimitNames{Requests: "Requests", Tokens: "Tokens", Input: "Input-Tokens", Output: "Output-Tokens"}

// LimitHeaders are the headers of an upstream's limits.
type LimitHeaders struct{ requests, tokens, input, output allowanceFields }

var defaultLimitHeaders = DefaultLimitNames.Headers()

// Headers returns the headers of these names.
func (n LimitNames) Headers() *LimitHeaders {
	return &LimitHeaders{allowanceFieldsOf(n.Requests), allowanceFieldsOf(n.Tokens), allowanceFieldsOf(n.Input), allowanceFieldsOf(n.Output)}
}

// Parse reads the limits of an answer. The zero value of a limit says nothing.
func (l *LimitHeaders) Parse(h http.Header, now time.Time) RateLimits {
	if !reportsLimits(h) {
		return RateLimits{}
	}
	return RateLimits{
		Requests: l.requests.parse(h, now), Tokens: l.tokens.parse(h, now), Input: l.input.parse(h, now), Output: l.output.parse(h, now),
	}
}

// The beginnings of all names in allowanceFields.
const (
	openAILimits    = "X-Ratelimit-"
	anthropicLimits = "Anthropic-Ratelimit-"
)

// reportsLimits reports whether an answer says anything about limits. Most self-hosted servers do not, and have few headers.
func reportsLimits(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, openAILimits) || strings.HasPrefix(name, anthropicLimits) {
			return true
		}
	}
	return false
}

// allowanceFields are the headers of one limit, each in the words of OpenAI and of Anthropic. They are spelled
// out here because every answer is asked for all of them.
type allowanceFields struct{ limit, remaining, reset [2]string }

func allowanceFieldsOf(what string) allowanceFields {
	if what == "" {
		return allowanceFields{}
	}
	names := func(word string) [2]string {
		return [2]string{openAILimits + word + "-" + what, anthropicLimits + what + "-" + word}
	}
	return allowanceFields{names("Limit"), names("Remaining"), names("Reset")}
}

func (f *allowanceFields) parse(h http.Header, now time.Time) Allowance {
	a := Allowance{Limit: parseCount(first(h, f.limit[:]...)), Reset: parseReset(first(h, f.reset[:]...), now)}
	remaining := first(h, f.remaining[:]...)
	if remaining == "" {
		return a
	}
	if n, err := strconv.ParseInt(remaining, 10, 64); err == nil && n >= 0 {
		a.Remaining, a.HasRemaining = min(n, maxAllowance), true
	}
	return a
}

// first returns the first of the headers that is there. Its names are in canonical form.
func first(h http.Header, names ...string) string {
	for _, name := range names {
		if values := h[name]; len(values) > 0 {
			return strings.TrimSpace(values[0])
		}
	}
	return ""
}

func parseCount(s string) int64 {
	if s == "" {
		return 0 // most answers say nothing, and an error costs an allocation
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	return min(n, maxAllowance)
}

// parseReset reads "6m0s" and "12ms", a number of seconds, or a time.
func parseReset(s string, now time.Time) time.Duration {
	if s == "" {
		return 0
	}
	if d, err := time.ParseDuration(s); err == nil {
		return boundedWait(d)
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return boundedWait(at.Sub(now))
	}
	return boundedWait(parseUnits(s, time.Second))
}

// Wait is how long to leave an upstream alone that refused a call for its limits without saying for how
// long. The limit that is used up is the one to wait for, and the longest if several are. If none is,
// then the call was too big for what was left, and the shortest wait may already do: a reset tells when
// all of the limit is back.
func (l RateLimits) Wait() time.Duration {
	var exhausted, shortest time.Duration
	for _, a := range []Allowance{l.Requests, l.Tokens, l.Input, l.Output} {
		if a.Reset == 0 {
			continue
		}
		if a.HasRemaining && a.Remaining == 0 {
			exhausted = max(exhausted, a.Reset)
		}
		if shortest == 0 || a.Reset < shortest {
			shortest = a.Reset
		}
	}
	if exhausted > 0 {
		return exhausted
	}
	return shortest
}

// ParseRetryAfter says how long an upstream asked us to wait, 0 when it did not. The most exact header
// wins.
func ParseRetryAfter(h http.Header, now time.Time) time.Duration {
	return min(ParseWait(h, now), MaxRetryAfter)
}

// ParseWait is ParseRetryAfter up to a day, for refusals whose limit bounds how much of that is believed.
func ParseWait(h http.Header, now time.Time) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if wait := parseUnits(first(h, name), time.Millisecond); wait > 0 {
			return wait
		}
	}
	value := first(h, "Retry-After")
	if wait := parseUnits(value, time.Second); wait > 0 {
		return wait
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), day)
	}
	return 0
}

// parseUnits reads a number of units, at most a day; 0 if it is not a number.
func parseUnits(s string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) {
		return 0
	}
	// Compared as a float: a large one does not fit a duration.
	if n >= float64(day/unit) {
		return day
	}
	return time.Duration(n * float64(unit))
}

func boundedWait(d time.Duration) time.Duration { return min(max(d, 0), MaxRetryAfter) }
