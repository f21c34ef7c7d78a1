package e2e

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	otlpcollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanCollector keeps the spans that a server exports.
type spanCollector struct {
	mu    sync.Mutex
	spans []*otlp.Span
}

func (c *spanCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	text, err := io.ReadAll(body)
	var export otlpcollector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &export)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, group := range export.ResourceSpans {
		for _, scope := range group.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// of are the spans of a trace that have an attribute, each with all its attributes as text.
func (c *spanCollector) of(trace, attribute string) (all []map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		attrs := map[string]string{"name": span.Name}
		for _, a := range span.Attributes {
			var list []string
			for _, v := range a.Value.GetArrayValue().GetValues() {
				list = append(list, v.GetStringValue())
			}
			attrs[a.Key] = a.Value.GetStringValue() + strings.Join(list, ",")
			if n := a.Value.GetIntValue(); n != 0 {
				attrs[a.Key] = fmt.Sprint(n)
			}
		}
		if _, has := attrs[attribute]; has && hex.EncodeToString(span.TraceId) == trace {
			all = append(all, attrs)
		}
	}
	return all
}

// tracedCalls are synchronous calls of every dialect, with what their spans have to tell.
var tracedCalls = []struct{ path, body, model, reason string }{
	{"/v1/chat/completions", `{"model":"fast","messages":[{"role":"user","content":"Hi"}]}`, "sim-small", "stop"},
	{"/v1/chat/completions", `{"model":"fast","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, "sim-small", "stop"},
	{"/v1/completions", `{"model":"fast","prompt":"Hi","max_tokens":1}`, "sim-small", "length"},
	{"/v1/responses", `{"model":"fast","store":false,"input":"Hi"}`, "sim-small", "completed"},
	{"/v1/responses", `{"model":"fast","store":false,"stream":true,"input":"Hi"}`, "sim-small", "completed"},
	{"/v1/embeddings", `{"model":"fast","input":"Hi"}`, "sim-small", ""},
	{"/v1/rerank", `{"model":"fast","query":"Hi","documents":["Hi"]}`, "sim-small", ""},
	{"/v1/messages", `{"model":"deep","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`, "sim-large", "end_turn"},
	{"/v1/messages", `{"model":"deep","max_tokens":1,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`, "sim-large", "max_tokens"},
	{"/v1/chat/completions", `{"model":"deep","messages":[{"role":"user","content":"Hi"}]}`, "sim-large", "end_turn"},
}

// A job's trace goes from the caller's own span to the webhook that tells of its end, and the receiver can go on with it. Spans of
// calls tell which model answered and why it stopped, in every dialect, plain and streamed, in jobs and in synchronous calls. What
// a worker logs of an item has the ids of trace and attempt.
func TestTracesGoAllTheWay(t *testing.T) {
	t.Parallel()
	spans := new(spanCollector)
	traces := httptest.NewServer(spans)
	t.Cleanup(traces.Close)
	var mu sync.Mutex
	var told []string // by receivers of webhooks
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r.Header.Get("traceparent"))
	}))
	t.Cleanup(hook.Close)
	upstream := startSim(t)
	s := serveOne(t, fmt.Sprintf(`
tracing: {otlp_endpoint: %q, sample_ratio: 1}
webhooks: {allow: [127.0.0.1]}
providers: {openai: {kind: openai, base_url: %s/v1}, claude: {kind: anthropic, base_url: %[2]s/v1, api_key: "${E2E_KEY}"}}
targets: {small: {provider: openai, upstream_model: sim-small}, other: {provider: claude, upstream_model: sim-large}}
models: {fast: {targets: [small]}, deep: {targets: [other]}}
`, traces.URL, upstream))
	trace := func(n int) string { return fmt.Sprintf("%032x", 0xabc0+n) }
	parent := func(n int) map[string]string {
		return map[string]string{"traceparent": "00-" + trace(n) + "-00f067aa0ba902b7-01", "anthropic-version": "2023-06-01"}
	}
	if a := s.Do(post("/v1/webhooks/secret", "")); a.Status != http.StatusOK {
		t.Fatalf("a secret: %d %s", a.Status, a.Body)
	}
	a := s.Do(Call{Method: "POST", Path: "/v1/jobs", Header: parent(0),
		Body: `{"model":"fast","input":"Hi [sim:fault=server_error times=1]","webhook":{"url":"` + hook.URL + `/told?token=secret"}}`})
	if a.Status != http.StatusAccepted {
		t.Fatalf("submit: %d %s", a.Status, a.Body)
	}
	for i, c := range tracedCalls {
		if a := s.Do(Call{Method: "POST", Path: c.path, Header: parent(1 + i), Body: c.body}); a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", c.path, a.Status, a.Body)
		}
	}
	for i, c := range tracedCalls {
		Await(t, "the span of "+c.path, func() error {
			for _, attrs := range spans.of(trace(1+i), "gen_ai.operation.name") {
				if attrs["gen_ai.response.model"] == c.model && attrs["gen_ai.response.finish_reasons"] == c.reason {
					return nil
				}
			}
			return fmt.Errorf("%s has %v", c.body, spans.of(trace(1+i), "gen_ai.operation.name"))
		})
	}
	Await(t, "the span of the webhook", func() error {
		found := spans.of(trace(0), "penstock.delivery_id")
		if len(found) != 1 || found[0]["http.response.status_code"] != "200" || found[0]["server.address"] != "127.0.0.1" || strings.Contains(fmt.Sprint(found), "token") {
			return fmt.Errorf("there is %v", found)
		}
		answered := spans.of(trace(0), "gen_ai.response.model")
		if len(answered) != 1 || answered[0]["gen_ai.response.finish_reasons"] != "stop" {
			return fmt.Errorf("the job's calls are told as %v", answered)
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 || !strings.HasPrefix(told[0], "00-"+trace(0)+"-") || strings.Contains(told[0], "00f067aa0ba902b7") {
		t.Errorf("the receiver was told of %q", told)
	}
	checkWorkerLog(t, s.Output(), trace(0))
}

// checkWorkerLog holds that the retry of an item is logged with the ids by which it is found.
func checkWorkerLog(t *testing.T, log, trace string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) != nil || entry["msg"] != "item will be tried again" {
			continue
		}
		attempt, _ := entry["attempt_id"].(string)
		if entry["trace_id"] != trace || !strings.HasPrefix(attempt, "att_") || entry["item_id"] == nil || entry["job_id"] == nil {
			t.Errorf("a retry is logged as %s", line)
		}
		return
	}
	t.Error("no retry is logged")
}
