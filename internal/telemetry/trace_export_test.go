package telemetry

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"penstock"
)

// fakeCollector is an OTLP endpoint that keeps what it is sent.
func fakeCollector(t *testing.T, path string) (url string, received chan *otlp.ResourceSpans) {
	t.Helper()
	received = make(chan *otlp.ResourceSpans, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var export collector.ExportTraceServiceRequest
		if err = errors.Join(err, proto.Unmarshal(body, &export)); err != nil || r.URL.Path != path {
			t.Errorf("got %v at %s", err, r.URL.Path)
			http.Error(w, "bad export", http.StatusBadRequest)
			return
		}
		for _, spans := range export.ResourceSpans {
			received <- spans
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

func startTracer(t *testing.T, cfg TraceConfig) *Tracer {
	t.Helper()
	tracer, err := NewTracer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

func shutdown(t *testing.T, tracer *Tracer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := tracer.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// TestTraceOfAJob follows one job through two processes that share nothing but its row.
func TestTraceOfAJob(t *testing.T) {
	t.Parallel()
	endpoint, received := fakeCollector(t, "/v1/traces")
	cfg := TraceConfig{OTLPEndpoint: endpoint, SampleRatio: 0, Version: "1.2.3"}

	api := startTracer(t, cfg)
	in, row := http.Header{"Traceparent": {testParent}}, penstock.Job{ID: testJob}
	ctx, request := api.StartServer(Extract(t.Context(), in), "POST /v1/jobs")
	ctx, submit := api.StartProducer(ctx, "submit")
	row.TraceParent = TraceParent(ctx)
	submit.End(nil)
	request.End(nil)
	shutdown(t, api)

	worker := startTracer(t, cfg)
	out := http.Header{}
	ctx = WithIDs(WithTraceParent(context.Background(), row.TraceParent), IDs{Job: row.ID})
	ctx, claim := worker.StartConsumer(ctx, "claim")
	call := GenAI{Operation: OperationChat, Provider: "openai", RequestModel: "gpt-4o-mini"}
	_, attempt := worker.StartClient(ctx, call.SpanName())
	attempt.SetGenAI(GenAI{Provider: "openai", ErrorType: "overloaded"})
	attempt.End(nil)
	ctx, delivery := worker.StartClient(ctx, "deliver")
	out = Inject(ctx, out)
	delivery.End(nil)
	claim.End(nil)
	shutdown(t, worker)
	close(received)

	spans := collect(t, received)
	type link struct {
		Parent string
		Kind   otlp.Span_SpanKind
	}
	got := map[string]link{}
	for _, span := range spans {
		if string(span.TraceId) != string(fromHex(t, testParent[3:35])) {
			t.Errorf("span %s is in trace %x", span.Name, span.TraceId)
		}
		got[span.Name] = link{parentName(t, spans, span), span.Kind}
	}
	want := map[string]link{
		"POST /v1/jobs":    {"the caller", otlp.Span_SPAN_KIND_SERVER},
		"submit":           {"POST /v1/jobs", otlp.Span_SPAN_KIND_PRODUCER},
		"claim":            {"submit", otlp.Span_SPAN_KIND_CONSUMER},
		"chat gpt-4o-mini": {"claim", otlp.Span_SPAN_KIND_CLIENT},
		"deliver":          {"claim", otlp.Span_SPAN_KIND_CLIENT},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if status := spans["chat gpt-4o-mini"].Status; status.GetCode() != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("the attempt has status %v", status)
	}
	if got := out.Get("traceparent"); !strings.HasPrefix(got, testParent[:36]) || got == testParent {
		t.Errorf("the webhook carries traceparent %q", got)
	}
}

func collect(t *testing.T, received <-chan *otlp.ResourceSpans) map[string]*otlp.Span {
	t.Helper()
	spans := map[string]*otlp.Span{}
	for group := range received {
		resource := map[string]string{}
		for _, a := range group.Resource.Attributes {
			resource[a.Key] = a.Value.GetStringValue()
		}
		if resource["service.name"] != "penstock" || resource["service.version"] != "1.2.3" {
			t.Errorf("the spans come from %v", resource)
		}
		for _, scope := range group.ScopeSpans {
			for _, span := range scope.Spans {
				spans[span.Name] = span
			}
		}
	}
	return spans
}

func parentName(t *testing.T, spans map[string]*otlp.Span, span *otlp.Span) string {
	t.Helper()
	for _, candidate := range spans {
		if string(candidate.SpanId) == string(span.ParentSpanId) {
			return candidate.Name
		}
	}
	if string(span.ParentSpanId) == string(fromHex(t, testParent[36:52])) {
		return "the caller"
	}
	return "nobody"
}

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTracerUsesTheGivenPath(t *testing.T) {
	t.Parallel()
	endpoint, received := fakeCollector(t, "/custom/in")
	tracer := startTracer(t, TraceConfig{OTLPEndpoint: endpoint + "/custom/in", SampleRatio: 1, Version: "1.2.3"})
	_, span := tracer.Start(t.Context(), "work")
	span.End(nil)
	shutdown(t, tracer)
	close(received)
	if spans := collect(t, received); spans["work"] == nil {
		t.Errorf("got spans %v", spans)
	}
}

// A collector that takes connections and never answers must cost spans, not time.
func TestTracerNeverBlocks(t *testing.T) {
	t.Parallel()
	hanging, interrupted := make(chan struct{}, 64), make(chan struct{}, 64)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a server notices that its client left only after reading the body
		hanging <- struct{}{}
		<-r.Context().Done()
		interrupted <- struct{}{}
	}))
	defer server.Close()
	tracer := startTracer(t, TraceConfig{OTLPEndpoint: server.URL, SampleRatio: 1})

	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for range 2 * (MaxQueuedSpans + MaxExportedSpans) {
			_, span := tracer.Start(context.Background(), "work")
			span.End(nil)
		}
	}()
	select {
	case <-finished:
	case <-time.After(ExportTimeout / 2):
		t.Fatal("spans wait for the collector")
	}
	<-hanging // an export is under way

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tracer.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown returned %v", err)
	}
	select {
	case <-interrupted: // and TestMain checks that no goroutine is left
	case <-time.After(ExportTimeout / 2):
		t.Error("the export went on after the shutdown")
	}
}

func TestExportFailuresReachTheLog(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("no such tenant ", 100), http.StatusForbidden)
	}))
	defer server.Close()
	var buf bytes.Buffer
	tracer := startTracer(t, TraceConfig{OTLPEndpoint: server.URL, SampleRatio: 1, Logger: NewLogger(&buf, LogConfig{})})
	_, span := tracer.Start(t.Context(), "work")
	span.End(nil)
	shutdown(t, tracer)
	if got := buf.String(); !strings.Contains(got, `"lost":1`) || !strings.Contains(got, "no such tenant") ||
		len(got) > 2*maxReportBytes {
		t.Errorf("logged %d bytes: %s", len(got), got)
	}
}

// failingExporter fails as often as it is called.
type failingExporter struct{ sdktrace.SpanExporter }

func (failingExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("connection refused")
}

func TestExportFailuresAreReportedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		exporter := newReportingExporter(failingExporter{}, NewLogger(&buf, LogConfig{}))
		three := make([]sdktrace.ReadOnlySpan, 3)
		export := func() string {
			buf.Reset()
			if err := exporter.ExportSpans(t.Context(), three); err != nil {
				t.Errorf("%v would reach the global error handler", err)
			}
			return buf.String()
		}
		if got := export(); !strings.Contains(got, `"lost":3`) {
			t.Errorf("the first failure logged %q", got)
		}
		for range 4 {
			if got := export(); got != "" {
				t.Errorf("a failure soon after logged %q", got)
			}
		}
		<-time.After(ReportInterval)
		if got := export(); !strings.Contains(got, `"lost":15`) {
			t.Errorf("a failure later logged %q", got)
		}
	})
}

func TestExportWithoutLogger(t *testing.T) {
	t.Parallel()
	if err := newReportingExporter(failingExporter{}, nil).ExportSpans(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
