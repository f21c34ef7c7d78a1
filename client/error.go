package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"penstock"
)

// Error is an error that the server answered with.
type Error struct {
	// Code says what went wrong. It is empty when the answer did not come from Penstock itself but from
	// something in between, such as a proxy.
	Code penstock.Code
	// Message says it to a person.
	Message string
	// Param is the field at fault, as a path such as inputs[3].body; "" when there is none.
	Param string
	// Status is the HTTP status.
	Status int
	// RetryAfter is how long the server asked to wait; 0 when it did not.
	RetryAfter time.Duration
	// RequestID names the call in the server's log.
	RequestID string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Code != "" {
		b.WriteString(string(e.Code) + ": ")
	}
	b.WriteString(e.Message)
	if e.RequestID != "" {
		b.WriteString(" (" + e.RequestID + ")")
	}
	return b.String()
}

// Retryable reports whether the very same call may succeed later.
func (e *Error) Retryable() bool {
	if e.Code != "" {
		return (&penstock.Error{Code: e.Code, RetryAfter: e.RetryAfter}).Retryable()
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// ConnectionError says that no answer came, or only a part of one. Whether the server received the call is not known.
type ConnectionError struct {
	doing string
	base  *url.URL
	err   error
}

func (e *ConnectionError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.doing, e.base.Redacted(), e.err)
}
func (e *ConnectionError) Unwrap() error { return e.err }

// unreachable makes a ConnectionError, without what url.Error repeats of the call.
func (c *Client) unreachable(doing string, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &ConnectionError{doing: doing, base: c.base, err: err}
}

const (
	// maxErrorBytes is how much of an error's body is read.
	maxErrorBytes = 1 << 20
	// maxQuotedBytes is how much of a body that is not Penstock's is shown.
	maxQuotedBytes = 200
)

// readError makes an Error of an answer with an error status.
func readError(resp *http.Response) *Error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("x-request-id"), RetryAfter: retryAfter(resp.Header)}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes)) // half an explanation is better than none
	var envelope struct {
		Error struct {
			Code    penstock.Code `json:"code"`
			Message string        `json:"message"`
			Param   string        `json:"param"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &envelope) == nil && envelope.Error.Code != "" {
		e.Code, e.Message, e.Param = envelope.Error.Code, envelope.Error.Message, envelope.Error.Param
		return e
	}
	e.Message = "the server answered " + resp.Status
	if quoted := strings.TrimSpace(strings.ToValidUTF8(string(text[:min(len(text), maxQuotedBytes)]), "")); quoted != "" {
		e.Message += ": " + strconv.Quote(quoted)
	}
	return e
}

// retryAfter reads how long to wait: in milliseconds where the server says so, else in seconds or as a
// date, as the standard has it.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseInt(h.Get("retry-after-ms"), 10, 64); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseInt(text, 10, 64); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
