package openai

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
	Endpoint:     penstock.EndpointChat,
	Path:         "/v1/chat/completions",
	Credentials:  func(apiKey string) (name, value string) { return "Authorization", "Bearer " + apiKey },
	Plain:        plainTranscript,
	Stream:       streamTranscript,
	StreamHidden: hiddenTranscript,
	LargeFrame: func(text string) providertest.Frame {
		return providertest.Frame{Wire: "data: " + delta(text) + "\n\n", Text: text}
	},
	ErrorFrame: providertest.InBandError{
		Wire: `data: {"error":{"message":"The engine is overloaded","type":"overloaded_error","code":503}}` + "\n\n",
		Kind: provider.KindOverloaded,
	},
	ErrorBody: providertest.InBandError{
		Wire: `{"error":{"code":429,"message":"Provider returned error"}}`, Kind: provider.KindRateLimited,
	},
	MalformedFrames: []string{"data: {\"choices\":[\n\n", "data: no\n\n", "data: 1\n\n", "data: [\"DONE\"]\n\n", "data: {\"choices\":7}\n\n"},
	MalformedBodies: []string{`{}`, `[]`, `null`, `"choices"`, `{"choices":null}`, `{"choices":[{]}`, `{"choices":[]} {}`},
	Failures:        failures,
	EchoBody:        func(text string) string { return errorBody(text, "invalid_request_error", "") },
}

var plainTranscript = providertest.Transcript{
	Body:          `{ "messages":[{"role":"user","content":"Hi \u00e9"}],"model" : "fast", "temperature":0.70,"seed":12345678901234567890}`,
	UpstreamModel: "gpt-test",
	Sent:          `{ "messages":[{"role":"user","content":"Hi \u00e9"}],"model" : "gpt-test", "temperature":0.70,"seed":12345678901234567890}`,
	Answer: []providertest.Frame{{
		Text: "Hello \"there\" 🌊",
		Wire: `{"id":"chatcmpl-1","object":"chat.completion","created":1730000000,"model":"gpt-test-0613","choices":[` +
			`{"index":0,"message":{"role":"assistant","content":"Hello \"there\" \ud83c\udf0a","refusal":null},"finish_reason":"stop"},` +
			`{"index":1,"message":{"role":"assistant","content":"Howdy"},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":120,"completion_tokens":9,"total_tokens":129,"prompt_tokens_details":{"cached_tokens":64}}}` + "\n",
	}},
	Usage: penstock.Usage{InputTokens: 120, CachedInputTokens: 64, OutputTokens: 9},
}

// delta is a chunk of a stream that carries text.
func delta(text string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-2","object":"chat.completion.chunk","created":1730000000,"model":"gpt-test-0613",`+
		`"choices":[{"index":0,"delta":{"content":%q},"logprobs":null,"finish_reason":null}],"usage":null}`, text)
}

const usageChunk = `{"id":"chatcmpl-2","object":"chat.completion.chunk","choices":[],` +
	`"usage":{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":0}}}`

// streamFrames is a stream with all that OpenAI and Azure put into one.
func streamFrames() []providertest.Frame {
	return []providertest.Frame{
		{Wire: `data: {"id":"","object":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}` + "\n\n"},
		{Wire: `data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"},
		{Wire: "data: " + delta("Hello") + "\n\n", Text: "Hello"},
		{Wire: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}` + "\n\n"},
		{Wire: `data: {"choices":[{"index":1,"delta":{"content":"other"}}]}` + "\n\n"},
		{Wire: "data: " + delta(" you") + "\n\n", Text: " you"},
		{Wire: `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"},
		{Wire: "data: " + usageChunk + "\n\n"},
		{Wire: "data: [DONE]\n\n"},
	}
}

var streamTranscript = providertest.Transcript{
	Body:          `{"model":"fast","stream":true,"stream_options":{"include_usage":true},"messages":[]}`,
	UpstreamModel: "gpt-test",
	Sent:          `{"model":"gpt-test","stream":true,"stream_options":{"include_usage":true},"messages":[]}`,
	Answer:        streamFrames(),
	Usage:         penstock.Usage{InputTokens: 12, OutputTokens: 2},
}

var hiddenTranscript = providertest.Transcript{
	Body:          `{"model":"fast","stream":true,"messages":[]}`,
	UpstreamModel: "gpt-test",
	Sent:          `{"model":"gpt-test","stream":true,"messages":[],"stream_options":{"include_usage":true}}`,
	Answer: func() []providertest.Frame {
		frames := streamFrames()
		frames[len(frames)-2].Hidden = true
		return frames
	}(),
	Usage: penstock.Usage{InputTokens: 12, OutputTokens: 2},
}

// What an upstream says of sending the call again.
var (
	inVain = http.Header{"X-Should-Retry": {"false"}}
	forNow = http.Header{"X-Should-Retry": {"true"}}
)

// errorBody is an error as OpenAI words it.
func errorBody(message, typ, code string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, typ, code)
}

var failures = []providertest.Failure{
	{Name: "429 rate limit", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Says: "Rate limit reached",
		Body:   errorBody("Rate limit reached for requests, see account/billing", "requests", "rate_limit_exceeded"),
		Header: http.Header{"Retry-After": {"2"}}, RetryAfter: 2 * time.Second},
	{Name: "429 in milliseconds", Status: 429, Kind: provider.KindRateLimited, Says: "429 Too Many Requests",
		Header: http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}, RetryAfter: 1500 * time.Millisecond},
	{Name: "429 from Azure", Status: 429, Kind: provider.KindRateLimited,
		Header: http.Header{"X-Ms-Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, RetryAfter: 250 * time.Millisecond},
	{Name: "429 with limit headers", Status: 429, Kind: provider.KindRateLimited,
		Header: http.Header{
			"X-Ratelimit-Remaining-Requests": {"9"}, "X-Ratelimit-Reset-Requests": {"12ms"},
			"X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"6m0s"},
		}, RetryAfter: 6 * time.Minute},
	{Name: "429 quota", Status: 429, Kind: provider.KindSpendCap, KeepsBody: true,
		Body: errorBody("You exceeded your current quota", "insufficient_quota", "insufficient_quota")},
	{Name: "429 spend limit", Status: 429, Kind: provider.KindSpendCap, KeepsBody: true,
		Body: errorBody("Spend limit", "invalid_request_error", "enforced_spend_limit_reached")},
	{Name: "401", Status: 401, Kind: provider.KindAuth, Says: "api_key",
		Body: errorBody("Incorrect API key provided: sk-t**cdef", "invalid_request_error", "invalid_api_key")},
	{Name: "403", Status: 403, Kind: provider.KindAuth, Says: "api_key", Body: errorBody("No", "permission_error", "")},
	{Name: "403 for a model", Status: 403, Kind: provider.KindModelNotFound, KeepsBody: true,
		Body: errorBody("Project does not have access to model x", "invalid_request_error", "model_not_found")},
	{Name: "403 for a prompt", Status: 403, Kind: provider.KindContentBlocked, KeepsBody: true,
		Body: `{"error":{"code":403,"message":"Model requires moderation and your input was flagged"}}`},
	{Name: "402", Status: 402, Kind: provider.KindSpendCap, Body: errorBody("Insufficient credits", "", ""), KeepsBody: true},
	{Name: "404 model", Status: 404, Kind: provider.KindModelNotFound, KeepsBody: true,
		Body: errorBody("The model x does not exist", "invalid_request_error", "model_not_found")},
	{Name: "404 model without a code", Status: 404, Kind: provider.KindModelNotFound, KeepsBody: true, Says: "try pulling it first",
		Body: `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`},
	{Name: "404 of something else", Status: 404, Kind: provider.KindRejected, Body: errorBody("No such file: file-1", "x", ""), KeepsBody: true},
	{Name: "404 of the path", Status: 404, Kind: provider.KindServer, Says: "base_url", Body: "404 page not found",
		Header: http.Header{"Content-Type": {"text/plain"}}},
	{Name: "405", Status: 405, Kind: provider.KindServer, Says: "base_url", Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
	{Name: "400", Status: 400, Kind: provider.KindRejected, KeepsBody: true, Says: "Invalid value for 'temperature'",
		Body: errorBody("Invalid value for 'temperature'", "invalid_request_error", "")},
	{Name: "400 context", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
		Body: errorBody("Too long", "invalid_request_error", "context_length_exceeded")},
	{Name: "400 context in prose", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
		Body: `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`},
	{Name: "400 filter", Status: 400, Kind: provider.KindContentBlocked, KeepsBody: true,
		Body: `{"error":{"message":"Filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`},
	{Name: "400 policy", Status: 400, Kind: provider.KindContentBlocked, KeepsBody: true,
		Body: errorBody("Unsafe", "invalid_request_error", "content_policy_violation")},
	{Name: "403 page of a firewall", Status: 403, Kind: provider.KindForbidden, Body: "<html><title>Blocked</title></html>", Says: "403 Forbidden",
		Header: http.Header{"Content-Type": {"text/html"}}},
	{Name: "403 without a reason", Status: 403, Kind: provider.KindForbidden, Body: errorBody("No", "invalid_request_error", "")},
	{Name: "403 for a region", Status: 403, Kind: provider.KindForbidden,
		Body: errorBody("Country, region, or territory not supported", "request_forbidden", "unsupported_country_region_territory")},
	{Name: "403 for an account", Status: 403, Kind: provider.KindAuth, Says: "api_key", Body: errorBody("Deactivated", "invalid_request_error", "account_deactivated")},
	{Name: "403 for a key without access to a model", Status: 403, Kind: provider.KindModelNotFound, KeepsBody: true,
		Body: errorBody("This key does not have access to model x", "permission_error", "")},
	{Name: "400 for a key of Google's", Status: 400, Kind: provider.KindAuth, Says: "api_key",
		Body: `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`},
	{Name: "407", Status: 407, Kind: provider.KindServer},
	{Name: "413", Status: 413, Kind: provider.KindTooLarge, Body: "", Says: "shorten it"},
	{Name: "413 of Groq", Status: 413, Kind: provider.KindTooLarge, KeepsBody: true, Says: "needs 14810 tokens, and the upstream's limit is 6000",
		Body: errorBody("Request too large for model `llama` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): "+
			"Limit 6000, Requested 14810, please reduce your message size and try again.", "tokens", "rate_limit_exceeded")},
	{Name: "429 of a request that is too large", Status: 429, Kind: provider.KindTooLarge, KeepsBody: true, Says: "needs 45000 tokens, and the upstream's limit is 30000",
		Body: errorBody("Request too large for gpt-test in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45000. "+
			"The input or output tokens must be reduced in order to run successfully.", "tokens", "rate_limit_exceeded")},
	{Name: "429 of Azure that no waiting helps", Status: 429, Kind: provider.KindTooLarge, Says: "shorten it", KeepsBody: true,
		Header: http.Header{"Retry-After": {"86400"}},
		Body: `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-08-01-preview ` +
			`have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds."}}`},
	{Name: "429 of Azure", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, RetryAfter: 9 * time.Second,
		Body: `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-08-01-preview ` +
			`have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 9 seconds."}}`},
	{Name: "429 that asks for more than its minute", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, RetryAfter: time.Minute,
		Header: http.Header{"Retry-After": {"3000"}},
		Body:   errorBody("Rate limit reached for gpt-test on requests per min (RPM): Limit 3, Used 3, Requested 1.", "requests", "rate_limit_exceeded")},
	{Name: "429 of a day", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, RetryAfter: 24 * time.Hour,
		Header: http.Header{"Retry-After": {"864000"}},
		Body:   errorBody("Rate limit reached for gpt-test on requests per day (RPD): Limit 200, Used 200, Requested 1.", "requests", "rate_limit_exceeded")},
	{Name: "429 of Google", Status: 429, Kind: provider.KindRateLimited, RetryAfter: 45500 * time.Millisecond, Says: "exceeded your current quota", KeepsBody: true,
		Body: `[{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 45.5s.","status":"RESOURCE_EXHAUSTED","details":[` +
			`{"violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier"}]}]}}]`},
	{Name: "422", Status: 422, Kind: provider.KindRejected, Body: `{"detail":"messages: field required"}`, Says: "field required"},
	{Name: "409", Status: 409, Kind: provider.KindRejected, Body: "null"},
	{Name: "408", Status: 408, Kind: provider.KindTimeout},
	{Name: "500", Status: 500, Kind: provider.KindServer, Body: errorBody("Oops", "server_error", ""), KeepsBody: true, Says: "Oops"},
	{Name: "500 as a string", Status: 500, Kind: provider.KindServer, Body: `{"error":"llama runner died"}`, KeepsBody: true, Says: "llama runner died"},
	{Name: "502 page", Status: 502, Kind: provider.KindServer, Body: "<html>nginx</html>", Says: "502 Bad Gateway",
		Header: http.Header{"Content-Type": {"text/html"}}},
	{Name: "502 text", Status: 502, Kind: provider.KindServer, Body: "upstream connect error", Says: "upstream connect error",
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}},
	{Name: "503", Status: 503, Kind: provider.KindOverloaded, Body: errorBody("Slow down", "server_error", "slow_down"), KeepsBody: true,
		Header: http.Header{"Retry-After": {"99999999"}}, RetryAfter: time.Hour},
	{Name: "529", Status: 529, Kind: provider.KindOverloaded, Body: "{"},
	{Name: "500 in vain", Status: 500, Kind: provider.KindFinal, Body: errorBody("Oops", "server_error", ""), KeepsBody: true, Says: "Oops", Header: inVain},
	{Name: "503 in vain", Status: 503, Kind: provider.KindFinal, Header: inVain},
	{Name: "429 that no waiting helps", Status: 429, Kind: provider.KindFinal, KeepsBody: true, Says: "Extra usage", Header: inVain,
		Body: errorBody("Extra usage is required", "tokens", "rate_limit_exceeded")},
	{Name: "429 too large, whatever is said", Status: 429, Kind: provider.KindTooLarge, KeepsBody: true, Says: "needs 20000 tokens", Header: forNow,
		Body: errorBody("Request too large for gpt-test: Limit 10000, Requested 20000", "tokens", "rate_limit_exceeded")},
	{Name: "400 in vain", Status: 400, Kind: provider.KindRejected, Body: errorBody("No", "invalid_request_error", ""), KeepsBody: true, Header: inVain},
	{Name: "409 for the moment", Status: 409, Kind: provider.KindServer, Says: "409 Conflict", Header: forNow},
	{Name: "429 for the moment", Status: 429, Kind: provider.KindRateLimited, Header: forNow},
	{Name: "429 quota, whatever is said", Status: 429, Kind: provider.KindSpendCap, KeepsBody: true, Header: forNow,
		Body: errorBody("You exceeded your current quota", "insufficient_quota", "insufficient_quota")},
	{Name: "500 with a body past the limit", Status: 500, Kind: provider.KindServer, Says: "500 Internal Server Error",
		Body: errorBody(strings.Repeat("x", wire.DefaultMaxErrorBytes), "server_error", "")},
}
