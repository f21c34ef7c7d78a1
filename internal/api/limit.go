package api

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"penstock/internal/admit"
	"penstock/internal/rest"
	"penstock/internal/store"
)

const headerLimitWait = rest.HeaderLimitWait

func (c *call) setWaitHeader(waited time.Duration) {
	if waited > 0 {
		c.W.Header()[headerLimitWait] = []string{strconv.FormatInt(waited.Milliseconds(), 10)}
	}
}

// headerRetryCount is the header in which the SDKs of OpenAI and Anthropic count the tries of a call.
const headerRetryCount = "X-Stainless-Retry-Count"

// tryOf says which try of its caller a call is, if the caller says so.
func tryOf(r *http.Request) store.Try {
	switch counts := r.Header[headerRetryCount]; {
	case len(counts) == 0:
		return store.TryUnknown
	case counts[0] == "0":
		return store.TryFirst
	}
	return store.TryAgain
}

// setLimitHeaders sets the headers with the state of the caller's limits: the fields of the IETF draft, and those that
// the SDKs of the dialect read. The latter have space for one limit of each kind: the one with the smallest part left.
//
// Every answer passes here, so names are in canonical form and numbers are not formatted by package fmt.
func (c *call) setLimitHeaders() {
	var few [admit.MaxLimitStates]admit.LimitState
	states := c.Admit.AppendLimitStates(few[:0], &c.Principal, c.model)
	if len(states) == 0 {
		return
	}
	h := c.W.Header()
	setStandardLimits(h, states)
	if c.anthropic() {
		now := c.Clock()
		for i := range anthropicLimits {
			fields := &anthropicLimits[i]
			if s := nearest(states, fields.resources); s != nil {
				fields.set(h, s, now.Add(s.Reset).UTC().Format(time.RFC3339))
			}
		}
		return
	}
	for i := range openaiLimits {
		fields := &openaiLimits[i]
		if s := nearest(states, fields.resources); s != nil {
			fields.set(h, s, s.Reset.Round(time.Millisecond).String())
		}
	}
}

// limitFields are the headers, in canonical form, in which a dialect reports the nearest of some limits.
type limitFields struct {
	limit, remaining, reset string
	resources               []string
}

func (f *limitFields) set(h http.Header, s *admit.LimitState, reset string) {
	values := [...]string{strconv.FormatInt(s.Limit, 10), strconv.FormatInt(s.Left, 10), reset}
	h[f.limit], h[f.remaining], h[f.reset] = values[0:1:1], values[1:2:2], values[2:3:3]
}

var (
	allTokens    = []string{"input_tokens", "output_tokens", "daily_tokens"}
	openaiLimits = [...]limitFields{
		{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests", []string{"requests"}},
		{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens", allTokens},
	}
	anthropicLimits = [...]limitFields{
		{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset", []string{"requests"}},
		{"Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset", allTokens[:1]},
		{"Anthropic-Ratelimit-Output-Tokens-Limit", "Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset", allTokens[1:2]},
		{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset", allTokens},
	}
)

// setStandardLimits writes the fields of the IETF draft: each limit under its own name.
func setStandardLimits(h http.Header, states []admit.LimitState) {
	const usual = 3 * 40 // bytes of a caller with three limits
	policies, items := make([]byte, 0, usual), make([]byte, 0, usual)
	for i := range states {
		s, window := &states[i], int64(60)
		if s.Daily {
			window = 24 * 60 * 60
		}
		policies = appendItem(policies, s, [...]parameter{{";q=", s.Limit}, {";w=", window}})
		items = appendItem(items, s, [...]parameter{{";r=", s.Left}, {";t=", int64(math.Ceil(s.Reset.Seconds()))}})
	}
	h["Ratelimit-Policy"], h["Ratelimit"] = []string{string(policies)}, []string{string(items)}
}

// parameter is a numeric parameter of an item in a structured field.
type parameter struct {
	name  string
	value int64
}

// appendItem adds a limit to a list of the standard's fields.
func appendItem(b []byte, s *admit.LimitState, parameters [2]parameter) []byte {
	if len(b) > 0 {
		b = append(b, ", "...)
	}
	b = append(append(append(append(append(b, '"'), s.Kind...), '-'), s.Resource...), '"')
	for _, p := range parameters {
		b = strconv.AppendInt(append(b, p.name...), p.value, 10)
	}
	return b
}

// nearest is the limit on any of the resources that has the least part of it left.
func nearest(states []admit.LimitState, resources []string) *admit.LimitState {
	var least *admit.LimitState
	for i := range states {
		s := &states[i]
		for _, r := range resources {
			if s.Resource == r && (least == nil || float64(s.Left)/float64(s.Limit) < float64(least.Left)/float64(least.Limit)) {
				least = s
			}
		}
	}
	return least
}
