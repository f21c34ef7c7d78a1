package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/rest"
	"penstock/internal/token"
)

// streaming are the endpoints that stream, each with a body that asks for it.
var streaming = map[penstock.Endpoint]string{
	penstock.EndpointChat:        `{"model":"fast","stream":true,"messages":[]}`,
	penstock.EndpointCompletions: `{"model":"fast","stream":true,"prompt":"Hi"}`,
	penstock.EndpointResponses:   `{"model":"fast","stream":true,"store":false,"input":"Hi"}`,
	penstock.EndpointMessages:    `{"model":"fast","stream":true,"max_tokens":9,"messages":[]}`,
}

var streamMeta = provider.Meta{StatusCode: 200, ContentType: "text/event-stream", UsageKnown: true, Usage: penstock.Usage{InputTokens: 5, OutputTokens: 3}}

func TestInferenceEndpointsAreTheEndpoints(t *testing.T) {
	t.Parallel()
	for _, e := range penstock.Endpoints {
		if d := inferenceEndpoints[e]; d.endpoint != e || d.read == nil || d.question == nil {
			t.Errorf("%s has no endpoint that a job can use: %+v", e, d)
		}
	}
	if len(inferenceEndpoints) != len(penstock.Endpoints)+1 {
		t.Errorf("there are %d inference endpoints for %d endpoints and the count of tokens", len(inferenceEndpoints), len(penstock.Endpoints))
	}
}

// Bodies and answers pass through byte by byte, whatever they contain.
func TestBytesPassThrough(t *testing.T) {
	t.Parallel()
	for endpoint, body := range map[penstock.Endpoint]string{
		penstock.EndpointChat:        ` {"model" : "fast", "messages":[],"x_unknown":[1, 2.50,1e3]}`,
		penstock.EndpointCompletions: `{"model":"fast","prompt":["a","b"],"x_unknown":{}}`,
		penstock.EndpointEmbeddings:  `{"model":"fast","input":["a"],"dimensions":3}`,
		penstock.EndpointResponses:   `{"model":"fast","input":"Hi","store":false,"x_unknown":1}`,
		penstock.EndpointMessages:    `{"model":"fast","max_tokens":7,"messages":[],"thinking":{"type":"enabled"}}`,
	} {
		r := newRig(t, endpoint)
		var sent provider.Call
		r.upstream.reply = func(_ context.Context, call provider.Call) (provider.Answer, error) {
			sent, sent.Body = call, bytes.Clone(call.Body) // its memory is used for other calls
			return &frames{wires: []string{"{\"odd\" :\t1e2}\n"}, meta: provider.Meta{StatusCode: 200, ContentType: "application/json; charset=utf-8",
				UsageKnown: true, Usage: penstock.Usage{InputTokens: 5}}}, nil
		}
		a := r.post(string(endpoint), body)
		if a.status != 200 || a.body != "{\"odd\" :\t1e2}\n" || a.header.Get("x-penstock-target") != "main" || a.header.Get("Content-Type") != "application/json; charset=utf-8" ||
			a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %+v", endpoint, a)
		}
		if string(sent.Body) != body || sent.Endpoint != endpoint || sent.UpstreamModel != "upstream-1" || sent.Stream {
			t.Errorf("%s: the upstream was sent %+v %s", endpoint, sent, sent.Body)
		}
		if got := r.recorded(a.header); got.Endpoint != endpoint || got.Model != "fast" || got.Usage.InputTokens != 5 || got.Cost != 5000 {
			t.Errorf("%s: recorded as %+v", endpoint, got)
		}
	}
}

func TestMessagesHeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointMessages)
	var sent http.Header
	r.upstream.reply = func(_ context.Context, call provider.Call) (provider.Answer, error) {
		sent = call.Header
		return &frames{wires: []string{"{}"}, meta: provider.Meta{StatusCode: 200, ContentType: rest.TypeJSON}}, nil
	}
	a := r.post("/v1/messages", streaming[penstock.EndpointMessages], "x-api-key", "", "Authorization", "Bearer "+testKey,
		"anthropic-version", "2023-06-01", "anthropic-beta", "one,two", "x-other", "stays here")
	if a.status != 200 || a.header.Get("request-id") != a.header.Get("x-request-id") || a.header.Get("request-id") == "" {
		t.Errorf("answer %+v", a)
	}
	if sent.Get("anthropic-version") != "2023-06-01" || sent.Get("anthropic-beta") != "one,two" || sent.Get("x-other") != "" || sent.Get("Authorization") != "" {
		t.Errorf("the upstream was sent %v", sent)
	}
}

// Each event reaches the caller while the next one is still to come, pings included.
func TestStreamsAreFlushedEventByEvent(t *testing.T) {
	t.Parallel()
	events := []string{"event: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n", ": comment\n\n", "data: {\"x\":1}\n\n"}
	for endpoint, body := range streaming {
		r := newRig(t, endpoint)
		next := make(chan struct{}, 1)
		r.upstream.reply = func(ctx context.Context, _ provider.Call) (provider.Answer, error) {
			return &paced{frames{ctx: ctx, wires: events, meta: streamMeta}, next}, nil
		}
		next <- struct{}{}
		resp, err := http.DefaultClient.Do(r.request("POST", string(endpoint), body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for _, want := range events {
			got := make([]byte, len(want))
			if _, err := readFull(resp, got); err != nil || string(got) != want {
				t.Fatalf("%s: %q, %v; want %q", endpoint, got, err, want)
			}
			next <- struct{}{}
		}
	}
}

// paced sends each frame when the test says so.
type paced struct {
	frames
	next chan struct{}
}

func (p *paced) Next() (provider.Chunk, error) {
	select {
	case <-p.next:
	case <-p.ctx.Done():
		return provider.Chunk{}, p.ctx.Err()
	}
	return p.frames.Next()
}

func readFull(resp *http.Response, into []byte) (int, error) {
	for n := 0; n < len(into); {
		m, err := resp.Body.Read(into[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	return len(into), nil
}

// A stream that breaks off ends with an error that the SDK of its dialect understands.
func TestStreamsThatBreakOff(t *testing.T) {
	t.Parallel()
	for endpoint, body := range streaming {
		r := newRig(t, endpoint)
		const first = `data: {"sequence_number":0,"text":"\"sequence_number\":"}` + "\n\n"
		r.answers(frames{wires: []string{first}, meta: streamMeta, err: &provider.Error{Kind: provider.KindTruncated, Message: "cut"}})
		a := r.post(string(endpoint), body)
		id := a.header.Get("x-request-id")
		inner := `{"code":"upstream_error","type":"api_error","param":null,"retryable":true,"message":"cut","retry_after_ms":null,"request_id":"` + id + `"}`
		want := first + map[penstock.Endpoint]string{
			penstock.EndpointChat:        `data: {"error":` + inner + "}\n\n",
			penstock.EndpointCompletions: `data: {"error":` + inner + "}\n\n",
			penstock.EndpointResponses:   "event: error\n" + `data: {"type":"error","sequence_number":1,"code":"upstream_error","message":"cut","param":null,"error":` + inner + "}\n\n",
			penstock.EndpointMessages:    "event: error\n" + `data: {"type":"error","error":` + inner + `,"request_id":"` + id + "\"}\n\n",
		}[endpoint]
		if a.status != 200 || a.body != want {
			t.Errorf("%s: %d\n%s\nwant\n%s", endpoint, a.status, a.body, want)
		}
		if got := r.recorded(a.header); got.Status != penstock.StatusFailed || got.Usage != streamMeta.Usage {
			t.Errorf("%s: recorded as %+v", endpoint, got)
		}
	}
}

// A caller that closes the connection ends the upstream call, and the usage so far is recorded.
func TestCallersWhoLeave(t *testing.T) {
	t.Parallel()
	for endpoint, body := range streaming {
		r := newRig(t, endpoint)
		gone := make(chan struct{})
		r.upstream.reply = func(ctx context.Context, _ provider.Call) (provider.Answer, error) {
			context.AfterFunc(ctx, func() { close(gone) })
			return &frames{ctx: ctx, wires: []string{"data: {}\n\n"}, hangs: true, meta: streamMeta}, nil
		}
		req := r.request("POST", string(endpoint), body)
		ctx, leave := context.WithCancel(t.Context())
		resp, err := http.DefaultClient.Do(req.WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "data: {}\n" {
			t.Fatalf("%s begins with %q, %v", endpoint, line, err)
		}
		leave()
		resp.Body.Close()
		select {
		case <-gone:
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: the upstream is still being read", endpoint)
		}
		if got := r.recorded(resp.Header); got.Status != penstock.StatusCancelled || got.Usage != streamMeta.Usage || got.StatusCode != rest.StatusClientClosed {
			t.Errorf("%s: recorded as %+v", endpoint, got)
		}
	}
}

func TestErrorsInAnthropicsDialect(t *testing.T) {
	t.Parallel()
	good := `{"model":"fast","max_tokens":9,"messages":[]}`
	theirs := `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one"},"request_id":"req_up"}`
	for _, tt := range []struct {
		name, path, body, key string
		fails                 error
		status                int
		kind                  string
	}{
		{"unknown key", "/v1/messages", good, "psk_unknown", nil, 401, "authentication_error"},
		{"no key", "/v1/messages/count_tokens", good, "", nil, 401, "authentication_error"},
		{"unknown model", "/v1/messages", `{"model":"nobody"}`, testKey, nil, 404, "not_found_error"},
		{"not JSON", "/v1/messages", `{`, testKey, nil, 400, "invalid_request_error"},
		{"wrong type", "/v1/messages", `{"model":"fast","max_tokens":"7"}`, testKey, nil, 400, "invalid_request_error"},
		{"nothing to count", "/v1/messages/count_tokens", `{"model":"fast"}`, testKey, nil, 400, "invalid_request_error"},
		{"no such path", "/v1/messages/drafts", `{}`, testKey, nil, 404, "not_found_error"},
		{"upstream is busy", "/v1/messages", good, testKey, &provider.Error{Kind: provider.KindOverloaded}, 503, "overloaded_error"},
		{"upstream limits us", "/v1/messages", good, testKey, &provider.Error{Kind: provider.KindRateLimited}, 503, "overloaded_error"},
		{"upstream breaks", "/v1/messages", good, testKey, &provider.Error{Kind: provider.KindServer, Message: "It broke."}, 502, "api_error"},
		{"upstream is slow", "/v1/messages", good, testKey, &provider.Error{Kind: provider.KindTimeout, Message: "Too slow."}, 504, "timeout_error"},
		{"upstream refuses", "/v1/messages", good, testKey, &provider.Error{Kind: provider.KindRejected, Body: []byte(theirs)}, 400, "invalid_request_error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, penstock.EndpointMessages)
			r.upstream.reply = func(context.Context, provider.Call) (provider.Answer, error) { return nil, tt.fails }
			a := r.post(tt.path, tt.body, "x-api-key", tt.key, "anthropic-version", "2023-06-01")
			var got struct {
				Type      string
				RequestID string `json:"request_id"`
				Error     struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(a.body), &got); err != nil {
				t.Fatalf("%v in %s", err, a.body)
			}
			if a.status != tt.status || got.Type != "error" || got.Error.Type != tt.kind || got.Error.Message == "" {
				t.Errorf("%d %s; want %d %s", a.status, a.body, tt.status, tt.kind)
			}
			if own := tt.name != "upstream refuses"; own && got.RequestID != a.header.Get("request-id") || !own && a.body != theirs {
				t.Errorf("request id %q in %s", a.header.Get("request-id"), a.body)
			}
			if retried := a.header.Get("x-should-retry"); (retried == "true") != (tt.status >= 500) {
				t.Errorf("x-should-retry is %q with %d", retried, a.status)
			}
		})
	}
}

// A call with a final failure says so to SDKs, whatever they make of the status.
func TestCallsInVainAreNotRetried(t *testing.T) {
	t.Parallel()
	for kind, want := range map[provider.Kind]string{
		provider.KindFinal: "false", provider.KindAuth: "false", provider.KindSpendCap: "false", provider.KindModelNotFound: "false",
		provider.KindContextTooLong: "false", provider.KindServer: "true", provider.KindOverloaded: "true", provider.KindRateLimited: "true",
	} {
		for _, stream := range []bool{false, true} {
			r := newRig(t, penstock.EndpointChat)
			r.upstream.reply = func(context.Context, provider.Call) (provider.Answer, error) {
				return nil, &provider.Error{Kind: kind, Message: "No."}
			}
			a := r.post("/v1/chat/completions", fmt.Sprintf(`{"model":"fast","stream":%t,"messages":[]}`, stream))
			if got := a.header.Get("x-should-retry"); got != want || !strings.Contains(a.body, `"retryable":`+want) {
				t.Errorf("%s, stream %t: x-should-retry %q with %d %s; want %s", kind, stream, got, a.status, a.body, want)
			}
		}
	}
}

func TestEndpointsThatNoTargetServes(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	a := r.post("/v1/embeddings", `{"model":"fast","input":"Hi"}`)
	if a.status != 400 || !strings.Contains(a.body, `No target of model \"fast\" serves /v1/embeddings`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	body := `{"model":"fast","messages":[{"role":"user","content":"How long is this?"}]}`
	t.Run("counted", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, penstock.EndpointMessages, penstock.EndpointCountTokens)
		r.answers(frames{wires: []string{`{"input_tokens":7}`}, meta: provider.Meta{StatusCode: 200, ContentType: rest.TypeJSON}})
		a := r.post("/v1/messages/count_tokens", body)
		if a.status != 200 || a.body != `{"input_tokens":7}` || a.header.Get(headerEstimate) != "" {
			t.Errorf("%+v", a)
		}
		if got := r.recorded(a.header); got.Forfeit != 0 || got.Cost != 0 || got.Endpoint != penstock.EndpointCountTokens || len(got.Attempts) != 1 {
			t.Errorf("recorded as %+v; it costs nothing", got)
		}
	})
	t.Run("not counted by the server", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, penstock.EndpointMessages, penstock.EndpointCountTokens)
		r.upstream.reply = func(context.Context, provider.Call) (provider.Answer, error) {
			return nil, &provider.Error{Kind: provider.KindRejected, StatusCode: 404, Message: "no such path"}
		}
		a := r.post("/v1/messages/count_tokens", body)
		if a.status != 200 || a.header.Get(headerEstimate) != "true" {
			t.Errorf("%+v", a)
		}
	})
	t.Run("estimated", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, penstock.EndpointChat)
		a := r.post("/v1/messages/count_tokens", body)
		if want := fmt.Sprintf(`{"input_tokens":%d}`, new(token.Counter).Body([]byte(body))); a.status != 200 || strings.TrimSpace(a.body) != want || a.header.Get(headerEstimate) != "true" {
			t.Errorf("%+v, want %s", a, want)
		}
		if got := r.recorded(a.header); got.Status != penstock.StatusSucceeded || len(got.Attempts) != 0 || got.StatusCode != 200 {
			t.Errorf("recorded as %+v", got)
		}
	})
}

func TestModelsInBothDialects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fast := `{"type":"model","id":"fast","display_name":"fast","created_at":"1970-01-01T00:00:00Z"}`
	smart := strings.ReplaceAll(fast, "fast", "smart")
	version := []string{"anthropic-version", "2023-06-01"}
	for _, tt := range []struct {
		path    string
		headers []string
		status  int
		want    string
	}{
		{"/v1/models/fast", nil, 200, `{"id":"fast","object":"model","created":0,"owned_by":"openai"}`},
		{"/v1/models", nil, 200, `{"object":"list","data":[{"id":"fast","object":"model","created":0,"owned_by":"openai"},{"id":"smart","object":"model","created":0,"owned_by":"openai"}]}`},
		{"/v1/models/fast", version, 200, fast},
		{"/v1/models", version, 200, `{"data":[` + fast + "," + smart + `],"has_more":false,"first_id":"fast","last_id":"smart"}`},
		{"/v1/models?limit=1", version, 200, `{"data":[` + fast + `],"has_more":true,"first_id":"fast","last_id":"fast"}`},
		{"/v1/models?after_id=fast", version, 200, `{"data":[` + smart + `],"has_more":false,"first_id":"smart","last_id":"smart"}`},
		{"/v1/models?after_id=fast", nil, 400, `"param":"after_id"`},
		{"/v1/models?before_id=fast", nil, 400, `"param":"before_id"`},
		{"/v1/models/nobody", version, 404, `"type":"not_found_error"`},
		{"/v1/models?limit=0", version, 400, `"type":"invalid_request_error"`},
		{"/v1/models/nobody", nil, 404, `{"error":{"code":"model_not_found"`},
	} {
		a := r.get(tt.path, tt.headers...)
		if a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s %v: %d %s, want %s", tt.path, tt.headers, a.status, a.body, tt.want)
		}
	}
}

// A model is found by every name that a call may use.
func TestModelsAreFoundAsCallsFindThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	r.server.Config.Current().FallbackModel = "fast"
	r.answers(frames{wires: []string{`{}`}, meta: provider.Meta{StatusCode: 200}})
	for name, status := range map[string]int{"fast": 200, "gpt-4.1": 200, strings.Repeat("x", 300): 400} {
		called := r.post("/v1/chat/completions", `{"model":"`+name+`","messages":[{"role":"user","content":"Hi"}]}`)
		found := r.get("/v1/models/" + name)
		if found.status != status || called.status != status || status == 200 && !strings.Contains(found.body, `"id":"`+name+`"`) {
			t.Errorf("%.20s: a call gets %d, the model is answered %d %s", name, called.status, found.status, found.body)
		}
	}
}

func TestKeyedCallsOfOtherEndpoints(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointMessages)
	body := `{"model":"fast","max_tokens":9,"messages":[]}`
	a := r.post("/v1/messages", body, "Idempotency-Key", "k", "anthropic-beta", "one")
	if a.status != 400 || !strings.Contains(a.body, "does not store the header") || len(r.store.got) != 0 {
		t.Errorf("with a beta: %d %s", a.status, a.body)
	}
	a = r.post("/v1/messages", streaming[penstock.EndpointMessages], "Idempotency-Key", "k")
	if a.status != 400 || !strings.Contains(a.body, "A streamed call cannot have") {
		t.Errorf("streamed: %d %s", a.status, a.body)
	}
}

// A job accepts the bodies of every endpoint, and a plain prompt for each.
func TestJobsOfEveryEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for endpoint, want := range map[penstock.Endpoint]string{
		penstock.EndpointChat:        `{"messages":[{"role":"user","content":"Hi"}]}`,
		penstock.EndpointCompletions: `{"prompt":"Hi"}`,
		penstock.EndpointEmbeddings:  `{"input":"Hi"}`,
		penstock.EndpointResponses:   `{"store":false,"input":"Hi"}`,
		penstock.EndpointMessages:    `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":4096}`,
	} {
		a := r.post("/v1/jobs", fmt.Sprintf(`{"model":"fast","endpoint":%q,"input":"Hi"}`, endpoint))
		if a.status != http.StatusAccepted {
			t.Errorf("%s: %d %s", endpoint, a.status, a.body)
			continue
		}
		sub := r.store.got[len(r.store.got)-1]
		if sub.Job.Endpoint != endpoint || string(sub.Items[0].Body) != want {
			t.Errorf("%s: submitted %s %s, want %s", endpoint, sub.Job.Endpoint, sub.Items[0].Body, want)
		}
		if silent := sub.Items[0].EstimateTokens == int64(len(want)); silent != (endpoint == penstock.EndpointEmbeddings) {
			t.Errorf("%s: estimated at %d tokens", endpoint, sub.Items[0].EstimateTokens)
		}
	}
	for body, message := range map[string]string{
		`{"model":"fast","endpoint":"/v1/messages/count_tokens","input":"Hi"}`:                  `is not served; use one of /v1/chat/completions, `,
		`{"model":"fast","endpoint":"/v1/messages","input":{"max_tokens":"7"}}`:                 `input.max_tokens must be a whole number`,
		`{"model":"fast","endpoint":"/v1/responses","input":{"background":true}}`:               `input.background is for POST /v1/responses`,
		`{"model":"fast","endpoint":"/v1/embeddings","inputs":[{"body":{"input":"a","n":[]}}]}`: "",
		`{"model":"fast","endpoint":"/v1/rerank","input":{"query":"q","documents":["a"]}}`:      "",
		`{"model":"fast","endpoint":"/v1/rerank","input":{"query":"q","documents":["a",7]}}`:    `input.documents[1] must be a string`,
		`{"model":"fast","endpoint":"/v1/rerank","inputs":["Hi"]}`:                              `takes no prompt; send a body with query and documents`,
	} {
		a := r.post("/v1/jobs", body)
		if message == "" && a.status != http.StatusAccepted || message != "" && (a.status != 400 || !strings.Contains(a.body, message)) {
			t.Errorf("%s: %d %s, want %q", body, a.status, a.body, message)
		}
	}
}
