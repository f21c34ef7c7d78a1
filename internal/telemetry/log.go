package telemetry

import (
	"context"
	"encoding"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// LogFormat is how log records are written.
type LogFormat string

// The formats.
const (
	LogJSON LogFormat = "json"
	LogText LogFormat = "text"
)

// LogConfig shapes a logger.
type LogConfig struct {
	// Level is the least severe level that is written. The zero value is info.
	Level slog.Level
	// Format is json, which is also the zero value's meaning, or text for people at a terminal.
	Format LogFormat
}

// NewLogger returns a logger whose records carry the ids of their context: request_id, job_id, item_id,
// attempt_id and tenant as set by [WithIDs], trace_id and span_id of the active span. The ids stand at the
// top level of a record, also inside groups, so that one query finds them all.
//
// Values that could hold a prompt or an answer are withheld: byte slices of any type, and structures that
// do not say how to be shown (by error, String, MarshalText or LogValue). This catches accidents, such as
// logging a whole item; it cannot know what a string contains.
func NewLogger(w io.Writer, cfg LogConfig) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.Level, ReplaceAttr: withholdPayload}
	var h slog.Handler = slog.NewJSONHandler(w, opts)
	if cfg.Format == LogText {
		h = slog.NewTextHandler(w, opts)
	}
	return slog.New(&idHandler{next: h})
}

// idHandler adds the ids of the context to each record.
type idHandler struct {
	next slog.Handler
	// An open group would swallow ids that are added to the record. Once there is one, root remembers the
	// handler before it and replay the way from root to next, so that the ids can be slipped in below.
	root   slog.Handler
	replay []func(slog.Handler) slog.Handler
}

func (h *idHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *idHandler) Handle(ctx context.Context, r slog.Record) error {
	ids, span := idsFrom(ctx), trace.SpanContextFromContext(ctx)
	if ids == nil && !span.IsValid() {
		return h.next.Handle(ctx, r)
	}
	attrs := idAttrs(ids, span)
	if h.root == nil {
		r = r.Clone() // the caller's copy shares its attributes with ours
		r.AddAttrs(attrs...)
		return h.next.Handle(ctx, r)
	}
	next := h.root.WithAttrs(attrs)
	for _, step := range h.replay {
		next = step(next)
	}
	return next.Handle(ctx, r)
}

func (h *idHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.then(h.root, func(n slog.Handler) slog.Handler { return n.WithAttrs(attrs) })
}

func (h *idHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	root := h.root
	if root == nil {
		root = h.next
	}
	return h.then(root, func(n slog.Handler) slog.Handler { return n.WithGroup(name) })
}

func (h *idHandler) then(root slog.Handler, step func(slog.Handler) slog.Handler) slog.Handler {
	derived := &idHandler{next: step(h.next), root: root}
	if root != nil {
		derived.replay = append(slices.Clip(h.replay), step)
	}
	return derived
}

func idAttrs(ids *IDs, span trace.SpanContext) []slog.Attr {
	list := make([]named, 0, maxIDs)
	attrs := make([]slog.Attr, 0, maxIDs+2)
	for _, id := range ids.appendTo(list) {
		attrs = append(attrs, slog.String(id.name, id.value))
	}
	if span.IsValid() {
		attrs = append(attrs,
			slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return attrs
}

// withholdPayload replaces what could be a payload by a note of what was there.
func withholdPayload(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	v := a.Value.Any()
	switch v := v.(type) {
	case nil:
		return a
	case slog.Level: // every record has one, and as a string it is written without allocation
		return slog.String(a.Key, v.String())
	}
	t := reflect.TypeOf(v)
	// Bytes come first: raw JSON types have a String method that shows all of it.
	if isList(t) && t.Elem().Kind() == reflect.Uint8 {
		return slog.String(a.Key, fmt.Sprintf("[%d bytes withheld]", reflect.ValueOf(v).Len()))
	}
	switch v.(type) {
	case error, fmt.Stringer, encoding.TextMarshaler:
		return a
	}
	if isScalar(t) || isList(t) && isScalar(t.Elem()) {
		return a
	}
	return slog.String(a.Key, fmt.Sprintf("[%v withheld]", t))
}

func isList(t reflect.Type) bool { return t.Kind() == reflect.Slice || t.Kind() == reflect.Array }

func isScalar(t reflect.Type) bool {
	k := t.Kind()
	return k == reflect.String || reflect.Bool <= k && k <= reflect.Float64
}
