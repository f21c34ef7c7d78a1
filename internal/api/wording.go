package api

import (
	"net/http"

	"penstock"
	"penstock/internal/dialect/anthropic"
)

// wording is how what Penstock itself has to say looks in the dialect of a caller. Answers of upstreams
// are passed on as they are and have no need of it.
type wording struct {
	// errorType is the class of an error that SDKs tell apart.
	errorType func(penstock.Code) string
	// envelope is what goes around an error, and inStream around one in the middle of a stream.
	envelope, inStream func(errorBody) any
	// event is the type of the event that an error is within a stream, nil for none.
	event []byte
	// requestID is the header that SDKs look for, beside x-request-id, in canonical form; "" for none.
	requestID string
}

// usualWording is that of OpenAI and of our own endpoints.
var usualWording = wording{errorType: usualErrorType, envelope: usualEnvelope, inStream: usualEnvelope}

// responsesWording is OpenAI's too, but the newer streams have events with a type.
var responsesWording = wording{
	errorType: usualErrorType, envelope: usualEnvelope, event: []byte("error"),
	inStream: func(e errorBody) any {
		return responseErrorView{Type: "error", Code: e.Code, Message: e.Message, Param: e.Param, Error: e}
	},
}

// anthropicWording is Anthropic's.
var anthropicWording = wording{
	errorType: anthropic.ErrorType, envelope: anthropicEnvelope, inStream: anthropicEnvelope,
	event: []byte("error"), requestID: "Request-Id",
}

func usualErrorType(code penstock.Code) string { return errorType(statusOf(code)) }

func usualEnvelope(e errorBody) any { return errorView{e} }

func anthropicEnvelope(e errorBody) any {
	return typedErrorView{Type: "error", Error: e, RequestID: e.RequestID}
}

// responseErrorView is an error in the stream of a response. SDKs raise what is in error; others read
// the members that the protocol gives the event.
type responseErrorView struct {
	Type    string        `json:"type"`
	Code    penstock.Code `json:"code"`
	Message string        `json:"message"`
	Param   *string       `json:"param"`
	Error   errorBody     `json:"error"`
}

// typedErrorView is Anthropic's envelope of an error.
type typedErrorView struct {
	Type      string    `json:"type"`
	Error     errorBody `json:"error"`
	RequestID string    `json:"request_id"`
}

// wordingFor returns the words that a call on a route is answered in. Paths that both dialects have are
// Anthropic's for whoever says so by its header.
func wordingFor(rt *route, r *http.Request) *wording {
	switch {
	case rt.words != nil:
		return rt.words
	case rt.shared && r.Header.Get(anthropic.HeaderVersion) != "":
		return &anthropicWording
	}
	return &usualWording
}

// anthropic reports whether the caller is answered in Anthropic's dialect.
func (c *call) anthropic() bool { return c.words == &anthropicWording }
