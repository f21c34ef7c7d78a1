package api

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/limit"
	"penstock/internal/room"
)

// settleLimits gives a call's room under its caller's limits back, for what it used.
func settleLimits(d door, stay *room.Stay, out attempt.Outcome) {
	if d.free {
		stay.Done(penstock.Usage{})
		return
	}
	for i := range out.Attempts {
		if !out.Attempts[i].UsageKnown && out.Forfeit > 0 {
			stay.Leave() // an upstream may have worked without telling: the estimate stands
			return
		}
	}
	stay.Done(out.Usage)
}

// tellLimits puts how the caller stands with its limits on the answer: in the fields that are to become a
// standard, and in those that the SDKs of the dialect know. Of limits of the same kind these have room for one
// only, and get the one that is nearest to its end.
func (c *call) tellLimits() {
	standings := c.Admit.Standings(&c.caller, c.model)
	if len(standings) == 0 {
		return
	}
	h := c.w.Header()
	tellStandard(h, standings)
	if c.anthropic() {
		now := c.Clock()
		for _, kind := range [...]struct {
			name      string
			resources []string
		}{
			{"requests", []string{"requests"}}, {"input-tokens", []string{"input_tokens"}}, {"output-tokens", []string{"output_tokens"}},
			{"tokens", []string{"input_tokens", "output_tokens", "daily_tokens"}},
		} {
			if s := nearest(standings, kind.resources...); s != nil {
				h.Set("anthropic-ratelimit-"+kind.name+"-limit", strconv.FormatInt(s.Limit, 10))
				h.Set("anthropic-ratelimit-"+kind.name+"-remaining", strconv.FormatInt(s.Left, 10))
				h.Set("anthropic-ratelimit-"+kind.name+"-reset", now.Add(s.Reset).UTC().Format(time.RFC3339))
			}
		}
		return
	}
	for _, kind := range [...]struct {
		name      string
		resources []string
	}{
		{"requests", []string{"requests"}}, {"tokens", []string{"input_tokens", "output_tokens", "daily_tokens"}},
	} {
		if s := nearest(standings, kind.resources...); s != nil {
			h.Set("x-ratelimit-limit-"+kind.name, strconv.FormatInt(s.Limit, 10))
			h.Set("x-ratelimit-remaining-"+kind.name, strconv.FormatInt(s.Left, 10))
			h.Set("x-ratelimit-reset-"+kind.name, s.Reset.Round(time.Millisecond).String())
		}
	}
}

// tellStandard writes the fields of the IETF's draft: each limit under a name of its own.
func tellStandard(h http.Header, standings []limit.Standing) {
	var policies, states strings.Builder
	for i, s := range standings {
		if i > 0 {
			policies.WriteString(", ")
			states.WriteString(", ")
		}
		window := 60
		if s.Daily {
			window = 24 * 60 * 60
		}
		fmt.Fprintf(&policies, `"%s-%s";q=%d;w=%d`, s.Scope, s.Resource, s.Limit, window)
		fmt.Fprintf(&states, `"%s-%s";r=%d;t=%d`, s.Scope, s.Resource, s.Left, int64(math.Ceil(s.Reset.Seconds())))
	}
	h.Set("RateLimit-Policy", policies.String())
	h.Set("RateLimit", states.String())
}

// nearest is the limit on any of the resources that has the least part of it left.
func nearest(standings []limit.Standing, resources ...string) *limit.Standing {
	var least *limit.Standing
	for i := range standings {
		s := &standings[i]
		for _, r := range resources {
			if s.Resource == r && (least == nil || float64(s.Left)/float64(s.Limit) < float64(least.Left)/float64(least.Limit)) {
				least = s
			}
		}
	}
	return least
}
