package bedrock

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
			return newProvider(t, Config{BaseURL: up.URL, APIKey: up.APIKey, RootCAs: up.RootCAs, MaxAnswerBytes: up.MaxAnswerBytes}, Credentials{Region: "eu-central-1"})
		},
		Dialect: dialect,
	})
}

// newProvider makes a provider whose connections end with the test.
func newProvider(t testing.TB, cfg Config, c Credentials) *Provider {
	t.Helper()
	cfg.Name, cfg.ConnectionRest = "test", -1
	p, err := New(cfg, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// onWire encodes an event as AWS does: the member of the object is the type, its value the payload.
func onWire(event string) string {
	data := strings.TrimSuffix(strings.TrimPrefix(event, "data: "), "\n\n")
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(data), &members); err != nil || len(members) != 1 {
		return message("event", "broken", data) // for tests of malformed events: the payload is what the event says
	}
	for name, payload := range members {
		if strings.HasSuffix(name, "Exception") {
			return message("exception", name, string(payload))
		}
		return message("event", name, string(payload))
	}
	return ""
}

func message(kind, name, payload string) string {
	var b bytes.Buffer
	m := eventstream.Message{Payload: []byte(payload)}
	m.Headers.Set(":"+kind+"-type", eventstream.StringValue(name))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err)
	}
	return b.String()
}

var dialect = providertest.Dialect{
	Endpoint:    penstock.EndpointConverse,
	Path:        "/model/anthropic.claude-test:0/converse",
	Credentials: func(apiKey string) (name, value string) { return "Authorization", "Bearer " + apiKey },
	Plain:       plainTranscript,
	Stream:      streamTranscript,
	Framing:     &providertest.Framing{Type: framing.Type, Encode: onWire},
	LargeFrame: func(text string) providertest.Frame {
		return providertest.Frame{Wire: sseEvent(fmt.Sprintf(`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":%q}}}`, text)), Text: text}
	},
	ErrorFrame: providertest.InBandError{Wire: sseEvent(`{"serviceUnavailableException":{"message":"Try again."}}`), Kind: provider.KindOverloaded},
	ErrorBody:  providertest.InBandError{Wire: `{"message":"Too many requests","__type":"ThrottlingException"}`, Kind: provider.KindRateLimited},
	MalformedFrames: []string{
		"data: {\"a\":\n\n", "data: no\n\n", "data: 1\n\n", sseEvent(`{"messageStop":7}`), sseEvent(`{"metadata":[]}`), sseEvent(`{"invented":"text"}`),
	},
	MalformedBodies: []string{`{}`, `[]`, `null`, `"output"`, `{"output":null}`, `{"output":{"message":null}}`, `{"output":{]}`, `{"output":{"message":{"content":[]}}} {}`},
	Failures:        failures,
	EchoBody:        func(text string) string { return fmt.Sprintf(`{"message":%q}`, text) },
}

func sseEvent(data string) string { return "data: " + data + "\n\n" }

const ask = `{"messages":[{"role":"user","content":[{"text":"Hi \u00e9"}]}],"inferenceConfig":{"maxTokens":100}}`

var plainTranscript = providertest.Transcript{
	Body: ask, Sent: ask, UpstreamModel: "anthropic.claude-test:0",
	Answer: []providertest.Frame{{
		Text: "Hello \"there\" 🌊 Bye.",
		Wire: `{"metrics":{"latencyMs":3},"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"c2ln"}}},` +
			`{"text":"Hello \"there\" \ud83c\udf0a"},{"toolUse":{"toolUseId":"t1","name":"lookup","input":{"text":"not said"}}},{"text":" Bye."}],"role":"assistant"}},` +
			`"stopReason":"tool_use","usage":{"inputTokens":20,"outputTokens":9,"totalTokens":129,"cacheReadInputTokens":64,"cacheWriteInputTokens":36,` +
			`"cacheDetails":[{"inputTokens":10,"ttl":"1h"},{"inputTokens":26,"ttl":"5m"}]}}`,
	}},
	Usage: penstock.Usage{InputTokens: 120, CachedInputTokens: 64, CacheWriteTokens: 36, CacheWrite1hTokens: 10, OutputTokens: 9},
}

var streamTranscript = providertest.Transcript{
	Body: ask, Sent: ask, UpstreamModel: "anthropic.claude-test:0",
	Answer: []providertest.Frame{
		{Wire: sseEvent(`{"messageStart":{"p":"abc","role":"assistant"}}`)},
		{Wire: sseEvent(`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}}`)},
		{Wire: sseEvent(`{"contentBlockStop":{"contentBlockIndex":0}}`)},
		{Wire: sseEvent(`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"text":"Hello"},"p":"abcdef"}}`), Text: "Hello"},
		{Wire: sseEvent(`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"text":" you"},"p":"a"}}`), Text: " you"},
		{Wire: sseEvent(`{"contentBlockStart":{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t1","name":"lookup"}}}}`)},
		{Wire: sseEvent(`{"contentBlockDelta":{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"a\":1}"}}}}`)},
		{Wire: sseEvent(`{"messageStop":{"stopReason":"tool_use"}}`)},
		{Wire: sseEvent(`{"metadata":{"metrics":{"latencyMs":5},"usage":{"inputTokens":5,"outputTokens":2,"totalTokens":109,"cacheReadInputTokens":100,"cacheWriteInputTokens":2}}}`)},
	},
	Usage: penstock.Usage{InputTokens: 107, CachedInputTokens: 100, CacheWriteTokens: 2, OutputTokens: 2},
}

func said(message string) string { return fmt.Sprintf(`{"message":%q}`, message) }

var failures = []providertest.Failure{
	{Name: "429", Status: 429, Kind: provider.KindRateLimited, KeepsBody: true, Says: "Too many requests", Body: said("Too many requests, please wait before trying again."),
		Header: http.Header{"Retry-After": {"2"}}, RetryAfter: 2 * time.Second},
	{Name: "400", Status: 400, Kind: provider.KindRejected, KeepsBody: true, Says: "Malformed", Body: said("Malformed input request: #: extraneous key [thinking] is not permitted")},
	{Name: "400 context", Status: 400, Kind: provider.KindContextTooLong, KeepsBody: true, Body: said("Input is too long for requested model.")},
	{Name: "400 model", Status: 400, Kind: provider.KindModelNotFound, KeepsBody: true, Body: said("The provided model identifier is invalid.")},
	{Name: "400 quota", Status: 400, Kind: provider.KindSpendCap, KeepsBody: true, Body: `{"__type":"com.amazon.coral#ServiceQuotaExceededException","message":"Your request exceeds the service quota"}`},
	{Name: "403 token", Status: 403, Kind: provider.KindAuth, Says: "api_key", Body: said("The security token included in the request is invalid.")},
	{Name: "403 signature", Status: 403, Kind: provider.KindAuth, Says: "api_key", Body: `{"Message":"The request signature we calculated does not match"}`},
	{Name: "403 model", Status: 403, Kind: provider.KindModelNotFound, KeepsBody: true, Body: said("You don't have access to the model with the specified model ID.")},
	{Name: "403 page of a firewall", Status: 403, Kind: provider.KindForbidden, Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
	{Name: "404", Status: 404, Kind: provider.KindModelNotFound, KeepsBody: true, Body: said("Could not resolve the foundation model from the provided model identifier.")},
	{Name: "404 of the path", Status: 404, Kind: provider.KindServer, Says: "base_url", Body: "no", Header: http.Header{"Content-Type": {"text/plain"}}},
	{Name: "408", Status: 408, Kind: provider.KindTimeout, KeepsBody: true, Body: said("The model took too long")},
	{Name: "413", Status: 413, Kind: provider.KindTooLarge, Says: "shorten it"},
	{Name: "424", Status: 424, Kind: provider.KindServer, KeepsBody: true, Body: said("The model failed")},
	{Name: "500", Status: 500, Kind: provider.KindServer, KeepsBody: true, Body: said("An internal error")},
	{Name: "503", Status: 503, Kind: provider.KindOverloaded, KeepsBody: true, Body: said("Bedrock is unable to process your request.")},
	{Name: "504 page", Status: 504, Kind: provider.KindTimeout, Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}},
}

func FuzzStream(f *testing.F) {
	providertest.FuzzStream(f, dialect, func() wire.Reader { return &converseReader{} })
}

func TestAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	contents := func(prompt string) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":[{"text":%q}]}]}`, prompt)
	}
	providertest.RunSim(t, providertest.SimHarness{
		Endpoint: penstock.EndpointConverse, HasText: true, NoLimits: true, NoModel: true, Plain: contents, Stream: contents,
		New: func(t testing.TB, up providertest.Config) provider.Provider {
			c := Credentials{Region: "eu-central-1", AccessKeyID: up.APIKey, SecretAccessKey: "wJalrXUtnFEMI"}
			return newProvider(t, Config{BaseURL: up.URL}, c)
		},
	})
}
