package openai

import (
	"bytes"
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
	Details string   // what Google adds: which quota is used up, as JSON
	Known   bool     // the body has the protocol's form, so the answer came from an API and no proxy
}

// parseComplaint reads an error body. OpenAI nests it under "error"; others put a string there, put
// the members at the top, or say "detail".
func parseComplaint(status int, body []byte) complaint {
	c := complaint{Status: status}
	if list := []jsontext.Value(nil); bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) && wire.Decode(body, &list) == nil && len(list) > 0 {
		body = list[0] // Google's
	}
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
		Status  wire.Scalar `json:"status"` // Google's code
		Inner   struct {
			Code wire.Scalar `json:"code"`
		} `json:"innererror"`
		Details jsontext.Value `json:"details"`
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
	for _, code := range []wire.Scalar{nested.Code, nested.Inner.Code, nested.Type, nested.Status, top.Code, top.Type} {
		if code != "" {
			c.Codes = append(c.Codes, string(code))
		}
	}
	c.Details = string(nested.Details)
	var reasons []struct {
		Reason wire.Scalar `json:"reason"`
	}
	if wire.Decode(nested.Details, &reasons) == nil {
		for _, r := range reasons {
			c.Codes = append(c.Codes, string(r.Reason))
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
	reported := wire.Complaint{Kind: c.kind(), Message: c.Message, Quota: provider.ReadQuota(c.Message+" "+c.Details, c.Codes...)}
	if c.Known {
		reported.Body = body
	}
	return reported
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
			if kind == provider.KindAuth && strings.Contains(strings.ToLower(c.Message), "access to model") {
				return provider.KindModelNotFound // the key works with others
			}
			return kind
		}
	}
	if kind, ok := c.kindByMessage(); ok {
		return kind
	}
	if c.Status != 0 {
		return provider.KindOfStatus(c.Status)
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
	"moderation_blocked":           provider.KindContentBlocked,
	"request_too_large":            provider.KindTooLarge,

	// What is said of our key. A refusal that says none of these, above all a 403, is not taken to be about the key.
	"invalid_api_key":            provider.KindAuth,
	"incorrect_api_key":          provider.KindAuth,
	"invalid_authentication":     provider.KindAuth,
	"authentication_error":       provider.KindAuth,
	"AuthenticationError":        provider.KindAuth,
	"UNAUTHENTICATED":            provider.KindAuth,
	"API_KEY_INVALID":            provider.KindAuth,
	"account_deactivated":        provider.KindAuth,
	"organization_deactivated":   provider.KindAuth,
	"project_archived":           provider.KindAuth,
	"insufficient_permissions":   provider.KindAuth, // a key that is restricted to other uses
	"permission_error":           provider.KindAuth,
	"missing_scope":              provider.KindAuth,
	"AuthenticationTypeDisabled": provider.KindAuth, // Azure: the resource takes no keys

	"unsupported_country_region_territory": provider.KindForbidden,
	"ip_not_authorized":                    provider.KindForbidden,
	"request_forbidden":                    provider.KindForbidden,
}

// roughKinds are codes that repeat a status. They count where there is no status to go by: in an
// error inside a good answer.
var roughKinds = map[string]provider.Kind{
	"rate_limit_exceeded":   provider.KindRateLimited,
	"rate_limit_error":      provider.KindRateLimited,
	"invalid_request_error": provider.KindRejected,
	"BadRequestError":       provider.KindRejected,
	"overloaded_error":      provider.KindOverloaded,
	"engine_overloaded":     provider.KindOverloaded,
	"overloaded":            provider.KindOverloaded,
	"slow_down":             provider.KindOverloaded,
	"timeout":               provider.KindTimeout,
}

// The words by which servers without codes say that a prompt is too long. There are none for used
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
			// A path that the server does not have: a wrong base URL, or a proxy whose backend is down. Neither is
			// the request's fault, and other targets may do better.
			return provider.KindServer, true
		}
	case http.StatusForbidden:
		// Not our key is refused but this prompt, or this model; taken for the key's fault, one caller's prompt would
		// take the target away from all.
		if says("moderation") && says("flagged") {
			return provider.KindContentBlocked, true
		}
		if c.Known && says("access to model") {
			return provider.KindModelNotFound, true
		}
	}
	return "", false
}
