package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const invoiceSchema = `{"type":"object","$defs":{"line":{"type":"object","properties":{"item":{"type":"string","minLength":3},"price":{"type":"number","exclusiveMinimum":0,"multipleOf":0.01},"tags":{"type":"array","items":{"enum":["a","b","c"]},"minItems":2,"uniqueItems":true}},"required":["item","price","tags"],"additionalProperties":false}},"properties":{"id":{"type":"string","format":"uuid"},"code":{"type":"string","pattern":"^[A-Z]{3}-[0-9]{4}$"},"lines":{"type":"array","items":{"$ref":"#/$defs/line"},"minItems":1},"note":{"type":["string","null"]}},"required":["id","code","lines","note"],"additionalProperties":false}`

// validate checks an instance with a validator that this package does not use.
func validate(t *testing.T, schema, instance string) {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("mem:///schema", document); err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(instance))
	if err != nil {
		t.Fatalf("%q is no JSON: %v", instance, err)
	}
	if err := c.MustCompile("mem:///schema").Validate(v); err != nil {
		t.Errorf("%s: %v", instance, err)
	}
}

// said is what a test reads of an answer in any dialect.
type said struct {
	text, thoughts string
	calls          []string // name and arguments
	tokens         int      // of output, as usage reports them
}

// hear sends a body and reads the answer, plain or streamed.
func hear(t *testing.T, s *Server, path, body string, stream bool) said {
	t.Helper()
	if stream {
		body = strings.Replace(body, "{", `{"stream":true,`, 1)
		if path == chatPath {
			body = strings.Replace(body, "{", `{"stream_options":{"include_usage":true},`, 1)
		}
	}
	w := do(s, newRequest(t.Context(), path, body))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if !stream {
		return readPlain(t, path, w.Body.Bytes())
	}
	return readStream(t, path, w.Body.Bytes())
}

// anyAnswer has the fields of the plain answers of all dialects.
type anyAnswer struct {
	Choices []struct {
		Message struct {
			Content          string         `json:"content"`
			ReasoningContent string         `json:"reasoning_content"`
			ToolCalls        []chatToolCall `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Content []struct {
		Type, Text, Thinking, Name string
		Input                      json.RawMessage
	} `json:"content"`
	Output []struct {
		Type, Name, Arguments string
		Content, Summary      []struct{ Text string }
	} `json:"output"`
	Usage struct {
		CompletionTokens int `json:"completion_tokens"`
		OutputTokens     int `json:"output_tokens"`
	} `json:"usage"`
}

func readPlain(t *testing.T, path string, body []byte) said {
	t.Helper()
	var a anyAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatal(err)
	}
	got := said{tokens: a.Usage.CompletionTokens + a.Usage.OutputTokens}
	for _, c := range a.Choices {
		got.text += c.Message.Content
		got.thoughts += c.Message.ReasoningContent
		for _, call := range c.Message.ToolCalls {
			got.calls = append(got.calls, call.Function.Name+" "+call.Function.Arguments)
		}
	}
	for _, block := range a.Content {
		got.text, got.thoughts = got.text+block.Text, got.thoughts+block.Thinking
		if block.Type == "tool_use" {
			got.calls = append(got.calls, block.Name+" "+string(block.Input))
		}
	}
	for _, item := range a.Output {
		for _, part := range item.Content {
			got.text += part.Text
		}
		for _, part := range item.Summary {
			got.thoughts += part.Text
		}
		if item.Type == "function_call" {
			got.calls = append(got.calls, item.Name+" "+item.Arguments)
		}
	}
	return got
}

// readStream joins the events of a stream. The whole response of the Responses API is in its last event.
func readStream(t *testing.T, path string, body []byte) said {
	t.Helper()
	var got said
	for line := range bytes.Lines(body) {
		data, is := bytes.CutPrefix(line, []byte("data: "))
		if !is || bytes.HasPrefix(data, []byte("[DONE]")) {
			continue
		}
		var e struct {
			Type    string
			Choices []struct{ Delta chatDelta }
			Delta   json.RawMessage
			Block   struct{ Type, Name string } `json:"content_block"`
			Usage   struct {
				CompletionTokens int `json:"completion_tokens"`
				OutputTokens     int `json:"output_tokens"`
			}
			Response json.RawMessage
		}
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		got.tokens = max(got.tokens, e.Usage.CompletionTokens+e.Usage.OutputTokens)
		switch {
		case path == responsePath:
			if e.Type == "response.completed" || e.Type == "response.incomplete" {
				return readPlain(t, path, e.Response)
			}
		case path == messagePath:
			var d blockDelta
			if e.Type == "content_block_start" && e.Block.Type == "tool_use" {
				got.calls = append(got.calls, e.Block.Name+" ")
			}
			if e.Type == "content_block_delta" && json.Unmarshal(e.Delta, &d) == nil {
				got.add(d.Text, d.Thinking, d.PartialJSON)
			}
		default:
			for _, c := range e.Choices {
				var text string
				if len(c.Delta.Content) > 0 {
					json.Unmarshal(c.Delta.Content, &text)
				}
				got.add(&text, &c.Delta.ReasoningContent, nil)
				for _, call := range c.Delta.ToolCalls {
					if call.ID != "" {
						got.calls = append(got.calls, call.Function.Name+" ")
					}
					got.calls[call.Index] += call.Function.Arguments
				}
			}
		}
	}
	return got
}

func (s *said) add(text, thoughts, arguments *string) {
	if text != nil {
		s.text += *text
	}
	if thoughts != nil {
		s.thoughts += *thoughts
	}
	if arguments != nil {
		s.calls[len(s.calls)-1] += *arguments
	}
}

// dialectBodies asks the same of every dialect. The verbs of options are in the order chat, message, response.
func dialectBodies(messages string, options [3]string) map[string]string {
	return map[string]string{
		chatPath:     `{"model":"m","messages":[` + messages + `]` + options[0] + `}`,
		messagePath:  `{"model":"m","max_tokens":4096,"messages":[` + messages + `]` + options[1] + `}`,
		responsePath: `{"model":"m","input":[` + messages + `]` + options[2] + `}`,
	}
}

func toolsOf(schema string, names ...string) [3]string {
	var chat, message, response []string
	for _, name := range names {
		chat = append(chat, fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":%s}}`, name, schema))
		message = append(message, fmt.Sprintf(`{"name":%q,"input_schema":%s}`, name, schema))
		response = append(response, fmt.Sprintf(`{"type":"function","name":%q,"parameters":%s}`, name, schema))
	}
	list := func(tools []string) string { return `,"tools":[` + strings.Join(tools, ",") + `]` }
	return [3]string{list(chat), list(message), list(response)}
}

func bothWays(t *testing.T, bodies map[string]string, check func(t *testing.T, got said)) {
	t.Helper()
	for path, body := range bodies {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream %v", path, stream), func(t *testing.T) {
				t.Parallel()
				check(t, hear(t, newServer(t, Config{OutputTokens: 5}), path, body, stream))
			})
		}
	}
}

// Structured output is valid by an independent validator in every dialect, plain and streamed, and every dialect
// says the same.
func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	format := `{"type":"json_schema","name":"invoice","strict":true,"schema":` + invoiceSchema + `}`
	inner := `{"type":"json_schema","json_schema":{"name":"invoice","strict":true,"schema":` + invoiceSchema + `}}`
	bothWays(t, dialectBodies(`{"role":"user","content":"Hi"}`, [3]string{`,"response_format":` + inner, `,"output_config":{"format":` + format + `}`, `,"text":{"format":` + format + `}`}),
		func(t *testing.T, got said) { validate(t, invoiceSchema, got.text) })
}

func TestToolArgumentsFitTheirSchema(t *testing.T) {
	t.Parallel()
	options := toolsOf(invoiceSchema, "send_invoice", "get_time")
	bothWays(t, dialectBodies(`{"role":"user","content":"Send the invoice, please. [sim:calls=2]"}`, options), func(t *testing.T, got said) {
		if len(got.calls) != 2 || got.calls[0] == got.calls[1] || got.text != "" {
			t.Fatalf("called %q and said %q", got.calls, got.text)
		}
		for _, call := range got.calls {
			name, arguments, _ := strings.Cut(call, " ")
			if name != "send_invoice" {
				t.Errorf("called %s", name)
			}
			validate(t, invoiceSchema, arguments)
		}
	})
}

// With auto, a tool is called when the user mentions it, and not again once it was called.
func TestAutoTools(t *testing.T) {
	t.Parallel()
	const user = `{"role":"user","content":"What are the weather and the TIME?"}`
	tools := toolsOf(`{"type":"object"}`, "getWeather", "tell_time", "look")
	chat := func(rest, options string) string {
		return `{"model":"m","messages":[` + user + rest + `]` + tools[0] + options + `}`
	}
	asked := `,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"getWeather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"sun"}`
	for _, tt := range []struct {
		name, path, body string
		want             []string
	}{
		{"both", chatPath, chat("", ""), []string{"getWeather {}", "tell_time {}"}},
		{"one at a time", chatPath, chat("", `,"parallel_tool_calls":false`), []string{"getWeather {}"}},
		{"the other after it", chatPath, chat(asked, ""), []string{"tell_time {}"}},
		{"none", chatPath, chat("", `,"tool_choice":"none"`), nil},
		{"required and mentioned", chatPath, chat(asked, `,"tool_choice":"required"`), []string{"getWeather {}", "tell_time {}"}},
		{"required, and all mentioned were called", chatPath, chat(strings.ReplaceAll(asked, "}}]", `}},{"id":"b","type":"function","function":{"name":"tell_time","arguments":"{}"}}]`), `,"tool_choice":"required"`), []string{"look {}"}},
		{"a word in common", chatPath, `{"model":"m","messages":[{"role":"user","content":"Ask the math tutor"}]` + toolsOf(`{"type":"object"}`, "to_history_tutor", "to_math_tutor")[0] + `}`, []string{"to_math_tutor {}"}},
		{"only a word in common", chatPath, `{"model":"m","messages":[{"role":"user","content":"Ask a tutor"}]` + toolsOf(`{"type":"object"}`, "to_history_tutor", "to_math_tutor")[0] + `}`, []string{"to_history_tutor {}", "to_math_tutor {}"}},
		{"named", chatPath, chat("", `,"tool_choice":{"type":"function","function":{"name":"look"}}`), []string{"look {}"}},
		{"asked again", chatPath, chat(asked+`,{"role":"assistant","content":"Sun."},{"role":"user","content":"And the weather now?"}`, ""), []string{"getWeather {}"}},
		{"not mentioned", chatPath, `{"model":"m","messages":[{"role":"user","content":"Whether it rains in time-tables"}]` + toolsOf(`{}`, "get_weather")[0] + `}`, nil},
		{"messages, after a result", messagePath, `{"model":"m","max_tokens":99,"messages":[` + user + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"getWeather","input":{}},{"type":"tool_use","id":"b","name":"tell_time","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"weather"},{"type":"tool_result","tool_use_id":"b","content":"time"}]}]` + tools[1] + `}`, nil},
		{"messages, one at a time", messagePath, `{"model":"m","max_tokens":99,"messages":[` + user + `]` + tools[1] + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`, []string{"getWeather {}"}},
		{"responses, after a result", responsePath, `{"model":"m","input":[` + user + `,{"type":"function_call","call_id":"a","name":"getWeather","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"sun"}]` + tools[2] + `}`, []string{"tell_time {}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := hear(t, newServer(t, Config{OutputTokens: 3}), tt.path, tt.body, false)
			if diff := cmp.Diff(tt.want, got.calls); diff != "" || (got.text == "") != (tt.want != nil) {
				t.Errorf("said %q and called (-want +got):\n%s", got.text, diff)
			}
		})
	}
}

// Thoughts come first, count as output, and are the same plain and streamed.
func TestReasoning(t *testing.T) {
	t.Parallel()
	bothWays(t, dialectBodies(`{"role":"user","content":"Hi"}`, [3]string{`,"reasoning_effort":"medium"`, `,"thinking":{"type":"enabled","budget_tokens":1024}`, `,"reasoning":{"effort":"medium","summary":"auto"}`}),
		func(t *testing.T, got said) {
			if len(strings.Fields(got.thoughts)) != 16 || len(strings.Fields(got.text)) != 5 || got.tokens != 21 {
				t.Errorf("thought %q, said %q, reported %d tokens", got.thoughts, got.text, got.tokens)
			}
		})
}

// A thinking block that was sent back is accepted with its own signature alone.
func TestThinkingSignature(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 3})
	const open = `{"model":"m","max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"Hi"}`
	var first struct{ Content json.RawMessage }
	if err := json.Unmarshal(do(s, newRequest(t.Context(), messagePath, open+`]}`)).Body.Bytes(), &first); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]int{
		string(first.Content): 200,
		strings.Replace(string(first.Content), `"signature":"`, `"signature":"x`, 1): 400,
	} {
		w := do(s, newRequest(t.Context(), messagePath, open+`,{"role":"assistant","content":`+content+`},{"role":"user","content":"More"}]}`))
		if w.Code != want || (want == 400 && !strings.Contains(w.Body.String(), "signature")) {
			t.Errorf("%s: status %d, want %d: %s", content, w.Code, want, w.Body)
		}
	}
}

// A stream counts the tokens that no event carries.
func TestHiddenReasoningIsCounted(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{OutputTokens: 3})
	hear(t, s, responsePath, `{"model":"m","input":"Hi","reasoning":{"effort":"low"}}`, true)
	if got := s.Stats().OutputTokens; got != 11 {
		t.Errorf("%d tokens of output were counted, want 11", got)
	}
}

// The maximum of a request bounds thoughts, JSON and calls together.
func TestMaximumOfTokens(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	for _, tt := range []struct{ name, options, finish string }{
		{"thoughts", `,"reasoning_effort":"high"`, "length"},
		{"JSON", `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + invoiceSchema + `}}`, "length"},
		{"a call", toolsOf(invoiceSchema, "hi")[0] + `,"tool_choice":"required"`, "length"},
		{"a short call", toolsOf(`{}`, "hi")[0] + `,"tool_choice":"required"`, "tool_calls"},
	} {
		w := do(s, newRequest(t.Context(), chatPath, `{"model":"m","max_tokens":6,`+userHi+tt.options+`}`))
		var got chatCompletion
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Usage.CompletionTokens > 6 || *got.Choices[0].FinishReason != tt.finish {
			t.Errorf("%s: %v %s", tt.name, err, w.Body)
		}
	}
}

// Schemas that nothing satisfies are refused, with the place.
func TestImpossibleSchemas(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	for _, tt := range []struct{ path, body, param, says string }{
		{chatPath, `{"model":"m","response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"array","minItems":1e9}}},` + userHi + `}`, "response_format", "at least 1000000000 items"},
		{chatPath, `{"model":"m","response_format":{"type":"json_schema"},` + userHi + `}`, "response_format.json_schema", "'response_format.json_schema'"},
		{chatPath, `{"model":"m","response_format":{"type":"xml"},` + userHi + `}`, "response_format", "use text"},
		{chatPath, `{"model":"m","tool_choice":"required"` + toolsOf(`{"type":"string"}`, "hi")[0] + `,` + userHi + `}`, "tools", "function 'hi'"},
		{responsePath, `{"model":"m","input":"Hi","text":{"format":{"type":"json_schema","name":"x","schema":{"$ref":"https://example.com"}}}}`, "text.format", "same schema"},
		{messagePath, `{"model":"m","max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":{"properties":{"x":false},"required":["x"]}}},` + userHi + `}`, "", "$.x"},
		{messagePath, `{"model":"m","max_tokens":9,"temperature":1.5,` + userHi + `}`, "", "temperature"},
		{messagePath, `{"model":"m","max_tokens":900,"thinking":{"type":"enabled","budget_tokens":1024},` + userHi + `}`, "", "max_tokens"},
		{messagePath, `{"model":"m","max_tokens":900,"thinking":{"type":"enabled","budget_tokens":10},` + userHi + `}`, "", "1024"},
	} {
		w := do(s, newRequest(t.Context(), tt.path, tt.body))
		if w.Code != 400 || !strings.Contains(w.Body.String(), tt.says) || !strings.Contains(w.Body.String(), tt.param) {
			t.Errorf("%s: status %d, want 400 about %q: %s", tt.body, w.Code, tt.says, w.Body)
		}
	}
}
