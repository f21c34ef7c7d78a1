package promptbody_test

import (
	"encoding/json"
	"testing"

	"penstock"
	"penstock/internal/dialect/catalog"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptbody"
)

// rendered has every kind of message and config.
var rendered = content.Rendered{
	Messages: []content.Message{
		{Role: "system", Content: content.Body{Text: "Be <brief> & kind."}},
		{Role: "user", Content: content.Body{Parts: []content.Part{{Type: "text", Text: "What is it?"}, {Type: "image_url", ImageURL: &content.ImageURL{URL: "https://x.example/a.png", Detail: "low"}}}}},
		{Role: "assistant", ToolCalls: []content.ToolCall{{ID: "c1", Type: "function", Function: content.Function{Name: "look", Arguments: `{"at":1}`}}}},
		{Role: "tool", ToolCallID: "c1", Content: content.Body{Text: "a weir"}},
		{Role: "user", Content: content.Body{Text: "And?"}},
	},
	Config: content.Config{
		"model": json.RawMessage(`"fast"`), "temperature": json.RawMessage(`0.2`), "max_completion_tokens": json.RawMessage(`50`),
		"tools":           json.RawMessage(`[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]`),
		"tool_choice":     json.RawMessage(`{"type":"function","function":{"name":"look"}}`),
		"response_format": json.RawMessage(`{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`),
	},
}

func TestBodies(t *testing.T) {
	t.Parallel()
	chat, err := promptbody.Chat(rendered)
	if err != nil {
		t.Fatal(err)
	}
	responses, err := promptbody.Responses(rendered)
	if err != nil {
		t.Fatal(err)
	}
	plain := rendered
	plain.Config = content.Config{"model": rendered.Config["model"], "tools": rendered.Config["tools"], "seed": json.RawMessage(`7`)}
	message, dropped, err := promptbody.Messages(plain, 99)
	if err != nil {
		t.Fatal(err)
	}
	if len(dropped) == 0 {
		t.Error("no dropped member is named; messages have no seed")
	}
	for name, tt := range map[string]struct {
		endpoint  penstock.Endpoint
		got, want string
	}{
		"chat": {penstock.EndpointChat, string(chat), `{"max_completion_tokens":50,"messages":[{"role":"system","content":"Be <brief> & kind."},` +
			`{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"https://x.example/a.png","detail":"low"}}]},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},` +
			`{"role":"tool","content":"a weir","tool_call_id":"c1"},{"role":"user","content":"And?"}],"model":"fast",` +
			`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}},"temperature":0.2,` +
			`"tool_choice":{"type":"function","function":{"name":"look"}},"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]}`},
		"responses": {penstock.EndpointResponses, string(responses), `{"input":[{"type":"message","role":"system","content":[{"type":"input_text","text":"Be <brief> & kind."}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"https://x.example/a.png","detail":"low"}]},` +
			`{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"at\":1}"},{"type":"function_call_output","call_id":"c1","output":"a weir"},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"And?"}]}],"max_output_tokens":50,"model":"fast","temperature":0.2,` +
			`"text":{"format":{"name":"a","schema":{"type":"object"},"type":"json_schema"}},"tool_choice":{"name":"look","type":"function"},` +
			`"tools":[{"name":"look","parameters":{"type":"object"},"type":"function"}]}`},
		"messages": {penstock.EndpointMessages, string(message), `{"model":"fast","system":[{"type":"text","text":"Be <brief> & kind."}],"messages":[` +
			`{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{"at":1}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"a weir"}]},{"type":"text","text":"And?"}]}],` +
			`"max_tokens":99,"tools":[{"name":"look","input_schema":{"type":"object"}}]}`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, tt.got, tt.want)
		}
		entry, _ := catalog.Of(tt.endpoint)
		if inf, err := entry.Read([]byte(tt.got)); err != nil || inf.Model != "fast" {
			t.Errorf("%s: the endpoint reads %+v, %v", name, inf.Model, err)
		}
	}
}
