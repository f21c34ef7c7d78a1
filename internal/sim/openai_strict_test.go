package sim

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	image  = `data:image/png;base64,iVBORw0KGgo=`
	person = `{"type":"object","properties":{"name":{"type":"string"}}}`
)

// strictness is a request that OpenAI accepts, and mistakes in it: the old text, the new text, the parameter at fault, and a part of the message.
type strictness struct {
	path, good string
	mistakes   [][4]string
}

var strict = map[string]strictness{
	"messages": {chatPath, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`, [][4]string{
		{`"role":"user",`, ``, "messages[0].role", "Missing required parameter"},
		{`"user"`, `"king"`, "messages[0].role", "'developer'"},
		{`"user"`, `7`, "messages[0].role", "expected a string, but got a number"},
		{`"type":"text"`, `"type":"input_text"`, "messages[0].content[0].type", "'image_url'"},
		{`"text":"Hi"`, `"txt":"Hi"`, "messages[0].content[0].text", "Missing required parameter"},
		{`[{"type":"text","text":"Hi"}]`, `{"text":"Hi"}`, "messages[0].content", "a string or a list"},
	}},
	"images": {chatPath, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + image + `"}}]}]}`, [][4]string{
		{image, "data:image/png;base64,!!!", "messages[0].content[0].image_url.url", "not valid base64"},
		{image, "data:image/png,x", "messages[0].content[0].image_url.url", "base64-encoded"},
		{"image/png", "image/bmp", "messages[0].content[0].image_url.url", "'image/bmp'"},
		{image, "ftp://example.com/x.png", "messages[0].content[0].image_url.url", "https://"},
		{`"url"`, `"uri"`, "messages[0].content[0].image_url.url", "Missing required parameter"},
	}},
	"files": {chatPath, `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERg=="}}]}]}`, [][4]string{
		{`"file_data":"data:application/pdf;base64,JVBERg=="`, ``, "messages[0].content[0].file.file_id", "Missing required parameter"},
		{"JVBERg", "!!!", "messages[0].content[0].file.file_data", "not valid base64"},
		{`"data:application/pdf;base64,JVBERg=="`, `3`, "messages[0].content[0].file.file_data", "expected a string, but got a number"},
	}},
	"tools": {chatPath, `{"model":"m","tools":[{"type":"function","function":{"name":"look"}}],` + userHi + `}`, [][4]string{
		{`"look"`, `"look up"`, "tools[0].function.name", "'look up'"},
		{`"type":"function"`, `"type":"web_search"`, "tools[0].type", "'custom'"},
		{`[{"type":"function","function":{"name":"look"}}]`, `{}`, "tools", "expected an array, but got an object"},
	}},
	"response_format": {chatPath, `{"model":"m","response_format":{"type":"json_schema","json_schema":{"name":"p","schema":` + person + `}},` + userHi + `}`, [][4]string{
		{`"name":"p",`, ``, "response_format.json_schema.name", "Missing required parameter"},
		{`,"schema":` + person, ``, "response_format.json_schema.schema", "Missing required parameter"},
		{`"json_schema":{"name":"p","schema":` + person + `}`, `"schema":` + person, "response_format.schema", "'response_format.json_schema.schema'"},
	}},
	"text.format": {responsePath, `{"model":"m","input":"Hi","text":{"format":{"type":"json_schema","name":"p","schema":` + person + `}}}`, [][4]string{
		{`"name":"p",`, ``, "text.format.name", "Missing required parameter"},
		{`,"schema":` + person, ``, "text.format.schema", "Missing required parameter"},
		{`"name":"p","schema":` + person, `"json_schema":{"name":"p","schema":` + person + `}`, "text.format.json_schema", "'text.format.schema'"},
	}},
	"input": {responsePath, `{"model":"m","input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"c","output":"1"},{"type":"web_search_call","id":"ws_1","status":"completed"}]}`, [][4]string{
		{`"role":"user",`, ``, "input[0].role", "Missing required parameter"},
		{`"user"`, `"king"`, "input[0].role", "'developer'"},
		{`"web_search_call"`, `"banana"`, "input[3].type", "'function_call'"},
		{`"call_id":"c","name"`, `"name"`, "input[1].call_id", "Missing required parameter"},
		{`"name":"f",`, ``, "input[1].name", "Missing required parameter"},
		{`,"arguments":"{}"`, ``, "input[1].arguments", "Missing required parameter"},
		{`"{}"`, `{}`, "input[1].arguments", "expected a string, but got an object"},
		{`,"output":"1"`, ``, "input[2].output", "Missing required parameter"},
	}},
	"input parts": {responsePath, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"` + image + `"},{"type":"input_file","file_id":"file-1"}]}]}`, [][4]string{
		{"input_file", "file", "input[0].content[1].type", "'input_file'"},
		{`,"file_id":"file-1"`, ``, "input[0].content[1].file_id", "Missing required parameter"},
		{`,"image_url":"` + image + `"`, ``, "input[0].content[0].image_url", "Missing required parameter"},
		{"image/png", "image/bmp", "input[0].content[0].image_url", "'image/bmp'"},
		{"iVBOR", "!", "input[0].content[0].image_url", "not valid base64"},
	}},
	"response tools": {responsePath, `{"model":"m","input":"Hi","tools":[{"type":"web_search"},{"type":"function","name":"look","parameters":{}}]}`, [][4]string{
		{`"name":"look",`, ``, "tools[1].name", "Missing required parameter"},
		{`"name":"look","parameters":{}`, `"function":{"name":"look","parameters":{}}`, "tools[1].name", "Missing required parameter"},
		{`"type":"function",`, ``, "tools[1].type", "Missing required parameter"},
		{`"web_search"`, `"banana"`, "tools[0].type", "'web_search'"},
	}},
}

// As a stand-in for OpenAI, the simulator refuses what OpenAI refuses, and names the parameter.
func TestRefusesAsOpenAI(t *testing.T) {
	t.Parallel()
	server := newServer(t, Config{})
	for name, tc := range strict {
		wantStatus(t, ask(t, server, tc.path, tc.good), http.StatusOK)
		for i, m := range tc.mistakes {
			t.Run(fmt.Sprintf("%s %d", name, i), func(t *testing.T) {
				bad := strings.Replace(tc.good, m[0], m[1], 1)
				if bad == tc.good {
					t.Fatalf("%s is not in the request", m[0])
				}
				w := ask(t, server, tc.path, bad)
				wantStatus(t, w, http.StatusBadRequest)
				var e openAIEnvelope
				decodeStrictly(t, w.Body.Bytes(), &e)
				wantNullable(t, "param", e.Error.Param, m[2])
				if e.Error.Type != "invalid_request_error" || !strings.Contains(e.Error.Message, m[2]) || !strings.Contains(e.Error.Message, m[3]) {
					t.Errorf("%s: %+v", bad, e.Error)
				}
			})
		}
	}
}

// The simulator takes back the encrypted reasoning that it gave out, and no other.
func TestEncryptedReasoning(t *testing.T) {
	t.Parallel()
	server := newServer(t, Config{})
	var first response
	w := ask(t, server, responsePath, `{"model":"m","input":"Hi","reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"]}`)
	decodeStrictly(t, w.Body.Bytes(), &first)
	given := first.Output[0].Encrypted
	send := func(encrypted string) int {
		item := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + encrypted + `"}`
		return ask(t, server, responsePath, `{"model":"m","input":[{"role":"user","content":"Hi"},`+item+`,{"role":"user","content":"And?"}]}`).Code
	}
	if code := send(given); code != http.StatusOK {
		t.Errorf("its own: %d", code)
	}
	changed := "A" + given[1:]
	if given[0] == 'A' {
		changed = "B" + given[1:]
	}
	for _, wrong := range []string{changed, given[:8], "not base64", ""} {
		if code := send(wrong); code != http.StatusBadRequest {
			t.Errorf("%q: %d", wrong, code)
		}
	}
}

// A response repeats the settings of its request, plain and at each event that carries the response.
func TestResponseRepeatsSettings(t *testing.T) {
	t.Parallel()
	server := newServer(t, Config{})
	const set = `"store":false,"metadata":{"a":"b"},"tools":[{"type":"function","name":"look","parameters":{},"strict":false}],"tool_choice":"none","temperature":0.5,` +
		`"top_p":0.25,"instructions":"Be brief.","max_output_tokens":7,"parallel_tool_calls":false,"reasoning":{"effort":"low"},"service_tier":"flex","user":"u"`
	for _, stream := range []string{"false", "true"} {
		body := ask(t, server, responsePath, `{"model":"m","input":"Hi","stream":`+stream+`,`+set+`}`).Body.String()
		want := 1
		if stream == "true" {
			want = 3 // created, in_progress, and the end
		}
		for _, member := range []string{
			`"store":false`, `"metadata":{"a":"b"}`, `"tools":[{"type":"function","name":"look","parameters":{},"strict":false}]`, `"tool_choice":"none"`, `"temperature":0.5`, `"top_p":0.25`,
			`"instructions":"Be brief."`, `"max_output_tokens":7`, `"parallel_tool_calls":false`, `"reasoning":{"effort":"low","summary":null}`, `"service_tier":"flex"`, `"user":"u"`,
			`"text":{"format":{"type":"text"},"verbosity":"medium"}`, `"truncation":"disabled"`,
		} {
			if n := strings.Count(body, member); n != want {
				t.Errorf("%s is there %d times, want %d: %s", member, n, want, body)
			}
		}
	}
	body := ask(t, server, responsePath, `{"model":"m","input":"Hi","store":null,"service_tier":"auto"}`).Body.String()
	for _, member := range []string{`"store":true`, `"metadata":{}`, `"tools":[]`, `"tool_choice":"auto"`, `"temperature":1,`, `"service_tier":"default"`, `"previous_response_id":null`} {
		if !strings.Contains(body, member) {
			t.Errorf("%s is missing: %s", member, body)
		}
	}
}
