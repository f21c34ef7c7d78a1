package openai

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/preset"
	"penstock/internal/provider/providertest"
)

// vendorTranscript is what differs in the exchange with a vendor.
type vendorTranscript struct {
	body, sent     string // the members of a plain call besides its model and messages, as the caller and as the vendor writes them
	usage          string // of both answers
	want           penstock.Usage
	thoughts       string // a delta with thoughts; "" for none
	usageWithStop  bool   // the stream reports its usage with the last choice
	failures       []providertest.Failure
	header         http.Header // of a good answer
	limits         provider.RateLimits
	path           string
	noStreamOption bool
}

var usual = vendorTranscript{
	body: `"max_completion_tokens":9,`, sent: `"max_completion_tokens":9,`,
	usage: `{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14}`, want: penstock.Usage{InputTokens: 12, OutputTokens: 2},
}

func usually(change func(*vendorTranscript)) vendorTranscript {
	v := usual
	change(&v)
	return v
}

var vendorTranscripts = map[string]vendorTranscript{
	"mistral": usually(func(v *vendorTranscript) {
		v.body, v.sent = `"max_completion_tokens":9,"seed":7,`, `"max_tokens":9,"random_seed":7,`
		v.usageWithStop, v.noStreamOption = true, true
		v.header = http.Header{"X-Ratelimit-Limit-Req-Minute": {"60"}, "X-Ratelimit-Remaining-Req-Minute": {"59"}, "X-Ratelimit-Limit-Tokens-Minute": {"50000"}}
		v.limits = provider.RateLimits{Requests: provider.Allowance{Limit: 60, Remaining: 59, HasRemaining: true}, Tokens: provider.Allowance{Limit: 50000}}
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Says: "Requests rate limit exceeded",
				Body: `{"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}`},
			{Name: "422 that names a member", Status: 422, Kind: provider.KindRejected, KeepsBody: true, Says: `"frequency"`,
				Body: `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","frequency"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","code":null}`},
			{Name: "401", Status: 401, Kind: provider.KindAuth, Says: "api_key", Body: `{"detail":"Unauthorized"}`},
		}
	}),
	"groq": usually(func(v *vendorTranscript) {
		v.thoughts = `"reasoning":"Hm."`
		// Requests are counted by the day, and must not be taken for those of a minute.
		v.header = http.Header{"X-Ratelimit-Limit-Requests": {"14400"}, "X-Ratelimit-Remaining-Requests": {"14370"}, "X-Ratelimit-Limit-Tokens": {"18000"}}
		v.limits = provider.RateLimits{Tokens: provider.Allowance{Limit: 18000}}
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Body: errorBody("Rate limit reached for model `x`", "tokens", "rate_limit_exceeded")},
			{Name: "498", Status: 498, Kind: provider.KindOverloaded, KeepsBody: true, Body: errorBody("Flex tier capacity exceeded", "", "capacity_exceeded")},
			{Name: "400 of the model", Status: 400, Kind: provider.KindMalformed, KeepsBody: true,
				Body: `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<f>"}}`},
		}
	}),
	"together": usually(func(v *vendorTranscript) {
		v.sent, v.thoughts = `"max_tokens":9,`, `"reasoning":"Hm."`
		v.header = http.Header{"X-Ratelimit-Limit": {"10"}, "X-Tokenlimit-Limit": {"3000"}}
		v.failures = []providertest.Failure{{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true,
			Body: `{"id":"n","error":{"message":"You have reached the rate limit specific to this model","type":"model_rate_limit","param":null,"code":null}}`}}
	}),
	"xai": usually(func(v *vendorTranscript) {
		v.thoughts = `"reasoning_content":"Hm."`
		v.usage = `{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"prompt_tokens_details":{"cached_tokens":6},"completion_tokens_details":{"reasoning_tokens":94}}`
		v.want = penstock.Usage{InputTokens: 32, CachedInputTokens: 6, OutputTokens: 103, ReasoningTokens: 94}
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Body: `{"code":"resource-exhausted","error":"Too many requests for team"}`},
			{Name: "400", Status: 400, Kind: provider.KindRejected, KeepsBody: true, Says: "does not support parameter",
				Body: `{"code":"invalid-argument","error":"Model grok-x does not support parameter reasoningEffort."}`},
		}
	}),
	"deepseek": usually(func(v *vendorTranscript) {
		v.sent, v.thoughts = `"max_tokens":9,`, `"content":null,"reasoning_content":"Hm."`
		v.usage = `{"prompt_tokens":16,"completion_tokens":10,"total_tokens":26,"prompt_cache_hit_tokens":10,"prompt_cache_miss_tokens":6,"completion_tokens_details":{"reasoning_tokens":4}}`
		v.want = penstock.Usage{InputTokens: 16, CachedInputTokens: 10, OutputTokens: 10, ReasoningTokens: 4}
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited},
			{Name: "402", Status: 402, Kind: provider.KindSpendCap, KeepsBody: true, Body: errorBody("Insufficient Balance", "unknown_error", "invalid_request_error")},
			{Name: "401", Status: 401, Kind: provider.KindAuth, Says: "api_key", Body: errorBody("Authentication Fails, Your api key: ****cdef is invalid", "authentication_error", "invalid_request_error")},
		}
	}),
	"openrouter": usually(func(v *vendorTranscript) {
		v.thoughts = `"content":"","reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm."}]`
		v.usage = `{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14,"cost":0.00014,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":4}}`
		v.want = penstock.Usage{InputTokens: 12, CachedInputTokens: 3, CacheWriteTokens: 4, OutputTokens: 2}
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Body: `{"error":{"code":429,"message":"Rate limit exceeded: free-models-per-min.","metadata":{"headers":{"X-RateLimit-Limit":"20"}}}}`},
			{Name: "402", Status: 402, Kind: provider.KindSpendCap, KeepsBody: true, Body: `{"error":{"code":402,"message":"Insufficient credits"},"user_id":"u"}`},
		}
	}),
	"fireworks": usually(func(v *vendorTranscript) {
		v.thoughts = `"reasoning_content":"Hm."`
		v.header = http.Header{"X-Ratelimit-Limit-Requests": {"600"}, "X-Ratelimit-Limit-Tokens-Prompt": {"60000"}}
		v.limits = provider.RateLimits{Requests: provider.Allowance{Limit: 600}}
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Body: `{"error":{"object":"error","type":"invalid_request_error","message":"rate limit exceeded, please try again later"}}`},
			{Name: "412", Status: 412, Kind: provider.KindSpendCap, KeepsBody: true, Body: `{"error":{"code":"PRECONDITION_FAILED","message":"Account x is suspended, possibly due to reaching the monthly spending limit."}}`},
		}
	}),
	"perplexity": usually(func(v *vendorTranscript) {
		v.sent, v.usageWithStop, v.noStreamOption, v.path = `"max_tokens":9,`, true, true, "/chat/completions"
		v.usage = `{"prompt_tokens":12,"completion_tokens":2,"total_tokens":14,"search_context_size":"low","cost":{"total_cost":0.005}}`
		v.failures = []providertest.Failure{{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Body: errorBody("Request rate limit exceeded", "request_rate_limit_exceeded", "429")}}
	}),
	"vllm": usually(func(v *vendorTranscript) {
		v.thoughts = `"reasoning":"Hm."`
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited},
			{Name: "400 context", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
				Body: `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 9000.","type":"BadRequestError","param":null,"code":400}}`},
			{Name: "404", Status: 404, Kind: provider.KindModelNotFound, KeepsBody: true, Body: `{"error":{"message":"The model x does not exist.","type":"NotFoundError","param":null,"code":404}}`},
		}
	}),
	"sglang": usually(func(v *vendorTranscript) {
		v.thoughts = `"reasoning_content":"Hm."`
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited},
			{Name: "400 context", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
				Body: `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length, which exceeds the context.","type":"BadRequestError","param":null,"code":400}`},
		}
	}),
	"ollama": usually(func(v *vendorTranscript) {
		v.sent, v.thoughts = `"max_tokens":9,`, `"content":"","reasoning":"Hm."`
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited},
			{Name: "404", Status: 404, Kind: provider.KindModelNotFound, KeepsBody: true, Says: "not found",
				Body: `{"error":{"message":"model 'x' not found","type":"not_found_error","param":null,"code":null}}`},
		}
	}),
	"llamacpp": usually(func(v *vendorTranscript) {
		v.thoughts = `"reasoning_content":"Hm."`
		v.failures = []providertest.Failure{
			{Name: "429", Status: 429, Kind: provider.KindRateLimited},
			{Name: "400 context", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
				Body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`},
			{Name: "503", Status: 503, Kind: provider.KindOverloaded, KeepsBody: true, Says: "Loading model", Body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`},
		}
	}),
}

// newVendor makes the provider of a preset, whose connections end with the test.
func newVendor(t testing.TB, cfg Config, kind string) *Provider {
	t.Helper()
	vendor, ok := preset.Of(kind)
	if !ok {
		t.Fatalf("there is no preset %s", kind)
	}
	if !vendor.Bare {
		cfg.BaseURL += "/v1"
	}
	cfg.Name, cfg.ConnectionRest = "test", -1
	p, err := NewPreset(cfg, vendor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// dialect is the protocol of the vendor.
func (v vendorTranscript) dialect() providertest.Dialect {
	d := dialect
	if v.path != "" {
		d.Path = v.path
	}
	const messages = `"messages":[{"role":"user","content":"Hi"}]`
	d.Plain = providertest.Transcript{
		Body: `{"model":"fast",` + v.body + messages + `}`, Sent: `{"model":"up",` + v.sent + messages + `}`, UpstreamModel: "up", Usage: v.want,
		Answer: []providertest.Frame{{Text: "Hello", Wire: `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":` + v.usage + `}`}},
	}
	frames := []providertest.Frame{{Wire: `data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"}}
	if v.thoughts != "" {
		frames = append(frames, providertest.Frame{Wire: `data: {"id":"c","choices":[{"index":0,"delta":{` + v.thoughts + `}}]}` + "\n\n"})
	}
	frames = append(frames, providertest.Frame{Wire: "data: " + delta("Hello") + "\n\n", Text: "Hello"})
	stop := `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`
	if v.usageWithStop {
		frames = append(frames, providertest.Frame{Wire: stop + `,"usage":` + v.usage + "}\n\n"})
	} else {
		frames = append(frames, providertest.Frame{Wire: stop + "}\n\n"}, providertest.Frame{Wire: `data: {"id":"c","choices":[],"usage":` + v.usage + "}\n\n"})
	}
	frames = append(frames, providertest.Frame{Wire: "data: [DONE]\n\n"})
	options := `,"stream_options":{"include_usage":true}`
	d.Stream = providertest.Transcript{
		Body: `{"model":"fast","stream":true` + options + `,` + v.body + messages + `}`, UpstreamModel: "up", Answer: frames, Usage: v.want,
		Sent: `{"model":"up","stream":true` + options + `,` + v.sent + messages + `}`,
	}
	d.StreamHidden = providertest.Transcript{}
	if v.noStreamOption {
		d.Stream.Sent = strings.Replace(d.Stream.Sent, options, "", 1)
	}
	d.Failures = v.failures
	return d
}

// Every preset passes the suite, with the transcripts of its vendor.
func TestPresets(t *testing.T) {
	t.Parallel()
	for _, vendor := range preset.All {
		if vendor.Endpoints != nil && !slices.Contains(vendor.Endpoints, penstock.EndpointChat) {
			continue // see TestRankingPresets
		}
		t.Run(vendor.Kind, func(t *testing.T) {
			t.Parallel()
			v, ok := vendorTranscripts[vendor.Kind]
			if !ok {
				t.Fatal("the preset has no transcript")
			}
			providertest.Run(t, providertest.Harness{Dialect: v.dialect(), Plain: true, New: func(t testing.TB, up providertest.Config) provider.Provider {
				return newVendor(t, Config{BaseURL: up.URL, APIKey: up.APIKey, RootCAs: up.RootCAs, MaxAnswerBytes: up.MaxAnswerBytes}, vendor.Kind)
			}})
			if got := vendor.Limits.Headers().Parse(v.header, time.Now()); got != v.limits {
				t.Errorf("limits (-want +got):\n%s", cmp.Diff(v.limits, got))
			}
		})
	}
}

// A member that a vendor does not honour is refused by name, unless its value asks for nothing.
func TestPresetsRefuseMembers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, body, refuses string }{
		{"groq", `{"model":"m","logprobs":true}`, "logprobs"},
		{"groq", `{"model":"m","n":2}`, "n"},
		{"groq", `{"n" : 1 ,"model":"m","logit_bias":{ },"logprobs":false,"top_logprobs":null}`, ""},
		{"perplexity", `{"model":"m","tools":[{"type":"function"}]}`, "tools"},
		{"ollama", `{"model":"m","tool_choice":"required"}`, "tool_choice"},
		{"deepseek", `{"model":"m","parallel_tool_calls":false}`, "parallel_tool_calls"},
		{"mistral", `{"model":"m","logit_bias":{"1":2}}`, "logit_bias"},
	} {
		vendor, _ := preset.Of(tt.kind)
		_, err := patchBody(&vendor, provider.Call{Endpoint: penstock.EndpointChat, Body: []byte(tt.body), UpstreamModel: "up"})
		if tt.refuses == "" {
			if err != nil {
				t.Errorf("%s %s: %v", tt.kind, tt.body, err)
			}
			continue
		}
		if e := provider.AsError(err); err == nil || e.Kind != provider.KindRejected || !strings.HasPrefix(e.Message, tt.refuses+" has a value that "+tt.kind) {
			t.Errorf("%s %s: %v", tt.kind, tt.body, err)
		}
	}
}

func TestPresetBodies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, kind, body, want, note string }{
		{"first", "mistral", `{"user":"u","model":"m","x":1}`, `{"model":"up","x":1}`, "dropped user"},
		{"last", "mistral", `{"model":"m" , "user" : "u" }`, `{"model":"up" }`, "dropped user"},
		{"all", "mistral", `{"user":"u","store":true}`, `{"model":"up"}`, "dropped user, store"},
		{"values that ask for nothing", "groq", `{"model":"m","n":1,"x":[1]}`, `{"model":"up","x":[1]}`, "dropped n"},
		{"escaped name", "mistral", `{"s\u0065ed":7,"model":"m"}`, `{"random_seed":7,"model":"up"}`, ""},
		{"both names", "mistral", `{"max_tokens":5,"max_completion_tokens":9,"model":"m"}`, `{"max_tokens":5,"model":"up"}`, "dropped max_completion_tokens"},
		{"options", "perplexity", `{"model":"m","stream_options":{"include_usage":true}}`, `{"model":"up"}`, ""},
		{"names inside of values", "mistral", `{"model":"m","metadata":{"user":"u","seed":1}}`, `{"model":"up","metadata":{"user":"u","seed":1}}`, ""},
	} {
		vendor, _ := preset.Of(tt.kind)
		got, err := patchBody(&vendor, provider.Call{Endpoint: penstock.EndpointChat, Body: []byte(tt.body), UpstreamModel: "up"})
		if err != nil || string(got.body.Join()) != tt.want || got.note != tt.note {
			t.Errorf("%s: %s, note %q, %v; want %s, %q", tt.name, got.body.Join(), got.note, err, tt.want, tt.note)
		}
	}
}

func TestPresetsServeTheirEndpoints(t *testing.T) {
	t.Parallel()
	p := newVendor(t, Config{BaseURL: "http://127.0.0.1:1"}, "deepseek")
	for e, want := range map[penstock.Endpoint]bool{penstock.EndpointChat: true, penstock.EndpointEmbeddings: false, penstock.EndpointResponses: false} {
		if p.Speaks(e) != want {
			t.Errorf("%s: %v", e, p.Speaks(e))
		}
	}
}
