package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"penstock"
)

// Bounds of tracing.
const (
	MaxQueuedSpans    = 4096 // ended spans that wait for export; more are dropped
	MaxExportedSpans  = 512  // spans in one export
	MaxSpanAttributes = 64
	MaxAttributeBytes = 1024 // longer values are cut
	ExportInterval    = 2 * time.Second
	ExportTimeout     = 10 * time.Second // for one export, retries included
)

// defaultTracesPath is where collectors expect OTLP over HTTP.
const defaultTracesPath = "/v1/traces"

// TraceConfig shapes a tracer.
type TraceConfig struct {
	// OTLPEndpoint is the collector to send spans to by OTLP over HTTP: http://host:4318, to which
	// /v1/traces is added, or a URL with its own path. Empty means that no spans are made. Headers and
	// certificates come from the environment variables that OpenTelemetry defines for them.
	OTLPEndpoint string
	// SampleRatio is the part of traces that is kept, from 0 to 1. It applies where a trace begins: work
	// that joins a trace follows the decision made there.
	SampleRatio float64
	// Version is reported as service.version.
	Version string
	// Logger logs failed exports, at most once in [ReportInterval]. Nil: nothing is logged.
	Logger *slog.Logger
}

// Tracer makes spans. Without an endpoint it makes none, at no cost, and contexts keep the trace that came
// in, so that it still reaches upstreams, jobs and webhooks.
type Tracer struct {
	tracer    trace.Tracer // nil when no spans are made
	processor sdktrace.SpanProcessor
	exporter  sdktrace.SpanExporter
}

// NewTracer makes a tracer. It does not wait for the collector, which may come and go. Shutdown ends it.
func NewTracer(ctx context.Context, cfg TraceConfig) (*Tracer, error) {
	if !(cfg.SampleRatio >= 0 && cfg.SampleRatio <= 1) { // so written, it catches NaN too
		return nil, fmt.Errorf("sample ratio is %v: set it between 0 (no traces) and 1 (all)", cfg.SampleRatio)
	}
	if cfg.OTLPEndpoint == "" {
		return &Tracer{}, nil
	}
	endpoint, err := tracesURL(cfg.OTLPEndpoint)
	if err != nil {
		return nil, err
	}
	otlp, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(endpoint),
		otlptracehttp.WithTimeout(ExportTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: ExportTimeout / 2, MaxElapsedTime: ExportTimeout,
		}))
	if err != nil {
		return nil, fmt.Errorf("make the OTLP exporter: %w", err)
	}
	exporter := newReportingExporter(otlp, cfg.Logger)
	return newTracer(exporter, cfg, sdktrace.NewBatchSpanProcessor(exporter,
		sdktrace.WithMaxQueueSize(MaxQueuedSpans),
		sdktrace.WithMaxExportBatchSize(MaxExportedSpans),
		sdktrace.WithBatchTimeout(ExportInterval),
		sdktrace.WithExportTimeout(ExportTimeout))), nil
}

func newTracer(exporter sdktrace.SpanExporter, cfg TraceConfig, processor sdktrace.SpanProcessor) *Tracer {
	limits := sdktrace.NewSpanLimits()
	limits.AttributeCountLimit = MaxSpanAttributes
	limits.AttributeValueLengthLimit = MaxAttributeBytes
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.SampleRatio))),
		sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "penstock"), attribute.String("service.version", cfg.Version))))
	return &Tracer{
		tracer:    provider.Tracer("penstock", trace.WithInstrumentationVersion(cfg.Version)),
		processor: processor,
		exporter:  exporter,
	}
}

// tracesURL checks an endpoint. It does not repeat it in errors: a URL may hold a password.
func tracesURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("the OTLP endpoint is not a URL: write it like http://collector:4318")
	case u.User != nil:
		return "", errors.New("the OTLP endpoint holds credentials: pass them in OTEL_EXPORTER_OTLP_HEADERS instead")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the OTLP endpoint has a query or fragment, which exporters drop: remove it")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = defaultTracesPath
	}
	return u.String(), nil
}

// Shutdown exports what is queued and stops. When ctx ends first, the rest is dropped.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t.tracer == nil {
		return nil
	}
	// The processor, not its provider: that one would leave it running if ctx were over already.
	if err := t.processor.Shutdown(ctx); err != nil {
		// Interrupts the export that is under way, and with it the processor's last goroutine. The answer
		// is of no interest: it could only say again that ctx is over.
		_ = t.exporter.Shutdown(ctx)
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// Attr is something that a span says about its work.
type Attr = attribute.KeyValue

// String makes an attribute.
func String(key, value string) Attr { return attribute.String(key, value) }

// Int makes an attribute.
func Int(key string, value int64) Attr { return attribute.Int64(key, value) }

// Enabled reports whether spans are made at all: attributes that only a span has need not be computed otherwise.
func (t *Tracer) Enabled() bool { return t.tracer != nil }

// Start begins a span for work inside the process. The span must be ended; the context it comes with makes
// it the parent of what follows.
func (t *Tracer) Start(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return t.start(ctx, trace.SpanKindInternal, name, attrs)
}

// StartServer begins a span for answering a caller.
func (t *Tracer) StartServer(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return t.start(ctx, trace.SpanKindServer, name, attrs)
}

// StartProducer begins a span for accepting work that runs later.
func (t *Tracer) StartProducer(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return t.start(ctx, trace.SpanKindProducer, name, attrs)
}

// StartConsumer begins a span for running work that was accepted before.
func (t *Tracer) StartConsumer(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return t.start(ctx, trace.SpanKindConsumer, name, attrs)
}

// StartClient begins a span for a call to another system, such as an upstream or a webhook's endpoint.
func (t *Tracer) StartClient(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return t.start(ctx, trace.SpanKindClient, name, attrs)
}

func (t *Tracer) start(ctx context.Context, kind trace.SpanKind, name string, attrs []Attr) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	// Cloned so that attrs does not escape: calls of a tracer that makes no spans then allocate nothing.
	started, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(slices.Clone(attrs)...))
	if span.IsRecording() {
		for _, id := range idsFrom(ctx).appendTo(make([]named, 0, maxIDs)) {
			span.SetAttributes(attribute.String("penstock."+id.name, id.value))
		}
	}
	return started, Span{span}
}

// Span is a piece of work in a trace. The zero value ignores everything.
type Span struct{ span trace.Span }

// Set adds attributes, or changes them.
func (s Span) Set(attrs ...Attr) {
	if s.recording() {
		s.span.SetAttributes(slices.Clone(attrs)...)
	}
}

// Fail marks the work as failed, with one of few possible reasons such as an error kind.
func (s Span) Fail(errorType string) {
	if s.recording() {
		s.span.SetAttributes(attribute.String(keyErrorType, errorType))
		s.span.SetStatus(codes.Error, "")
	}
}

// End ends the span. If err is not nil the work failed, and the span has its code; what the error says
// stays out, as it may quote a payload.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.Fail(errorType(err))
	}
	s.span.End()
}

// Recording reports whether what is said of the work reaches anybody: nothing need be found out for a span that does not.
func (s Span) Recording() bool { return s.recording() }

func (s Span) recording() bool { return s.span != nil && s.span.IsRecording() }

// errorType is the code of err. A context that ended is no one's internal error.
func errorType(err error) string {
	if e, ok := errors.AsType[*penstock.Error](err); ok {
		return string(e.Code)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return string(penstock.CodeCancelled)
	case errors.Is(err, context.DeadlineExceeded):
		return string(penstock.CodeDeadlineExceeded)
	}
	return string(penstock.CodeInternal)
}
