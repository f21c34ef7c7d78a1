package assemble

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"penstock"
)

// streams are what upstreams send, an event a line, and the plain answer that it adds up to.
var streams = []struct {
	name     string
	endpoint penstock.Endpoint
	events   []string
	whole    string
}{
	{"chat", penstock.EndpointChat, []string{
		`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}],"usage":null}`,
		`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}`,
		`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`,
		`[DONE]`,
	}, `{"id":"c1","object":"chat.completion","created":7,"model":"m","system_fingerprint":"fp",
		"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5},
		"choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},"logprobs":null,"finish_reason":"stop"}]}`},
	{"chat with tools and two choices", penstock.EndpointChat, []string{
		`{"id":"c2","choices":[{"index":1,"delta":{"role":"assistant","content":"B"}}]}`,
		`{"id":"c2","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"look","arguments":""}}]}}]}`,
		`{"id":"c2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}`,
		`{"id":"c2","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"t2","type":"function","function":{"name":"see","arguments":"{}"}}]}}]}`,
		`{"id":"c2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}},{"index":1,"delta":{"content":"C"}}]}`,
		`{"id":"c2","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"},{"index":1,"delta":{},"finish_reason":"length"}]}`,
	}, `{"id":"c2","object":"chat.completion","choices":[
		{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"tool_calls":[
			{"id":"t1","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}},
			{"id":"t2","type":"function","function":{"name":"see","arguments":"{}"}}]},"finish_reason":"tool_calls"},
		{"index":1,"message":{"role":"assistant","content":"BC","refusal":null},"finish_reason":"length"}]}`},
	{"completion", penstock.EndpointCompletions, []string{
		`{"id":"p","object":"text_completion","choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":null}]}`,
		`{"id":"p","object":"text_completion","choices":[{"index":0,"text":"b","logprobs":null,"finish_reason":"stop"}]}`,
		`[DONE]`,
	}, `{"id":"p","object":"text_completion","choices":[{"index":0,"text":"ab","logprobs":null,"finish_reason":"stop"}]}`},
	{"message", penstock.EndpointMessages, []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"ping"}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hel"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":1}"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	}, `{"id":"m","type":"message","role":"assistant","model":"c","content":[
		{"type":"thinking","thinking":"Hm","signature":"s"},{"type":"text","text":"Hello"},{"type":"tool_use","id":"t","name":"look","input":{"a":1}}],
		"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":9}}`},
	{"message cut inside a tool's input", penstock.EndpointMessages, []string{
		`{"type":"message_start","message":{"id":"m","content":[]}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`,
	}, `{"id":"m","content":[{"type":"tool_use","id":"t","input":"{\"a"}],"stop_reason":"max_tokens"}`},
	{"response", penstock.EndpointResponses, []string{
		`{"type":"response.created","response":{"id":"r","status":"in_progress"}}`,
		`{"type":"response.output_text.delta","delta":"Hi"}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`,
	}, `{"id":"r","status":"completed","output":[]}`},
}

func TestStreamsAddUp(t *testing.T) {
	t.Parallel()
	for _, tc := range streams {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a, ok := For(tc.endpoint)
			if !ok {
				t.Fatal("it is never streamed")
			}
			wire := ": a comment\n\n"
			for _, e := range tc.events {
				wire += "data: " + e + "\n\n"
			}
			if err := Events([]byte(wire), a.Add); err != nil {
				t.Fatal(err)
			}
			whole, err := a.Whole()
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(whole, &got); err != nil {
				t.Fatalf("%v in %s", err, whole)
			}
			if err := json.Unmarshal([]byte(tc.whole), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyStreams(t *testing.T) {
	t.Parallel()
	for _, tc := range streams {
		a, _ := For(tc.endpoint)
		if whole, err := a.Whole(); err == nil {
			t.Errorf("%s: nothing adds up to %s", tc.endpoint, whole)
		}
	}
	if _, ok := For(penstock.EndpointEmbeddings); ok {
		t.Error("embeddings are streamed")
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		endpoint   penstock.Endpoint
		body, want string
	}{
		{penstock.EndpointChat, `{"messages":[]}`, `{"stream":true,"stream_options":{"include_usage":true},"messages":[]}`},
		{penstock.EndpointChat, `{"messages":[],"stream":false,"stream_options":null}`, `{"messages":[],"stream":true,"stream_options":{"include_usage":true}}`},
		{penstock.EndpointCompletions, `{}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		{penstock.EndpointMessages, `{"messages":[]}`, `{"stream":true,"messages":[]}`},
		{penstock.EndpointResponses, `{"input":"Hi","stream":true}`, `{"input":"Hi","stream":true}`},
	} {
		got, err := Ask(tc.endpoint, []byte(tc.body))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s %s: %s, %v; want %s", tc.endpoint, tc.body, got, err, tc.want)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	for _, tc := range streams {
		f.Add(string(tc.endpoint), strings.Join(tc.events, "\n"))
	}
	f.Fuzz(func(t *testing.T, endpoint, events string) {
		a, ok := For(penstock.Endpoint(endpoint))
		if !ok {
			return
		}
		for line := range strings.SplitSeq(events, "\n") {
			if a.Add([]byte(line)) != nil {
				return
			}
		}
		_, _ = a.Whole() // whatever comes of it, nothing breaks
	})
}
