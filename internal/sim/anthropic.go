package sim

import (
	"net/http"
	"strconv"
	"time"
)

// anthropic is Anthropic's dialect.
type anthropic struct{}

var anthropicErrors = [classCount]wireError{
	classBadRequest:       {status: 400, kind: "invalid_request_error"},
	classMissingParameter: {status: 400, kind: "invalid_request_error"},
	classContextLength:    {status: 400, kind: "invalid_request_error"},
	classContentFilter:    {status: 400, kind: "invalid_request_error"},
	classAuth:             {status: 401, kind: "authentication_error"},
	classModelNotFound:    {status: 404, kind: "not_found_error"},
	classNoRoute:          {status: 404, kind: "not_found_error"},
	classTooLarge:         {status: 413, kind: "request_too_large"},
	classRequestRate:      {status: 429, kind: "rate_limit_error"},
	classTokenRate:        {status: 429, kind: "rate_limit_error"},
	classOversized:        {status: 429, kind: "rate_limit_error"},
	classForbidden:        {status: 403},
	classQuota:            {status: 402, kind: "billing_error"},
	classServerError:      {status: 500, kind: "api_error"},
	classOverloaded:       {status: 529, kind: "overloaded_error"},
}

type anthropicEnvelope struct {
	Type  string `json:"type"`
	Error struct {
		Type    string         `json:"type"`
		Message string         `json:"message"`
		Details *threadDetails `json:"details,omitzero"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

// threadDetails tell an SDK that a request may not ask for a thread.
type threadDetails struct {
	ErrorCode   string   `json:"error_code"`
	Unsupported []string `json:"unsupported"`
}

func (anthropic) check(h http.Header, key string) error {
	switch presented := presentedKey(h); {
	case presented == "":
		return &failure{class: classAuth, message: "x-api-key header is required"}
	case key != "" && presented != key:
		return &failure{class: classAuth, message: "invalid x-api-key"}
	case h.Get("anthropic-version") == "":
		return invalid("", "anthropic-version: header is required")
	}
	return nil
}

func (anthropic) requestIDHeader() string { return "request-id" }

func (anthropic) describe(f *failure, requestID string) (int, []byte) {
	wire := anthropicErrors[f.class]
	envelope := anthropicEnvelope{Type: "error", RequestID: requestID}
	envelope.Error.Type, envelope.Error.Message = wire.kind, f.message
	if f.param == "thread" {
		envelope.Error.Details = &threadDetails{"thread_unsupported_request", []string{"thread"}}
	}
	if f.class == classOversized {
		envelope.Error.Message = "This request would exceed your organization's rate limit of 30,000 input tokens per minute. " +
			"Please reduce the prompt length or the maximum tokens requested, or try again later."
	}
	return wire.status, encode(envelope)
}

func (d anthropic) errorEvent(f *failure, requestID string) []byte {
	_, body := d.describe(f, requestID)
	return namedEvent("error", body)
}

func (anthropic) setLimits(h http.Header, q quota, retryAfter time.Duration) {
	now := time.Now()
	set := func(what string, g gauge) {
		if g.limit == 0 {
			return
		}
		h.Set("anthropic-ratelimit-"+what+"-limit", strconv.Itoa(g.limit))
		h.Set("anthropic-ratelimit-"+what+"-remaining", strconv.Itoa(g.remaining))
		// In whole seconds, and never before the limit really is full.
		reset := now.Add(g.reset + time.Second - 1).Truncate(time.Second)
		h.Set("anthropic-ratelimit-"+what+"-reset", reset.UTC().Format(time.RFC3339))
	}
	set("requests", q.requests)
	set("input-tokens", q.input)
	set("output-tokens", q.output)
	if retryAfter > 0 {
		h.Set("retry-after", wholeSeconds(retryAfter))
	}
}

// namedEvent is a server-sent event with a name.
func namedEvent(name string, body []byte) []byte {
	return append([]byte("event: "+name+"\n"), dataEvent(body)...)
}
