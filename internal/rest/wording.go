package rest

import (
	"net/http"

	"penstock"
)

// Wording is the format of Penstock's own errors in the dialect of a caller. Answers of upstreams are forwarded
// unchanged.
type Wording struct {
	// ErrorType is the class of an error, by which SDKs choose the type of their exception.
	ErrorType func(penstock.Code) string
	// Envelope wraps an error in an answer, and InStream an error in the middle of a stream.
	Envelope, InStream func(ErrorBody) any
	// Event is the type of an error event in a stream, nil for none.
	Event []byte
	// RequestID is a second header with the request id, which SDKs of the dialect read, in canonical form; "" for none.
	RequestID string
}

// Usual is the wording of OpenAI and of Penstock's own endpoints.
var Usual = Wording{ErrorType: UsualErrorType, Envelope: UsualEnvelope, InStream: UsualEnvelope}

// UsualErrorType is the class of an error by its status.
func UsualErrorType(code penstock.Code) string { return errorType(Status(code)) }

// UsualEnvelope is the envelope of [Usual].
func UsualEnvelope(e ErrorBody) any { return ErrorView{e} }

// wording returns the wording of the errors of a call on the route.
func (rt *Route) wording(r *http.Request) *Wording {
	switch {
	case rt.Words != nil:
		return rt.Words
	case rt.WordsFor != nil:
		return rt.WordsFor(r)
	}
	return &Usual
}
