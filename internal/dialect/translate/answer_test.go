package translate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

func TestFor(t *testing.T) {
	t.Parallel()
	endpoints := []penstock.Endpoint{
		penstock.EndpointChat, penstock.EndpointMessages, penstock.EndpointCompletions, penstock.EndpointEmbeddings, penstock.EndpointResponses,
	}
	for _, from := range endpoints {
		for _, to := range endpoints {
			_, ok := For(from, to)
			want := (from == penstock.EndpointChat && to == penstock.EndpointMessages) || (from == penstock.EndpointMessages && to == penstock.EndpointChat) ||
				(from == penstock.EndpointResponses && (to == penstock.EndpointChat || to == penstock.EndpointMessages))
			if ok != want {
				t.Errorf("from %s to %s: %v", from, to, ok)
			}
		}
	}
}

func streamOf(t *testing.T, direction string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", direction, "stream_tools.in.sse"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Wherever an upstream breaks off, its error arrives unchanged and nothing that closes the answer does.
func TestTruncatedStaysTruncated(t *testing.T) {
	t.Parallel()
	for direction, tr := range directions {
		whole := streamOf(t, direction)
		for cut := 0; cut < len(whole); cut += 29 {
			broken := &provider.Error{Kind: provider.KindTruncated, Message: "cut"}
			for _, a := range []dialect.Asked{{Stream: true}, {}} {
				up := upstream(whole[:cut], typeStream)
				up.end = broken
				answer := tr.Answer(up, a)
				wire, _, end := read(answer)
				if end != error(broken) {
					t.Fatalf("%s cut at %d: ends with %v", direction, cut, end)
				}
				for _, closing := range []string{"[DONE]", "message_stop", "message_delta", `"finish_reason":"`, `"stop_reason":"`, "response.completed"} {
					if strings.Contains(wire, closing) {
						t.Fatalf("%s cut at %d: closed by %s", direction, cut, wire)
					}
				}
				if _, again := answer.Next(); again != end {
					t.Fatalf("%s cut at %d: then %v", direction, cut, again)
				}
			}
		}
	}
}

func TestMetaAndClosePassThrough(t *testing.T) {
	t.Parallel()
	up := upstream(streamOf(t, "chat_to_messages"), "text/event-stream; charset=utf-8")
	up.meta.UpstreamID = "req-1"
	answer := chatToMessages.Answer(up, dialect.Asked{})
	if _, _, err := read(answer); err != io.EOF {
		t.Fatal(err)
	}
	want := up.meta
	want.ContentType = typeJSON // it was asked for in one piece
	if diff := cmp.Diff(want, answer.Meta()); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
	if err := answer.Close(); err != nil || up.closed != 1 {
		t.Errorf("closed %d times, %v", up.closed, err)
	}
}

func TestUsageChunkOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	wire, _, err := read(chatToMessages.Answer(upstream(streamOf(t, "chat_to_messages"), typeStream), dialect.Asked{Model: "m", Stream: true}))
	if err != io.EOF || strings.Contains(wire, "usage") || !strings.HasSuffix(wire, "data: [DONE]\n\n") {
		t.Errorf("%v, %s", err, wire)
	}
}

// An answer of an upstream that sends no id has one all the same, made of the id of the call.
func TestAnswersWithoutAnID(t *testing.T) {
	t.Parallel()
	const whole = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`
	for direction, want := range map[string]string{"chat_to_gemini": `"id":"chatcmpl-01CALL"`, "messages_to_gemini": `"id":"msg_01CALL"`, "responses_to_gemini": `"id":"resp_01CALL"`} {
		for _, stream := range []bool{false, true} {
			up := upstream([]byte(whole), typeJSON)
			if stream {
				up = upstream([]byte("data: "+whole+"\n\n"), typeStream)
			}
			wire, _, err := read(directions[direction].Answer(up, dialect.Asked{Model: "m", ID: "01CALL", Stream: stream, Body: asked.Body}))
			if err != io.EOF || !strings.Contains(wire, want) {
				t.Errorf("%s: %v, %s", direction, err, wire)
			}
		}
	}
}

func TestHowAnAnswerIsRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		contentType string
		stream      bool
		want        bool
	}{
		{"text/event-stream", false, true}, {"Text/Event-Stream; charset=utf-8", true, true}, {"application/json", true, false},
		{"application/json; charset=utf-8", false, false}, {"application/problem+json", true, false}, {"", true, true}, {"", false, false},
		{"text/plain", true, true},
	} {
		if got := isStream(tc.contentType, dialect.Asked{Stream: tc.stream}); got != tc.want {
			t.Errorf("%q, stream %v: read as a stream: %v", tc.contentType, tc.stream, got)
		}
	}
}

func TestErrorsSpeakTheCallersDialect(t *testing.T) {
	t.Parallel()
	failure := &provider.Error{Kind: provider.KindRejected, StatusCode: 400, Message: "bad \xff", Body: []byte(`{"upstream":true}`)}
	for _, tc := range []struct {
		tr   Translation
		want string
	}{
		{chatToMessages, `{"error":{"message":"bad ` + "\ufffd" + `","type":"invalid_request_error","param":null,"code":null}}`},
		{messagesToChat, `{"type":"error","error":{"type":"invalid_request_error","message":"bad ` + "\ufffd" + `"}}`},
	} {
		got := tc.tr.Error(failure)
		if string(got.Body) != tc.want || got.Kind != failure.Kind {
			t.Errorf("got %s, want %s", got.Body, tc.want)
		}
	}
	if string(failure.Body) != `{"upstream":true}` {
		t.Error("the error given was changed")
	}
	if got := chatToMessages.Error(&provider.Error{Kind: provider.KindConnect}); got.Body != nil {
		t.Errorf("a failure without an answer got the body %s", got.Body)
	}
	account := &provider.Error{Kind: provider.KindAuth, StatusCode: 401, Message: "key sk-1 of Acme is revoked", Body: []byte("{}")}
	if got := string(messagesToChat.Error(account).Body); strings.Contains(got, "Acme") {
		t.Errorf("the caller reads about our account: %s", got)
	}
}

// endless is an upstream that never stops.
type endless struct {
	upstreamAnswer
	first, frame []byte
	given        int
}

func (e *endless) Next() (provider.Chunk, error) {
	if e.given++; e.given == 1 {
		return provider.Chunk{Wire: e.first}, nil
	}
	if e.given > 1<<12 {
		return provider.Chunk{}, io.EOF
	}
	return provider.Chunk{Wire: e.frame}, nil
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<16)
	for name, tc := range map[string]struct {
		tr           *translation
		contentType  string
		first, frame string
	}{
		"an event without end":       {chatToMessages, typeStream, "data: ", long},
		"a plain answer without end": {chatToMessages, typeJSON, `{"id":"`, long},
		"arguments without a name": {messagesToChat, typeStream, "\n",
			`data: {"id":"x","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + long + `"}}]}}]}` + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := &endless{first: []byte(tc.first), frame: []byte(tc.frame)}
			up.meta.ContentType = tc.contentType
			_, _, end := read(tc.tr.Answer(up, dialect.Asked{}))
			if e, ok := errors.AsType[*provider.Error](end); !ok || e.Kind != provider.KindMalformed {
				t.Errorf("ended with %v after %d chunks", end, up.given)
			}
		})
	}
}

func TestWhatIsGatheredIsBounded(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(g *gathered){
		"text":      func(g *gathered) { g.text("0123456789") },
		"calls":     func(g *gathered) { g.call("id", "name") },
		"arguments": func(g *gathered) { g.arguments("0123456789") },
	} {
		g := gathered{size: maxAnswerBytes - 1000}
		if _, err := g.all(); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			add(&g)
		}
		if _, err := g.all(); err == nil || len(g.said.String()) > 1000 || len(g.parts) > 10 {
			t.Errorf("%s: %v, kept %d bytes and %d parts", name, err, len(g.said.String()), len(g.parts))
		}
	}
}

// A stream passes on what it has, however long it gets, and keeps nothing.
func TestStreamsKeepNothing(t *testing.T) {
	t.Parallel()
	start := `data: {"type":"message_start","message":{"id":"msg_1"}}` + "\n\n"
	frame := `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"` + strings.Repeat("x", 1<<10) + `"}}` + "\n\n"
	up := &endless{first: []byte(start), frame: []byte(frame)}
	answer := chatToMessages.Answer(up, dialect.Asked{Stream: true})
	for {
		chunk, err := answer.Next()
		if err == io.EOF {
			return
		}
		if err != nil || cap(chunk.Wire) > 16<<10 {
			t.Fatalf("%v, %d bytes in one chunk", err, cap(chunk.Wire))
		}
	}
}

func TestDroppedIsBounded(t *testing.T) {
	t.Parallel()
	var members strings.Builder
	for i := range 200 {
		members.WriteString(`,"` + strings.Repeat("ü", i+1) + `":1`)
	}
	_, dropped, err := chatToMessages.Request([]byte(`{"messages":[{"role":"user","content":"a"}]`+members.String()+`}`), testMost)
	if err != nil || len(dropped) != MaxDropped || dropped[MaxDropped-1] != more {
		t.Fatalf("%v, %d names, the last %q", err, len(dropped), dropped[len(dropped)-1])
	}
	var n notes
	n.drop(strings.Repeat("a", 10_000))
	n.drop("messages[12].content[3].x")
	n.drop("messages[2].content[33].x")
	if len(n.paths) != 2 || len(n.paths[0]) > maxDroppedBytes+len(more) || n.paths[1] != "messages[].content[].x" {
		t.Errorf("%q", n.paths)
	}
}

func TestPortableIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "a b", "fn:1", strings.Repeat("x", 41), "ü", "call_1", strings.Repeat("x", 40)} {
		got := portableID(id)
		if len(got) > maxIDBytes || got == "" || strings.IndexFunc(got, notPortable) >= 0 || got != portableID(id) || portableID(got) != got {
			t.Errorf("%q became %q", id, got)
		}
	}
	if portableID("a b") == portableID("a c") {
		t.Error("two ids became one")
	}
}

// JSON that is just not too deep by itself must not be too deep where it is put.
func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{maxDepth - 10, maxDepth, maxDepth + 1, 9_990, 10_000, 100_000} {
		deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		schema := []byte(`{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","input_schema":` + deep + `}]}`)
		if _, _, err := messagesToChat.Request(schema, testMost); (err == nil) != (depth < maxDepth) {
			t.Errorf("a schema %d deep: %v", depth, err)
		}
		quoted := strings.ReplaceAll(deep, `"`, `\"`)
		call := `"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"` + quoted + `"}}]`
		history := []byte(`{"messages":[{"role":"user","content":"a"},{"role":"assistant",` + call + `},{"role":"tool","tool_call_id":"x","content":"y"}]}`)
		if _, _, err := chatToMessages.Request(history, testMost); (err == nil) != (depth <= maxDepth) {
			t.Errorf("arguments %d deep: %v", depth, err)
		}
		completion := []byte(`{"id":"x","choices":[{"message":{` + call + `},"finish_reason":"tool_calls"}]}`)
		if _, _, err := read(messagesToChat.Answer(upstream(completion, typeJSON), dialect.Asked{})); (err == io.EOF) != (depth <= maxDepth) {
			t.Errorf("an answer with arguments %d deep: %v", depth, err)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	for direction, tr := range directions {
		text, err := os.ReadFile(filepath.Join("testdata", direction, "request_tool_conversation.in.json"))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(direction, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := tr.Request(text, testMost); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStreamedChunk(b *testing.B) {
	for name, bench := range map[string]struct {
		tr           *translation
		first, frame string
	}{
		"chat_to_messages": {chatToMessages, `data: {"type":"message_start","message":{"id":"msg_1"}}` + "\n\n",
			"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}` + "\n\n"},
		"messages_to_chat": {messagesToChat, "\n",
			`data: {"id":"chatcmpl-9","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			up := &endless{first: []byte(bench.first), frame: []byte(bench.frame)}
			answer := bench.tr.Answer(up, dialect.Asked{Model: "m", Stream: true})
			for b.Loop() {
				up.given = min(up.given, 2)
				if _, err := answer.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// announced is an upstream that announces its waits.
type announced struct{ upstreamAnswer }

func (a *announced) Next() (provider.Chunk, error) {
	chunk, err := a.upstreamAnswer.Next()
	chunk.More = len(a.rest) > 0
	return chunk, err
}

// A translated chunk says that the wait behind it is announced if the upstream's chunk does, so that a sink may send chunks together.
func TestTranslatedChunksSayWhetherMoreArrived(t *testing.T) {
	t.Parallel()
	up := &announced{*upstream(streamOf(t, "chat_to_messages"), typeStream)}
	up.size = 512
	answer := chatToMessages.Answer(up, dialect.Asked{Model: "m", Stream: true})
	for chunks := 0; ; chunks++ {
		chunk, err := answer.Next()
		if err != nil {
			t.Fatalf("after %d chunks: %v", chunks, err)
		}
		if want := len(up.rest) > 0; chunk.More != want && !chunk.Last {
			t.Errorf("chunk %d says %v, the upstream %v", chunks, chunk.More, want)
		}
		if chunk.Last {
			if chunk.More || chunks == 0 {
				t.Errorf("the last of %d chunks says %v", chunks, chunk.More)
			}
			return
		}
	}
}
