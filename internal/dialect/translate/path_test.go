package translate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"penstock"
)

// A refusal names the field as the caller's own body has it, whatever bodies are made on the way to the upstream's.
func TestRefusalsNameTheCallersPath(t *testing.T) {
	t.Parallel()
	const (
		image    = `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`
		file     = `{"type":"file","file":{"filename":"a","file_data":"data:text/csv;base64,YQ=="}}`
		inImage  = `{"type":"input_image","image_url":"https://example.com/a.png"}`
		inFile   = `{"type":"input_file","filename":"a","file_data":"data:text/csv;base64,YQ=="}`
		source   = `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`
		chat     = `{"messages":[{"role":"system","content":"Be brief."},{"role":"system","content":"Be kind."},{"role":"user","content":[{"type":"text","text":""},%s]}]}`
		message  = `{"max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"See:"},%s]}]}`
		response = `{"instructions":"Be brief.","input":[{"role":"user","content":[{"type":"input_text","text":"See:"},%s]}]}`
		called   = `{"instructions":"Be brief.","input":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"output_text","text":"Wait."}]},` +
			`{"role":"assistant","content":[{"type":"output_text","text":"See:"},{"type":"input_image","image_url":"https://example.com/a.png"}]},` +
			`{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","call_id":"%s","name":"f","arguments":"%s"},{"role":"user","content":"Hi"}]}`
		calls = `{"input":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Wait."},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},` +
			`{"type":"function_call","call_id":"%s","name":"f","arguments":"%s"},{"type":"function_call_output","call_id":"c","output":"x"}]}`
	)
	for _, tt := range []struct{ direction, body, want string }{
		{"chat_to_converse", fmt.Sprintf(chat, image), "messages[2].content[1].image_url"},
		{"chat_to_converse", fmt.Sprintf(chat, file), "messages[2].content[1].file"},
		{"chat_to_gemini", fmt.Sprintf(chat, file), "messages[2].content[1].file"},
		{"chat_to_messages", fmt.Sprintf(chat, file), "messages[2].content[1].file"},
		{"messages_to_converse", fmt.Sprintf(message, source), "messages[0].content[1].source"},
		{"messages_to_chat", fmt.Sprintf(message, `{"type":"image","source":{"type":"file","file_id":"f"}}`), "messages[0].content[1].source"},
		{"responses_to_converse", fmt.Sprintf(response, inImage), "input[0].content[1].image_url"},
		{"responses_to_converse", fmt.Sprintf(response, inFile), "input[0].content[1].file_data"},
		{"responses_to_gemini", fmt.Sprintf(response, inFile), "input[0].content[1].file_data"},
		{"responses_to_messages", fmt.Sprintf(response, `{"type":"input_image","image_url":"a.png"}`), "input[0].content[1].image_url"},
		{"responses_to_messages", fmt.Sprintf(called, "b", "{}"), "input[2].content[1].type"},
		{"responses_to_gemini", fmt.Sprintf(calls, "b", "[]"), "input[3].arguments"},
		{"responses_to_messages", fmt.Sprintf(calls, "a", "{}"), "input[3].call_id"},
		{"responses_to_converse", fmt.Sprintf(calls, "b", "{}"), "input[4].call_id"},
		{"responses_to_chat", `{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, "input[0].call_id"},
		{"responses_to_chat", fmt.Sprintf(calls, "a", "{}"), "input[3].call_id"},
		{"responses_to_chat", fmt.Sprintf(calls, "b", "{}"), "input[4].call_id"},
		{"responses_to_chat", fmt.Sprintf(calls, "", "{}"), "input[3].call_id"},
		{"responses_to_chat", `{"input":[]}`, "input"},
		{"responses_to_chat", `{}`, "input"},
		{"messages_to_gemini", `{"max_tokens":9,"output_config":{"effort":"huge"},"messages":[{"role":"user","content":"Hi"}]}`, "output_config.effort"},
		{"responses_to_gemini", `{"input":"Hi","reasoning":{"effort":"huge"}}`, "reasoning.effort"},
	} {
		_, _, err := directions[tt.direction].Request([]byte(tt.body), testMost)
		if err == nil {
			t.Errorf("%s: %s is not refused", tt.direction, tt.want)
			continue
		}
		if e := penstock.AsError(err); e.Param != tt.want {
			t.Errorf("%s: the refusal names %q, want %q: %v", tt.direction, e.Param, tt.want, err)
		}
	}
}

// Tools that no upstream accepts are refused by their place in the caller's body, on targets of every kind.
func TestToolsAreRefusedByTheCallersPath(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"chat": `{"messages":[{"role":"user","content":"Hi"}],%s}`, "messages": `{"max_tokens":9,"messages":[{"role":"user","content":"Hi"}],%s}`, "responses": `{"input":"Hi",%s}`,
	}
	refused := map[string][]struct{ members, param string }{
		"chat": {
			{`"tools":[{"type":"function","function":{"parameters":{}}}]`, "tools[0].function.name"},
			{`"tools":[{"type":"function","name":"f"}]`, "tools[0].function.name"},
			{`"tools":[{"type":"function","function":{"name":"f","parameters":"x"}}]`, "tools[0].function.parameters"},
			{`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"type":"function","function":{"name":"g"}}`, "tool_choice"},
		},
		"messages": {
			{`"tools":[{"name":"f","input_schema":{}},{"input_schema":{}}]`, "tools[1].name"},
			{`"tools":[{"name":"f","input_schema":[]}]`, "tools[0].input_schema"},
			{`"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"g"}`, "tool_choice"},
		},
		"responses": {
			{`"tools":[{"type":"function","function":{"name":"f"}}]`, "tools[0].name"},
			{`"tools":[{"type":"function","name":"f","parameters":1}]`, "tools[0].parameters"},
			{`"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"g"}`, "tool_choice"},
		},
	}
	for direction, tr := range directions {
		from, _, _ := strings.Cut(direction, "_to_")
		for _, tt := range refused[from] {
			_, _, err := tr.Request(fmt.Appendf(nil, bodies[from], tt.members), testMost)
			if err == nil {
				t.Errorf("%s: %s is accepted", direction, tt.members)
				continue
			}
			if e := penstock.AsError(err); e.Code != penstock.CodeInvalidRequest || e.Param != tt.param || !strings.HasPrefix(e.Message, tt.param+" ") {
				t.Errorf("%s: %s: the refusal names %q, want %q: %v", direction, tt.members, e.Param, tt.param, err)
			}
		}
	}
}

// Every golden request that is refused is refused for a field that it has, or for one that it lacks.
func TestRefusedPathsExist(t *testing.T) {
	t.Parallel()
	missing := []string{"max_tokens", "messages", "input", "tool_choice"}
	refused := 0
	for path, text := range inputs(t, "request_*.in.json") {
		_, _, err := directionOf(path).Request(text, testMost)
		var body any
		if err == nil || json.Unmarshal(text, &body) != nil {
			continue
		}
		refused++
		if param := penstock.AsError(err).Param; !has(body, param) && !slices.Contains(missing, param) {
			t.Errorf("%s: the refusal names %s, which the body does not have: %v", path, param, err)
		}
	}
	if refused < 20 {
		t.Errorf("only %d golden requests are refused", refused)
	}
}

var pathStep = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// has reports whether a body has a path such as messages[0].role.
func has(body any, path string) bool {
	for _, step := range pathStep.FindAllString(path, -1) {
		switch v := body.(type) {
		case map[string]any:
			inner, ok := v[step]
			if !ok {
				return false
			}
			body = inner
		case []any:
			i, err := strconv.Atoi(step[1 : len(step)-1])
			if err != nil || i >= len(v) {
				return false
			}
			body = v[i]
		default:
			return false
		}
	}
	return true
}
