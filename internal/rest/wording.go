package rest

import (
	"net/http"

	"penstock"
)

// Wording is how Penstock's own errors look in the dialect of a caller. Answers of upstreams are passed on as they are and
// have no need of it.
type Wording struct {
	// ErrorType is the class of an error that SDKs tell apart.
	ErrorType func(penstock.Code) string
	// Envelope is what goes around an error, and InStream around one in the middle of a stream.
	Envelope, InStream func(ErrorBody) any
	// Event is the type of the event that an error is within a stream, nil for none.
	Event []byte
	// RequestID is the header that SDKs look for, beside x-request-id, in canonical form; "" for none.
	RequestID string
}

// Usual is the wording of OpenAI and of our own endpoints.
var Usual = Wording{ErrorType: UsualErrorType, Envelope: UsualEnvelope, InStream: UsualEnvelope}

// UsualErrorType is the class of an error by its status.
func UsualErrorType(code penstock.Code) string { return errorType(Status(code)) }

// UsualEnvelope is the envelope of [Usual].
func UsualEnvelope(e ErrorBody) any { return ErrorView{e} }

// wording returns the words that a call on a route is answered in.
func (rt *Route) wording(r *http.Request) *Wording {
	switch {
	case rt.Words != nil:
		return rt.Words
	case rt.WordsFor != nil:
		return rt.WordsFor(r)
	}
	return &Usual
}
