package catalog

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/dialect"
)

// spans writes the spans of a body, one each: its kind, role, message and value.
func spans(t interface{ Fatal(...any) }, e penstock.Endpoint, text string) (dialect.Inference, []string) {
	inf, err := Read(e, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for s := range inf.Spans() {
		all = append(all, fmt.Sprintf("%d %s %d %s", s.Kind, s.Role, s.Message, inf.Value(s)))
	}
	return inf, all
}

func TestSpans(t *testing.T) {
	t.Parallel()
	const text, arguments, reasoning, definition, image, file, audio, other = dialect.SpanText, dialect.SpanArguments, dialect.SpanReasoning, dialect.SpanDefinition, dialect.SpanImage, dialect.SpanFile, dialect.SpanAudio, dialect.SpanOther
	is := func(kind dialect.SpanKind, role dialect.Role, message int, value string) string {
		return fmt.Sprintf("%d %s %d %s", kind, role, message, value)
	}
	for _, tt := range []struct {
		endpoint penstock.Endpoint
		body     string
		want     []string
	}{
		{penstock.EndpointChat, `{"model":"m","messages":[{"role":"developer","content":"s"},{"content":[{"type":"text","text":"h\u00e9"},{"type":"image_url","image_url":{"url":"data:i","detail":"low"}},{"type":"input_audio","input_audio":{"data":"a","format":"wav"}},{"type":"file","file":{"file_data":"f","filename":"n"}}],"role":"user"},{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"1","content":"out"}],"tools":[{"type":"function","function":{"name":"f"}}],"user":"u"}`,
			[]string{is(text, "system", 0, "s"), is(text, "user", 1, "hé"), is(image, "user", 1, "data:i"), is(audio, "user", 1, "a"), is(file, "user", 1, "f"), is(reasoning, "assistant", 2, "r"), is(arguments, "assistant", 2, `{"a":1}`), is(text, "tool", 3, "out"), is(definition, "", -1, `{"type":"function","function":{"name":"f"}}`)}},
		{penstock.EndpointMessages, `{"max_tokens":1,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"d"},"title":"t"},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"words"}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"out"}]},{"type":"image","source":{"type":"url","url":"https://x.example/i"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"r","signature":"zz"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]}]}`,
			[]string{is(text, "system", -1, "s"), is(file, "user", 0, "d"), is(text, "user", 0, "t"), is(text, "user", 0, "words"), is(text, "tool", 0, "out"), is(image, "user", 0, "https://x.example/i"), is(reasoning, "assistant", 1, "r"), is(arguments, "assistant", 1, `{"a":1}`)}},
		{penstock.EndpointResponses, `{"store":false,"instructions":"s","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"out"},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"th"}]}]}`,
			[]string{is(text, "system", 0, "s"), is(text, "user", 0, "x"), is(arguments, "assistant", 1, "{}"), is(text, "tool", 2, "out"), is(reasoning, "assistant", 3, "th")}},
		{penstock.EndpointResponses, `{"store":false,"input":"x"}`, []string{is(text, "user", 0, "x")}},
		{penstock.EndpointCompletions, `{"prompt":["a","b"]}`, []string{is(text, "user", -1, "a"), is(text, "user", -1, "b")}},
		{penstock.EndpointEmbeddings, `{"input":["a","b"]}`, []string{is(text, "user", 0, "a"), is(text, "user", 1, "b")}},
		{penstock.EndpointRerank, `{"query":"q","documents":["a",{"text":"b","title":"t","extra":"e"}],"top_n":1}`, []string{is(text, "user", -1, "q"), is(text, "user", -1, "a"), is(text, "user", -1, "b"), is(text, "user", -1, "t"), is(other, "user", -1, "e")}},
		{penstock.EndpointChat, `{"messages":[{"role":"user","content":[{"type":"new","words":"hidden"}]}]}`, []string{is(other, "user", 0, "hidden")}},
	} {
		if _, got := spans(t, tt.endpoint, tt.body); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s\nhas\n%s\nwant\n%s", tt.body, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// TestReplacedSpans holds that spans stand where they say: text that takes their place is read back, and nothing else changed.
func TestReplacedSpans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z"\\é\n]{0,9}`), 1, 5).Draw(t, "words")
		var parts []string
		for _, word := range words {
			parts = append(parts, fmt.Sprintf(`{"type":"text","text":%s}`, quoted(word)))
		}
		inf, _ := spans(t, penstock.EndpointChat, `{"messages":[{"role":"user","content":[`+strings.Join(parts, ",")+`]}],"n":1}`)
		var found []dialect.Span
		var texts []string
		for s := range inf.Spans() {
			found, texts = append(found, s), append(texts, inf.Value(s)+"!")
		}
		if len(found) != len(words) {
			t.Fatalf("%d spans of %d", len(found), len(words))
		}
		again, _ := spans(t, penstock.EndpointChat, string(inf.Replace(found, texts)))
		n := 0
		for s := range again.Spans() {
			if got := again.Value(s); got != words[n]+"!" {
				t.Fatalf("%q became %q", words[n], got)
			}
			n++
		}
	})
}

func quoted(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch r {
		case '"', '\\':
			b = append(b, '\\', byte(r))
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, string(r)...)
		}
	}
	return string(append(b, '"'))
}
