package api

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"penstock"
	"penstock/internal/request"
	"penstock/internal/rest"
)

// The headers by which a caller decides about one call, in canonical form.
const (
	headerTimeout  = "X-Penstock-Timeout"
	headerFallback = "X-Penstock-Fallback"
	headerTargets  = "X-Penstock-Targets"
)

// The bounds of x-penstock-timeout and of x-penstock-fallback.
const (
	minCallTimeout = 10 * time.Millisecond
	maxCallTimeout = time.Hour
	maxFallbacks   = 100
)

var (
	timeoutParam = rest.Param{Name: "x-penstock-timeout", In: "header", About: "How long the whole call may take, all targets together, such as 30s or 1500ms; a number without a unit is seconds. From 10ms to 1h. " +
		"A call that takes longer ends with 504 upstream_timeout; a stream that has begun ends with an error event."}
	fallbackParam = rest.Param{Name: "x-penstock-fallback", In: "header", About: "How many other targets are tried after a target failed: off for none, or a number. Without it: all targets of the model."}
	targetsParam  = rest.Param{Name: "x-penstock-targets", In: "header", About: "The only targets that may be tried, with commas between them. They must be targets of the model."}
)

// overrides reads what the caller decides about this call, and begins its timeout. Codes: invalid_request.
func (c *call) overrides() (o request.Overrides, err error) {
	h := c.R.Header
	timeout, fallback, targets := h[headerTimeout], h[headerFallback], h[headerTargets]
	if timeout == nil && fallback == nil && targets == nil {
		return o, nil
	}
	if h.Get("Idempotency-Key") != "" {
		return o, penstock.InvalidParam("Idempotency-Key", "A call with an Idempotency-Key runs as a job, which x-penstock-timeout, x-penstock-fallback and x-penstock-targets do not apply to; leave out one of them.")
	}
	if fallback != nil {
		if o.MaxTargets, err = readFallback(fallback); err != nil {
			return o, err
		}
	}
	for name := range strings.SplitSeq(strings.Join(targets, ","), ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(o.Targets, name) {
			o.Targets = append(o.Targets, rest.Clip(name))
		}
	}
	if targets != nil && o.Targets == nil {
		return o, penstock.InvalidParam("x-penstock-targets", "x-penstock-targets is empty; name targets of the model, or leave it out.")
	}
	if timeout != nil {
		err = c.limitTime(timeout)
	}
	return o, err
}

// limitTime ends the call after the time in the header. Codes: invalid_request.
func (c *call) limitTime(values []string) error {
	text := strings.TrimSpace(values[0])
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || len(values) > 1 || d < minCallTimeout || d > maxCallTimeout {
		return penstock.InvalidParam("x-penstock-timeout", "x-penstock-timeout must be given once, as a time from %v to %v, such as 30s.", minCallTimeout, maxCallTimeout)
	}
	over := penstock.Errorf(penstock.CodeUpstreamTimeout, "The call took longer than the %v of x-penstock-timeout.", d)
	ctx, cancel := context.WithTimeoutCause(c.R.Context(), d, over)
	c.R, c.timed = c.R.WithContext(ctx), true
	c.atEnd(cancel)
	return nil
}

// readFallback reads how many targets may be tried. Codes: invalid_request.
func readFallback(values []string) (int, error) {
	text := strings.ToLower(strings.TrimSpace(values[0]))
	if slices.Contains([]string{"off", "none", "false"}, text) && len(values) == 1 {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxFallbacks || len(values) > 1 {
		return 0, penstock.InvalidParam("x-penstock-fallback", "x-penstock-fallback must be given once: off, or the number of other targets to try, from 0 to %d.", maxFallbacks)
	}
	return n + 1, nil
}
