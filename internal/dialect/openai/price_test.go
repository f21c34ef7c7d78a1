package openai

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/dialecttest"
)

// TestBoundedPrices is the table of what has a bounded price, and of what is refused by which name and path.
func TestBoundedPrices(t *testing.T) {
	t.Parallel()
	part := func(p string) string { return `{"messages":[{"role":"user","content":[` + p + `]}]}` }
	input := func(p string) string { return `{"store":false,"input":[` + p + `]}` }
	dialecttest.Prices(t, []dialecttest.Price{
		{Read: ReadChat, Body: `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u","name":"n"}],"temperature":1,"max_tokens":5,"n":2,"stop":["x"],"seed":1,"stream":true,"stream_options":{"include_usage":true},"user":"u","metadata":{"a":"b"},"reasoning_effort":"low","logit_bias":{"1":2}}`},
		{Read: ReadChat, Body: `{"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"auto","response_format":{"type":"json_schema","json_schema":{"schema":{"type":"web_search"}}}}`},
		{Read: ReadChat, Body: `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]}`},
		{Read: ReadChat, Body: part(`{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:x","detail":"high"}},{"type":"input_audio","input_audio":{"data":"x","format":"wav"}}`)},
		{Read: ReadChat, Body: part(`{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"a.pdf"}}`), Documents: 1},
		{Read: ReadChat, Body: `{"service_tier":"default","options":{"num_predict":5,"temperature":1},"extra_body":{"thinking":{"type":"enabled","budget_tokens":9}},"unknown":null}`},
		{Read: ReadChat, Body: `{"service_tier":"priority"}`, Path: "service_tier", Name: "service_tier:priority"},
		{Read: ReadChat, Body: `{"web_search_options":{}}`, Path: "web_search_options", Name: "web_search", Uses: 1},
		{Read: ReadChat, Body: `{"modalities":["text","audio"]}`, Path: "modalities[1]", Name: "modalities:audio"},
		{Read: ReadChat, Body: `{"audio":{"voice":"alloy","format":"wav"}}`, Path: "audio", Name: "audio_output"},
		{Read: ReadChat, Body: `{"prediction":{"type":"content","content":"x"}}`, Path: "prediction", Name: "prediction"},
		{Read: ReadChat, Body: `{"plugins":[{"id":"web"}]}`, Path: "plugins", Name: "plugins"},
		{Read: ReadChat, Body: `{"provider":{"order":["x"]}}`, Path: "provider", Name: "provider"},
		{Read: ReadChat, Body: `{"chat_template":"{{x}}"}`, Path: "chat_template", Name: "chat_template"},
		{Read: ReadChat, Body: `{"extra_body":{"plugins":[]}}`, Path: "extra_body.plugins", Name: "plugins"},
		{Read: ReadChat, Body: `{"extra_body":{"google":{"tools":1}}}`, Path: "extra_body.google.tools", Name: "tools"},
		{Read: ReadChat, Body: `{"messages":[{"role":"assistant","audio":{"id":"a"}}]}`, Path: "messages[0].audio", Name: "audio"},
		{Read: ReadChat, Body: `{"messages":[{"role":"user","content":"x","images":["y"]}]}`, Path: "messages[0].images", Name: "images"},
		{Read: ReadChat, Body: part(`{"type":"file","file":{"file_id":"file-1"}}`), Path: "messages[0].content[0].file.file_id", Name: "file_id"},
		{Read: ReadChat, Body: part(`{"type":"video_url","video_url":{"url":"x"}}`), Path: "messages[0].content[0].type", Name: "video_url"},
		{Read: ReadChat, Body: part(`{"type":"input_audio","input_audio":{"url":"x"}}`), Path: "messages[0].content[0].input_audio.url", Name: "url"},
		{Read: ReadChat, Body: `{"tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search_preview_2025_03_11"}]}`, Path: "tools[1].type", Name: "web_search", UsesPath: "max_tool_calls"},
		{Read: ReadChat, Body: `{"tools":[{"function":{"name":"f"},"price":"high"}]}`, Path: "tools[0].price", Name: "price"},

		{Read: ReadCompletion, Body: `{"prompt":["a","b"],"max_tokens":5,"best_of":2,"echo":true,"suffix":"s","logprobs":3}`},
		{Read: ReadCompletion, Body: `{"prompt":"a","service_tier":"scale"}`, Path: "service_tier", Name: "service_tier:scale"},

		{Read: ReadEmbedding, Body: `{"input":["a","b"],"dimensions":3,"encoding_format":"float","user":"u"}`},
		{Read: ReadEmbedding, Body: `{"input":[{"type":"image_url","image_url":{"url":"data:x"}}]}`},
		{Read: ReadEmbedding, Body: `{"input":"x","modality":"image"}`, Path: "modality", Name: "modality:image"},

		{Read: ReadResponse, Body: `{"store":false,"input":"x","instructions":"y","max_output_tokens":5,"reasoning":{"effort":"low","summary":"auto"},"text":{"format":{"type":"text"}},"include":["reasoning.encrypted_content"],"truncation":"auto"}`},
		{Read: ReadResponse, Body: input(`{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:x"}]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"x"},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"x"}],"encrypted_content":"y"}`)},
		{Read: ReadResponse, Body: input(`{"role":"user","content":[{"type":"input_file","file_data":"data:x","filename":"a.pdf"},{"type":"input_file","file_url":"https://x.example/a.pdf"}]}`), Documents: 2},
		{Read: ReadResponse, Body: input(`{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}`), Path: "input[0].content[0].file_id", Name: "file_id"},
		{Read: ReadResponse, Body: input(`{"type":"item_reference","id":"rs_1"}`), Path: "input[0].type", Name: "item_reference"},
		{Read: ReadResponse, Body: input(`{"id":"rs_1"}`), Path: "input[0]", Name: "item_reference"},
		{Read: ReadResponse, Body: input(`{"type":"computer_call_output","call_id":"c","output":{}}`), Path: "input[0].type", Name: "computer_call_output"},
		{Read: ReadResponse, Body: `{"store":false,"prompt":{"id":"pmpt_1"}}`, Path: "prompt", Name: "prompt"},
		{Read: ReadResponse, Body: `{"store":false,"context_management":[{"type":"compaction"}]}`, Path: "context_management", Name: "context_management"},
		{Read: ReadResponse, Body: `{"store":false,"max_tool_calls":3,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`, Path: "tools[0].type", Name: "code_interpreter", Uses: 3, UsesPath: "max_tool_calls"},
		{Read: ReadResponse, Body: `{"store":false,"tools":[{"type":"mcp","server_label":"x","server_url":"https://x.example"}]}`, Path: "tools[0].type", Name: "mcp", UsesPath: "max_tool_calls"},
		{Read: ReadResponse, Body: `{"store":false,"tools":[{"type":"computer_use_preview"}]}`, Path: "tools[0].type", Name: "computer_use", UsesPath: "max_tool_calls"},
		{Read: ReadResponse, Body: `{"store":false,"tools":[{"type":"image_generation"}]}`, Path: "tools[0].type", Name: "image_generation", UsesPath: "max_tool_calls"},
	})
}

// TestUnknownMembersAreFeatures holds that no member passes that is not in the list of its endpoint, whatever it is called.
func TestUnknownMembersAreFeatures(t *testing.T) {
	t.Parallel()
	formats := []*dialect.Format{ChatFormat, CompletionFormat, EmbeddingFormat, ResponseFormat}
	read := map[penstock.Endpoint]dialecttest.Read{penstock.EndpointChat: ReadChat, penstock.EndpointCompletions: ReadCompletion, penstock.EndpointEmbeddings: ReadEmbedding, penstock.EndpointResponses: ReadResponse}
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom(formats).Draw(t, "format")
		name := rapid.StringMatching(`[a-z_]{1,20}`).Draw(t, "name")
		value := rapid.SampledFrom([]string{"1", "true", `"x"`, "[]", "{}", `{"a":[1]}`}).Draw(t, "value")
		inf, err := read[format.Endpoint]([]byte(fmt.Sprintf(`{"store":false,%q:%s}`, name, value)))
		if _, known := format.Priced[name]; known || err != nil || name == "store" {
			return // a name that is taken for another one is refused when it is read
		}
		priced := inf.Price()
		if len(priced.Features) == 0 || !strings.Contains(fmt.Sprint(priced.Features), name) {
			t.Fatalf("%s passes with %s: %+v", name, value, priced)
		}
	})
}
