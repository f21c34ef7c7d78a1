package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"penstock"
	"penstock/internal/store"
)

// statuses is the one place where codes become HTTP statuses. The codes that only items carry have
// one too, for the calls that run as a job and answer with its item.
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
	penstock.CodeCancelled:        statusClientClosed,
	penstock.CodePoison:           http.StatusInternalServerError,
}

// statusClientClosed is what proxies log for a caller who left; nobody is there to read it.
const statusClientClosed = 499

// errorType is the class of error that SDKs tell apart.
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

// errorView is the envelope of every error.
type errorView struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code         penstock.Code `json:"code" about:"What went wrong, from a closed list."`
	Type         string        `json:"type"`
	Param        *string       `json:"param" about:"The field at fault."`
	Retryable    bool          `json:"retryable" about:"Whether the very same call may succeed later."`
	Message      string        `json:"message"`
	RetryAfterMS *int64        `json:"retry_after_ms" about:"How long to wait, when that is known."`
	RequestID    string        `json:"request_id"`
}

// defaultRetryAfter is told when a call may be tried again but nobody knows when.
const defaultRetryAfter = time.Second

// StatusOf is the HTTP status that a caller sees with a code.
func StatusOf(code penstock.Code) int { return statusOf(code) }

// statusOf is the HTTP status of a code.
func statusOf(code penstock.Code) int {
	if status, ok := statuses[code]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// ItemFailure is the HTTP status and the body of an error, for lines of results that hold both.
func ItemFailure(e penstock.ItemError, request string) (status int, body []byte) {
	body, err := json.Marshal(errorView{errorBody{
		Code: e.Code, Type: usualErrorType(e.Code), Message: e.Message, RequestID: request, Retryable: e.Code.Retryable(),
	}})
	if err != nil {
		body = []byte("{}")
	}
	return statusOf(e.Code), body
}

func (c *call) errorBody(e *penstock.Error) (errorBody, int) {
	status := statusOf(e.Code)
	if errors.Is(e, store.ErrStale) {
		status = http.StatusPreconditionFailed
	}
	v := errorBody{
		Code: e.Code, Type: c.words.errorType(e.Code), Message: e.Message, Retryable: e.Retryable() && !c.final,
		RequestID: penstock.ViewRequest.Format(c.id),
	}
	if e.Param != "" {
		v.Param = &e.Param
	}
	// Only retryable errors say when to try again.
	if wait := retryAfter(e, status); wait > 0 && v.Retryable {
		ms := (wait + time.Millisecond - 1).Milliseconds() // not before: a place may be kept for that moment
		v.RetryAfterMS = &ms
	}
	return v, status
}

// retryAfter is how long a caller should wait who may try again. 429 and 503 always say.
func retryAfter(e *penstock.Error, status int) time.Duration {
	if e.RetryAfter == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		return defaultRetryAfter
	}
	return e.RetryAfter
}

// fail answers with an error, unless an answer has already begun. It is the one place that logs
// what went wrong on our side.
func (c *call) fail(err error) {
	e := penstock.AsError(err)
	if e.Code == penstock.CodeInternal || errors.Is(err, store.ErrAway) {
		c.Log.ErrorContext(c.r.Context(), "answering a call", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
	}
	if c.w.status != 0 {
		return
	}
	view, status := c.errorBody(e)
	c.answerError(view, status)
}

// answerError writes an error, its headers as its body has it.
func (c *call) answerError(view errorBody, status int) {
	h := c.w.Header()
	h.Set("x-should-retry", strconv.FormatBool(view.Retryable))
	if view.RetryAfterMS != nil {
		wait := time.Duration(*view.RetryAfterMS) * time.Millisecond
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		h.Set("retry-after-ms", fmt.Sprint(*view.RetryAfterMS))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="penstock"`)
	}
	_ = c.json(status, c.words.envelope(view))
}
