package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"penstock"
)

// memoryTracer returns a tracer and where its spans appear as soon as they end.
func memoryTracer(t *testing.T, cfg TraceConfig) (*Tracer, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	tracer := newTracer(spans, cfg, sdktrace.NewSimpleSpanProcessor(spans))
	t.Cleanup(func() {
		if err := tracer.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tracer, spans
}

func noTracer(t testing.TB) *Tracer {
	t.Helper()
	tracer, err := NewTracer(context.Background(), TraceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func attributesOf(list []attribute.KeyValue) map[string]any {
	attrs := map[string]any{}
	for _, a := range list {
		attrs[string(a.Key)] = a.Value.AsInterface()
	}
	return attrs
}

func TestSpanKinds(t *testing.T) {
	t.Parallel()
	tracer, spans := memoryTracer(t, TraceConfig{SampleRatio: 1})
	starts := map[trace.SpanKind]func(context.Context, string, ...Attr) (context.Context, Span){
		trace.SpanKindInternal: tracer.Start,
		trace.SpanKindServer:   tracer.StartServer,
		trace.SpanKindProducer: tracer.StartProducer,
		trace.SpanKindConsumer: tracer.StartConsumer,
		trace.SpanKindClient:   tracer.StartClient,
	}
	for kind, start := range starts {
		_, span := start(t.Context(), kind.String(), String("a", "b"), Int("n", 7))
		span.End(nil)
	}
	got := spans.GetSpans()
	if len(got) != len(starts) {
		t.Fatalf("%d spans, want %d", len(got), len(starts))
	}
	for _, span := range got {
		if span.SpanKind.String() != span.Name {
			t.Errorf("span %s has kind %s", span.Name, span.SpanKind)
		}
		if diff := cmp.Diff(map[string]any{"a": "b", "n": int64(7)}, attributesOf(span.Attributes)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSpanCarriesIDs(t *testing.T) {
	t.Parallel()
	tracer, spans := memoryTracer(t, TraceConfig{SampleRatio: 1})
	_, span := tracer.Start(WithIDs(t.Context(), IDs{Job: testJob, Tenant: "search"}), "work")
	span.Set(String("later", "yes"))
	span.End(nil)
	want := map[string]any{"penstock.job_id": "job_" + testJob, "penstock.tenant": "search", "later": "yes"}
	if diff := cmp.Diff(want, attributesOf(spans.GetSpans()[0].Attributes)); diff != "" {
		t.Error(diff)
	}
}

func TestSpanEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want string // error.type, "" for success
	}{
		{"success", nil, ""},
		{"our error", penstock.Errorf(penstock.CodeQueueFull, "secret"), "queue_full"},
		{"our error, wrapped", fmt.Errorf("submit: %w", penstock.Errorf(penstock.CodeGone, "secret")), "gone"},
		{"our error around a cancel", &penstock.Error{Code: penstock.CodeUpstreamTimeout, Err: context.Canceled}, "upstream_timeout"},
		{"cancelled", fmt.Errorf("secret: %w", context.Canceled), "cancelled"},
		{"too late", context.DeadlineExceeded, "deadline_exceeded"},
		{"any other", errors.New("secret"), "internal"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tracer, spans := memoryTracer(t, TraceConfig{SampleRatio: 1})
			_, span := tracer.Start(t.Context(), "work")
			span.End(test.err)
			got := spans.GetSpans()[0]
			wantStatus, wantAttrs := sdktrace.Status{}, map[string]any{}
			if test.want != "" {
				wantStatus.Code, wantAttrs["error.type"] = codes.Error, test.want
			}
			if got.Status != wantStatus {
				t.Errorf("status %+v, want %+v", got.Status, wantStatus)
			}
			if diff := cmp.Diff(wantAttrs, attributesOf(got.Attributes)); diff != "" {
				t.Error(diff)
			}
			if len(got.Events) != 0 || strings.Contains(fmt.Sprint(got), "secret") {
				t.Errorf("the text of the error is in the span: %v", got)
			}
		})
	}
}

func TestSpanGenAI(t *testing.T) {
	t.Parallel()
	start := GenAI{Operation: OperationChat, Provider: "openai", RequestModel: "gpt-4o-mini"}
	request := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o-mini",
	}
	tests := []struct {
		name   string
		answer GenAI
		want   map[string]any // beside the request
		status codes.Code
	}{
		{"nothing more", GenAI{}, nil, codes.Unset},
		{"answered", GenAI{
			ResponseModel: "gpt-4o-mini-2024", FinishReasons: []string{"stop"},
			Usage: penstock.Usage{InputTokens: 12, CachedInputTokens: 4, OutputTokens: 9},
		}, map[string]any{
			"gen_ai.response.model": "gpt-4o-mini-2024", "gen_ai.response.finish_reasons": []string{"stop"},
			"gen_ai.usage.input_tokens": int64(12), "gen_ai.usage.cache_read.input_tokens": int64(4),
			"gen_ai.usage.output_tokens": int64(9),
		}, codes.Unset},
		{"failed", GenAI{ErrorType: "rate_limited"}, map[string]any{"error.type": "rate_limited"}, codes.Error},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tracer, spans := memoryTracer(t, TraceConfig{SampleRatio: 1})
			_, span := tracer.StartClient(t.Context(), start.SpanName())
			span.SetGenAI(start)
			span.SetGenAI(test.answer)
			span.End(nil)
			got := spans.GetSpans()[0]
			want := maps.Clone(request)
			maps.Copy(want, test.want)
			if diff := cmp.Diff(want, attributesOf(got.Attributes)); diff != "" {
				t.Error(diff)
			}
			if got.Name != "chat gpt-4o-mini" || got.Status.Code != test.status {
				t.Errorf("span %q has status %v", got.Name, got.Status.Code)
			}
		})
	}
	if got := (GenAI{Operation: OperationChat}).SpanName(); got != "chat" {
		t.Errorf("without a model the span is named %q", got)
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	const sampled, unsampled = testParent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	tests := []struct {
		name   string
		ratio  float64
		parent string
		want   int
	}{
		{"all", 1, "", 1},
		{"none", 0, "", 0},
		{"the caller wants it", 0, sampled, 1},
		{"the caller does not", 1, unsampled, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tracer, spans := memoryTracer(t, TraceConfig{SampleRatio: test.ratio})
			ctx, span := tracer.StartServer(WithTraceParent(t.Context(), test.parent), "request")
			if TraceParent(ctx) == "" {
				t.Error("the decision is not passed on")
			}
			span.End(nil)
			if got := len(spans.GetSpans()); got != test.want {
				t.Errorf("%d spans, want %d", got, test.want)
			}
		})
	}
}

func TestSpanAttributesAreBounded(t *testing.T) {
	t.Parallel()
	tracer, spans := memoryTracer(t, TraceConfig{SampleRatio: 1})
	_, span := tracer.Start(t.Context(), "work", String("long", strings.Repeat("x", 2*MaxAttributeBytes)))
	for i := range 2 * MaxSpanAttributes {
		span.Set(Int(fmt.Sprint(i), 1))
	}
	span.End(nil)
	got := spans.GetSpans()[0]
	if len(got.Attributes) != MaxSpanAttributes {
		t.Errorf("%d attributes, want %d", len(got.Attributes), MaxSpanAttributes)
	}
	if n := len(got.Attributes[0].Value.AsString()); n != MaxAttributeBytes {
		t.Errorf("the longest value has %d bytes, want %d", n, MaxAttributeBytes)
	}
}

func TestNewTracerRejects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		cfg  TraceConfig
		want string
	}{
		{TraceConfig{SampleRatio: -0.1}, "between 0"},
		{TraceConfig{SampleRatio: 1.1}, "between 0"},
		{TraceConfig{SampleRatio: math.NaN()}, "between 0"},
		{TraceConfig{OTLPEndpoint: "collector:4318"}, "http://collector:4318"},
		{TraceConfig{OTLPEndpoint: "grpc://collector:4317"}, "http://collector:4318"},
		{TraceConfig{OTLPEndpoint: "http://"}, "http://collector:4318"},
		{TraceConfig{OTLPEndpoint: "http://user:hunter2@collector:4318"}, "OTEL_EXPORTER_OTLP_HEADERS"},
		{TraceConfig{OTLPEndpoint: "http://collector:4318?token=hunter2"}, "remove it"},
	}
	for _, test := range tests {
		_, err := NewTracer(t.Context(), test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: got error %v, want one that says %q and no secret", test.cfg, err, test.want)
		}
	}
}

func TestTracesURL(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"http://collector:4318":             "http://collector:4318/v1/traces",
		"http://collector:4318/":            "http://collector:4318/v1/traces",
		"https://collector.example/otlp/in": "https://collector.example/otlp/in",
	} {
		if got, err := tracesURL(endpoint); got != want || err != nil {
			t.Errorf("%s became %q, %v; want %q", endpoint, got, err, want)
		}
	}
}

func TestPropagation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		in     string
		joined bool
	}{
		{"valid", testParent, true},
		{"not sampled", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true},
		{"empty", "", false},
		{"no trace", "00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
		{"malformed", "00-zz-b7ad6b7169203331-01", false},
		{"too long", testParent + "-more", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := ""
			if test.joined {
				want = test.in
			}
			in := http.Header{}
			in.Set("traceparent", test.in)
			in.Set("tracestate", "vendor=1")
			if got := TraceParent(Extract(t.Context(), in)); got != want {
				t.Errorf("Extract: got %q, want %q", got, want)
			}
			stored := WithTraceParent(t.Context(), test.in)
			if got := TraceParent(stored); got != want {
				t.Errorf("WithTraceParent: got %q, want %q", got, want)
			}
			if !test.joined && stored != t.Context() {
				t.Error("an unusable traceparent made a new context")
			}
			out := Inject(Extract(t.Context(), in), http.Header{})
			wantOut := http.Header{}
			if test.joined {
				wantOut = http.Header{"Traceparent": {want}, "Tracestate": {"vendor=1"}}
			}
			if diff := cmp.Diff(wantOut, out); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInjectReplaces(t *testing.T) {
	t.Parallel()
	h := http.Header{"Traceparent": {"stale", "stale too"}}
	injected := Inject(WithTraceParent(t.Context(), testParent), h)
	if got := injected["Traceparent"]; !slices.Equal(got, []string{testParent}) {
		t.Errorf("got %v", got)
	}
	if len(h["Traceparent"]) != 2 {
		t.Errorf("the caller's headers were changed: %v", h)
	}
}

func TestTracerWithoutEndpoint(t *testing.T) {
	t.Parallel()
	tracer := noTracer(t)
	ctx, span := tracer.StartServer(WithTraceParent(t.Context(), testParent), "request")
	span.Set(String("a", "b"))
	span.SetGenAI(GenAI{Operation: OperationChat, ErrorType: "timeout"})
	span.End(errors.New("oops"))
	if got := TraceParent(ctx); got != testParent {
		t.Errorf("the trace that came in became %q", got)
	}
	if ctx, _ := tracer.Start(t.Context(), "work"); TraceParent(ctx) != "" {
		t.Error("a trace began")
	}
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A span of another tracer must not be ended by one that makes none.
func TestTracerWithoutEndpointLeavesParentsAlone(t *testing.T) {
	t.Parallel()
	outer, spans := memoryTracer(t, TraceConfig{SampleRatio: 1})
	ctx, parent := outer.Start(t.Context(), "parent")
	_, span := noTracer(t).Start(ctx, "child")
	span.End(errors.New("oops"))
	if n := len(spans.GetSpans()); n != 0 {
		t.Fatalf("%d spans ended", n)
	}
	parent.End(nil)
	if got := spans.GetSpans(); len(got) != 1 || got[0].Status.Code != codes.Unset {
		t.Errorf("got %v", got)
	}
}

func TestTracerWithoutEndpointAllocatesNothing(t *testing.T) {
	skipUnderRace(t)
	tracer := noTracer(t)
	in := http.Header{"Content-Type": {"application/json"}}
	out := http.Header{}
	model := strings.Repeat("m", 3) // not a constant
	work := func() {
		ctx := Extract(context.Background(), in)
		ctx = WithTraceParent(ctx, "")
		ctx, span := tracer.StartClient(ctx, "chat", String("model", model), Int("n", 7))
		span.SetGenAI(GenAI{Operation: OperationChat, RequestModel: model})
		span.Set(String("later", model))
		out = Inject(ctx, out)
		if TraceParent(ctx) != "" {
			t.Error("a trace began")
		}
		span.End(nil)
	}
	if n := testing.AllocsPerRun(100, work); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSpan(b *testing.B) {
	discard := tracetest.NewNoopExporter()
	recording := newTracer(discard, TraceConfig{SampleRatio: 1}, sdktrace.NewBatchSpanProcessor(discard))
	defer recording.Shutdown(context.Background())
	for name, tracer := range map[string]*Tracer{"none": noTracer(b), "recorded": recording} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, span := tracer.StartClient(context.Background(), "chat", String("model", "fast"))
				span.End(nil)
			}
		})
	}
}
