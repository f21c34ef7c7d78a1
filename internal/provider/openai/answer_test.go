package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/provider"
)

// receiveFrom makes a call to a server that answers with a body.
func receiveFrom(t *testing.T, contentType string, body io.Reader, call provider.Call) (provider.Answer, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{contentType} // also when it is empty: none must be guessed
		io.Copy(w, body)
	}))
	t.Cleanup(server.Close)
	answer, err := newProvider(t, Config{BaseURL: server.URL}).Call(t.Context(), call)
	if err == nil {
		t.Cleanup(func() { answer.Close() })
	}
	return answer, err
}

// collect reads a stream to its end.
func collect(answer provider.Answer) (wire, text string, end error) {
	for {
		chunk, err := answer.Next()
		if err != nil {
			return wire, text, err
		}
		wire += string(chunk.Wire)
		text += chunk.Text
	}
}

func TestTerminators(t *testing.T) {
	t.Parallel()
	first := "data: " + delta("Hi") + "\n\n"
	for ending, kind := range map[string]provider.Kind{
		"data: [DONE]\n\n":             "",
		"data:[DONE]\r\n\r\n":          "",
		"data: [DONE]\n":               "",
		"data: [DONE]":                 "",
		"data: [DONE] \n\nmore":        "",
		"":                             provider.KindTruncated,
		"data: [DON":                   provider.KindTruncated,
		"data: " + delta("!"):          provider.KindTruncated,
		"data: " + usageChunk + "\n\n": provider.KindTruncated,
		"event: done\n\n":              provider.KindTruncated,
	} {
		answer, err := receiveFrom(t, "text/event-stream", strings.NewReader(first+ending), streamCall())
		if err != nil {
			t.Fatalf("%q: %v", ending, err)
		}
		wire, _, end := collect(answer)
		complete := kind == ""
		if complete != (end == io.EOF) || (!complete && provider.AsError(end).Kind != kind) {
			t.Errorf("%q: ends with %v, want %q", ending, end, kind)
		}
		if want := first + strings.TrimSuffix(ending, "more"); complete && wire != want {
			t.Errorf("%q: wire %q, want %q", ending, wire, want)
		}
	}
}

func TestTruncatedStreamKeepsItsUsage(t *testing.T) {
	t.Parallel()
	answer, err := receiveFrom(t, "text/event-stream", strings.NewReader("data: "+usageChunk+"\n\n"), streamCall())
	if err != nil {
		t.Fatal(err)
	}
	collect(answer)
	if m := answer.Meta(); !m.UsageKnown || m.Usage.InputTokens != 12 {
		t.Errorf("meta %+v", m)
	}
}

func TestStreamsWithoutTheirContentType(t *testing.T) {
	t.Parallel()
	stream := "data: " + delta("Hi") + "\n\ndata: [DONE]\n\n"
	for _, contentType := range []string{"", "text/plain", "application/octet-stream"} {
		answer, err := receiveFrom(t, contentType, strings.NewReader(stream), streamCall())
		if err != nil {
			t.Fatalf("%q: %v", contentType, err)
		}
		if wire, text, end := collect(answer); wire != stream || text != "Hi" || end != io.EOF {
			t.Errorf("%q: %q, %q, %v", contentType, wire, text, end)
		}
	}
	// A caller of a plain answer cannot read a stream.
	if _, err := receiveFrom(t, "text/event-stream", strings.NewReader(stream), plainCall()); provider.AsError(err).Kind != provider.KindMalformed {
		t.Errorf("a stream that nobody asked for: %v", err)
	}
}

// Frames that mean nothing to us may mean something to the caller, or keep its connection open.
func TestOtherFramesPassThrough(t *testing.T) {
	t.Parallel()
	stream := "\n: hi\n\nretry: 10\n\ndata:\n\n" + "data: " + delta("Hi") + "\n\n" +
		"event: ping\ndata: {\"type\":\"ping\"}\n\ndata: \n\ndata: {\"choices\":[],\ndata: \"x\":1}\n\ndata: [DONE]\n\n"
	answer, err := receiveFrom(t, "text/event-stream", strings.NewReader(stream), streamCall())
	if err != nil {
		t.Fatal(err)
	}
	if wire, text, end := collect(answer); wire != stream || text != "Hi" || end != io.EOF {
		t.Errorf("%q, %q, %v", wire, text, end)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		body    string
		text    string
		usage   penstock.Usage
		known   bool
		invalid bool
	}{
		{name: "nothing to read", body: `{"choices":[]}`},
		{name: "no content", body: `{"choices":[{"message":{"content":null,"tool_calls":[]}}]}`},
		{name: "content of another type", body: `{"choices":[{"message":{"content":{"a":1}}}]}`},
		{name: "parts", text: "ab", body: `{"choices":[{"message":{"content":[` +
			`{"type":"thinking","thinking":[{"text":"hm"}]},{"type":"text","text":"a"},{"text":"b"}]}}]}`},
		{name: "the first choice, wherever it stands", text: "a",
			body: `{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"}}]}`},
		{name: "names twice and bad UTF-8", body: "{\"choices\":[{\"message\":{\"content\":\"a\xff\",\"content\":\"b\xff\"}}]}", text: "b\ufffd"},
		{name: "usage", body: `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}`, known: true,
			usage: penstock.Usage{InputTokens: 3, OutputTokens: 4}},
		{name: "audio", known: true, usage: penstock.Usage{InputTokens: 30, CachedInputTokens: 4, AudioInputTokens: 20, OutputTokens: 9, ReasoningTokens: 1, AudioOutputTokens: 6},
			body: `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":9,"prompt_tokens_details":{"audio_tokens":20,"cached_tokens":4},` +
				`"completion_tokens_details":{"audio_tokens":6,"reasoning_tokens":1}}}`},
		{name: "audio below zero", invalid: true, body: `{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":9,"completion_tokens_details":{"audio_tokens":-6}}}`},
		{name: "no details", body: `{"choices":[],"usage":{"prompt_tokens":3,"prompt_tokens_details":null}}`, known: true,
			usage: penstock.Usage{InputTokens: 3}},
		{name: "usage null", body: `{"choices":[],"usage":null}`},
		{name: "usage empty", body: `{"choices":[],"usage":{}}`},
		{name: "usage negative", invalid: true, body: `{"choices":[],"usage":{"prompt_tokens":-1}}`},
		{name: "usage of another type", invalid: true, body: `{"choices":[],"usage":{"prompt_tokens":"3"}}`},
		{name: "error null", body: `{"choices":[],"error":null,"usage":{"prompt_tokens":1}}`, known: true, usage: penstock.Usage{InputTokens: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, err := receiveFrom(t, "application/json", strings.NewReader(tt.body), plainCall())
			if err != nil {
				t.Fatal(err)
			}
			if wire, text, end := collect(answer); wire != tt.body || text != tt.text || end != io.EOF {
				t.Errorf("wire %q, text %q, end %v", wire, text, end)
			}
			want := provider.Meta{StatusCode: 200, Sent: true, ContentType: "application/json", Usage: tt.usage, UsageKnown: tt.known, UsageInvalid: tt.invalid}
			if diff := cmp.Diff(want, answer.Meta()); diff != "" {
				t.Errorf("meta (-want +got):\n%s", diff)
			}
		})
	}
}

// Chunks are decoded into the same memory: what one says must not show in the next.
func TestChunksDoNotShowThrough(t *testing.T) {
	t.Parallel()
	stream := `data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{}}]}` + "\n\n" +
		`data: {"choices":[{"index":0}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"role":"x"}}]}` + "\n\n" +
		`data: {"choices":[]}` + "\n\n" +
		`data: {}` + "\n\n" + "data: [DONE]\n\n"
	answer, err := receiveFrom(t, "text/event-stream", strings.NewReader(stream), streamCall())
	if err != nil {
		t.Fatal(err)
	}
	if wire, text, end := collect(answer); text != "a" || wire != stream || end != io.EOF {
		t.Errorf("text %q, wire %q, end %v", text, wire, end)
	}
}

// What the headers say of limits is reported with good answers and with errors.
func TestRateLimitsAreReported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
	}{
		"answer":  {200, `{"choices":[]}`},
		"refusal": {429, `{"error":{"message":"slow down"}}`},
		"broken":  {200, `{"choices":`},
	} {
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("x-ratelimit-limit-requests", "600")
			w.Header().Set("x-ratelimit-reset-requests", "40ms")
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}))
		p := newProvider(t, Config{BaseURL: upstream.URL})
		answer, err := p.Call(t.Context(), plainCall())
		var limits provider.RateLimits
		if err == nil {
			limits = answer.Meta().Limits
			answer.Close()
		} else {
			limits = provider.AsError(err).Limits
		}
		if want := (provider.Allowance{Limit: 600, Reset: 40 * time.Millisecond}); limits.Requests != want {
			t.Errorf("%s: limits %+v, want %+v", name, limits.Requests, want)
		}
		if e := provider.AsError(err); tt.status == 429 && e.RetryAfter != 40*time.Millisecond {
			t.Errorf("%s: retry after %v, want the reset", name, e.RetryAfter)
		}
		p.CloseIdleConnections()
		upstream.Close()
	}
}
