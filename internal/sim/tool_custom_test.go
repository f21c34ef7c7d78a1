package sim

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

const (
	chatCustomTools = `"tools":[{"type":"custom","custom":{"name":"run_query","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"SELECT [a-z]{3,8} FROM [a-z]{4}"}}}},{"type":"custom","custom":{"name":"write_note"}},{"type":"function","function":{"name":"get_weather"}}]`
	respCustomTools = `"tools":[{"type":"custom","name":"run_query","format":{"type":"grammar","syntax":"regex","definition":"SELECT [a-z]{3,8} FROM [a-z]{4}"}},{"type":"custom","name":"write_note"},{"type":"function","name":"get_weather"},{"type":"web_search"}]`
)

// A custom tool is called with text that fits its grammar, plain and streamed; functions beside it with arguments.
func TestCustomTools(t *testing.T) {
	t.Parallel()
	query := regexp.MustCompile(`^SELECT [a-z]{3,8} FROM [a-z]{4}$`)
	s := newServer(t, Config{})
	read := func(path, body string) (name, input string) {
		t.Helper()
		w := ask(t, s, path, body)
		wantStatus(t, w, 200)
		var a struct {
			Choices []struct{ Message chatAnswer }
			Output  []responseItem
		}
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if len(a.Choices) > 0 {
			call := a.Choices[0].Message.ToolCalls[0]
			if call.Type != "custom" || call.Function != nil {
				t.Fatalf("%s", w.Body)
			}
			return call.Custom.Name, call.Custom.Input
		}
		if a.Output[0].Type != customCall || a.Output[0].Arguments != nil {
			t.Fatalf("%s", w.Body)
		}
		return a.Output[0].Name, *a.Output[0].Input
	}
	chat := `{"model":"m","messages":[{"role":"user","content":"Run the query."}],` + chatCustomTools + `}`
	response := `{"model":"m","input":"Run the query.",` + respCustomTools + `}`
	for path, body := range map[string]string{chatPath: chat, responsePath: response} {
		name, input := read(path, body)
		if name != "run_query" || !query.MatchString(input) {
			t.Errorf("%s: %s gets %q", path, name, input)
		}
		stream := ask(t, s, path, strings.Replace(body, "{", `{"stream":true,`, 1)).Body.String()
		if got := streamedInput(t, stream); got != input {
			t.Errorf("%s: %q is streamed for %q:\n%s", path, got, input, stream)
		}
		if name, input := read(path, strings.Replace(body, "query.", "note.", 1)); name != "write_note" || len(strings.Fields(input)) != objectWords {
			t.Errorf("%s: %s gets %q", path, name, input)
		}
	}
	named := ask(t, s, chatPath, strings.Replace(chat, "{", `{"tool_choice":{"type":"custom","custom":{"name":"write_note"}},`, 1))
	if !strings.Contains(named.Body.String(), `"custom":{"name":"write_note"`) {
		t.Errorf("%s", named.Body)
	}
	// The loop ends: a tool that was called is not called again.
	done := ask(t, s, chatPath, strings.Replace(chat, `"Run the query."}`, `"Run the query."},{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"run_query","input":"x"}}]},{"role":"tool","tool_call_id":"c","content":"3 rows"}`, 1))
	if strings.Contains(done.Body.String(), "tool_calls\":[") {
		t.Errorf("%s", done.Body)
	}
	lark := ask(t, s, chatPath, strings.Replace(chat, `"regex"`, `"lark"`, 1))
	if wantStatus(t, lark, 400); !strings.Contains(lark.Body.String(), "regular expressions only") {
		t.Errorf("%s", lark.Body)
	}
}

// streamedInput joins the parts of the input of the first call of a custom tool.
func streamedInput(t *testing.T, stream string) string {
	t.Helper()
	var input strings.Builder
	for _, data := range events(t, strings.NewReader(stream)) {
		var e struct {
			Type    string
			Delta   string
			Choices []struct{ Delta chatDelta }
		}
		if json.Unmarshal([]byte(data), &e) != nil {
			continue // the end
		}
		if e.Type == "response.custom_tool_call_input.delta" {
			input.WriteString(e.Delta)
		}
		for _, c := range e.Choices {
			for _, call := range c.Delta.ToolCalls {
				if call.Custom != nil {
					input.WriteString(call.Custom.Input)
				}
			}
		}
	}
	return input.String()
}

// A choice of allowed tools leaves out the others, and says whether one must be called.
func TestAllowedTools(t *testing.T) {
	t.Parallel()
	const gemini = "/v1beta/models/m:generateContent"
	tools := toolsOf(`{"type":"object"}`, "get_weather", "get_time", "get_fares")
	chat := func(mode, names string) string {
		return `{"model":"m","messages":[{"role":"user","content":"weather and time"}]` + tools[0] + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"` + mode + `","tools":[` + names + `]}}}`
	}
	response := func(mode, names string) string {
		return `{"model":"m","input":"weather and time"` + tools[2] + `,"tool_choice":{"type":"allowed_tools","mode":"` + mode + `","tools":[` + names + `]}}`
	}
	content := func(mode, names string) string {
		return `{"contents":[{"parts":[{"text":"weather and time"}]}],"tools":[{"functionDeclarations":[{"name":"get_weather"},{"name":"get_time"},{"name":"get_fares"}]}],"toolConfig":{"functionCallingConfig":{"mode":"` + mode + `","allowedFunctionNames":[` + names + `]}}}`
	}
	s := newServer(t, Config{OutputTokens: 3})
	for name, tt := range map[string]struct {
		path, body string
		status     int
		want       []string
	}{
		"chat, free":         {chatPath, chat("auto", `{"type":"function","function":{"name":"get_time"}},{"type":"function","function":{"name":"get_fares"}}`), 200, []string{"get_time"}},
		"chat, none fits":    {chatPath, chat("auto", `{"type":"function","function":{"name":"get_fares"}}`), 200, nil},
		"chat, must":         {chatPath, chat("required", `{"type":"function","function":{"name":"get_fares"}}`), 200, []string{"get_fares"}},
		"chat, unknown":      {chatPath, chat("auto", `{"type":"function","function":{"name":"get_lost"}}`), 400, nil},
		"chat, wrong mode":   {chatPath, chat("never", `{"type":"function","function":{"name":"get_fares"}}`), 400, nil},
		"chat, must none":    {chatPath, chat("required", ``), 400, nil},
		"response, free":     {responsePath, response("auto", `{"type":"function","name":"get_weather"},{"type":"function","name":"get_time"}`), 200, []string{"get_weather", "get_time"}},
		"response, must":     {responsePath, response("required", `{"type":"function","name":"get_fares"}`), 200, []string{"get_fares"}},
		"response, unknown":  {responsePath, response("auto", `{"type":"function","name":"get_lost"}`), 400, nil},
		"gemini, must":       {gemini, content("ANY", `"get_time","get_fares"`), 200, []string{"get_time"}},
		"gemini, free":       {gemini, content("VALIDATED", `"get_fares"`), 200, nil},
		"gemini, unknown":    {gemini, content("ANY", `"get_fares","get_lost"`), 400, nil},
		"gemini, wrong mode": {gemini, content("AUTO", `"get_fares"`), 400, nil},
	} {
		r := newRequest(t.Context(), tt.path, tt.body)
		r.Header.Set("x-goog-api-key", "any")
		w := do(s, r)
		wantStatus(t, w, tt.status)
		said, _, _ := strings.Cut(w.Body.String(), `"usage`) // after it, a response repeats the tools that the request offers
		for _, tool := range []string{"get_weather", "get_time", "get_fares"} {
			called := strings.Contains(said, `"name":"`+tool+`"`)
			wanted := strings.Contains(strings.Join(tt.want, " "), tool)
			if tt.status == 200 && called != wanted {
				t.Errorf("%s: called %v: %s", name, tool, w.Body)
			}
		}
	}
}

// Tools that Anthropic would run are never called; a tool of the type custom is the caller's own.
func TestServedToolsAreNotCalled(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 3})
	body := `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"search the weather"}],"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"custom","name":"get_weather","input_schema":{"type":"object"}}]}`
	got := hear(t, s, messagePath, body, false)
	if len(got.calls) != 1 || got.calls[0] != "get_weather {}" {
		t.Errorf("it calls %v", got.calls)
	}
}
