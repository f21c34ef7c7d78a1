package bedrock

import (
	"net/http"
	"slices"
	"strings"

	"penstock/internal/provider"
	"penstock/internal/provider/wire"
)

// complaint is an error in the words of the upstream.
type complaint struct {
	Status  int    // the HTTP status, 0 for an exception inside a stream
	Name    string // of the exception, in lower case and without its suffix; "" if the answer has none
	Message string
	Known   bool // the body has the protocol's form, so the answer came from an API and no proxy
}

// Complaint implements [wire.Reader].
func (r *converseReader) Complaint(status int, body []byte) wire.Complaint {
	c := parseComplaint(status, body)
	if status < http.StatusMultipleChoices && c.Name == "" && !c.Known {
		return wire.Complaint{Kind: provider.KindMalformed, Message: "the model wrote no valid answer"}
	}
	reported := wire.Complaint{Kind: c.kind(), Message: c.Message, Quota: provider.ReadQuota(c.Message)}
	if c.Known {
		reported.Body = body
	}
	return reported
}

// parseComplaint reads an error body, or the event of an exception.
func parseComplaint(status int, body []byte) complaint {
	c := complaint{Status: status}
	if status < http.StatusMultipleChoices {
		c.Status = 0
	}
	var ev event
	if c.Status == 0 && wire.Decode(body, &ev) == nil && ev.exception() != "" {
		c.Name, body = ev.exception(), ev.Others[ev.exception()]
	}
	var top struct {
		Message wire.Scalar `json:"message"`
		Upper   wire.Scalar `json:"Message"` // of the gateway in front
		Type    wire.Scalar `json:"__type"`
	}
	if wire.Decode(body, &top) == nil {
		c.Message = string(top.Message) + string(top.Upper)
		c.Known = c.Message != "" || c.Name != ""
		if c.Name == "" {
			c.Name = string(top.Type)
		}
	}
	_, name, found := strings.Cut(c.Name, "#")
	if !found {
		name = c.Name
	}
	c.Name = strings.TrimSuffix(strings.ToLower(name), "exception")
	return c
}

// kindsByName are the exceptions that mean one thing. accessDenied and validation say too little.
var kindsByName = map[string]provider.Kind{
	"throttling":           provider.KindRateLimited,
	"serviceunavailable":   provider.KindOverloaded,
	"modelnotready":        provider.KindOverloaded,
	"internalserver":       provider.KindServer,
	"modelerror":           provider.KindServer,
	"modelstreamerror":     provider.KindServer,
	"modeltimeout":         provider.KindTimeout,
	"servicequotaexceeded": provider.KindSpendCap,
	"resourcenotfound":     provider.KindModelNotFound,
	"unrecognizedclient":   provider.KindAuth,
	"invalidsignature":     provider.KindAuth,
	"expiredtoken":         provider.KindAuth,
}

// The words in which exceptions say more than their names.
var (
	contextPhrases = []string{"input is too long", "prompt is too long", "too many input tokens", "maximum context length", "context window", "exceeds the maximum number of tokens"}
	modelPhrases   = []string{"model identifier is invalid", "on-demand throughput isn", "access to the model", "model version has reached the end of its life", "not authorized to perform"}
	keyPhrases     = []string{"security token", "signature", "api key", "authentication", "credential", "token has expired"}
	filterPhrases  = []string{"content filter", "content filtering policy"}
)

// kind classifies the complaint.
func (c complaint) kind() provider.Kind {
	if kind, ok := kindsByName[c.Name]; ok {
		return kind
	}
	switch {
	case c.Status == http.StatusForbidden && c.says(keyPhrases):
		return provider.KindAuth
	case (c.Status == http.StatusForbidden || c.rejected()) && c.says(modelPhrases):
		return provider.KindModelNotFound
	case c.rejected() && c.says(contextPhrases):
		return provider.KindContextTooLong
	case c.rejected() && c.says(filterPhrases):
		return provider.KindContentBlocked
	case c.rejected():
		return provider.KindRejected
	case c.Status == 0:
		return provider.KindServer
	case c.Status == http.StatusNotFound && c.Known:
		return provider.KindModelNotFound
	case !c.Known && (c.Status == http.StatusNotFound || c.Status == http.StatusMethodNotAllowed):
		// A path that the server does not have: a wrong base URL, or a proxy whose backend is down.
		return provider.KindServer
	case c.Status == http.StatusFailedDependency: // the model failed
		return provider.KindServer
	case c.Status == http.StatusGatewayTimeout:
		return provider.KindTimeout
	}
	return provider.KindOfStatus(c.Status)
}

// rejected says whether the exception calls the request invalid.
func (c complaint) rejected() bool {
	return c.Name == "validation" || c.Status == http.StatusBadRequest
}

func (c complaint) says(phrases []string) bool {
	text := strings.ToLower(c.Message)
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}
