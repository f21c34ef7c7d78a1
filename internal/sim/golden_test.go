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
	}, faultTranscripts())
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
