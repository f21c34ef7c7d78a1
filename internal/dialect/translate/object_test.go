package translate

import (
	"fmt"
	"strings"
	"testing"
)

// An answer to a call for any JSON object is an object, or an error: where the upstream has no such format, the model was only told so.
func TestObjectsAreChecked(t *testing.T) {
	t.Parallel()
	const object, schema, response = `{"response_format":{"type":"json_object"}}`, `{"response_format":{"type":"json_schema"}}`, `{"text":{"format":{"type":"json_object"}}}`
	message := func(text, stop string) string {
		return fmt.Sprintf(`{"type":"message","id":"m","content":[{"type":"text","text":%q}],"stop_reason":%q,"usage":{"input_tokens":1,"output_tokens":1}}`, text, stop)
	}
	const call = `{"type":"message","id":"m","content":[{"type":"tool_use","id":"t","name":"look","input":{}}],"stop_reason":"tool_use"}`
	for _, tt := range []struct {
		name   string
		tr     *translation
		body   string
		answer string
		ok     bool
	}{
		{"an object", chatToMessages, object, message(`{"a":1}`, "end_turn"), true},
		{"white space around it", chatToMessages, object, message("\n {}\n", "stop_sequence"), true},
		{"words around it", chatToMessages, object, message(`Here: {"a":1}`, "end_turn"), false},
		{"a list", chatToMessages, object, message(`[]`, "end_turn"), false},
		{"nothing", chatToMessages, object, message(``, "end_turn"), false},
		{"cut short", chatToMessages, object, message(`{"a":`, "max_tokens"), true},
		{"refused", chatToMessages, object, message(`No.`, "refusal"), true},
		{"a call", chatToMessages, object, call, true},
		{"a schema is the upstream's", chatToMessages, schema, message(`no`, "end_turn"), true},
		{"nobody asked", chatToMessages, `{}`, message(`no`, "end_turn"), true},
		{"a response", responsesToMessages, response, message(`no`, "end_turn"), false},
		{"of a response", responsesToMessages, response, message(`{}`, "end_turn"), true},
		{"a member of chats in a response", responsesToMessages, object, message(`no`, "end_turn"), true},
		{"a member of chats beside that of responses", responsesToMessages, `{"response_format":{"type":"text"},` + response[1:], message(`no`, "end_turn"), false},
		{"a member of chats in a response, Bedrock", responsesToConverse, object, `{"output":{"message":{"role":"assistant","content":[{"text":"no"}]}},"stopReason":"end_turn"}`, true},
		{"a member of responses in a chat", chatToMessages, response, message(`no`, "end_turn"), true},
		{"Bedrock", chatToConverse, object, `{"output":{"message":{"role":"assistant","content":[{"text":"no"}]}},"stopReason":"end_turn"}`, false},
		{"Gemini has the format", chatToGemini, object, `{"candidates":[{"content":{"parts":[{"text":"no"}]},"finishReason":"STOP","index":0}]}`, true},
	} {
		for _, stream := range []bool{false, true} {
			a := asked
			a.Body, a.Stream = []byte(tt.body), stream
			wire, _, end := read(tt.tr.Answer(upstream([]byte(tt.answer), typeJSON), a))
			if ok := end.Error() == "EOF"; ok != tt.ok {
				t.Errorf("%s, streamed %v: %v", tt.name, stream, end)
			}
			if member := tt.tr.object; !tt.ok && !strings.Contains(end.Error(), member([]byte(tt.body))+" asks") {
				t.Errorf("%s: the error does not name the member: %v", tt.name, end)
			}
			if !tt.ok && strings.Contains(wire, "[DONE]") {
				t.Errorf("%s: a stream that failed has its end: %s", tt.name, wire)
			}
		}
	}
}
