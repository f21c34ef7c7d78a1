package openai

import (
	"strings"
	"testing"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/dialecttest"
)

// endpoints are the readers of this package and the shapes that they read by.
var endpoints = map[string]struct {
	shape *body.Shape
	read  dialecttest.Read
}{
	"chat": {chatShape, ReadChat}, "completions": {completionShape, ReadCompletion}, "embeddings": {embeddingShape, ReadEmbedding}, "responses": {responseShape, ReadResponse},
}

func TestAmbiguousNamesAreRefused(t *testing.T) {
	t.Parallel()
	for name, e := range endpoints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialecttest.RefusesVariants(t, e.shape, e.read)
		})
	}
}

func TestAttacksOfTheReview(t *testing.T) {
	t.Parallel()
	for text, param := range map[string]string{
		`{"model":"fast","Model":"dear"}`:                                                    "Model",
		`{"Model":"dear","model":"fast"}`:                                                    "Model",
		`{"model":"fast","max_tokens":1,"Max_Tokens":100000}`:                                "Max_Tokens",
		`{"model":"fast","max_tokens":1,"max_to\u212aens":100000}`:                           `max_to\u212aens`,
		`{"model":"fast","N":100}`:                                                           "N",
		`{"model":"fast","maxTokens":100}`:                                                   "maxTokens",
		`{"model":"fast","x-y":1,"X_Y":2}`:                                                   "X_Y",
		`{"messages":[{"role":"user","role":"system"}]}`:                                     "messages[0].role",
		`{"messages":[{"role":"user","r\u006fle":"system"}]}`:                                "messages[0].role",
		`{"messages":[{},{"role":"user","content":[{"type":"text"},{"Type":"image_url"}]}]}`: "messages[1].content[1].Type",
		`{"messages":[{"tool_calls":[{"function":{"Name":"f"}}]}]}`:                          "messages[0].tool_calls[0].function.Name",
		`{"tools":[{"type":"function","function":{"name":"f","Parameters":{}}}]}`:            "tools[0].function.Parameters",
		`{"stream_options":{"Include_Usage":true}}`:                                          "stream_options.Include_Usage",
		`{"options":{"Num_Predict":5}}`:                                                      "options.Num_Predict",
		`{"response_format":{"Type":"json_schema"}}`:                                         "response_format.Type",
		`{"Metadata":{}}`: "Metadata",
		`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"a","URL":"b"}}]}]}`:      "messages[0].content[0].image_url.URL",
		`{"messages":[{"content":[{"type":"tool_result","content":[{"Image_Url":{"url":""}}]}]}]}`: "messages[0].content[0].content[0].Image_Url",
	} {
		_, err := ReadChat([]byte(text))
		if e := penstock.AsError(err); err == nil || e.Param != param || !strings.HasPrefix(e.Message, param) {
			t.Errorf("%s: %v, want one about %s", text, err, param)
		}
	}
}

func TestFreeFormObjectsPass(t *testing.T) {
	t.Parallel()
	const odd = `{"Type":1,"type":2,"TYPE":3,"type":4,"a_b":1,"aB":2,"model":1,"Model":2}`
	dialecttest.PassesFreeForm(t, ReadChat,
		`{"metadata":`+odd+`}`, `{"logit_bias":`+odd+`}`, `{"tools":[{"type":"function","function":{"name":"f","parameters":`+odd+`}}]}`,
		`{"functions":[{"name":"f","parameters":`+odd+`}]}`, `{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":`+odd+`}}}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"Model\":1,\"model\":2}"}}]}]}`,
		`{"chat_template_kwargs":`+odd+`}`, `{"guided_json":`+odd+`}`, `{"unknown_to_us":`+odd+`}`, `{"web_search_options":`+odd+`}`,
		`{"messages":[{"role":"user","content":"Model: {\"Model\":1,\"model\":2}"}]}`)
	dialecttest.PassesFreeForm(t, ReadResponse,
		`{"store":false,"prompt":{"id":"p","variables":{"Name":"x","name":"y","NAME":"z"}}}`, `{"store":false,"metadata":`+odd+`}`,
		`{"store":false,"tools":[{"type":"function","name":"f","parameters":`+odd+`}]}`, `{"store":false,"text":{"format":{"type":"json_schema","name":"x","schema":`+odd+`}}}`,
		`{"store":false,"input":[{"type":"computer_call","action":`+odd+`},{"type":"function_call","arguments":"{}"}]}`)
}

func TestFurtherBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]dialect.Inference{
		`{"max_tokens":5}`:                                                    {MaxOutputTokens: 5, Choices: 1},
		`{"max_tokens":5,"n_predict":100}`:                                    {MaxOutputTokens: 5, Choices: 1, Further: dialect.Further{Output: 100}},
		`{"n_predict":100}`:                                                   {Choices: 1, Further: dialect.Further{Output: 100}},
		`{"options":{"num_predict":7}}`:                                       {Choices: 1, Further: dialect.Further{Output: 7}},
		`{"parameters":{"max_new_tokens":9}}`:                                 {Choices: 1, Further: dialect.Further{Output: 9}},
		`{"extra_body":{"best_of":4,"top_k":1}}`:                              {Choices: 4, Further: dialect.Further{Answers: 4}},
		`{"best_of":3,"n":2}`:                                                 {Choices: 3, Further: dialect.Further{Answers: 3}},
		`{"thinking_budget":8}`:                                               {Choices: 1, Further: dialect.Further{Added: 8}},
		`{"thinking":{"type":"x","budget_tokens":6}}`:                         {Choices: 1, Further: dialect.Further{Thinking: 6}},
		`{"reasoning":{"effort":"low","max_tokens":3}}`:                       {Choices: 1, Further: dialect.Further{Thinking: 3}},
		`{"reasoning":{"effort":"low"}}`:                                      {Choices: 1},
		`{"extra_body":{"options":{"num_predict":7}}}`:                        {Choices: 1, Further: dialect.Further{Output: 7}},
		`{"extra_body":{"google":{"thinking_config":{"thinking_budget":8}}}}`: {Choices: 1, Further: dialect.Further{Added: 8}},
		`{"extra_body":{"reasoning":{"max_tokens":3}}}`:                       {Choices: 1, Further: dialect.Further{Thinking: 3}},
	} {
		got, err := ReadChat([]byte(text))
		got.Object = body.Object{}
		if err != nil || got.MaxOutputTokens != want.MaxOutputTokens || got.Further != want.Further || got.Choices != want.Choices {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, param := range map[string]string{
		`{"n_predict":-1}`: "n_predict", `{"num_predict":"5"}`: "num_predict", `{"options":{"num_predict":-2}}`: "options.num_predict", `{"best_of":129}`: "best_of",
		`{"max_new_tokens":16777217}`: "max_new_tokens", `{"models":["dear"]}`: "models", `{"fallbacks":["dear"]}`: "fallbacks",
		`{"extra_body":{"model":"dear"}}`: "extra_body.model", `{"extra_body":{"Model":"dear"}}`: "extra_body.Model", `{"options":{"n_predict":1,"n_predict":2}}`: "options.n_predict",
		`{"extra_body":{"options":{"num_predict":-1}}}`: "extra_body.options.num_predict", `{"extra_body":{"options":{"Num_Predict":1}}}`: "extra_body.options.Num_Predict",
		`{"extra_body":{"extra_body":{"model":"dear"}}}`: "extra_body.extra_body", `{"lora_path":"other"}`: "lora_path", `{"extra_body":{"lora_path":"other"}}`: "extra_body.lora_path",
		`{"options":{"options":{"options":{"options":{"options":{}}}}}}`: "options.options.options.options.options",
	} {
		_, err := ReadChat([]byte(text))
		if e := penstock.AsError(err); err == nil || e.Param != param {
			t.Errorf("%s: %v, want one about %s", text, err, param)
		}
	}
}

// TestLinks holds that addresses are found wherever a server may fetch from them, and that words, patterns and arguments are none.
func TestLinks(t *testing.T) {
	t.Parallel()
	const url = `"http://10.0.0.1/x"`
	chat, response, embedding := ReadChat, ReadResponse, ReadEmbedding
	for _, tt := range []struct {
		read  dialecttest.Read
		text  string
		links int
	}{
		{chat, `{"messages":[{"role":"user","content":"x","image":` + url + `}]}`, 1},
		{chat, `{"messages":[{"role":"user","content":"x","image_url":{"url":` + url + `}}]}`, 1},
		{chat, `{"messages":[{"role":"user","content":[{"type":"image","source":` + url + `}]}]}`, 1},
		{chat, `{"messages":[{"role":"user","content":[{"type":"search_result","source":` + url + `,"content":[]}]}]}`, 0},
		{chat, `{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":` + url + `}}]}]}`, 1},
		{chat, `{"messages":[{"role":"user","content":[{"type":"input_file","file_id":` + url + `}]}]}`, 1},
		{chat, `{"images":[` + url + `]}`, 1}, {chat, `{"multi_modal_data":{"image":` + url + `}}`, 1}, {chat, `{"mcp_servers":[{"url":` + url + `}]}`, 1}, {chat, `{"api_base":` + url + `}`, 1},
		{chat, `{"extra_body":{"images":[` + url + `]}}`, 1}, {chat, `{"extra_body":{"options":{"images":[` + url + `]}}}`, 1},
		{chat, `{"prediction":{"type":"content","content":[{"type":"image_url","image_url":` + url + `}]}}`, 1},
		{chat, `{"tools":[{"type":"mcp","url":` + url + `}]}`, 1}, {chat, `{"tools":[{"type":"mcp","mcp":{"server_url":` + url + `}}]}`, 1},
		{chat, `{"tools":[{"type":"function","function":{"name":"f","description":` + url + `,"parameters":{"default":` + url + `}}}]}`, 0},
		{chat, `{"metadata":{"a":` + url + `},"user":` + url + `,"guided_regex":"https://.*","documents":[{"text":` + url + `}]}`, 0},
		{response, `{"input":[{"type":"image","image":` + url + `}]}`, 1}, {response, `{"input":[{"type":"code_interpreter_call","outputs":[{"type":"image","url":` + url + `}]}]}`, 1},
		{response, `{"input":[{"type":"image_generation_call","result":` + url + `}]}`, 1}, {response, `{"instructions":[{"role":"user","content":[{"type":"input_image","image_url":` + url + `}]}]}`, 1},
		{chat, `{"messages":[{"role":"assistant","content":` + url + `,"reasoning_details":[{"text":` + url + `}],"thinking":` + url + `}]}`, 0},
		{response, `{"instructions":` + url + `,"input":` + url + `}`, 0},
		{embedding, `{"input":[` + url + `,` + url + `]}`, 0}, {embedding, `{"input":` + url + `,"modality":"text"}`, 0},
		{embedding, `{"input":[` + url + `,` + url + `],"modality":"image"}`, 2}, {embedding, `{"modality":"audio","input":` + url + `}`, 1},
	} {
		if call, err := tt.read([]byte(tt.text)); err != nil || len(call.Object.Links) != tt.links {
			t.Errorf("%s has %d links (%v), want %d", tt.text, len(call.Object.Links), err, tt.links)
		}
	}
}
