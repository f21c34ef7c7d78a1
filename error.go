package penstock

import (
	"errors"
	"fmt"
	"time"
)

// Code says what went wrong. The list is closed: callers may switch on it.
type Code string

// The codes that an answer can carry.
const (
	CodeInvalidRequest      Code = "invalid_request"
	CodeInvalidKey          Code = "invalid_key"
	CodeBudgetExceeded      Code = "budget_exceeded"
	CodeScopeMissing        Code = "scope_missing"
	CodeNotFound            Code = "not_found"
	CodeModelNotFound       Code = "model_not_found"
	CodeIdempotencyInFlight Code = "idempotency_in_flight"
	CodeManagedByFile       Code = "managed_by_file"
	CodeConflict            Code = "conflict"
	CodeGone                Code = "gone"
	CodeTooLarge            Code = "too_large"
	CodeIdempotencyMismatch Code = "idempotency_mismatch"
	CodeRateLimited         Code = "rate_limited"
	CodeQueueFull           Code = "queue_full"
	CodeQuotaExceeded       Code = "quota_exceeded" // of storage: waiting does not help, deleting does
	CodeInternal            Code = "internal"
	CodeUpstreamError       Code = "upstream_error"
	CodeOverloaded          Code = "overloaded"
	CodeNoTargetAvailable   Code = "no_target_available"
	CodeUpstreamTimeout     Code = "upstream_timeout"
)

// The codes that only an item can carry.
const (
	CodeUpstreamRejected Code = "upstream_rejected"
	CodeContentBlocked   Code = "content_blocked"
	CodeContextTooLong   Code = "context_too_long"
	CodeDeadlineExceeded Code = "deadline_exceeded"
	CodeCancelled        Code = "cancelled"
	CodePoison           Code = "poison"
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

// Causes that a store names in Error.Err, so that callers can tell them apart.
var (
	// ErrStale means that the object of a conditional change has another version by now. The code is conflict.
	ErrStale = errors.New("it was changed meanwhile")
	// ErrDiskFull means that a disk had no space for a write. Nothing was written. The code is overloaded.
	ErrDiskFull = errors.New("the disk is full")
	// ErrUnreachable means that the database, or the storage of large payloads, could not be reached. Nothing was
	// written. The code is overloaded.
	ErrUnreachable = errors.New("the store cannot be reached")
)

// NotFound is the error for an object that is not there, or is another tenant's.
func NotFound(view View, id ID) *Error {
	return Errorf(CodeNotFound, "There is no %s.", view.Format(id))
}

// Stale is the error for a conditional change of an object that was changed meanwhile. The object is named as the
// subject of a sentence, such as "The endpoint".
func Stale(object string) *Error {
	return &Error{Code: CodeConflict, Message: object + " was changed meanwhile; read it again and decide anew.", Err: ErrStale}
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

// Internal hides a cause that is no business of the caller's.
func Internal(err error) *Error {
	return &Error{Code: CodeInternal, Message: "Something went wrong on our side; it was logged under this request id.", Err: err}
}

// Retryable reports whether the very same call may succeed later: by its code, or because it is a conflict that says when it
// will be over.
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

// AsError returns the Error inside err, or hides err behind an internal one.
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
