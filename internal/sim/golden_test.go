package sim

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

const (
	weatherTool  = `"tools":[{"type":"function","function":{"name":"clock"}},{"type":"function","function":{"name":"weather","parameters":{}}}]`
	weatherClaim = `"tools":[{"name":"clock","input_schema":{"type":"object"}},{"name":"weather","input_schema":{"type":"object"}}]`
	userHi       = `"messages":[{"role":"user","content":"Hi"}]`
)

type transcript struct {
	name   string
	cfg    Config
	method string // default POST
	path   string
	body   string
	header map[string]string
}

func transcripts() []transcript {
	limits := Config{OutputTokens: 3, RequestsPerMinute: 60, InputTokensPerMinute: 600, OutputTokensPerMinute: 30}
	short := Config{OutputTokens: 3}
	return slices.Concat([]transcript{
		{name: "chat", cfg: short, path: chatPath, body: `{"model":"m",` + userHi + `}`},
		{name: "chat_cut_by_max_tokens", cfg: short, path: chatPath, body: `{"model":"m","max_tokens":2,` + userHi + `}`},
		{name: "chat_stream", cfg: short, path: chatPath, body: `{"model":"m","stream":true,` + userHi + `}`},
		{name: "chat_stream_usage", cfg: short, path: chatPath,
			body: `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":2,` + userHi + `}`},
		{name: "chat_tool_required", path: chatPath, body: `{"model":"m","tool_choice":"required",` + weatherTool + `,` + userHi + `}`},
		{name: "chat_tool_named", path: chatPath,
			body: `{"model":"m","tool_choice":{"type":"function","function":{"name":"weather"}},` + weatherTool + `,` + userHi + `}`},
		{name: "chat_tool_stream", path: chatPath,
			body: `{"model":"m","stream":true,"tool_choice":"required",` + weatherTool + `,` + userHi + `}`},
		{name: "chat_limits", cfg: limits, path: chatPath, body: `{"model":"m",` + userHi + `}`},
		{name: "completion", cfg: short, path: completionPath, body: `{"model":"m","prompt":"Hi"}`},
		{name: "completion_stream", cfg: short, path: completionPath,
			body: `{"model":"m","prompt":["Hi"],"stream":true,"stream_options":{"include_usage":true}}`},
		{name: "embedding", path: embeddingPath, body: `{"model":"m","input":"Hi","dimensions":4}`},
		{name: "embedding_many_base64", path: embeddingPath,
			body: `{"model":"m","input":["Hi","there"],"dimensions":4,"encoding_format":"base64"}`},
		{name: "embedding_tokens", path: embeddingPath, body: `{"model":"m","input":[[1,2,3],[4]],"dimensions":2}`},
		{name: "rerank", path: rerankPath, body: `{"model":"m","query":"What is the capital of France?","documents":["Rivers flow.","Paris is the capital of France.",{"text":"Berlin is a capital."}],"top_n":2,"return_documents":true}`},
		{name: "response", cfg: short, path: responsePath, body: `{"model":"m","instructions":"Be brief.","input":"Hi"}`},
		{name: "response_cut", cfg: short, path: responsePath,
			body: `{"model":"m","max_output_tokens":2,"stream":true,"input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}]}`},
		{name: "response_stream", cfg: short, path: responsePath, body: `{"model":"m","stream":true,"input":"Hi"}`},
		{name: "response_tool", path: responsePath,
			body: `{"model":"m","tool_choice":{"type":"function","name":"weather"},"tools":[{"type":"function","name":"clock"},{"type":"function","name":"weather"}],"input":"Hi"}`},
		{name: "response_tool_stream", path: responsePath,
			body: `{"model":"m","stream":true,"tool_choice":"required","tools":[{"type":"function","name":"clock"}],"input":"Hi"}`},
		{name: "response_error_mid_stream", cfg: short, path: responsePath, body: `{"model":"m","stream":true,"input":"Hi"}`,
			header: map[string]string{FaultHeader: string(FaultErrorMidStream)}},
		{name: "models", method: http.MethodGet, path: "/v1/models"},
		{name: "models_anthropic", method: http.MethodGet, path: "/v1/models",
			header: map[string]string{"anthropic-version": "2023-06-01", "x-api-key": "any"}},
		{name: "message", cfg: short, path: messagePath, body: `{"model":"m","max_tokens":9,"system":"Be brief.",` + userHi + `}`},
		{name: "message_cut_by_max_tokens", cfg: short, path: messagePath, body: `{"model":"m","max_tokens":2,` + userHi + `}`},
		{name: "message_stream", cfg: short, path: messagePath, body: `{"model":"m","max_tokens":9,"stream":true,` + userHi + `}`},
		{name: "message_tool_any", path: messagePath,
			body: `{"model":"m","max_tokens":9,"tool_choice":{"type":"any"},` + weatherClaim + `,` + userHi + `}`},
		{name: "message_tool_stream", path: messagePath,
			body: `{"model":"m","max_tokens":9,"stream":true,"tool_choice":{"type":"tool","name":"weather"},` + weatherClaim + `,` + userHi + `}`},
		{name: "message_limits", cfg: limits, path: messagePath, body: `{"model":"m","max_tokens":9,` + userHi + `}`},
		{name: "count_tokens", path: countPath, body: `{"model":"m","system":"Be brief.",` + userHi + `}`},
	}, featureTranscripts(), faultTranscripts())
}

const (
	citySchema   = `{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]}},"required":["city","unit"],"additionalProperties":false}`
	personSchema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}},"required":["name","age"],"additionalProperties":false}`
	cityTools    = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + citySchema + `}},{"type":"function","function":{"name":"get_time","parameters":` + citySchema + `}}]`
	cityClaims   = `"tools":[{"name":"get_weather","input_schema":` + citySchema + `},{"name":"get_time","input_schema":` + citySchema + `}]`
	askWeather   = `{"role":"user","content":"What are the weather and the time in Paris?"}`
	pixel        = `iVBORw0KGgo=`
)

// featureTranscripts shows structured output, tools by trigger, choices, logprobs, reasoning and images.
func featureTranscripts() []transcript {
	short := Config{OutputTokens: 3}
	ask := `"messages":[` + askWeather + `]`
	return []transcript{
		{name: "chat_json_schema", path: chatPath, body: `{"model":"m","response_format":{"type":"json_schema","json_schema":{"name":"person","strict":true,"schema":` + personSchema + `}},` + userHi + `}`},
		{name: "chat_json_object", path: chatPath, body: `{"model":"m","response_format":{"type":"json_object"},` + userHi + `}`},
		{name: "chat_choices", cfg: short, path: chatPath, body: `{"model":"m","n":2,"stream":true,` + userHi + `}`},
		{name: "chat_logprobs", cfg: short, path: chatPath, body: `{"model":"m","logprobs":true,"top_logprobs":2,` + userHi + `}`},
		{name: "chat_logprobs_stream", cfg: Config{OutputTokens: 1}, path: chatPath, body: `{"model":"m","logprobs":true,"stream":true,` + userHi + `}`},
		{name: "chat_reasoning", cfg: short, path: chatPath, body: `{"model":"m","reasoning_effort":"minimal",` + userHi + `}`},
		{name: "chat_reasoning_stream", cfg: short, path: chatPath, body: `{"model":"m","reasoning_effort":"minimal","stream":true,` + userHi + `}`},
		{name: "chat_tools_auto", path: chatPath, body: `{"model":"m",` + cityTools + `,` + ask + `}`},
		{name: "chat_tools_auto_stream", path: chatPath, body: `{"model":"m","stream":true,` + cityTools + `,` + ask + `}`},
		{name: "chat_image", cfg: Config{OutputTokens: 8}, path: chatPath,
			body: `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}}]}]}`},
		{name: "completion_prompts", cfg: short, path: completionPath, body: `{"model":"m","prompt":["Hi","there"],"n":2,"logprobs":1,"echo":true}`},
		{name: "completion_prompts_stream", cfg: short, path: completionPath, body: `{"model":"m","prompt":["Hi","there"],"stream":true}`},
		{name: "response_json_schema", path: responsePath, body: `{"model":"m","input":"Hi","text":{"format":{"type":"json_schema","name":"person","strict":true,"schema":` + personSchema + `}}}`},
		{name: "response_reasoning", cfg: short, path: responsePath, body: `{"model":"m","input":"Hi","reasoning":{"effort":"minimal"},"include":["reasoning.encrypted_content"]}`},
		{name: "response_reasoning_stream", cfg: short, path: responsePath, body: `{"model":"m","input":"Hi","stream":true,"reasoning":{"effort":"minimal","summary":"auto"}}`},
		{name: "response_logprobs_stream", cfg: Config{OutputTokens: 1}, path: responsePath, body: `{"model":"m","input":"Hi","stream":true,"include":["message.output_text.logprobs"],"top_logprobs":1}`},
		{name: "response_tools_auto_stream", path: responsePath,
			body: `{"model":"m","stream":true,"tools":[{"type":"function","name":"get_weather","parameters":` + citySchema + `},{"type":"web_search"}],"input":[` + askWeather + `]}`},
		{name: "message_json_schema", path: messagePath, body: `{"model":"m","max_tokens":99,"output_config":{"format":{"type":"json_schema","schema":` + personSchema + `}},` + userHi + `}`},
		{name: "message_thinking", cfg: short, path: messagePath, body: `{"model":"m","max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":1024},` + userHi + `}`},
		{name: "message_thinking_stream", cfg: short, path: messagePath, body: `{"model":"m","max_tokens":2048,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"},` + userHi + `}`},
		{name: "message_tools_auto_stream", path: messagePath, body: `{"model":"m","max_tokens":99,"stream":true,` + cityClaims + `,` + ask + `}`},
		{name: "message_thread", path: messagePath, body: `{"model":"m","max_tokens":9,"thread":{"type":"create"},` + userHi + `}`},
		{name: "message_image", cfg: Config{OutputTokens: 12}, path: messagePath,
			body: `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}},{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},{"type":"text","text":"Hi"}]}]}`},
	}
}

// faultTranscripts shows every fault in both dialects, plain and streamed.
func faultTranscripts() []transcript {
	var list []transcript
	for _, fault := range []Fault{
		FaultServerError, FaultOverloaded, FaultRateLimit, FaultQuota, FaultBadRequest, FaultContextLength, FaultContentFilter,
		FaultTooLarge, FaultBodyTooLarge, FaultForbidden, FaultAuth, FaultNotFound, FaultHang, FaultDisconnect, FaultMalformed, FaultErrorIn200, FaultErrorMidStream,
	} {
		for _, path := range []string{chatPath, messagePath} {
			for _, stream := range []string{"false", "true"} {
				body := `{"model":"m","max_tokens":3,"stream":` + stream + `,` + userHi + `}`
				name := fmt.Sprintf("fault_%s_%s_%s", fault, filepath.Base(filepath.Dir(path))+filepath.Base(path), stream)
				name = strings.NewReplacer("chatcompletions", "chat", "v1messages", "message", "_false", "", "_true", "_stream").Replace(name)
				if _, plain := failureOf(fault); plain && stream == "true" {
					continue // the same answer as without a stream
				}
				list = append(list, transcript{name: name, path: path, body: body, header: map[string]string{FaultHeader: string(fault)}})
			}
		}
	}
	return list
}

// TestGolden holds the bytes on the wire. Inside the bubble the clock stands at its own epoch, and the ids
// come from the seed, so every answer is the same each time.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, tr := range transcripts() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			var got string
			synctest.Test(t, func(t *testing.T) { got = record(t, tr) })
			file := filepath.Join("testdata", "golden", tr.name+".http")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("answer differs (-want +got), rerun with -update if that is right:\n%s", diff)
			}
		})
	}
}

func record(t *testing.T, tr transcript) string {
	s := newServer(t, tr.cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the client of a hanging request gives up
	defer cancel()
	r := newRequest(ctx, tr.path, tr.body)
	if tr.method != "" {
		r.Method = tr.method
	}
	for name, value := range tr.header {
		r.Header.Set(name, value)
	}
	return format(do(s, r), ctx.Err())
}

func format(w *httptest.ResponseRecorder, err error) string {
	if err != nil {
		return "(no answer)\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", w.Code)
	h := w.Header()
	for _, name := range sortedNames(h) {
		fmt.Fprintf(&b, "%s: %s\n", strings.ToLower(name), h.Get(name))
	}
	fmt.Fprintf(&b, "\n%s\n", w.Body)
	return b.String()
}

func sortedNames(h http.Header) []string {
	var names []string
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
