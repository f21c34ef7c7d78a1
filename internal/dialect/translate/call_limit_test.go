package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Upstreams that cannot limit the model to one tool call may answer several. A caller that allows one gets the first, plain and streamed.
func TestFirstCallIsKept(t *testing.T) {
	t.Parallel()
	const (
		converse = `{"output":{"message":{"role":"assistant","content":[{"text":"See."},` +
			`{"toolUse":{"toolUseId":"t1","name":"look","input":{"city":"Bern"}}},{"toolUse":{"toolUseId":"t2","name":"look","input":{"city":"Rome"}}}]}},` +
			`"stopReason":"tool_use","usage":{"inputTokens":9,"outputTokens":7}}`
		converseEvents = "data: {\"messageStart\":{\"role\":\"assistant\"}}\n\n" +
			"data: {\"contentBlockStart\":{\"contentBlockIndex\":0,\"start\":{\"toolUse\":{\"toolUseId\":\"t1\",\"name\":\"look\"}}}}\n\n" +
			"data: {\"contentBlockDelta\":{\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":\"{\\\"city\\\":\\\"Bern\\\"}\"}}}}\n\n" +
			"data: {\"contentBlockStop\":{\"contentBlockIndex\":0}}\n\n" +
			"data: {\"contentBlockStart\":{\"contentBlockIndex\":1,\"start\":{\"toolUse\":{\"toolUseId\":\"t2\",\"name\":\"look\"}}}}\n\n" +
			"data: {\"contentBlockDelta\":{\"contentBlockIndex\":1,\"delta\":{\"toolUse\":{\"input\":\"{\\\"city\\\":\\\"Rome\\\"}\"}}}}\n\n" +
			"data: {\"contentBlockStop\":{\"contentBlockIndex\":1}}\n\n" +
			"data: {\"messageStop\":{\"stopReason\":\"tool_use\"}}\n\n"
		gemini = `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"t1","name":"look","args":{"city":"Bern"}},"thoughtSignature":"c2ln"},` +
			`{"functionCall":{"id":"t2","name":"look","args":{"city":"Rome"}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"responseId":"r"}`

		chatOne, messageOne = `{"parallel_tool_calls":false}`, `{"tool_choice":{"type":"tool","name":"look","disable_parallel_tool_use":true}}`
	)
	for _, tt := range []struct{ direction, answer, contentType, one, several string }{
		{"chat_to_converse", converse, typeJSON, chatOne, `{"parallel_tool_calls":true}`},
		{"messages_to_converse", converse, typeJSON, messageOne, `{"tool_choice":{"type":"tool","name":"look"}}`},
		{"responses_to_converse", converse, typeJSON, chatOne, `{}`},
		{"chat_to_converse", converseEvents, typeStream, chatOne, `{"tool_choice":"auto"}`},
		{"messages_to_converse", converseEvents, typeStream, messageOne, `{}`},
		{"responses_to_converse", converseEvents, typeStream, chatOne, `{}`},
		{"chat_to_gemini", gemini, typeJSON, chatOne, `{"parallel_tool_calls":null}`},
		{"messages_to_gemini", gemini, typeJSON, messageOne, `{"parallel_tool_calls":false}`}, // a member of the other dialect
		{"responses_to_gemini", gemini, typeJSON, chatOne, `{}`},
		{"messages_to_gemini", "data: " + gemini + "\n\n", typeStream, messageOne, `{}`},
	} {
		for _, stream := range []bool{false, true} {
			call := func(body string) (wire string, dropped []string) {
				a := asked
				a.Stream, a.Body = stream, []byte(body)
				answered := directions[tt.direction].Answer(upstream([]byte(tt.answer), tt.contentType), a)
				wire, _, _ = read(answered)
				return wire, answered.(*answer).Dropped()
			}
			one, dropped := call(tt.one)
			if !strings.Contains(one, "Bern") || strings.Contains(one, "t2") || strings.Contains(one, "Rome") {
				t.Errorf("%s, stream %v: of two calls, the caller gets %s", tt.direction, stream, one)
			}
			if diff := cmp.Diff([]string{"answer.tool_calls"}, dropped); diff != "" {
				t.Errorf("%s, stream %v (-want +got):\n%s", tt.direction, stream, diff)
			}
			if several, dropped := call(tt.several); !strings.Contains(several, "Bern") || !strings.Contains(several, "Rome") || len(dropped) > 0 {
				t.Errorf("%s, stream %v: without a limit, the caller gets %s, dropped %v", tt.direction, stream, several, dropped)
			}
		}
	}
}
