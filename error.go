package penstock

import (
	"errors"
	"fmt"
	"time"
)

// Code is the kind of an error. The list is closed: callers may switch on it.
type Code string

// The codes that an answer can carry. The comments are the reference page of errors.
const (
	CodeInvalidRequest      Code = "invalid_request"       // the request is malformed; param names the field. Correct the request
	CodeInvalidKey          Code = "invalid_key"           // the key is missing, unknown, expired or revoked, or its tenant is disabled
	CodeBudgetExceeded      Code = "budget_exceeded"       // a hard budget could be exceeded by the upper bound of this work. Wait for the next period, or ask an operator
	CodeScopeMissing        Code = "scope_missing"         // the key lacks a scope that the route needs
	CodeNotFound            Code = "not_found"             // the object does not exist, or belongs to another tenant
	CodeModelNotFound       Code = "model_not_found"       // the model is not configured, or the tenant may not use it
	CodeIdempotencyInFlight Code = "idempotency_in_flight" // a call with the same Idempotency-Key is still being accepted. Repeat the call
	CodeManagedByFile       Code = "managed_by_file"       // the configuration file declares this tenant or key. Change the file
	CodeConflict            Code = "conflict"              // the object is in a state that does not allow the call. With Retry-After, repeat the call then
	CodeGone                Code = "gone"                  // the object existed and was removed, or the events before the cursor were removed
	CodeTooLarge            Code = "too_large"             // the request is larger than a bound. Waiting does not help
	CodeIdempotencyMismatch Code = "idempotency_mismatch"  // the Idempotency-Key was used with another body
	CodeRateLimited         Code = "rate_limited"          // a limit of the tenant, the key or the model is used up. Repeat the call after Retry-After
	CodeQueueFull           Code = "queue_full"            // the tenant has too much queued work. Repeat the call after Retry-After
	CodeQuotaExceeded       Code = "quota_exceeded"        // the storage quota of the tenant is used up. Waiting does not help; delete jobs or files
	CodeInternal            Code = "internal"              // an unexpected failure of Penstock; the log has the cause under the request id
	CodeUpstreamError       Code = "upstream_error"        // every target that was tried failed
	CodeOverloaded          Code = "overloaded"            // Penstock cannot take this work now: paused, full, or short of disk space, or the database is unreachable
	CodeNoTargetAvailable   Code = "no_target_available"   // no target of the model can be called now
	CodeUpstreamTimeout     Code = "upstream_timeout"      // the upstream did not answer in time
)

// The codes that only an item can carry.
const (
	CodeUpstreamRejected Code = "upstream_rejected" // the upstream refused the request itself; the message is the upstream's
	CodeContentBlocked   Code = "content_blocked"   // a filter of Penstock or of the upstream blocked the prompt or the answer
	CodeContextTooLong   Code = "context_too_long"  // the prompt is longer than the context of every target
	CodeDeadlineExceeded Code = "deadline_exceeded" // the deadline passed before the item succeeded
	CodeCancelled        Code = "cancelled"         // the caller cancelled the work, or left
	CodePoison           Code = "poison"            // the item killed two child processes while their worker lived
)

// Codes lists every code.
var Codes = []Code{
	CodeInvalidRequest, CodeInvalidKey, CodeBudgetExceeded, CodeScopeMissing, CodeNotFound,
	CodeModelNotFound, CodeIdempotencyInFlight, CodeManagedByFile, CodeConflict, CodeGone,
	CodeTooLarge, CodeIdempotencyMismatch, CodeRateLimited, CodeQueueFull, CodeQuotaExceeded, CodeInternal,
	CodeUpstreamError, CodeOverloaded, CodeNoTargetAvailable, CodeUpstreamTimeout,
	CodeUpstreamRejected, CodeContentBlocked, CodeContextTooLong, CodeDeadlineExceeded,
	CodeCancelled, CodePoison,
}

// Retryable reports whether the very same call may succeed later.
func (c Code) Retryable() bool {
	switch c {
	case CodeIdempotencyInFlight, CodeRateLimited, CodeQueueFull, CodeInternal, CodeUpstreamError,
		CodeOverloaded, CodeNoTargetAvailable, CodeUpstreamTimeout:
		return true
	}
	return false
}

// Error is the one error type of Penstock. Message is written for the caller and safe to show;
// Err is the cause, for the log only.
type Error struct {
	Code       Code
	Message    string
	Param      string        // the field at fault, as a path such as inputs[3].body, or ""
	RetryAfter time.Duration // how long to wait, when that is known
	Err        error
}

// Causes in Error.Err, so that callers can tell them apart.
var (
	// ErrStale means that the object of a conditional change has another version by now. The code is conflict.
	ErrStale = errors.New("it was changed meanwhile")
	// ErrDiskFull means that a disk had no space for a write. Nothing was written. The code is overloaded.
	ErrDiskFull = errors.New("the disk is full")
	// ErrUnreachable means that the database, or the storage of large payloads, could not be reached. Nothing was
	// written. The code is overloaded.
	ErrUnreachable = errors.New("the store cannot be reached")
	// ErrPaused means that an operator paused the work, so the time of its end is unknown. The code is overloaded.
	ErrPaused = errors.New("an operator paused it")
)

// NotFound is the error for an object that does not exist or belongs to another tenant.
func NotFound(view View, id ID) *Error {
	return Errorf(CodeNotFound, "There is no %s.", view.Format(id))
}

// Stale is the error for a conditional change of an object that was changed meanwhile. The object is named as the
// subject of a sentence, such as "The endpoint".
func Stale(object string) *Error {
	return &Error{Code: CodeConflict, Message: object + " was changed meanwhile; read it again, then repeat the change if it still applies.", Err: ErrStale}
}

// Errorf makes an Error whose message the caller may see.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// InvalidParam makes the error for a field that the caller got wrong.
func InvalidParam(param, format string, args ...any) *Error {
	e := Errorf(CodeInvalidRequest, format, args...)
	e.Param = param
	return e
}

// Internal hides a cause that the caller must not see.
func Internal(err error) *Error {
	return &Error{Code: CodeInternal, Message: "An internal error occurred; the server logged it under this request id.", Err: err}
}

// Retryable reports whether the same call may succeed later: by its code, or because it is a conflict with a
// RetryAfter.
func (e *Error) Retryable() bool {
	return e.Code.Retryable() || e.Code == CodeConflict && e.RetryAfter > 0
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// AsError returns the Error inside err, or an internal Error with err as its cause.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Internal(err)
}

// ErrorCode returns the code of err, "" for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}
