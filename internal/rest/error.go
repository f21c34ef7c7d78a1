package rest

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"penstock"
)

// statuses maps codes to HTTP statuses; no other table does. The codes of items have statuses too, for calls that run
// as a job and answer with the error of its item.
var statuses = map[penstock.Code]int{
	penstock.CodeInvalidRequest:      http.StatusBadRequest,
	penstock.CodeInvalidKey:          http.StatusUnauthorized,
	penstock.CodeBudgetExceeded:      http.StatusPaymentRequired,
	penstock.CodeScopeMissing:        http.StatusForbidden,
	penstock.CodeNotFound:            http.StatusNotFound,
	penstock.CodeModelNotFound:       http.StatusNotFound,
	penstock.CodeIdempotencyInFlight: http.StatusConflict,
	penstock.CodeManagedByFile:       http.StatusConflict,
	penstock.CodeConflict:            http.StatusConflict,
	penstock.CodeGone:                http.StatusGone,
	penstock.CodeTooLarge:            http.StatusRequestEntityTooLarge,
	penstock.CodeIdempotencyMismatch: http.StatusUnprocessableEntity,
	penstock.CodeRateLimited:         http.StatusTooManyRequests,
	penstock.CodeQueueFull:           http.StatusTooManyRequests,
	penstock.CodeQuotaExceeded:       http.StatusTooManyRequests,
	penstock.CodeInternal:            http.StatusInternalServerError,
	penstock.CodeUpstreamError:       http.StatusBadGateway,
	penstock.CodeOverloaded:          http.StatusServiceUnavailable,
	penstock.CodeNoTargetAvailable:   http.StatusServiceUnavailable,
	penstock.CodeUpstreamTimeout:     http.StatusGatewayTimeout,

	penstock.CodeUpstreamRejected: http.StatusBadRequest,
	penstock.CodeContentBlocked:   http.StatusBadRequest,
	penstock.CodeContextTooLong:   http.StatusBadRequest,
	penstock.CodeDeadlineExceeded: http.StatusGatewayTimeout,
	penstock.CodeCancelled:        StatusClientClosed,
	penstock.CodePoison:           http.StatusInternalServerError,
}

// StatusClientClosed is the status that proxies log for a caller who disconnected. No caller receives it.
const StatusClientClosed = 499

// errorType is the class of an error, by which SDKs choose the type of their exception.
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// ErrorView is the envelope of every error.
type ErrorView struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody is an error as callers see it.
type ErrorBody struct {
	Code         penstock.Code `json:"code" about:"The kind of the error, from a closed list."`
	Type         string        `json:"type"`
	Param        *string       `json:"param" about:"The field at fault."`
	Retryable    bool          `json:"retryable" about:"Whether the same call may succeed later."`
	Message      string        `json:"message"`
	RetryAfterMS *int64        `json:"retry_after_ms" about:"How long to wait, when that is known."`
	RequestID    string        `json:"request_id"`
}

// defaultRetryAfter is the Retry-After of a retryable error without a known time.
const defaultRetryAfter = time.Second

// Status is the HTTP status of a code.
func Status(code penstock.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// ItemFailure is the HTTP status and the body of an error, for lines of results that hold both.
func ItemFailure(e penstock.ItemError, request string) (status int, body []byte) {
	body, err := json.Marshal(ErrorView{ErrorBody{
		Code: e.Code, Type: UsualErrorType(e.Code), Message: e.Message, RequestID: request, Retryable: e.Code.Retryable(),
	}})
	if err != nil {
		body = []byte("{}")
	}
	return Status(e.Code), body
}

// ErrorBody returns the error as callers see it, and its status.
func (c *Call) ErrorBody(e *penstock.Error) (ErrorBody, int) {
	status := Status(e.Code)
	if errors.Is(e, penstock.ErrStale) {
		status = http.StatusPreconditionFailed
	}
	v := ErrorBody{
		Code: e.Code, Type: c.Words.ErrorType(e.Code), Message: e.Message, Retryable: e.Retryable() && !c.Final,
		RequestID: penstock.ViewRequest.Format(c.ID),
	}
	if e.Param != "" {
		v.Param = &e.Param
	}
	// Only retryable errors say when to try again.
	if wait := retryAfter(e, status); wait > 0 && v.Retryable {
		ms := (wait + time.Millisecond - 1).Milliseconds() // rounded up: a place may be kept for that moment
		v.RetryAfterMS = &ms
	}
	return v, status
}

// retryAfter is how long a caller should wait before a retry. 429 and 503 always have a time.
func retryAfter(e *penstock.Error, status int) time.Duration {
	if e.RetryAfter == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		return defaultRetryAfter
	}
	return e.RetryAfter
}

// Fail answers with an error, unless an answer has already begun. It is the only function that logs internal errors of
// a call.
func (c *Call) Fail(err error) {
	e := penstock.AsError(err)
	if e.Code == penstock.CodeInternal || errors.Is(err, penstock.ErrUnreachable) {
		c.server.Log.ErrorContext(c.R.Context(), "answering a call", "method", c.R.Method, "path", c.R.URL.Path, "error", err)
	}
	if c.W.Status != 0 {
		return
	}
	view, status := c.ErrorBody(e)
	c.answerError(view, status)
}

// FailWith answers with an error and with a status other than that of its code.
func (c *Call) FailWith(status int, err error) {
	view, _ := c.ErrorBody(penstock.AsError(err))
	c.answerError(view, status)
}

// answerError writes an error, with the headers that match its body.
func (c *Call) answerError(view ErrorBody, status int) {
	h := c.W.Header()
	h.Set("x-should-retry", strconv.FormatBool(view.Retryable))
	if view.RetryAfterMS != nil {
		wait := time.Duration(*view.RetryAfterMS) * time.Millisecond
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		h.Set("retry-after-ms", fmt.Sprint(*view.RetryAfterMS))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="`+c.server.Realm+`"`)
	}
	_ = c.JSON(status, c.Words.Envelope(view))
}
