package openai

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/provider/preset"
	"penstock/internal/provider/providertest"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// completionDialect is the older protocol: a prompt and a text, else as the chat's.
func completionDialect() providertest.Dialect {
	d := dialect
	d.Endpoint, d.Path = penstock.EndpointCompletions, "/v1/completions"
	d.Plain = providertest.Transcript{
		Body: `{"prompt":"Once","model":"fast","max_tokens":7}`, UpstreamModel: "davinci-test",
		Sent: `{"prompt":"Once","model":"davinci-test","max_tokens":7}`,
		Answer: []providertest.Frame{{Text: " upon a time", Wire: `{"id":"cmpl-1","object":"text_completion","model":"davinci-test","choices":[` +
			`{"text":" upon a time","index":0,"logprobs":null,"finish_reason":"length"}],` +
			`"usage":{"prompt_tokens":1,"completion_tokens":3,"total_tokens":4}}`}},
		Usage: penstock.Usage{InputTokens: 1, OutputTokens: 3},
	}
	text := func(text string) providertest.Frame {
		return providertest.Frame{Text: text, Wire: fmt.Sprintf(
			"data: {\"id\":\"cmpl-2\",\"object\":\"text_completion\",\"choices\":[{\"text\":%q,\"index\":0,\"finish_reason\":null}]}\n\n", text)}
	}
	usage := providertest.Frame{Wire: "data: " + usageChunk + "\n\n"}
	end := providertest.Frame{Wire: "data: [DONE]\n\n"}
	d.Stream = providertest.Transcript{
		Body: `{"model":"fast","stream":true,"prompt":"Once","stream_options":{"include_usage":true}}`, UpstreamModel: "davinci-test",
		Sent:   `{"model":"davinci-test","stream":true,"prompt":"Once","stream_options":{"include_usage":true}}`,
		Answer: []providertest.Frame{text(" upon"), text(" a time"), usage, end},
		Usage:  penstock.Usage{InputTokens: 12, OutputTokens: 2},
	}
	d.LargeFrame = text
	usage.Hidden = true
	d.StreamHidden = providertest.Transcript{
		Body: `{"model":"fast","stream":true,"prompt":"Once"}`, UpstreamModel: "davinci-test",
		Sent:   `{"model":"davinci-test","stream":true,"prompt":"Once","stream_options":{"include_usage":true}}`,
		Answer: []providertest.Frame{text(" upon"), text(" a time"), usage, end},
		Usage:  d.Stream.Usage,
	}
	return d
}

// typed is an event of a stream of responses.
func typed(name, rest string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
}

const responseUsage = `"usage":{"input_tokens":36,"input_tokens_details":{"cached_tokens":16},"output_tokens":12,` +
	`"output_tokens_details":{"reasoning_tokens":5},"total_tokens":48}`

func responseDialect() providertest.Dialect {
	d := dialect
	d.Endpoint, d.Path, d.StreamHidden = penstock.EndpointResponses, "/v1/responses", providertest.Transcript{}
	usage := penstock.Usage{InputTokens: 36, CachedInputTokens: 16, OutputTokens: 12, ReasoningTokens: 5}
	d.Plain = providertest.Transcript{
		Body: `{"input":"Hi","model":"fast","store":false}`, UpstreamModel: "gpt-test",
		Sent: `{"input":"Hi","model":"gpt-test","store":false}`,
		Answer: []providertest.Frame{{Text: "Hello there", Wire: `{"id":"resp_1","object":"response","status":"completed","error":null,` +
			`"incomplete_details":null,"model":"gpt-test","output":[{"type":"reasoning","id":"rs_1","summary":[]},` +
			`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hello ","annotations":[]},` +
			`{"type":"output_text","text":"there"}]},{"type":"function_call","name":"lookup","arguments":"{}"}],` + responseUsage + `}`}},
		Usage: usage,
	}
	delta := func(text string) providertest.Frame {
		return providertest.Frame{Text: text, Wire: typed("response.output_text.delta",
			fmt.Sprintf(`,"item_id":"msg_1","output_index":0,"content_index":0,"delta":%q`, text))}
	}
	whole := `"id":"resp_2","object":"response","error":null`
	d.Stream = providertest.Transcript{
		Body: `{"model":"fast","stream":true,"input":"Hi"}`, UpstreamModel: "gpt-test",
		Sent: `{"model":"gpt-test","stream":true,"input":"Hi"}`,
		Answer: []providertest.Frame{
			{Wire: typed("response.created", `,"response":{`+whole+`,"status":"in_progress","output":[],"usage":null}`)},
			{Wire: typed("response.in_progress", `,"response":{`+whole+`,"status":"in_progress","output":[],"usage":null}`)},
			{Wire: typed("response.output_item.added", `,"output_index":0,"item":{"type":"message","content":[]}`)},
			delta("Hello"), delta(" there"),
			{Wire: typed("response.function_call_arguments.delta", `,"delta":"{\"a\":"`)},
			{Wire: typed("response.output_text.done", `,"text":"Hello there"`)},
			{Wire: typed("response.something_new", `,"delta":{"a":1}`)},
			{Wire: typed("response.completed", `,"response":{`+whole+`,"status":"completed",`+
				`"output":[{"type":"message","content":[{"type":"output_text","text":"Hello there"}]}],`+responseUsage+`}`)},
		},
		Usage: usage,
	}
	d.LargeFrame = delta
	d.ErrorFrame = providertest.InBandError{Kind: provider.KindRateLimited,
		Wire: typed("response.failed", `,"response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"}}`)}
	d.ErrorBody = providertest.InBandError{Kind: provider.KindServer,
		Wire: `{"id":"resp_3","object":"response","status":"failed","output":[],"error":{"code":"server_error","message":"Oops"}}`}
	d.MalformedFrames = []string{"data: {\"type\":\n\n", "data: no\n\n", "data: 1\n\n", "data: {}\n\n", "data: {\"type\":7}\n\n", "data: [DONE]\n\n",
		typed("response.completed", "")}
	d.MalformedBodies = []string{`{}`, `[]`, `null`, `"output"`, `{"output":null}`, `{"output":[{]}`, `{"output":[]} {}`, `{"output":{}}`}
	return d
}

func TestConformanceOfOtherEndpoints(t *testing.T) {
	t.Parallel()
	for _, d := range []providertest.Dialect{completionDialect(), responseDialect()} {
		t.Run(string(d.Endpoint), func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, providertest.Harness{
				New: func(t testing.TB, up providertest.Config) provider.Provider {
					return newProvider(t, Config{BaseURL: up.URL + "/v1", APIKey: up.APIKey, RootCAs: up.RootCAs, MaxAnswerBytes: up.MaxAnswerBytes})
				},
				Dialect: d,
				Plain:   true,
			})
		})
	}
}

func TestSpeaks(t *testing.T) {
	t.Parallel()
	p := newProvider(t, Config{})
	for _, e := range []penstock.Endpoint{
		penstock.EndpointChat, penstock.EndpointCompletions, penstock.EndpointEmbeddings, penstock.EndpointResponses, penstock.EndpointMessages,
	} {
		if want := e != penstock.EndpointMessages; p.Speaks(e) != want {
			t.Errorf("speaks %s: %v", e, !want)
		}
	}
	call := plainCall()
	call.Endpoint = penstock.EndpointMessages
	if _, err := p.Call(t.Context(), call); provider.AsError(err).Kind != provider.KindInternal {
		t.Errorf("a call of another protocol: %v", err)
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	call := provider.Call{Endpoint: penstock.EndpointEmbeddings, UpstreamModel: "m", Body: []byte(`{"input":["a","b"],"model":"x"}`)}
	const good = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]},` +
		`{"object":"embedding","index":1,"embedding":"AAAAAA=="}],"model":"m","usage":{"prompt_tokens":5,"total_tokens":5}}`
	for body, kind := range map[string]provider.Kind{
		good:                                   "",
		`{"data":[],"usage":null}`:             "",
		`{"object":"list"}`:                    provider.KindMalformed,
		`{"data":{}}`:                          provider.KindMalformed,
		good[:40]:                              provider.KindTruncated,
		`{"error":{"message":"x","code":429}}`: provider.KindRateLimited,
		`{"object":"error","message":"x","code":400}`: provider.KindRejected,
	} {
		answer, err := receiveFrom(t, "application/json", strings.NewReader(body), call)
		if kind != "" {
			if got := provider.AsError(err).Kind; err == nil || got != kind {
				t.Errorf("%s: %v, want %s", body, err, kind)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if wire, text, end := collect(answer); wire != body || text != "" || end != io.EOF {
			t.Errorf("wire %q, text %q, end %v", wire, text, end)
		}
		if m := answer.Meta(); m.UsageKnown != (body == good) || (m.UsageKnown && m.Usage != penstock.Usage{InputTokens: 5}) {
			t.Errorf("%s: meta %+v", body, m)
		}
	}
	call.Stream = true // which is nonsense here, but must not become stream_options
	if patched, err := patchBody(&preset.Preset{}, call); err != nil || strings.Contains(string(patched.body.Join()), "stream_options") {
		t.Errorf("sent %s, %v", patched.body.Join(), err)
	}
	if _, err := receiveFrom(t, "text/event-stream", strings.NewReader("data: {\"data\":[]}\n\n"), call); provider.AsError(err).Kind != provider.KindMalformed {
		t.Errorf("a stream of embeddings: %v", err)
	}
}

// The ends of a stream of responses, and what becomes of what was used until then.
func TestEndsOfResponses(t *testing.T) {
	t.Parallel()
	const code = `"error":{"code":%q,"message":"why"}`
	for event, want := range map[string]struct {
		kind provider.Kind // "" for a complete answer
		used bool
	}{
		typed("response.completed", `,"response":{`+responseUsage+`}`):                                                      {used: true},
		typed("response.incomplete", `,"response":{"incomplete_details":{"reason":"max_output_tokens"},`+responseUsage+`}`): {used: true},
		typed("response.completed", `,"response":{"usage":null}`):                                                           {},
		typed("response.failed", `,"response":{`+fmt.Sprintf(code, "server_error")+`,`+responseUsage+`}`):                   {provider.KindServer, true},
		typed("response.failed", `,"response":{`+fmt.Sprintf(code, "context_length_exceeded")+`}`):                          {kind: provider.KindContextTooLong},
		typed("response.failed", ""): {kind: provider.KindServer},
		typed("error", `,"code":"rate_limit_exceeded","message":"Slow down","param":null`): {kind: provider.KindRateLimited},
		"data: {\"error\":{\"message\":\"x\",\"code\":503}}\n\n":                           {kind: provider.KindOverloaded},
	} {
		call := provider.Call{Endpoint: penstock.EndpointResponses, UpstreamModel: "m", Body: []byte(`{"stream":true}`), Stream: true}
		stream := typed("response.created", `,"response":{}`) + event
		answer, err := receiveFrom(t, "text/event-stream", strings.NewReader(stream), call)
		if err != nil {
			t.Fatal(err)
		}
		_, _, end := collect(answer)
		if complete := end == io.EOF; complete != (want.kind == "") || (!complete && provider.AsError(end).Kind != want.kind) {
			t.Errorf("%s: ends with %v, want %q", event, end, want.kind)
		}
		if m := answer.Meta(); m.UsageKnown != want.used || (m.Usage.OutputTokens == 12) != want.used {
			t.Errorf("%s: usage %+v, known %v", event, m.Usage, m.UsageKnown)
		}
		if e := provider.AsError(end); want.kind != "" && e.Body != nil && !strings.HasPrefix(string(e.Body), `{"error":{`) {
			t.Errorf("%s: the error is shown as %s", event, e.Body)
		}
	}
}

// Whatever an upstream says, reading it neither panics nor counts nonsense.
func FuzzReaders(f *testing.F) {
	f.Add([]byte(plainTranscript.Answer[0].Wire), 200)
	f.Add([]byte(`{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":5}}`), 200)
	f.Add([]byte(rankTranscripts["cohere"].answer), 200)
	for _, d := range []providertest.Dialect{dialect, completionDialect(), responseDialect()} {
		f.Add([]byte(d.Plain.Answer[0].Wire), 200)
		for _, frame := range append(d.Stream.Answer, providertest.Frame{Wire: d.ErrorFrame.Wire}) {
			_, data, _ := strings.Cut(strings.TrimSpace(frame.Wire), "data: ")
			f.Add([]byte(data), 200)
		}
	}
	for _, failure := range failures {
		f.Add([]byte(failure.Body), failure.Status)
	}
	f.Fuzz(func(t *testing.T, data []byte, status int) {
		for _, r := range []wire.Reader{&completionReader{usageInjected: true}, &embeddingReader{}, &rankReader{}, &responseReader{}} {
			for _, read := range []func() (wire.Part, error){
				func() (wire.Part, error) { return r.Plain(data) },
				func() (wire.Part, error) { return r.Event(sse.Event{Data: data}) },
			} {
				if part, err := read(); err != nil && part != (wire.Part{}) {
					t.Errorf("%T understood %+v of what it refuses: %v", r, part, err)
				}
				if u, _ := r.Usage(); u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedInputTokens < 0 {
					t.Errorf("%T: usage %+v", r, u)
				}
			}
			r.Complaint(status, data).Kind.Policy() // panics for a kind that is none
		}
	})
}
