package translate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
