package api

import (
	"time"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/rest"
)

const headerWindow = "x-penstock-window"

// windowParam is for endpoints whose bodies have no field for a completion window. SDKs can send headers with any call.
var windowParam = rest.Param{Name: headerWindow, In: "header",
	About: "The time after which unfinished work expires: a duration such as 90m, of up to 30 days. 24h when not given."}

// window is the completion window of a call, 0 for the default. Codes: invalid_request.
func (c *call) window() (time.Duration, error) {
	text := c.R.Header.Get(headerWindow)
	if text == "" {
		return 0, nil
	}
	window, err := time.ParseDuration(text)
	if err != nil || window <= 0 || window > admit.MaxDeadline {
		return 0, penstock.InvalidParam(headerWindow, "%s must be a duration of up to %d days, such as 90m.", headerWindow, admit.MaxDeadline/(24*time.Hour))
	}
	return window, nil
}

// closes is when a window that begins now ends, zero for the default.
func (c *call) closes(window time.Duration) time.Time {
	if window == 0 {
		return time.Time{}
	}
	return c.Clock().Add(window)
}
