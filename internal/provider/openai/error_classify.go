package openai

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
	"penstock/internal/provider/wire"
)

// complaint is an error in the words of an upstream.
type complaint struct {
	Status  int      // the HTTP status, or the one that an error inside a good answer names; 0 for none
	Message string   // "" when the body has none
	Codes   []string // its code, type and inner code, those that it has
	Known   bool     // the body has the protocol's form, so the answer came from an API and no proxy
}

// parseComplaint reads an error body. OpenAI nests it under "error"; others put a string there, put
// the members at the top, or say "detail".
func parseComplaint(status int, body []byte) complaint {
	c := complaint{Status: status}
	var top struct {
		Error   jsontext.Value `json:"error"`
		Object  wire.Scalar    `json:"object"`
		Message wire.Scalar    `json:"message"`
		Detail  wire.Scalar    `json:"detail"`
		Type    wire.Scalar    `json:"type"`
		Code    wire.Scalar    `json:"code"`
	}
	if wire.Decode(body, &top) != nil {
		return c
	}
	var nested struct {
		Message wire.Scalar `json:"message"`
		Type    wire.Scalar `json:"type"`
		Code    wire.Scalar `json:"code"`
		Inner   struct {
			Code wire.Scalar `json:"code"`
		} `json:"innererror"`
	}
	var plain wire.Scalar
	switch {
	case wire.IsSet(top.Error) && top.Error.Kind() == '{':
		c.Known = wire.Decode(top.Error, &nested) == nil
	case wire.IsSet(top.Error):
		c.Known = wire.Decode(top.Error, &plain) == nil && plain != ""
	default:
		c.Known = top.Object == "error"
	}
	for _, text := range []wire.Scalar{nested.Message, plain, top.Message, top.Detail} {
		if c.Message == "" {
			c.Message = string(text)
		}
	}
	for _, code := range []wire.Scalar{nested.Code, nested.Inner.Code, nested.Type, top.Code, top.Type} {
		if code != "" {
			c.Codes = append(c.Codes, string(code))
		}
	}
	if status < http.StatusMultipleChoices {
		c.Status = namedStatus(c.Codes)
	}
	return c
}

// readComplaint classifies an error body for package wire.
func readComplaint(status int, body []byte) wire.Complaint {
	c := parseComplaint(status, body)
	told := wire.Complaint{Kind: c.kind(), Message: c.Message}
	if c.Known {
		told.Body = body
	}
	return told
}

// namedStatus returns the first code that is the HTTP status of an error, 0 if there is none.
func namedStatus(codes []string) int {
	for _, code := range codes {
		if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	return 0
}

// kind classifies the complaint. What an upstream names precisely counts more than the status it
// chose for it: quota that is used up comes as 429 or 403, an unknown model as 404, 403 or 400.
func (c complaint) kind() provider.Kind {
	for _, code := range c.Codes {
		if kind, ok := preciseKinds[code]; ok {
			return kind
		}
	}
	if kind, ok := c.kindByMessage(); ok {
		return kind
	}
	if c.Status != 0 {
		return wire.KindOfStatus(c.Status)
	}
	for _, code := range c.Codes {
		if kind, ok := roughKinds[code]; ok {
			return kind
		}
	}
	return provider.KindServer
}

// preciseKinds are codes that mean one thing whatever the status beside them.
var preciseKinds = map[string]provider.Kind{
	"insufficient_quota":           provider.KindSpendCap,
	"enforced_spend_limit_reached": provider.KindSpendCap,
	"billing_hard_limit_reached":   provider.KindSpendCap,
	"billing_not_active":           provider.KindSpendCap,
	"model_not_found":              provider.KindModelNotFound,
	"DeploymentNotFound":           provider.KindModelNotFound,
	"context_length_exceeded":      provider.KindContextTooLong,
	"exceed_context_size_error":    provider.KindContextTooLong,
	"content_filter":               provider.KindContentBlocked,
	"content_policy_violation":     provider.KindContentBlocked,
	"ResponsibleAIPolicyViolation": provider.KindContentBlocked,
}

// roughKinds are codes that repeat a status. They count where there is no status to go by: in an
// error inside a good answer.
var roughKinds = map[string]provider.Kind{
	"rate_limit_exceeded":   provider.KindRateLimited,
	"rate_limit_error":      provider.KindRateLimited,
	"invalid_api_key":       provider.KindAuth,
	"authentication_error":  provider.KindAuth,
	"permission_error":      provider.KindAuth,
	"invalid_request_error": provider.KindRejected,
	"BadRequestError":       provider.KindRejected,
	"overloaded_error":      provider.KindOverloaded,
	"engine_overloaded":     provider.KindOverloaded,
	"overloaded":            provider.KindOverloaded,
	"slow_down":             provider.KindOverloaded,
	"timeout":               provider.KindTimeout,
}

// The words by which servers without codes tell that a prompt is too long. There are none for used
// up quota on purpose: some servers word their rate limits per minute the very same way.
var contextPhrases = []string{
	"maximum context length", "context length exceeded", "exceeds the context", "exceed context",
	"context window", "available context size", "prompt is too long", "input is too long",
}

// kindByMessage reads the prose of servers that have no codes. It looks only where the status
// leaves the question open.
func (c complaint) kindByMessage() (provider.Kind, bool) {
	text := strings.ToLower(c.Message)
	says := func(phrase string) bool { return strings.Contains(text, phrase) }
	switch c.Status {
	case 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if slices.ContainsFunc(contextPhrases, says) {
			return provider.KindContextTooLong, true
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		if c.Known && says("model") {
			return provider.KindModelNotFound, true
		}
		if !c.Known {
			// A path that nobody serves: a wrong base URL, or a proxy whose backend is away. Neither is
			// the request's fault, and other targets may do better.
			return provider.KindServer, true
		}
	case http.StatusForbidden:
		// Not our key is refused but this prompt; taken for the key's fault, one caller's prompt would
		// take the target away from all.
		if says("moderation") && says("flagged") {
			return provider.KindContentBlocked, true
		}
	}
	return "", false
}
