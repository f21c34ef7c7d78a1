package sim

import (
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// failure is a request answered with an error; each dialect writes it in its own way.
type failure struct {
	class      class
	message    string
	param      string        // the field at fault, where there is one
	retryAfter time.Duration // 0: none is given
	final      bool          // the client must not send it again
}

func (f *failure) Error() string { return f.message }

// class is a failure, as far as the dialects distinguish it.
type class int

const (
	classBadRequest class = iota
	classMissingParameter
	classContextLength
	classContentFilter
	classAuth
	classModelNotFound
	classNoRoute
	classTooLarge
	classRequestRate
	classTokenRate
	classOversized
	classForbidden
	classQuota
	classServerError
	classOverloaded
	classCount
)

// wireError is how a dialect shows a class.
type wireError struct {
	status int
	kind   string // the envelope's "type"
	code   string // OpenAI only
}

// Reasons for a request to end without an answer, besides a *failure.
var (
	errClientLeft = errors.New("the client left")
	errClosed     = errors.New("the server closed")
	errCut        = errors.New("the connection is to be cut")
)

// dialect is what the two APIs do differently around an answer.
type dialect interface {
	// check looks at a request's headers. A non-empty key is the one to ask for. The error is a *failure.
	check(h http.Header, key string) error
	// requestIDHeader is the header that carries the request's id.
	requestIDHeader() string
	// describe returns the status and body for a failure.
	describe(f *failure, requestID string) (int, []byte)
	// errorEvent returns a failure as an event of a stream that has begun.
	errorEvent(f *failure, requestID string) []byte
	// setLimits adds the rate-limit headers, and when to come back unless retryAfter is 0.
	setLimits(h http.Header, q quota, retryAfter time.Duration)
}

// framed is a dialect whose streams are not server-sent events.
type framed interface {
	// streamType is the content type of its streams.
	streamType() string
	// breakEvent breaks the content of an event and leaves the event itself well formed.
	breakEvent(event []byte) []byte
}

// invalid is a failure of one parameter.
func invalid(param, message string) error {
	return &failure{class: classBadRequest, param: param, message: message}
}

// decodeBody reads a request's JSON; its error is a *failure.
func decodeBody(body []byte, into any) error {
	// Real servers let a repeated name pass, the last one winning.
	err := json.Unmarshal(body, into, jsontext.AllowDuplicateNames(true))
	if err == nil {
		return nil
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		param := parameterName(semantic.JSONPointer)
		if param == "" {
			return invalid("", "The body must be a JSON object.")
		}
		if semantic.Err != nil {
			return invalid(param, "Invalid value for '"+param+"': "+semantic.Err.Error()+".")
		}
		return invalid(param, "Invalid type for '"+param+"': expected "+typeName(semantic.GoType)+", but got "+kindName(semantic.JSONKind)+" instead.")
	}
	return invalid("", "The body is not valid JSON: "+err.Error())
}

// typeName is the JSON type that a Go type is read from.
func typeName(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an integer"
}

// kindName is the type of a JSON value.
func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case '[':
		return "an array"
	case '{':
		return "an object"
	case '0':
		return "a number"
	}
	return "null"
}

// parameterName writes a JSON pointer as OpenAI does: messages[0].role.
func parameterName(pointer jsontext.Pointer) string {
	name := ""
	for token := range pointer.Tokens() {
		if i, err := strconv.Atoi(token); err == nil && name != "" {
			name = element(name, i)
			continue
		}
		if name != "" {
			name += "."
		}
		name += token
	}
	return abridge(name)
}

func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64(ceilTo(d, time.Second)/time.Second), 10)
}

// writeJSON answers with a JSON body.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // a client that is gone needs no answer
}

// encode renders a wire struct. These hold nothing that cannot be encoded, so an error is a mistake in this
// package.
func encode(v any) []byte {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("sim: encode answer: " + err.Error())
	}
	return body
}
