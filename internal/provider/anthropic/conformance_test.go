package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/providertest"
	"penstock/internal/provider/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Harness{
		New: func(t testing.TB, up providertest.Config) provider.Provider {
			return newProvider(t, Config{BaseURL: up.URL + "/v1", APIKey: up.APIKey, RootCAs: up.RootCAs, MaxAnswerBytes: up.MaxAnswerBytes})
		},
		Dialect: dialect,
	})
}

// newProvider makes a provider whose connections end with the test.
func newProvider(t testing.TB, cfg Config) *Provider {
	t.Helper()
	cfg.Name, cfg.ConnectionRest = "test", -1
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

var dialect = providertest.Dialect{
	Endpoint:    penstock.EndpointMessages,
	Path:        "/v1/messages",
	Credentials: func(apiKey string) (name, value string) { return "X-Api-Key", apiKey },
	Plain:       plainTranscript,
	Stream:      streamTranscript,
	LargeFrame: func(text string) providertest.Frame {
		return providertest.Frame{Wire: textDelta(text), Text: text}
	},
	ErrorFrame: providertest.InBandError{
		Wire: "event: error\ndata: " + errorBody("overloaded_error", "Overloaded") + "\n\n", Kind: provider.KindOverloaded,
	},
	ErrorBody: providertest.InBandError{Wire: errorBody("rate_limit_error", "Slow down"), Kind: provider.KindRateLimited},
	MalformedFrames: []string{
		"data: {\"type\":\n\n", "data: no\n\n", "data: 1\n\n", "data: [DONE]\n\n", "data: {}\n\n", "data: {\"type\":7}\n\n",
		"event: message_stop\ndata: {\"type\":null}\n\n", "data: {\"type\":\"content_block_delta\",\"delta\":7}\n\n",
	},
	MalformedBodies: []string{
		`{}`, `[]`, `null`, `"content"`, `{"content":null}`, `{"type":"message"}`, `{"content":"Hi"}`, `{"content":[{]}`, `{"content":[]} {}`,
	},
	Failures: failures,
	EchoBody: func(text string) string { return errorBody("invalid_request_error", text) },
}

var plainTranscript = providertest.Transcript{
	Body: `{ "max_tokens":1024,"messages":[{"role":"user","content":"Hi \u00e9"}],"model" : "smart", "temperature":0.70,` +
		`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]}`,
	UpstreamModel: "claude-test",
	Sent: `{ "max_tokens":1024,"messages":[{"role":"user","content":"Hi \u00e9"}],"model" : "claude-test", "temperature":0.70,` +
		`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]}`,
	Answer: []providertest.Frame{{
		Text: "Hello \"there\" 🌊 Bye.",
		Wire: `{"id":"msg_01","type":"message","role":"assistant","model":"claude-test-20260101","content":[` +
			`{"type":"thinking","thinking":"A greeting.","signature":"c2ln"},` +
			`{"type":"text","text":"Hello \"there\" \ud83c\udf0a"},` +
			`{"type":"tool_use","id":"toolu_01","name":"lookup","input":{"text":"not said"}},` +
			`{"type":"text","text":" Bye."}],"stop_reason":"tool_use","stop_sequence":null,` +
			`"usage":{"input_tokens":20,"cache_creation_input_tokens":36,"cache_read_input_tokens":64,` +
			`"cache_creation":{"ephemeral_5m_input_tokens":26,"ephemeral_1h_input_tokens":10},"output_tokens":9,"service_tier":"standard"}}`,
	}},
	Usage: penstock.Usage{InputTokens: 120, CachedInputTokens: 64, CacheWriteTokens: 36, CacheWrite1hTokens: 10, OutputTokens: 9},
}

// frame is an event of a stream, as the protocol writes it.
func frame(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func textDelta(text string) string {
	return frame("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":%q}}`, text))
}

const startEvent = `{"type":"message_start","message":{"id":"msg_02","type":"message","role":"assistant","model":"claude-test-20260101",` +
	`"content":[],"stop_reason":null,"stop_sequence":null,` +
	`"usage":{"input_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":100,"output_tokens":1}}}`

// streamTranscript is a stream with all that the protocol puts into one.
var streamTranscript = providertest.Transcript{
	Body:          `{"model":"smart","stream":true,"max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}`,
	UpstreamModel: "claude-test",
	Sent:          `{"model":"claude-test","stream":true,"max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}`,
	Answer: []providertest.Frame{
		{Wire: frame("message_start", startEvent)},
		{Wire: frame("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`)},
		{Wire: frame("ping", `{"type": "ping"}`)},
		{Wire: frame("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`)},
		{Wire: frame("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`)},
		{Wire: frame("content_block_stop", `{"type":"content_block_stop","index":0}`)},
		{Wire: frame("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`)},
		{Wire: textDelta("Hello"), Text: "Hello"},
		{Wire: textDelta(" you"), Text: " you"},
		{Wire: frame("content_block_stop", `{"type":"content_block_stop","index":1}`)},
		{Wire: frame("content_block_start", `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_02","name":"lookup","input":{}}}`)},
		{Wire: frame("content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`)},
		{Wire: frame("content_block_stop", `{"type":"content_block_stop","index":2}`)},
		{Wire: frame("something_new", `{"type":"something_new","delta":{"text":"not said"}}`)},
		{Wire: frame("message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":17}}`)},
		{Wire: frame("message_stop", `{"type":"message_stop"}`)},
	},
	Usage: penstock.Usage{InputTokens: 107, CachedInputTokens: 100, CacheWriteTokens: 2, OutputTokens: 17},
}

// errorBody is an error in the protocol's form.
func errorBody(typ, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_01"}`, typ, message)
}

var failures = []providertest.Failure{
	{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Says: "would exceed",
		Body:   errorBody("rate_limit_error", "This request would exceed your organization's rate limit"),
		Header: http.Header{"Retry-After": {"7"}}, RetryAfter: 7 * time.Second},
	{Name: "429 of a proxy", Status: 429, Kind: provider.KindRateLimited, Says: "429 Too Many Requests", Body: "<html>",
		Header: http.Header{"Content-Type": {"text/html"}, "Retry-After": {"1"}}, RetryAfter: time.Second},
	{Name: "429 spend limit", Status: 429, Kind: provider.KindSpendCap, KeepsBody: true,
		Body: `{"type":"error","error":{"type":"rate_limit_error","message":"Limit","details":{"error_code":"enforced_spend_limit_reached"}}}`},
	{Name: "402", Status: 402, Kind: provider.KindSpendCap, KeepsBody: true, Body: errorBody("billing_error", "Check your payment details")},
	{Name: "400 credit", Status: 400, Kind: provider.KindSpendCap, KeepsBody: true,
		Body: errorBody("invalid_request_error", "Your credit balance is too low to access the API.")},
	{Name: "400 own limit", Status: 400, Kind: provider.KindSpendCap, KeepsBody: true,
		Body: errorBody("invalid_request_error", "You have reached your specified API usage limits.")},
	{Name: "401", Status: 401, Kind: provider.KindAuth, Says: "api_key", Body: errorBody("authentication_error", "invalid x-api-key")},
	{Name: "403", Status: 403, Kind: provider.KindAuth, Says: "api_key", Body: errorBody("permission_error", "Not allowed")},
	{Name: "404 model", Status: 404, Kind: provider.KindModelNotFound, KeepsBody: true, Body: errorBody("not_found_error", "model: claude-none")},
	{Name: "404 of something else", Status: 404, Kind: provider.KindRejected, KeepsBody: true, Body: errorBody("not_found_error", "file_01 not found")},
	{Name: "404 of the path", Status: 404, Kind: provider.KindServer, Says: "base_url", Body: "404 page not found",
		Header: http.Header{"Content-Type": {"text/plain"}}},
	{Name: "405", Status: 405, Kind: provider.KindServer, Says: "base_url", Body: "null"},
	{Name: "400", Status: 400, Kind: provider.KindRejected, KeepsBody: true, Says: "max_tokens: Field required",
		Body: errorBody("invalid_request_error", "max_tokens: Field required")},
	{Name: "400 context", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
		Body: errorBody("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")},
	{Name: "400 context with the answer", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
		Body: errorBody("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")},
	{Name: "400 filter", Status: 400, Kind: provider.KindContentBlocked, KeepsBody: true,
		Body: errorBody("invalid_request_error", "Output blocked by content filtering policy")},
	{Name: "403 page of a firewall", Status: 403, Kind: provider.KindForbidden, Body: "<html>", Says: "403 Forbidden", Header: http.Header{"Content-Type": {"text/html"}}},
	{Name: "403 of a region", Status: 403, Kind: provider.KindForbidden, Body: `{"error":{"type":"forbidden","message":"Request not allowed"}}`},
	{Name: "403 for a model", Status: 403, Kind: provider.KindModelNotFound, KeepsBody: true, Body: errorBody("permission_error", "Your key may not use this model")},
	{Name: "429 that an unused limit is too small for", Status: 429, Kind: provider.KindTooLarge, KeepsBody: true, Says: "shorten it",
		Body:   errorBody("rate_limit_error", "This request would exceed your organization's rate limit of 30,000 input tokens per minute"),
		Header: http.Header{"Retry-After": {"50"}, "Anthropic-Ratelimit-Input-Tokens-Limit": {"30000"}, "Anthropic-Ratelimit-Input-Tokens-Remaining": {"30000"}}},
	{Name: "429 for use that grew too fast", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, RetryAfter: 7 * time.Second,
		Body:   errorBody("rate_limit_error", "This request would exceed your organization's maximum usage increase rate for input tokens per minute."),
		Header: http.Header{"Retry-After": {"7"}, "Anthropic-Ratelimit-Input-Tokens-Limit": {"30000"}, "Anthropic-Ratelimit-Input-Tokens-Remaining": {"30000"}}},
	{Name: "429 beyond its minute", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, RetryAfter: time.Minute,
		Body:   errorBody("rate_limit_error", "This request would exceed your organization's rate limit of 30,000 input tokens per minute"),
		Header: http.Header{"Retry-After": {"500"}, "Anthropic-Ratelimit-Input-Tokens-Limit": {"30000"}, "Anthropic-Ratelimit-Input-Tokens-Remaining": {"0"}}},
	{Name: "413", Status: 413, Kind: provider.KindTooLarge, Says: "shorten it", KeepsBody: true, Body: errorBody("request_too_large", "Too large")},
	{Name: "422 of a type that is not known", Status: 422, Kind: provider.KindRejected, KeepsBody: true, Body: errorBody("new_error", "What?")},
	{Name: "408", Status: 408, Kind: provider.KindTimeout},
	{Name: "500", Status: 500, Kind: provider.KindServer, KeepsBody: true, Says: "Internal", Body: errorBody("api_error", "Internal server error")},
	{Name: "502 as a string", Status: 502, Kind: provider.KindServer, Body: `{"error":"no backend"}`, Says: "no backend"},
	{Name: "502 at the top", Status: 502, Kind: provider.KindServer, Body: `{"message":"no backend"}`, Says: "no backend"},
	{Name: "503", Status: 503, Kind: provider.KindOverloaded, Header: http.Header{"Retry-After": {"99999999"}}, RetryAfter: time.Hour},
	{Name: "504", Status: 504, Kind: provider.KindTimeout, KeepsBody: true, Body: errorBody("timeout_error", "Took too long")},
	{Name: "504 of a proxy", Status: 504, Kind: provider.KindTimeout, Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
	{Name: "529", Status: 529, Kind: provider.KindOverloaded, KeepsBody: true, Says: "Overloaded", Body: errorBody("overloaded_error", "Overloaded")},
	{Name: "529 in vain", Status: 529, Kind: provider.KindFinal, KeepsBody: true, Body: errorBody("overloaded_error", "Overloaded"),
		Header: http.Header{"X-Should-Retry": {"false"}}},
	{Name: "429 in vain", Status: 429, Kind: provider.KindFinal, KeepsBody: true, Body: errorBody("rate_limit_error", "Extra usage is required"),
		Header: http.Header{"X-Should-Retry": {"false"}}},
	{Name: "409 for the moment", Status: 409, Kind: provider.KindServer, KeepsBody: true, Body: errorBody("conflict_error", "Locked"),
		Header: http.Header{"X-Should-Retry": {"true"}}},
	{Name: "400 context, whatever is said", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
		Body: errorBody("invalid_request_error", "prompt is too long"), Header: http.Header{"X-Should-Retry": {"true"}}},
	{Name: "529 without a word", Status: 529, Kind: provider.KindOverloaded, Body: "{"},
	{Name: "500 with a body past the limit", Status: 500, Kind: provider.KindServer, Says: "500 Internal Server Error",
		Body: errorBody("api_error", strings.Repeat("x", wire.DefaultMaxErrorBytes))},
}
