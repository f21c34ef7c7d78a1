package gemini

import (
	"fmt"
	"net/http"
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
			return newProvider(t, Config{BaseURL: up.URL + "/v1beta", APIKey: up.APIKey, RootCAs: up.RootCAs, MaxAnswerBytes: up.MaxAnswerBytes})
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
	Endpoint:    penstock.EndpointGenerate,
	Path:        "/v1beta/models/gemini-test:generateContent",
	Credentials: func(apiKey string) (name, value string) { return "X-Goog-Api-Key", apiKey },
	Plain:       plainTranscript,
	Stream:      streamTranscript,
	LargeFrame: func(text string) providertest.Frame {
		return providertest.Frame{Wire: event(fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%q}],"role":"model"},"index":0}]}`, text)), Text: text}
	},
	ErrorFrame: providertest.InBandError{Wire: event(errorBody(503, "The model is overloaded.", "UNAVAILABLE")), Kind: provider.KindOverloaded},
	ErrorBody:  providertest.InBandError{Wire: errorBody(429, "Quota exceeded", "RESOURCE_EXHAUSTED"), Kind: provider.KindRateLimited},
	MalformedFrames: []string{
		event(`{"candidates":[`), event(`no`), event(`1`), event(`{}`), event(`{"candidates":7}`), event(`[DONE]`), event(`{"candidates":[{"content":7}]}`),
	},
	MalformedBodies: []string{`{}`, `[]`, `null`, `"candidates"`, `{"candidates":null}`, `{"candidates":[]}`, `{"candidates":[{]}`, `{"candidates":[{}]} {}`},
	Failures:        failures,
	EchoBody:        func(text string) string { return errorBody(400, text, "INVALID_ARGUMENT") },
}

const ask = `{"contents":[{"role":"user","parts":[{"text":"Hi \u00e9"}]}],"generationConfig":{"maxOutputTokens":100}}`

var plainTranscript = providertest.Transcript{
	Body: ask, Sent: ask, UpstreamModel: "gemini-test",
	Answer: []providertest.Frame{{
		Text: "Hello \"there\" 🌊 Bye.",
		Wire: `{"candidates":[{"content":{"parts":[{"text":"A greeting.","thought":true},{"text":"Hello \"there\" \ud83c\udf0a","thoughtSignature":"c2ln"},` +
			`{"functionCall":{"name":"lookup","args":{"text":"not said"}}},{"text":" Bye."}],"role":"model"},"finishReason":"STOP","index":0},` +
			`{"content":{"parts":[{"text":"Howdy"}]},"index":1}],"usageMetadata":{"promptTokenCount":120,"cachedContentTokenCount":64,"toolUsePromptTokenCount":3,` +
			`"candidatesTokenCount":9,"thoughtsTokenCount":5,"totalTokenCount":137,"promptTokensDetails":[{"modality":"TEXT","tokenCount":100},{"modality":"AUDIO","tokenCount":20}]},` +
			`"modelVersion":"gemini-test-001","responseId":"r1"}` + "\n",
	}},
	Usage: penstock.Usage{InputTokens: 123, CachedInputTokens: 64, AudioInputTokens: 20, OutputTokens: 14, ReasoningTokens: 5},
}

func event(data string) string { return "data: " + data + "\n\n" }

func delta(part string) string {
	return event(`{"candidates":[{"content":{"parts":[` + part + `],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":12,"totalTokenCount":12},"responseId":"r2"}`)
}

var streamTranscript = providertest.Transcript{
	Body: ask, Sent: ask, UpstreamModel: "gemini-test",
	Answer: []providertest.Frame{
		{Wire: delta(`{"text":"Hm.","thought":true}`)},
		{Wire: delta(`{"text":"Hello"}`), Text: "Hello"},
		{Wire: delta(`{"functionCall":{"name":"lookup","args":{}},"thoughtSignature":"c2ln"}`)},
		{Wire: event(`{"usageMetadata":{"promptTokenCount":12},"modelVersion":"gemini-test-001"}`)},
		{Text: " you", Wire: event(`{"candidates":[{"content":{"parts":[{"text":" you"}],"role":"model"},"finishReason":"STOP","index":0}],` +
			`"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":2,"thoughtsTokenCount":1,"totalTokenCount":15},"responseId":"r2"}`)},
	},
	Usage: penstock.Usage{InputTokens: 12, OutputTokens: 3, ReasoningTokens: 1},
}

func errorBody(code int, message, status string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q}}`, code, message, status)
}

func detailed(code int, message, status, detail string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, message, status, detail)
}

var failures = []providertest.Failure{
	{Name: "429 inside a list", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Body: `[` + errorBody(429, "Resource exhausted", "RESOURCE_EXHAUSTED") + `]`},
	{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, RetryAfter: 45500 * time.Millisecond, Says: "exceeded your current quota",
		Body: detailed(429, "You exceeded your current quota. Please retry in 45.5s.", "RESOURCE_EXHAUSTED",
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier"}]}`)},
	{Name: "429 credits", Status: 429, Kind: provider.KindSpendCap, KeepsBody: true, Body: errorBody(429, "Your prepayment credits are depleted.", "RESOURCE_EXHAUSTED")},
	{Name: "400", Status: 400, Kind: provider.KindRejected, KeepsBody: true, Says: "Unknown name", Body: errorBody(400, "Invalid JSON payload received. Unknown name", "INVALID_ARGUMENT")},
	{Name: "400 for a key", Status: 400, Kind: provider.KindAuth, Says: "api_key",
		Body: detailed(400, "API key not valid.", "INVALID_ARGUMENT", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}`)},
	{Name: "400 context", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true,
		Body: errorBody(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "INVALID_ARGUMENT")},
	{Name: "400 region", Status: 400, Kind: provider.KindForbidden, Body: errorBody(400, "User location is not supported for the API use.", "FAILED_PRECONDITION")},
	{Name: "401", Status: 401, Kind: provider.KindAuth, Says: "api_key", Body: errorBody(401, "Request had invalid authentication credentials.", "UNAUTHENTICATED")},
	{Name: "403", Status: 403, Kind: provider.KindForbidden, Body: errorBody(403, "Denied", "PERMISSION_DENIED")},
	{Name: "403 page of a firewall", Status: 403, Kind: provider.KindForbidden, Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
	{Name: "404 model", Status: 404, Kind: provider.KindModelNotFound, KeepsBody: true, Body: errorBody(404, "models/x is not found for API version v1beta", "NOT_FOUND")},
	{Name: "404 of the path", Status: 404, Kind: provider.KindServer, Says: "base_url", Body: "404 page not found", Header: http.Header{"Content-Type": {"text/plain"}}},
	{Name: "413", Status: 413, Kind: provider.KindTooLarge, Says: "shorten it"},
	{Name: "400 payload", Status: 400, Kind: provider.KindTooLarge, KeepsBody: true, Says: "shorten it",
		Body: errorBody(400, "Request payload size exceeds the limit: 20971520 bytes.", "INVALID_ARGUMENT")},
	{Name: "500", Status: 500, Kind: provider.KindServer, KeepsBody: true, Body: errorBody(500, "An internal error has occurred.", "INTERNAL")},
	{Name: "503", Status: 503, Kind: provider.KindOverloaded, KeepsBody: true, Says: "overloaded", Body: errorBody(503, "The model is overloaded.", "UNAVAILABLE")},
	{Name: "504", Status: 504, Kind: provider.KindTimeout, KeepsBody: true, Body: errorBody(504, "Deadline expired", "DEADLINE_EXCEEDED")},
	{Name: "504 page", Status: 504, Kind: provider.KindTimeout, Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
}

func TestAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	contents := func(prompt string) string {
		return fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}]}`, prompt)
	}
	providertest.RunSim(t, providertest.SimHarness{
		Endpoint: penstock.EndpointGenerate, HasText: true, NoLimits: true, Plain: contents, Stream: contents,
		New: func(t testing.TB, up providertest.Config) provider.Provider {
			return newProvider(t, Config{BaseURL: up.URL, APIKey: up.APIKey})
		},
	})
}

func FuzzStream(f *testing.F) {
	providertest.FuzzStream(f, dialect, func() wire.Reader { return &contentReader{} })
}

// An answer whose prompt was blocked, or that the model could not write, is an error.
func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for body, kind := range map[string]provider.Kind{
		`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}`:                    provider.KindContentBlocked,
		`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","index":0}],"usageMetadata":{}}`: provider.KindMalformed,
		`{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`:                provider.KindServer,
	} {
		r := &contentReader{}
		part, err := r.Plain([]byte(body))
		if err != nil || !part.Failed {
			t.Errorf("%s: %+v, %v", body, part, err)
		}
		if got := r.Complaint(http.StatusOK, []byte(body)).Kind; got != kind {
			t.Errorf("%s: %s, want %s", body, got, kind)
		}
	}
}

// Requests that are inside of another name their model; embeddings and counts report what they used.
func TestListsAndCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endpoint   penstock.Endpoint
		body, want string
	}{
		{penstock.EndpointGenerate, `{"contents":[]}`, `{"contents":[]}`},
		{penstock.EndpointEmbedContents, `{"requests":[{"content":{}},{"content":{"a":[1]}}]}`, `{"requests":[{"model":"models/m","content":{}},{"model":"models/m","content":{"a":[1]}}]}`},
		{penstock.EndpointCountContents, `{"generateContentRequest":{"contents":[]}}`, `{"generateContentRequest":{"model":"models/m","contents":[]}}`},
	} {
		got, err := named(provider.Call{Endpoint: tt.endpoint, UpstreamModel: "models/m", Body: []byte(tt.body)})
		if err != nil || string(got.Join()) != tt.want {
			t.Errorf("%s: %s, %v", tt.endpoint, got.Join(), err)
		}
	}
	var embeddings embeddingReader
	if _, err := embeddings.Plain([]byte(`{"embeddings":[{"values":[0.5]}],"usageMetadata":{"promptTokenCount":4}}`)); err != nil {
		t.Error(err)
	}
	if usage, how := embeddings.Usage(); how != wire.ReportedAll || usage.InputTokens != 4 {
		t.Errorf("%+v, %v", usage, how)
	}
	for _, body := range []string{`{}`, `{"totalTokens":-1}`, `7`} {
		if _, err := (&countReader{}).Plain([]byte(body)); err == nil {
			t.Errorf("%s was taken for a count", body)
		}
	}
}
