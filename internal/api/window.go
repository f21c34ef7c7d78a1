package api

import (
	"time"

	"penstock"
	"penstock/internal/admit"
)

const headerWindow = "x-penstock-window"

// windowParam is for doors whose bodies have no word for it. SDKs send headers with any call.
var windowParam = param{Name: headerWindow, In: "header",
	About: "How long it may take until what is not done expires: a duration such as 90m, of up to 30 days. 24h when not given."}

// windowEnd is when what the caller asks for expires, zero for the usual time. Codes: invalid_request.
func (c *call) windowEnd() (time.Time, error) {
	text := c.r.Header.Get(headerWindow)
	if text == "" {
		return time.Time{}, nil
	}
	window, err := time.ParseDuration(text)
	if err != nil || window <= 0 || window > admit.MaxDeadline {
		return time.Time{}, penstock.InvalidParam(headerWindow, "%s must be a duration of up to %d days, such as 90m.", headerWindow, admit.MaxDeadline/(24*time.Hour))
	}
	return c.Clock().Add(window), nil
}
