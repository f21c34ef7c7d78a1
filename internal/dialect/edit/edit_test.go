package edit

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/dialect/assemble"
	"penstock/internal/sse"
)

const (
	chat        = penstock.EndpointChat
	completions = penstock.EndpointCompletions
	messages    = penstock.EndpointMessages
	responses   = penstock.EndpointResponses
)

// streams are whole streams of each format.
var streams = map[penstock.Endpoint]string{
	chat: `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

: keep-alive

data: {"id":"c","choices":[{"delta":{"content":"Hello "},"index":0,"logprobs":{"content":[{"token":"Hello "}]},"finish_reason":null},{"index":1,"delta":{"content":"Bye "}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"content":"w\u00f6rld","reasoning_content":"I think"},"finish_reason":null}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"t","type":"function","function":{"name":"f","arguments":"{\"a\":"}}]}}]}

data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"\"secret\"}"},"index":1}]}}]}

data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}

data: {"id":"c","choices":[{"index":1,"delta":{"content":"now"},"finish_reason":"length"}]}

data: [DONE]

`,
	completions: "data: {\"id\":\"c\",\"choices\":[{\"text\":\"Hello \",\"index\":0,\"logprobs\":{\"tokens\":[\"Hello \"]},\"finish_reason\":null}]}\r\n\r\n" +
		"data: {\"id\":\"c\",\"choices\":[{\"text\":\"secret\",\"index\":0,\"logprobs\":null,\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n",
	messages: `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a secret thought"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2VjcmV0"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello sec"}}

event: content_block_delta
data: {"index":1,"delta":{"text":"ret","type":"text_delta"},"type":"content_block_delta"}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"secret\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`,
	responses: `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"r","object":"response","instructions":"keep the secret","output":[],"reasoning":{"effort":"low","summary":"auto"}}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","sequence_number":1,"item_id":"i0","output_index":0,"summary_index":0,"delta":"think"}

event: response.reasoning_summary_text.done
data: {"type":"response.reasoning_summary_text.done","sequence_number":2,"item_id":"i0","output_index":0,"summary_index":0,"text":"think"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"i1","output_index":1,"content_index":0,"delta":"Hello sec","logprobs":[{"token":"sec"}]}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"i1","output_index":1,"content_index":0,"delta":"ret"}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":5,"item_id":"i1","output_index":1,"content_index":0,"text":"Hello secret","logprobs":[{"token":"secret"}]}

event: response.content_part.done
data: {"type":"response.content_part.done","sequence_number":6,"item_id":"i1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Hello secret","annotations":[]}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":7,"output_index":1,"item":{"id":"i1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello secret"}]}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":8,"item_id":"i2","output_index":2,"delta":"{\"k\":\"secret\"}"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","sequence_number":9,"item_id":"i2","output_index":2,"arguments":"{\"k\":\"secret\"}"}

event: response.completed
data: {"type":"response.completed","sequence_number":10,"response":{"id":"r","object":"response","output":[{"id":"i0","type":"reasoning","summary":[{"type":"summary_text","text":"think"}]},{"id":"i1","type":"message","content":[{"type":"output_text","text":"Hello secret"}]},{"id":"i2","type":"function_call","arguments":"{\"k\":\"secret\"}"}],"usage":{"input_tokens":1}}}

`,
}

// bodies are plain answers of each format.
var bodies = map[penstock.Endpoint]string{
	chat:        `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a secret","reasoning":"b secret","tool_calls":[{"id":"t","function":{"name":"f","arguments":"{\"x\":\"secret\"}"}}]},"logprobs":{"content":[{"token":"secret"}]},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`,
	completions: `{"choices":[{"text":"a secret","index":0,"finish_reason":"stop"}]}`,
	messages:    `{"id":"m","type":"message","content":[{"type":"thinking","thinking":"secret","signature":"x"},{"type":"text","text":"a secret"},{"type":"tool_use","id":"t","name":"f","input":{"a":"secret"}},{"type":"web_search_tool_result","content":[{"title":"secret","url":"u","encrypted_content":"zz"}]}],"stop_reason":"end_turn"}`,
	responses:   `{"id":"r","object":"response","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"secret"}]},{"type":"message","content":[{"type":"output_text","text":"a secret"}]},{"type":"mcp_call","arguments":"secret","output":"a secret"}]}`,
}

func same(d Delta) string { return d.Text }

func TestIdentityKeepsEveryByte(t *testing.T) {
	t.Parallel()
	for endpoint, stream := range streams {
		e := New(endpoint)
		if got := e.Chunk([]byte(stream), same); string(got) != stream {
			t.Errorf("%s: %s", endpoint, got)
		}
		e, reader := New(endpoint), sse.NewReader(strings.NewReader(stream), 1<<20)
		var all []byte
		for {
			event, err := reader.Next()
			if err != nil {
				break
			}
			wire := bytes.Clone(event.Raw)
			got := e.Chunk(wire, same)
			if &got[0] != &wire[0] {
				t.Errorf("%s: an unchanged chunk was copied: %s", endpoint, wire)
			}
			all = append(all, got...)
		}
		if string(all) != stream {
			t.Errorf("%s, by event: %s", endpoint, all)
		}
	}
	for endpoint, text := range bodies {
		if got := New(endpoint).Body([]byte(text), same); string(got) != text {
			t.Errorf("%s: %s", endpoint, got)
		}
	}
}

// upper changes every text.
func upper(d Delta) string { return strings.ToUpper(d.Text) }

// redact is a filter that replaces a word however it was cut: it holds back what could still become the word.
func redact(word, by string) Func {
	held := map[Delta]string{}
	return func(d Delta) string {
		key := Delta{Kind: d.Kind, Choice: d.Choice, Block: d.Block, Member: d.Member}
		text := strings.ReplaceAll(held[key]+d.Text, word, by)
		delete(held, key)
		if d.Last {
			return text
		}
		for n := min(len(word)-1, len(text)); n > 0; n-- {
			if strings.HasSuffix(text, word[:n]) {
				held[key] = text[len(text)-n:]
				return text[:len(text)-n]
			}
		}
		return text
	}
}

func TestNoTextGetsPastAFilter(t *testing.T) {
	t.Parallel()
	echoed := map[penstock.Endpoint]int{responses: 1} // its instructions, which the caller wrote
	for endpoint, stream := range streams {
		got := string(New(endpoint).Chunk([]byte(stream), redact("secret", "*")))
		for _, word := range []string{"secret", `sec"`, `ret"`} {
			if strings.Count(got, word) > echoed[endpoint] {
				t.Errorf("%s still says %s:\n%s", endpoint, word, got)
			}
		}
		valid(t, got)
	}
	for endpoint, text := range bodies {
		got := New(endpoint).Body([]byte(text), redact("secret", "*"))
		if bytes.Contains(got, []byte("secret")) || !jsontext.Value(got).IsValid() {
			t.Errorf("%s still says it: %s", endpoint, got)
		}
	}
}

// valid holds that the data of every event is JSON, or the end.
func valid(t *testing.T, stream string) {
	t.Helper()
	events := sse.NewReader(strings.NewReader(stream), 1<<20)
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if event.Data != nil && string(event.Data) != "[DONE]" && !jsontext.Value(event.Data).IsValid() {
			t.Errorf("no JSON: %s", event.Data)
		}
	}
}

// TestEditedStreamsAssemble holds that a stream whose deltas were edited says the same as a plain answer that was: the pieces fit.
func TestEditedStreamsAssemble(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[penstock.Endpoint][]string{
		chat:        {`"content":"Hello w\u00f6rld"`, `"content":"Bye now"`, `"reasoning_content":"I think"`, `{\"a\":\"*\"}`},
		completions: {`"text":"Hello *"`},
		messages:    {`"text":"Hello *"`, `"thinking":"a * thought"`, `"input":{"a":"*"}`},
		responses:   {`"text":"Hello *"`, `{\"k\":\"*\"}`},
	} {
		edited := New(endpoint).Chunk([]byte(streams[endpoint]), redact("secret", "*"))
		answer, ok := assemble.For(endpoint)
		if !ok {
			t.Fatal(endpoint)
		}
		if err := assemble.Events(edited, answer.Add); err != nil {
			t.Fatalf("%s: %v\n%s", endpoint, err, edited)
		}
		whole, err := answer.Whole()
		if err != nil {
			t.Fatalf("%s: %v", endpoint, err)
		}
		for _, part := range want {
			if !strings.Contains(string(whole), strings.ReplaceAll(part, `\u00f6`, "ö")) {
				t.Errorf("%s lacks %s:\n%s", endpoint, part, whole)
			}
		}
	}
}

// A text that is held back when its block ends is sent in an event of its own, before the one that ends it, and numbered events stay so.
func TestHeldBackTextIsSentBeforeTheEnd(t *testing.T) {
	t.Parallel()
	hold := func() Func {
		held := map[Delta]string{}
		return func(d Delta) string {
			key := Delta{Kind: d.Kind, Choice: d.Choice, Block: d.Block, Member: d.Member}
			held[key] += d.Text
			if d.Last {
				return held[key]
			}
			return ""
		}
	}
	for endpoint, want := range map[penstock.Endpoint][]string{
		chat: {`{"index":0,"delta":{"content":"Hello wörld"},"logprobs":null,"finish_reason":null}`, `{"reasoning_content":"I think"}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":"{\"a\":\"secret\"}"}}]}`, `"delta":{"content":"Bye now"},"finish_reason":"length"`, `"usage":null`},
		messages: {`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello secret"}}`, `"thinking_delta","thinking":"a secret thought"`, `"input_json_delta","partial_json":"{\"a\":\"secret\"}"`},
		responses: {`{"type":"response.output_text.delta","delta":"Hello secret","item_id":"i1","output_index":1,"content_index":0,"sequence_number":6}`,
			`"response.output_text.done","sequence_number":7,`, `"type":"response.completed","sequence_number":13,`},
	} {
		got := string(New(endpoint).Chunk([]byte(streams[endpoint]), hold()))
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s lacks %s:\n%s", endpoint, part, got)
			}
		}
		valid(t, got)
	}
}

func TestLogprobsGoWithTheirText(t *testing.T) {
	t.Parallel()
	for endpoint := range streams {
		if got := string(New(endpoint).Chunk([]byte(streams[endpoint]), upper)); strings.Contains(got, `"token`) {
			t.Errorf("%s: %s", endpoint, got)
		}
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endpoint penstock.Endpoint
		event    string
		want     Delta
	}{
		{chat, `{"choices":[{"index":2,"delta":{"content":"x"}}]}`, Delta{Kind: Text, Choice: 2, Member: "content", Text: "x"}},
		{chat, `{"choices":[{"delta":{"refusal":"x"}}]}`, Delta{Kind: Text, Member: "refusal", Text: "x"}},
		{chat, `{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"x"}]}}]}`, Delta{Kind: Reasoning, Member: "text", Text: "x"}},
		{chat, `{"choices":[{"delta":{"function_call":{"arguments":"x"}}}]}`, Delta{Kind: Arguments, Member: "arguments", Text: "x"}},
		{chat, `{"choices":[{"delta":{"audio":{"id":"a","data":"zz","transcript":"x"}}}]}`, Delta{Kind: Text, Member: "transcript", Text: "x"}},
		{chat, `{"choices":[{"delta":{"new_member":{"said":"x"}}}]}`, Delta{Kind: Other, Member: "said", Text: "x"}},
		{chat, `{"error":{"message":"x","type":"t"}}`, Delta{Kind: Other, Member: "message", Text: "x"}},
		{messages, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, Delta{Kind: Other, Member: "message", Text: "x"}},
		{messages, `{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"a":1}}}`, Delta{Kind: Arguments, Block: 3, Member: "input", Text: `{"a":1}`}},
		{responses, `{"type":"response.refusal.delta","output_index":1,"content_index":2,"delta":"x"}`, Delta{Kind: Text, Choice: 1, Block: 2, Text: "x"}},
		{responses, `{"type":"response.mcp_call_arguments.delta","delta":"x"}`, Delta{Kind: Arguments, Text: "x"}},
		{responses, `{"type":"response.code_interpreter_call_code.delta","delta":"x"}`, Delta{Kind: Arguments, Text: "x"}},
		{responses, `{"type":"response.reasoning_text.delta","content_index":1,"delta":"x"}`, Delta{Kind: Reasoning, Block: 1, Text: "x"}},
		{responses, `{"type":"response.new.delta","delta":"x"}`, Delta{Kind: Other, Text: "x"}},
		{responses, `{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"x"}]}}`, Delta{Kind: Text, Text: "x", Last: true}},
		{chat, `not JSON`, Delta{Kind: Other, Text: "not JSON", Last: true}},
	} {
		var got []Delta
		before, edited := New(tt.endpoint).Event([]byte(tt.event), func(d Delta) string { got = append(got, d); return d.Text })
		if len(got) != 1 || got[0] != tt.want || len(before) > 0 || string(edited) != tt.event {
			t.Errorf("%s: %+v, want %+v", tt.event, got, tt.want)
		}
	}
}

// TestSplitsDoNotMatter holds that a stream that comes in pieces of any size gives the same deltas and the same bytes.
func TestSplitsDoNotMatter(t *testing.T) {
	t.Parallel()
	for endpoint, stream := range streams {
		for _, edit := range []func() Func{func() Func { return same }, func() Func { return upper }, func() Func { return redact("secret", "*") }} {
			want := string(New(endpoint).Chunk([]byte(stream), edit()))
			rapid.Check(t, func(t *rapid.T) {
				got, err := io.ReadAll(New(endpoint).Reader(&pieces{t: t, rest: stream}, edit()))
				if err != nil || string(got) != want {
					t.Fatalf("%s: %v\n%s\nwant\n%s", endpoint, err, got, want)
				}
			})
			got, err := io.ReadAll(New(endpoint).Reader(iotest.OneByteReader(strings.NewReader(stream)), edit()))
			if err != nil || string(got) != want {
				t.Errorf("%s, byte by byte: %v\n%s", endpoint, err, got)
			}
		}
	}
}

// pieces reads a text in pieces of drawn sizes.
type pieces struct {
	t    *rapid.T
	rest string
}

func (p *pieces) Read(to []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(to, p.rest[:rapid.IntRange(1, min(len(p.rest), 300)).Draw(p.t, "piece")])
	p.rest = p.rest[n:]
	return n, nil
}

// TestTextSplitsDoNotMatter holds that a filter which holds back text gives the same text however the model's words were cut.
func TestTextSplitsDoNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(se|secret|cret|a|é|"|\\){0,12}`).Draw(t, "text")
		endpoint := rapid.SampledFrom([]penstock.Endpoint{chat, messages, responses}).Draw(t, "endpoint")
		var stream []byte
		for rest := []rune(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "runes")
			stream = append(stream, deltaEvent(endpoint, string(rest[:n]))...)
			rest = rest[n:]
		}
		stream = append(stream, endEvents(endpoint, text)...)
		edited := New(endpoint).Chunk(stream, redact("secret", "*"))
		if got, want := said(t, endpoint, edited), strings.ReplaceAll(text, "secret", "*"); got != want {
			t.Fatalf("%s: %q, want %q\n%s", endpoint, got, want, edited)
		}
	})
}

func deltaEvent(endpoint penstock.Endpoint, text string) string {
	switch endpoint {
	case messages:
		return `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(text) + "}}\n\n"
	case responses:
		return `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":` + quote(text) + "}\n\n"
	}
	return `data: {"choices":[{"index":0,"delta":{"content":` + quote(text) + "}}]}\n\n"
}

func endEvents(endpoint penstock.Endpoint, text string) string {
	switch endpoint {
	case messages:
		return "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	case responses:
		return `data: {"type":"response.output_text.done","output_index":0,"content_index":0,"text":` + quote(text) + "}\n\n"
	}
	return "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
}

// said is the text of a stream: what its deltas come to, which at the end of a response must be what it repeats.
func said(t *rapid.T, endpoint penstock.Endpoint, stream []byte) string {
	var deltas, repeated strings.Builder
	e := New(endpoint)
	e.Chunk(stream, func(d Delta) string { deltas.WriteString(d.Text); return d.Text })
	if endpoint == responses && e.open != nil {
		repeated.WriteString(string(e.open[0].was))
		if !strings.Contains(string(stream), `"text":`+quote(repeated.String())) {
			t.Fatalf("the end says something else than %q:\n%s", repeated.String(), stream)
		}
		return repeated.String()
	}
	return deltas.String()
}

func FuzzEdit(f *testing.F) {
	for _, stream := range streams {
		f.Add([]byte(stream), uint8(3))
	}
	for _, text := range bodies {
		f.Add([]byte("data: "+text+"\n\n"), uint8(0))
	}
	files, _ := filepath.Glob("../translate/testdata/*/*.sse")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text, uint8(1))
		}
	}
	all := []penstock.Endpoint{chat, completions, messages, responses}
	f.Fuzz(func(t *testing.T, stream []byte, n uint8) {
		endpoint := all[int(n)%len(all)]
		if got := New(endpoint).Chunk(stream, same); !bytes.Equal(got, stream) {
			t.Fatalf("%q became %q", stream, got)
		}
		want, err := io.ReadAll(New(endpoint).Reader(bytes.NewReader(stream), redact("e", "*")))
		got, again := io.ReadAll(New(endpoint).Reader(iotest.OneByteReader(bytes.NewReader(stream)), redact("e", "*")))
		if !bytes.Equal(got, want) || (err == nil) != (again == nil) {
			t.Fatalf("cut into bytes, %q became %q and not %q", stream, got, want)
		}
		if jsontext.Value(stream).IsValid() && jsontext.Value(stream).Kind() == '{' {
			if got := New(endpoint).Body(stream, upper); !jsontext.Value(got).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
				t.Fatalf("%s became %s", stream, got)
			}
		}
	})
}

func BenchmarkIdentity(b *testing.B) {
	event := []byte("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n")
	e := New(chat)
	b.ReportAllocs()
	for b.Loop() {
		e.Chunk(event, same)
	}
}
