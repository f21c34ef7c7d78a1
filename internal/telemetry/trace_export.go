package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// ReportInterval is the least time between two log records about failed exports.
	ReportInterval = time.Minute

	// maxReportBytes cuts what a collector says about its failure, which may be a whole web page.
	maxReportBytes = 300
)

// reportingExporter logs failed exports, rarely, and hides them from the processor above it. That one
// knows only OpenTelemetry's global error handler, which a library has no right to replace and which by
// default writes each failure to standard error.
type reportingExporter struct {
	next sdktrace.SpanExporter
	log  *slog.Logger

	mu       sync.Mutex
	lost     int // spans since the last report
	reported time.Time
}

func newReportingExporter(next sdktrace.SpanExporter, log *slog.Logger) *reportingExporter {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &reportingExporter{next: next, log: log}
}

// ExportSpans always returns nil; see above.
func (e *reportingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.next.ExportSpans(ctx, spans); err != nil {
		e.report(ctx, err, len(spans))
	}
	return nil
}

func (e *reportingExporter) Shutdown(ctx context.Context) error { return e.next.Shutdown(ctx) }

func (e *reportingExporter) report(ctx context.Context, err error, spans int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost += spans
	now := time.Now()
	if !e.reported.IsZero() && now.Sub(e.reported) < ReportInterval {
		return
	}
	e.log.WarnContext(ctx, "spans were not exported; check the OTLP endpoint",
		"lost", e.lost, "error", clip(err.Error(), maxReportBytes))
	e.lost, e.reported = 0, now
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
