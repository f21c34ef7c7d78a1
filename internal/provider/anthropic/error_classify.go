package anthropic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
	"penstock/internal/provider/wire"
)

// complaint is an error in the words of the upstream.
type complaint struct {
	Status  int // the HTTP status, 0 for an error inside a good answer
	Type    string
	Code    string // a finer code, which some errors have in their details
	Message string
	Known   bool // the body has the protocol's form, so the answer came from an API and no proxy
}

// Complaint implements [wire.Reader].
func (r *messageReader) Complaint(status int, body []byte) wire.Complaint {
	c := parseComplaint(status, body)
	reported := wire.Complaint{Kind: c.kind(), Message: c.Message, Quota: provider.ReadQuota(c.Message)}
	if c.Known {
		reported.Body = body
	}
	return reported
}

// parseComplaint reads an error body. What stands before an upstream may answer in a form of its own:
// an error that is a string, or a message at the top.
func parseComplaint(status int, body []byte) complaint {
	c := complaint{Status: status}
	if status < http.StatusMultipleChoices {
		c.Status = 0
	}
	var top struct {
		Error   jsontext.Value `json:"error"`
		Message wire.Scalar    `json:"message"`
	}
	if wire.Decode(body, &top) != nil {
		return c
	}
	var nested struct {
		Type    wire.Scalar `json:"type"`
		Message wire.Scalar `json:"message"`
		Details struct {
			Code wire.Scalar `json:"error_code"`
		} `json:"details"`
	}
	c.Message = string(top.Message)
	switch {
	case top.Error.Kind() == '{' && wire.Decode(top.Error, &nested) == nil:
		c.Known = nested.Type != ""
		c.Type, c.Code, c.Message = string(nested.Type), string(nested.Details.Code), string(nested.Message)
	case top.Error.Kind() == '"':
		var text wire.Scalar
		if wire.Decode(top.Error, &text) == nil {
			c.Message = string(text)
		}
	}
	return c
}

// kindsByType are the protocol's own error types. They count more than the status, which an error
// inside a stream does not have. Three types say too little and are looked at apart. "forbidden" does not
// name the key: unserved regions and firewalls get it too.
var kindsByType = map[string]provider.Kind{
	"rate_limit_error":     provider.KindRateLimited,
	"overloaded_error":     provider.KindOverloaded,
	"billing_error":        provider.KindSpendCap,
	"authentication_error": provider.KindAuth,
	"request_too_large":    provider.KindTooLarge,
	"timeout_error":        provider.KindTimeout,
	"api_error":            provider.KindServer,
}

// kind classifies the complaint.
func (c complaint) kind() provider.Kind {
	if c.Code == "enforced_spend_limit_reached" {
		return provider.KindSpendCap
	}
	switch c.Type {
	case "invalid_request_error":
		return c.kindOfInvalid()
	case "not_found_error":
		if c.says("model") {
			return provider.KindModelNotFound
		}
		return provider.KindRejected
	case "permission_error":
		if c.says("model") {
			return provider.KindModelNotFound // of this key's models; with others it works
		}
		return provider.KindAuth
	}
	if kind, ok := kindsByType[c.Type]; ok {
		return kind
	}
	switch {
	case c.Status == 0:
		return provider.KindServer
	case !c.Known && (c.Status == http.StatusNotFound || c.Status == http.StatusMethodNotAllowed):
		// A path that the server does not have: a wrong base URL, or a proxy whose backend is down. Neither is
		// the request's fault, and other targets may do better.
		return provider.KindServer
	case c.Status == http.StatusGatewayTimeout:
		return provider.KindTimeout
	}
	return provider.KindOfStatus(c.Status)
}

// The words in which invalid_request_error says more than that. It has no codes for any of this.
var (
	contextPhrases = []string{"prompt is too long", "exceed context limit", "exceeds the context", "context window", "maximum context length"}
	// Money that is used up, and the limit that an account set itself.
	spendPhrases  = []string{"credit balance is too low", "reached your specified api usage limits", "workspace api usage limits"}
	filterPhrases = []string{"content filtering policy", "blocked by content filter"}
)

// kindOfInvalid distinguishes the errors that the protocol calls an invalid request.
func (c complaint) kindOfInvalid() provider.Kind {
	switch {
	case c.says(contextPhrases...):
		return provider.KindContextTooLong
	case c.says(spendPhrases...):
		return provider.KindSpendCap
	case c.says(filterPhrases...):
		return provider.KindContentBlocked
	}
	return provider.KindRejected
}

// says reports whether the message holds one of the phrases.
func (c complaint) says(phrases ...string) bool {
	text := strings.ToLower(c.Message)
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}
