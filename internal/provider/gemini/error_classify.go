package gemini

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
	"penstock/internal/provider/wire"
)

// complaint is an error in the words of the upstream.
type complaint struct {
	Code    int    // the HTTP status that the error names, 0 for none
	Status  string // the name of the code, such as RESOURCE_EXHAUSTED
	Message string
	Reasons []string // of its details
	Details string   // which quota is used up, as JSON
	Known   bool     // the body has the protocol's form, so the answer came from an API and no proxy
}

// parseComplaint reads an error body. Streams that fail before they begin have it inside a list.
func parseComplaint(status int, text []byte) complaint {
	c := complaint{Code: status}
	if list := []jsontext.Value(nil); bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) && wire.Decode(text, &list) == nil && len(list) > 0 {
		text = list[0]
	}
	var top struct {
		Error struct {
			Code    int            `json:"code"`
			Message wire.Scalar    `json:"message"`
			Status  wire.Scalar    `json:"status"`
			Details jsontext.Value `json:"details"`
		} `json:"error"`
	}
	if wire.Decode(text, &top) != nil || top.Error.Status == "" && top.Error.Code == 0 {
		return c
	}
	c.Known, c.Message, c.Status, c.Details = true, string(top.Error.Message), string(top.Error.Status), string(top.Error.Details)
	if status < http.StatusMultipleChoices {
		c.Code = top.Error.Code
	}
	var details []struct {
		Reason wire.Scalar `json:"reason"`
	}
	if wire.Decode(top.Error.Details, &details) == nil {
		for _, d := range details {
			c.Reasons = append(c.Reasons, string(d.Reason))
		}
	}
	return c
}

// readComplaint classifies an error body, or a body of status 200 that has no answer.
func readComplaint(status int, text []byte) wire.Complaint {
	var answer content
	if status < http.StatusMultipleChoices && wire.Decode(text, &answer) == nil {
		switch reason := answer.PromptFeedback.BlockReason; {
		case reason != "":
			return wire.Complaint{Kind: provider.KindContentBlocked, Message: "the prompt was blocked: " + string(reason)}
		case broken[answer.finished()]:
			return wire.Complaint{Kind: provider.KindMalformed, Message: "the model wrote no valid answer: " + string(answer.finished())}
		}
	}
	c := parseComplaint(status, text)
	reported := wire.Complaint{Kind: c.kind(), Message: c.Message, Quota: provider.ReadQuota(c.Message + " " + c.Details)}
	if c.Known {
		reported.Body = text
	}
	return reported
}

// kindsByStatus are the codes that mean one thing. INVALID_ARGUMENT, NOT_FOUND and RESOURCE_EXHAUSTED say too little.
var kindsByStatus = map[string]provider.Kind{
	"UNAUTHENTICATED":   provider.KindAuth,
	"PERMISSION_DENIED": provider.KindForbidden,
	"UNAVAILABLE":       provider.KindOverloaded,
	"INTERNAL":          provider.KindServer,
	"UNKNOWN":           provider.KindServer,
	"DEADLINE_EXCEEDED": provider.KindTimeout,
	"CANCELLED":         provider.KindServer,
	"ABORTED":           provider.KindServer,
}

// keyReasons are what the details of an error say about our key.
var keyReasons = []string{"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING", "CONSUMER_SUSPENDED"}

// kind classifies the complaint.
func (c complaint) kind() provider.Kind {
	if slices.ContainsFunc(c.Reasons, func(reason string) bool { return slices.Contains(keyReasons, reason) }) {
		return provider.KindAuth
	}
	switch {
	case c.Status == "INVALID_ARGUMENT" && c.says("token count exceeds", "exceeds the maximum number of tokens", "input token count"):
		return provider.KindContextTooLong
	case c.Status == "INVALID_ARGUMENT" && c.says("api key not valid", "api key expired"):
		return provider.KindAuth
	case c.Status == "FAILED_PRECONDITION" && c.says("billing"), c.Status == "RESOURCE_EXHAUSTED" && c.says("prepayment credits", "billing account"):
		return provider.KindSpendCap
	case c.Status == "FAILED_PRECONDITION":
		return provider.KindForbidden // such as a region that is not served
	case c.Status == "NOT_FOUND" && c.says("model"):
		return provider.KindModelNotFound
	case c.Code == http.StatusRequestEntityTooLarge || c.says("request payload size exceeds"):
		return provider.KindTooLarge
	}
	if kind, ok := kindsByStatus[c.Status]; ok {
		return kind
	}
	switch {
	case !c.Known && (c.Code == http.StatusNotFound || c.Code == http.StatusMethodNotAllowed || c.Code < http.StatusMultipleChoices):
		// A path that the server does not have: a wrong base URL, or a proxy whose backend is down.
		return provider.KindServer
	case c.Code == http.StatusGatewayTimeout:
		return provider.KindTimeout
	}
	return provider.KindOfStatus(c.Code)
}

// says reports whether the message holds one of the phrases.
func (c complaint) says(phrases ...string) bool {
	text := strings.ToLower(c.Message)
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}
