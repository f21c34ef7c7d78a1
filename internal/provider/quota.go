package provider

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Resource is what an upstream limits.
type Resource string

// The resources.
const (
	ResourceRequests    Resource = "requests"
	ResourceTokens      Resource = "tokens" // input and output together
	ResourceInput       Resource = "input_tokens"
	ResourceOutput      Resource = "output_tokens"
	ResourceImages      Resource = "images"
	ResourceConcurrency Resource = "concurrency"
)

// Quota is the limit that a refusal names. The zero value names none.
type Quota struct {
	Resource  Resource      // "" when the refusal does not say
	Window    time.Duration // in which the limit counts, 0 when the refusal does not say
	Limit     int64         // units for each window, 0 when the refusal does not say
	Requested int64         // units that the refused call asked for, 0 when the refusal does not say
	Wait      time.Duration // how long to wait, as the refusal's text says; 0 when it does not
	Oversized bool          // the call asked for more than a whole window has: no waiting helps
	// Plenty: the upstream says that most calls would still fit. The refused call is too large for what is left, and
	// nothing is wrong with others.
	Plenty bool
	// Growing: use grew too fast. That is no matter of one limit, nor of the size of the call, and headers say nothing about it.
	Growing bool
}

const (
	day = 24 * time.Hour
	// plentyShare is the part of a limit, as 1/plentyShare, from which on what is left counts as plenty.
	plentyShare = 10
	// maxQuotaText bounds how much of an error is searched for the limit that it names.
	maxQuotaText = 4 << 10
)

// quotaPhrases are the words, in lower case, by which upstreams name a limited resource. The first that matches counts:
// "input tokens per minute" is no limit on all tokens, and the sentence of a limit on tokens often begins with "Requests".
var quotaPhrases = []struct {
	resource Resource
	phrases  []string
}{
	{ResourceConcurrency, []string{"concurren", "simultaneous", "parallel requests"}},
	{ResourceImages, []string{"images per", "(ipm)", "input-images", "image_generation"}},
	{ResourceInput, []string{"input tokens per", "input token rate", "inputtokensper", "input_token_count", "prompt tokens per"}},
	{ResourceOutput, []string{"output tokens per", "output token rate", "outputtokensper", "completion tokens per"}},
	{ResourceTokens, []string{"tokens per", "token rate limit", "tokens rate limit", "(tpm)", "(tpd)", "tokensper", "token_quota", "number of tokens"}},
	{ResourceRequests, []string{
		"requests per", "request rate limit", "requests rate limit", "call rate limit", "(rpm)", "(rpd)", "requestsper", "reached for requests", "number of requests",
	}},
}

// quotaGrowth are the words by which upstreams say that use grew too fast.
var quotaGrowth = []string{"increase rate", "acceleration limit"}

// quotaWindows are the words for the window of a limit, the longest first: where several limits are named, all of
// them have to pass.
var quotaWindows = []struct {
	window  time.Duration
	phrases []string
}{
	{day, []string{"per day", "perday", "per_day", "(rpd)", "(tpd)", "daily"}},
	{time.Hour, []string{"per hour", "perhour", "per_hour", "hourly"}},
	// Azure names no time: its limits on tokens and calls are per minute.
	{time.Minute, []string{"per min", "perminute", "per_minute", "(tpm)", "(rpm)", "(ipm)", "token rate limit of your current", "call rate limit of your current"}},
	{time.Second, []string{"per second", "persecond", "per_second", "(rps)"}},
}

// The numbers of a limit: "Limit 30000, Used 25000, Requested 8000. Please try again in 6m0s", "your rate limit of 30,000 input
// tokens per minute", "Please retry after 86400 seconds".
var (
	quotaLimit     = regexp.MustCompile(`\blimit:? ([0-9][0-9,]*)|\bof ([0-9][0-9,]*) (?:input |output |prompt )?(?:tokens|requests) per`)
	quotaRequested = regexp.MustCompile(`\brequested:? ([0-9][0-9,]*)`)
	quotaWait      = regexp.MustCompile(`\b(?:try again|retry)(?: your request)? (?:in|after) ([0-9][0-9a-z.]*)(?: (seconds?|minutes?|hours?))?`)
)

// ReadQuota finds the limit that a refusal names, in its text or, by a word of its own, among its codes. It is for refusals for
// limits alone: other errors may quote what a caller wrote.
func ReadQuota(text string, codes ...string) Quota {
	text = strings.ToLower(text[:min(len(text), maxQuotaText)])
	says := func(phrase string) bool { return strings.Contains(text, phrase) }
	if slices.ContainsFunc(quotaGrowth, says) { // the words of a limit follow, but it is not that one which is used up
		return Quota{Wait: waitIn(text), Growing: true}
	}
	var q Quota
	for _, p := range quotaPhrases {
		if q.Resource == "" && slices.ContainsFunc(p.phrases, says) {
			q.Resource = p.resource
		}
	}
	for _, r := range []Resource{ResourceTokens, ResourceRequests} {
		if q.Resource == "" && slices.Contains(codes, string(r)) {
			q.Resource = r
		}
	}
	for _, w := range quotaWindows {
		if q.Window == 0 && slices.ContainsFunc(w.phrases, says) {
			q.Window = w.window
		}
	}
	q.Limit, q.Requested = number(quotaLimit, text), number(quotaRequested, text)
	q.Wait = waitIn(text)
	q.Oversized = says("request too large") || (q.Limit > 0 && q.Requested > q.Limit)
	return q
}

// number is the first number that a pattern finds, 0 for none.
func number(pattern *regexp.Regexp, text string) int64 {
	for _, group := range slices.Concat(pattern.FindStringSubmatch(text), []string{""})[1:] {
		if n, err := strconv.ParseInt(strings.ReplaceAll(group, ",", ""), 10, 64); err == nil {
			return min(n, maxAllowance)
		}
	}
	return 0
}

// waitIn is how long a text asks to wait, 0 if it does not.
func waitIn(text string) time.Duration {
	found := quotaWait.FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	value := strings.TrimRight(found[1], ".")
	unit := map[string]time.Duration{"minute": time.Minute, "minutes": time.Minute, "hour": time.Hour, "hours": time.Hour}[found[2]]
	if d, err := time.ParseDuration(value); err == nil && unit == 0 {
		return min(max(d, 0), day)
	}
	return parseUnits(value, max(unit, time.Second))
}

// Size is what is known of a refused call itself.
type Size struct {
	Tokens int64         // its input, by its length; 0 when its length says nothing
	Wait   time.Duration // how long its headers ask to wait, however long that is
}

// Judge completes the quota of a refusal by the headers beside it, which say how much of each limit is left, and by the size of the
// refused call.
func (q Quota) Judge(l RateLimits, call Size) Quota {
	if q.Growing {
		return q
	}
	if q.Resource == "" {
		q.Resource = l.exhausted()
	}
	left, known := q.left(l)
	q.Plenty = known && left.plenty()
	if q.Resource == "" {
		q.Plenty = l.allPlenty()
		return q
	}
	if q.Resource == ResourceTokens || q.Resource == ResourceInput || q.Resource == ResourceOutput {
		unused := known && left.HasRemaining && left.Remaining >= left.Limit
		larger := q.Plenty && call.Tokens > left.Limit
		// A limit per minute is whole after a minute. Azure answers with a day to a call that needs more than that.
		never := q.Window == time.Minute && max(call.Wait, q.Wait) >= day
		q.Oversized = q.Oversized || unused || larger || never
	}
	return q
}

// Bound limits how long an upstream can put us off by the window of the limit: after that, all of it is back.
func (q Quota) Bound(wait time.Duration) time.Duration {
	most := MaxRetryAfter
	if q.Window > 0 {
		most = q.Window
	}
	return min(wait, most)
}

// Left is how much headers say is left of the limit that is named; false when they do not say.
func (q Quota) Left(l RateLimits) (int64, bool) {
	a, ok := q.left(l)
	return a.Remaining, ok && a.HasRemaining
}

// left is what headers say about the limit that is named. Those about a limit per minute say nothing about one per day.
func (q Quota) left(l RateLimits) (Allowance, bool) {
	a, ok := l.of(q.Resource)
	if !ok || a.Limit == 0 || (q.Window > time.Minute && a.Limit != q.Limit) {
		return Allowance{}, false
	}
	return a, true
}

func (l *RateLimits) of(r Resource) (Allowance, bool) {
	switch r {
	case ResourceRequests:
		return l.Requests, true
	case ResourceTokens:
		return l.Tokens, true
	case ResourceInput:
		return l.Input, true
	case ResourceOutput:
		return l.Output, true
	}
	return Allowance{}, false
}

// Left is how much of a resource an upstream says is left; false when it does not say.
func (l *RateLimits) Left(r Resource) (int64, bool) {
	a, ok := l.of(r)
	return a.Remaining, ok && a.Limit > 0 && a.HasRemaining
}

func (a Allowance) plenty() bool {
	return a.Limit > 0 && a.HasRemaining && a.Remaining >= max(1, a.Limit/plentyShare)
}

// exhausted is the one resource of which nothing is left, "" if that is not one.
func (l *RateLimits) exhausted() (found Resource) {
	for _, r := range []Resource{ResourceRequests, ResourceTokens, ResourceInput, ResourceOutput} {
		if left, known := l.Left(r); known && left == 0 {
			if found != "" {
				return ""
			}
			found = r
		}
	}
	return found
}

// allPlenty reports that limits are known, and that there is plenty left of each.
func (l *RateLimits) allPlenty() (any bool) {
	for _, r := range []Resource{ResourceRequests, ResourceTokens, ResourceInput, ResourceOutput} {
		a, _ := l.of(r)
		if !a.HasRemaining || a.Limit == 0 {
			continue
		}
		if !a.plenty() {
			return false
		}
		any = true
	}
	return any
}
