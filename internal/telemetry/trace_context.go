package telemetry

import (
	"context"
	"maps"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The headers of W3C Trace Context, as net/http spells them.
const (
	headerTraceParent = "Traceparent"
	headerTraceState  = "Tracestate"
)

// Extract lets ctx join the trace that a request belongs to. Without a valid traceparent it returns ctx.
func Extract(ctx context.Context, h http.Header) context.Context {
	if len(h[headerTraceParent]) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, headerCarrier(h))
}

// Inject returns a request's headers with the trace that ctx belongs to, or as they are without one. It does not change
// those that it is given, which may be nil.
func Inject(ctx context.Context, h http.Header) http.Header {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return h
	}
	injected := make(http.Header, len(h)+1)
	maps.Copy(injected, h)
	propagation.TraceContext{}.Inject(ctx, headerCarrier(injected))
	return injected
}

// TraceParent renders the trace that ctx belongs to, to be stored with work that runs later. It is empty
// when there is none. The vendors' tracestate is not part of it: it may be long, and what continues hours
// later, perhaps in another process, owes it nothing.
func TraceParent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	var parent parentCarrier
	propagation.TraceContext{}.Inject(ctx, &parent)
	return string(parent)
}

// WithTraceParent undoes [TraceParent]: what starts under the returned context joins the stored trace. A
// traceparent that is empty or malformed leaves ctx as it is.
func WithTraceParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	parent := parentCarrier(traceparent)
	return propagation.TraceContext{}.Extract(ctx, &parent)
}

// headerCarrier looks headers up by their canonical names; the library's own carrier allocates to find
// them.
type headerCarrier http.Header

func (c headerCarrier) Get(key string) string {
	if v := c[canonical(key)]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (c headerCarrier) Set(key, value string) { c[canonical(key)] = []string{value} }

func (c headerCarrier) Keys() []string { return []string{headerTraceParent, headerTraceState} }

func canonical(key string) string {
	switch key {
	case "traceparent":
		return headerTraceParent
	case "tracestate":
		return headerTraceState
	}
	return http.CanonicalHeaderKey(key)
}

// parentCarrier carries a traceparent and nothing else.
type parentCarrier string

func (c *parentCarrier) Get(key string) string {
	if key == "traceparent" {
		return string(*c)
	}
	return ""
}

func (c *parentCarrier) Set(key, value string) {
	if key == "traceparent" {
		*c = parentCarrier(value)
	}
}

func (c *parentCarrier) Keys() []string { return []string{"traceparent"} }
