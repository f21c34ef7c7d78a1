package provider

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"penstock"
)

// Kind classifies what went wrong upstream. Adapters classify once; everyone else switches on the
// kind.
type Kind string

// The kinds of upstream error.
const (
	KindRateLimited    Kind = "rate_limited"     // too many requests or tokens for now
	KindOverloaded     Kind = "overloaded"       // the upstream has no capacity for anyone
	KindSpendCap       Kind = "spend_cap"        // the account's quota or money is used up
	KindAuth           Kind = "auth"             // our credentials are refused
	KindModelNotFound  Kind = "model_not_found"  // the upstream does not know the model
	KindRejected       Kind = "rejected"         // the upstream calls the request invalid
	KindContextTooLong Kind = "context_too_long" // the prompt does not fit the model
	KindTooLarge       Kind = "too_large"        // the request needs more than the upstream's limits ever allow
	KindForbidden      Kind = "forbidden"        // the request is refused, by no limit and not for our key
	KindContentBlocked Kind = "content_blocked"  // the upstream's own filter refused
	KindServer         Kind = "server_error"     // the upstream broke
	KindFinal          Kind = "final"            // what else would be tried again, but the upstream says that this is in vain
	KindConnect        Kind = "connect"          // no connection came about
	KindNetwork        Kind = "network"          // the connection broke before an answer
	KindTimeout        Kind = "timeout"          // a phase or the whole took too long
	KindTruncated      Kind = "truncated"        // the answer ended early
	KindMalformed      Kind = "malformed"        // the answer is not of the protocol
	KindCancelled      Kind = "cancelled"        // our side gave up: cancel, shutdown, caller left
	KindInternal       Kind = "internal"         // a defect on our side, such as a panic
	KindMemory         Kind = "memory"           // our side has no memory for the answer now
)

// Kinds lists every kind.
var Kinds = []Kind{
	KindRateLimited, KindOverloaded, KindSpendCap, KindAuth, KindModelNotFound, KindRejected,
	KindContextTooLong, KindTooLarge, KindForbidden, KindContentBlocked, KindServer, KindFinal, KindConnect, KindNetwork, KindTimeout,
	KindTruncated, KindMalformed, KindCancelled, KindInternal, KindMemory,
}

// Policy says what an error of some kind means for the inference that met it.
type Policy struct {
	// Fallback: another target may do better, and may be tried while the caller has seen nothing.
	Fallback bool
	// Retry: the same target may do better later.
	Retry bool
	// Free: the attempt does not count against the job's maximum. The upstream did no work.
	Free bool
	// Billable: the upstream may have charged although it reported no usage.
	Billable bool
	// Code is the caller's error when nothing else is left to try.
	Code penstock.Code
}

// policies is the one table of retry behaviour. attempt reads it before the first byte (Fallback),
// queue when it reschedules (Retry, Free).
var policies = map[Kind]Policy{
	KindRateLimited:    {Fallback: true, Retry: true, Free: true, Code: penstock.CodeOverloaded},
	KindOverloaded:     {Fallback: true, Retry: true, Code: penstock.CodeOverloaded},
	KindSpendCap:       {Fallback: true, Code: penstock.CodeUpstreamError},
	KindAuth:           {Fallback: true, Code: penstock.CodeUpstreamError},
	KindModelNotFound:  {Fallback: true, Code: penstock.CodeUpstreamError},
	KindRejected:       {Code: penstock.CodeUpstreamRejected},
	KindContextTooLong: {Fallback: true, Code: penstock.CodeContextTooLong},
	KindTooLarge:       {Fallback: true, Code: penstock.CodeTooLarge},
	KindForbidden:      {Fallback: true, Code: penstock.CodeUpstreamRejected},
	KindContentBlocked: {Code: penstock.CodeContentBlocked},
	KindServer:         {Fallback: true, Retry: true, Code: penstock.CodeUpstreamError},
	KindFinal:          {Fallback: true, Code: penstock.CodeUpstreamError},
	KindConnect:        {Fallback: true, Retry: true, Code: penstock.CodeUpstreamError},
	KindNetwork:        {Fallback: true, Retry: true, Billable: true, Code: penstock.CodeUpstreamError},
	KindTimeout:        {Fallback: true, Retry: true, Billable: true, Code: penstock.CodeUpstreamTimeout},
	KindTruncated:      {Fallback: true, Retry: true, Billable: true, Code: penstock.CodeUpstreamError},
	KindMalformed:      {Fallback: true, Retry: true, Billable: true, Code: penstock.CodeUpstreamError},
	KindCancelled:      {Billable: true, Code: penstock.CodeCancelled},
	KindInternal:       {Retry: true, Billable: true, Code: penstock.CodeInternal},
	KindMemory:         {Retry: true, Billable: true, Code: penstock.CodeOverloaded},
}

// Policy returns what errors of this kind mean.
func (k Kind) Policy() Policy {
	p, ok := policies[k]
	if !ok {
		panic("provider: no policy for error kind " + string(k))
	}
	return p
}

// Yields says that a failure on one target gives way to an earlier one on another when it is decided what becomes of the
// inference. A target that is only ill for the moment may serve it later, whatever the next one said of itself in its place: that our
// key is refused there must not be the end of an item.
func (k Kind) Yields(earlier Kind) bool {
	p := k.Policy()
	return p.Fallback && !p.Retry && earlier.Policy().Retry
}

// Advised is the kind of a refusal in whose headers an upstream may say whether to send the call again, as the SDKs of
// OpenAI and Anthropic heed it (x-should-retry).
//
// A "false" makes everything final that would be tried again: it is said of this call to this upstream, so another target may
// still do better. A "true" makes a refusal transient that gives no reason of its own. It changes no other: a spent quota or a
// prompt that is too long stays what it is, even where a server puts the header on all it answers with one status.
func (k Kind) Advised(h http.Header) Kind {
	switch first(h, "X-Should-Retry") {
	case "false":
		if k.Policy().Retry {
			return KindFinal
		}
	case "true":
		if k == KindRejected {
			return KindServer
		}
	}
	return k
}

// KindOfStatus is the kind of a status where the answer is not more precise.
func KindOfStatus(status int) Kind {
	switch status {
	case http.StatusTooManyRequests:
		return KindRateLimited
	case http.StatusUnauthorized:
		return KindAuth
	case http.StatusForbidden:
		// Firewalls, regions and models without access use this status too. The tables of the dialects have the answers that
		// name the key.
		return KindForbidden
	case http.StatusProxyAuthRequired:
		return KindServer // a proxy of ours refuses, and not the upstream
	case http.StatusRequestEntityTooLarge:
		return KindTooLarge
	case http.StatusPaymentRequired:
		return KindSpendCap
	case http.StatusRequestTimeout:
		return KindTimeout
	case http.StatusServiceUnavailable, statusOverloaded:
		return KindOverloaded
	}
	if status >= 400 && status < 500 {
		return KindRejected
	}
	return KindServer
}

// statusOverloaded is not in the standard, but some providers use it.
const statusOverloaded = 529

// Error is what an upstream did wrong. Public is what the tenant whose call it was may see of it.
type Error struct {
	Kind       Kind
	StatusCode int           // HTTP status of the answer, 0 when there was none
	Message    string        // what the upstream said, or what happened, bounded
	RetryAfter time.Duration // how long the upstream asked us to wait, 0 when it did not
	Limits     RateLimits    // what its headers say, if there was an answer
	Quota      Quota         // the limit that it was refused for, of KindRateLimited and KindTooLarge
	Body       []byte        // the upstream's error body, bounded, for same-dialect callers; may be nil
	Note       string        // a remark on how it came about; "" for none
	Err        error
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("upstream %s: %s", e.Kind, e.Message)
	if e.StatusCode != 0 {
		msg = fmt.Sprintf("upstream %s (HTTP %d): %s", e.Kind, e.StatusCode, e.Message)
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

// Public is the message for the tenant whose call it was. What an upstream says about our account with
// it may name that account, and is for the operator alone.
func (e *Error) Public() string {
	switch e.Kind {
	case KindAuth:
		return "The upstream refuses our credentials; the operator's log says more."
	case KindSpendCap:
		return "Our account at the upstream is used up; the operator's log says more."
	case KindModelNotFound:
		return "The upstream does not serve this target's model; the operator's log says more."
	case KindForbidden:
		return "The upstream refuses this request, with 403 or with every key of its provider; the operator's log says more."
	}
	return e.Message
}

// AsError returns the Error inside err. Anything else, an Error of no known kind included, is a defect
// of ours and comes back as KindInternal.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		if _, known := policies[e.Kind]; known {
			return e
		}
	}
	return &Error{Kind: KindInternal, Message: "the call broke on our side", Err: err}
}
