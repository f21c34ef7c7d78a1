package sim

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

type mistake struct {
	name, path, body string
	status           int
	kind             string
	param, code      string // OpenAI only; "" means null
	message          string // what the error must mention
}

func mistakes() []mistake {
	return []mistake{
		{"chat: not JSON", chatPath, `{"model":`, 400, "invalid_request_error", "", "", "not valid JSON"},
		{"chat: not an object", chatPath, `[]`, 400, "invalid_request_error", "", "", "JSON object"},
		{"chat: empty body", chatPath, ``, 400, "invalid_request_error", "", "", ""},
		{"chat: no model", chatPath, `{` + userHi + `}`, 400, "invalid_request_error", "model", "missing_required_parameter", "'model'"},
		{"chat: no messages", chatPath, `{"model":"m"}`, 400, "invalid_request_error", "messages", "missing_required_parameter", "'messages'"},
		{"chat: empty messages", chatPath, `{"model":"m","messages":[]}`, 400, "invalid_request_error", "messages", "", "empty array"},
		{"chat: wrong type", chatPath, `{"model":"m","messages":"Hi"}`, 400, "invalid_request_error", "messages", "", "'messages': expected an array, but got a string"},
		{"chat: wrong role", chatPath, `{"model":"m","messages":[{"role":"king","content":"Hi"}]}`, 400, "invalid_request_error", "messages[0].role", "", "role"},
		{"chat: wrong content", chatPath, `{"model":"m","messages":[{"role":"user","content":5}]}`, 400, "invalid_request_error", "messages[0].content", "", "string or a list"},
		{"chat: zero max_tokens", chatPath, `{"model":"m","max_tokens":0,` + userHi + `}`, 400, "invalid_request_error", "max_tokens", "", "at least 1"},
		{"chat: too many choices", chatPath, `{"model":"m","n":129,` + userHi + `}`, 400, "invalid_request_error", "n", "", "between 1 and 128"},
		{"chat: no choice", chatPath, `{"model":"m","n":0,` + userHi + `}`, 400, "invalid_request_error", "n", "", "between 1 and 128"},
		{"chat: temperature", chatPath, `{"model":"m","temperature":2.1,` + userHi + `}`, 400, "invalid_request_error", "temperature", "", "between 0 and 2"},
		{"chat: top_logprobs alone", chatPath, `{"model":"m","top_logprobs":2,` + userHi + `}`, 400, "invalid_request_error", "top_logprobs", "", "'logprobs'"},
		{"chat: too many alternatives", chatPath, `{"model":"m","logprobs":true,"top_logprobs":21,` + userHi + `}`, 400, "invalid_request_error", "top_logprobs", "", "between 0 and 20"},
		{"chat: unknown effort", chatPath, `{"model":"m","reasoning_effort":"some",` + userHi + `}`, 400, "invalid_request_error", "reasoning_effort", "", "'medium'"},
		{"chat: stream_options alone", chatPath, `{"model":"m","stream_options":{},` + userHi + `}`, 400, "invalid_request_error", "stream_options", "", "'stream'"},
		{"chat: tool_choice alone", chatPath, `{"model":"m","tool_choice":"required",` + userHi + `}`, 400, "invalid_request_error", "tool_choice", "", "'tools'"},
		{"chat: unknown tool", chatPath, `{"model":"m","tool_choice":{"type":"function","function":{"name":"x"}},` + weatherTool + `,` + userHi + `}`, 400, "invalid_request_error", "tool_choice", "", "'x'"},
		{"chat: nameless tool", chatPath, `{"model":"m","tools":[{"type":"function"}],` + userHi + `}`, 400, "invalid_request_error", "tools[0].function.name", "missing_required_parameter", ""},
		{"chat: unknown directive", chatPath, chatBody("[sim:falt=hang]"), 400, "invalid_request_error", "", "", "falt"},
		{"completion: no prompt", completionPath, `{"model":"m"}`, 400, "invalid_request_error", "prompt", "missing_required_parameter", ""},
		{"completion: too many choices", completionPath, `{"model":"m","n":65,"prompt":["a","b"]}`, 400, "invalid_request_error", "prompt", "", "2 prompts of 65 choices"},
		{"completion: too many alternatives", completionPath, `{"model":"m","logprobs":6,"prompt":"a"}`, 400, "invalid_request_error", "logprobs", "", "between 0 and 5"},
		{"rerank: no query", rerankPath, `{"model":"m","documents":["a"]}`, 400, "invalid_request_error", "query", "missing_required_parameter", ""},
		{"rerank: no documents", rerankPath, `{"model":"m","query":"q","documents":[]}`, 400, "invalid_request_error", "documents", "missing_required_parameter", ""},
		{"rerank: top_n", rerankPath, `{"model":"m","query":"q","documents":["a"],"top_n":0}`, 400, "invalid_request_error", "top_n", "", ""},
		{"embedding: no input", embeddingPath, `{"model":"m","input":[]}`, 400, "invalid_request_error", "input", "missing_required_parameter", ""},
		{"embedding: mixed input", embeddingPath, `{"model":"m","input":["a",1]}`, 400, "invalid_request_error", "input", "", "list of texts"},
		{"embedding: too many inputs", embeddingPath, `{"model":"m","input":[` + strings.Repeat(`"a",`, maxInputs) + `"a"]}`, 400, "invalid_request_error", "input", "", "2048"},
		{"embedding: dimensions", embeddingPath, `{"model":"m","input":"a","dimensions":0}`, 400, "invalid_request_error", "dimensions", "", ""},
		{"embedding: format", embeddingPath, `{"model":"m","input":"a","encoding_format":"hex"}`, 400, "invalid_request_error", "encoding_format", "", "base64"},
		{"response: no model", responsePath, `{"input":"Hi"}`, 400, "invalid_request_error", "model", "missing_required_parameter", ""},
		{"response: no input", responsePath, `{"model":"m","input":null}`, 400, "invalid_request_error", "input", "missing_required_parameter", ""},
		{"response: input of another type", responsePath, `{"model":"m","input":7}`, 400, "invalid_request_error", "input", "", "list of items"},
		{"response: zero max_output_tokens", responsePath, `{"model":"m","input":"Hi","max_output_tokens":0}`, 400, "invalid_request_error", "max_output_tokens", "", "at least 1"},
		{"response: unknown tool", responsePath, `{"model":"m","input":"Hi","tool_choice":{"type":"function","name":"x"}}`, 400, "invalid_request_error", "tool_choice", "", "'x'"},
		{"message: not JSON", messagePath, `{`, 400, "invalid_request_error", "", "", "not valid JSON"},
		{"message: no model", messagePath, `{"max_tokens":1,` + userHi + `}`, 400, "invalid_request_error", "", "", "model"},
		{"message: no messages", messagePath, `{"model":"m","max_tokens":1}`, 400, "invalid_request_error", "", "", "messages"},
		{"message: empty messages", messagePath, `{"model":"m","max_tokens":1,"messages":[]}`, 400, "invalid_request_error", "", "", "at least one"},
		{"message: no max_tokens", messagePath, `{"model":"m",` + userHi + `}`, 400, "invalid_request_error", "", "", "max_tokens"},
		{"message: zero max_tokens", messagePath, `{"model":"m","max_tokens":0,` + userHi + `}`, 400, "invalid_request_error", "", "", "max_tokens"},
		{"message: system role", messagePath, `{"model":"m","max_tokens":1,"messages":[{"role":"system","content":"Hi"}]}`, 400, "invalid_request_error", "", "", "messages.0.role"},
		{"message: unknown tool", messagePath, `{"model":"m","max_tokens":1,"tool_choice":{"type":"tool","name":"x"},` + weatherClaim + `,` + userHi + `}`, 400, "invalid_request_error", "", "", "'x'"},
		{"message: tool_choice alone", messagePath, `{"model":"m","max_tokens":1,"tool_choice":{"type":"any"},` + userHi + `}`, 400, "invalid_request_error", "", "", "tool_choice"},
		{"count: no messages", countPath, `{"model":"m"}`, 400, "invalid_request_error", "", "", "messages"},
		{"unknown path", "/v1/nothing", `{}`, 404, "invalid_request_error", "", "unknown_url", "/v1/nothing"},
		{"unknown path under messages", "/v1/messages/nothing", `{}`, 404, "not_found_error", "", "", "/v1/messages/nothing"},
	}
}

// TestInvalidRequests checks that each mistake is answered in its dialect's envelope and names what is wrong.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range mistakes() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := ask(t, newServer(t, Config{}), tc.path, tc.body)
			wantStatus(t, w, tc.status)
			kind, message := "", ""
			if strings.HasPrefix(tc.path, messagePath) {
				var e anthropicEnvelope
				decodeStrictly(t, w.Body.Bytes(), &e)
				kind, message = e.Error.Type, e.Error.Message
				if e.Type != "error" {
					t.Errorf("type %q, want error", e.Type)
				}
			} else {
				var e openAIEnvelope
				decodeStrictly(t, w.Body.Bytes(), &e)
				kind, message = e.Error.Type, e.Error.Message
				wantNullable(t, "param", e.Error.Param, tc.param)
				wantNullable(t, "code", e.Error.Code, tc.code)
			}
			if kind != tc.kind {
				t.Errorf("type %q, want %q", kind, tc.kind)
			}
			if message == "" || !strings.Contains(message, tc.message) {
				t.Errorf("message %q does not mention %q", message, tc.message)
			}
		})
	}
}

func decodeStrictly(t *testing.T, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

func wantNullable(t *testing.T, name string, got *string, want string) {
	t.Helper()
	switch {
	case want == "" && got != nil:
		t.Errorf("%s is %q, want null", name, *got)
	case want != "" && (got == nil || *got != want):
		t.Errorf("%s is not %q", name, want)
	}
}

const (
	geminiTestPath   = "/v1beta/models/m:generateContent"
	converseTestPath = "/model/m/converse"
)

func TestAuth(t *testing.T) {
	t.Parallel()
	const version = "anthropic-version"
	for _, tc := range []struct {
		name, path, key string
		header          map[string]string
		status          int
	}{
		{"open OpenAI needs no key", chatPath, "", nil, 200},
		{"Bearer", chatPath, "k", map[string]string{"Authorization": "Bearer k"}, 200},
		{"x-api-key on an OpenAI path", chatPath, "k", map[string]string{"x-api-key": "k"}, 200},
		{"no key", chatPath, "k", nil, 401},
		{"wrong key", chatPath, "k", map[string]string{"Authorization": "Bearer x"}, 401},
		{"open Anthropic needs some key", messagePath, "", map[string]string{version: "v"}, 401},
		{"some key", messagePath, "", map[string]string{version: "v", "x-api-key": "any"}, 200},
		{"some Bearer", messagePath, "", map[string]string{version: "v", "Authorization": "Bearer any"}, 200},
		{"wrong x-api-key", messagePath, "k", map[string]string{version: "v", "x-api-key": "any"}, 401},
		{"right x-api-key", messagePath, "k", map[string]string{version: "v", "x-api-key": "k"}, 200},
		{"no version", messagePath, "k", map[string]string{"x-api-key": "k"}, 400},
		{"open Gemini needs some key", geminiTestPath, "", nil, 400},
		{"some key of Gemini", geminiTestPath, "", map[string]string{"x-goog-api-key": "any"}, 200},
		{"wrong key of Gemini", geminiTestPath, "k", map[string]string{"x-goog-api-key": "any"}, 400},
		{"open Bedrock needs some key", converseTestPath, "", nil, 403},
		{"some key of Bedrock", converseTestPath, "", map[string]string{"Authorization": "Bearer any"}, 200},
		{"wrong key of Bedrock", converseTestPath, "k", map[string]string{"Authorization": "Bearer any"}, 403},
		{"models without key", "/v1/models", "k", nil, 401},
		{"models with key", "/v1/models", "k", map[string]string{"Authorization": "Bearer k"}, 200},
		{"control without key", "/sim/stats", "k", nil, 401},
		{"control with key", "/sim/stats", "k", map[string]string{"x-api-key": "k"}, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := `{"model":"m","max_tokens":1,` + userHi + `}`
			switch tc.path {
			case geminiTestPath:
				body = `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`
			case converseTestPath:
				body = `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`
			}
			r := newRequest(t.Context(), tc.path, body)
			if tc.path == "/v1/models" || tc.path == "/sim/stats" {
				r.Method = http.MethodGet
			}
			r.Header = make(http.Header)
			for name, value := range tc.header {
				r.Header.Set(name, value)
			}
			w := do(newServer(t, Config{APIKey: tc.key}), r)
			wantStatus(t, w, tc.status)
			if tc.status == 401 && tc.path == messagePath && !strings.Contains(w.Body.String(), `"authentication_error"`) {
				t.Errorf("not Anthropic's envelope: %s", w.Body)
			}
			if tc.status == 401 && tc.path == chatPath && !strings.Contains(w.Body.String(), `"invalid_api_key"`) {
				t.Errorf("not OpenAI's envelope: %s", w.Body)
			}
		})
	}
}

func TestBodyTooLarge(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{chatPath: "invalid_request_error", messagePath: "request_too_large"} {
		body := `{"model":"` + strings.Repeat("m", MaxBodyBytes) + `"}`
		for _, cfg := range []Config{{}, {Fast: true}} {
			w := ask(t, newServer(t, cfg), path, body)
			wantStatus(t, w, http.StatusRequestEntityTooLarge)
			if !strings.Contains(w.Body.String(), kind) {
				t.Errorf("%s (fast %v): %s", path, cfg.Fast, w.Body)
			}
		}
	}
}
