package sim

import (
	"net/http"
	"time"
)

// gemini is the dialect of Google's Gemini API.
type gemini struct{}

// geminiErrors have the name of the code in kind.
var geminiErrors = [classCount]wireError{
	classBadRequest:       {status: 400, kind: "INVALID_ARGUMENT"},
	classMissingParameter: {status: 400, kind: "INVALID_ARGUMENT"},
	classContextLength:    {status: 400, kind: "INVALID_ARGUMENT"},
	classContentFilter:    {status: 200},
	classAuth:             {status: 400, kind: "INVALID_ARGUMENT", code: "API_KEY_INVALID"},
	classModelNotFound:    {status: 404, kind: "NOT_FOUND"},
	classNoRoute:          {status: 404, kind: "NOT_FOUND"},
	classTooLarge:         {status: 413, kind: "INVALID_ARGUMENT"},
	classRequestRate:      {status: 429, kind: "RESOURCE_EXHAUSTED"},
	classTokenRate:        {status: 429, kind: "RESOURCE_EXHAUSTED"},
	classOversized:        {status: 429, kind: "RESOURCE_EXHAUSTED"},
	classForbidden:        {status: 403},
	classQuota:            {status: 429, kind: "RESOURCE_EXHAUSTED"},
	classServerError:      {status: 500, kind: "INTERNAL"},
	classOverloaded:       {status: 503, kind: "UNAVAILABLE"},
}

type geminiEnvelope struct {
	Error struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Status  string         `json:"status"`
		Details []geminiDetail `json:"details,omitempty"`
	} `json:"error"`
}

type geminiDetail struct {
	Type   string `json:"@type"`
	Reason string `json:"reason,omitempty"`
	Domain string `json:"domain,omitempty"`
}

// geminiBlocked is the answer to a prompt that is not acceptable: a good status and no candidates.
type geminiBlocked struct {
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
}

func (gemini) check(h http.Header, key string) error {
	switch presented := h.Get("x-goog-api-key"); {
	case presented == "":
		return &failure{class: classAuth, message: "API key not valid. Please pass a valid API key."}
	case key != "" && presented != key:
		return &failure{class: classAuth, message: "API key not valid. Please pass a valid API key."}
	}
	return nil
}

func (gemini) requestIDHeader() string { return "x-request-id" }

// describe writes a failure. The service names a model that it does not know, money that is used up and a prompt that is too long in its
// messages alone.
func (gemini) describe(f *failure, _ string) (int, []byte) {
	wire := geminiErrors[f.class]
	if f.class == classContentFilter {
		var blocked geminiBlocked
		blocked.PromptFeedback.BlockReason = "PROHIBITED_CONTENT"
		return wire.status, encode(blocked)
	}
	var envelope geminiEnvelope
	e := &envelope.Error
	e.Code, e.Message, e.Status = wire.status, f.message, wire.kind
	switch f.class {
	case classContextLength:
		e.Message = "The input token count exceeds the maximum number of tokens allowed."
	case classQuota:
		e.Message = "Your prepayment credits are depleted."
	case classModelNotFound:
		e.Message = "models/m is not found for API version v1beta, or is not supported for generateContent."
	}
	if wire.code != "" {
		e.Details = []geminiDetail{{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: wire.code, Domain: "googleapis.com"}}
	}
	return wire.status, encode(envelope)
}

func (d gemini) errorEvent(f *failure, requestID string) []byte {
	_, body := d.describe(f, requestID)
	return dataEvent(body)
}

// setLimits sets no limits: the service reports none.
func (gemini) setLimits(h http.Header, _ quota, retryAfter time.Duration) {
	if retryAfter > 0 {
		h.Set("retry-after", wholeSeconds(retryAfter))
	}
}
