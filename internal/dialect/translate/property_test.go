package translate

import (
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"penstock/internal/dialect"
)

// Generators are made anew for every use: one that tests share is a race.
func drawText() *rapid.Generator[string] { return rapid.StringMatching(`[ -~\néЖ⚡]{1,20}`) }
func drawName() *rapid.Generator[string] { return rapid.StringMatching(`[a-z_]{1,12}`) }
func drawData() *rapid.Generator[string] { return rapid.StringMatching(`[A-Za-z0-9+/]{4,16}=`) }

func drawInput(t *rapid.T) jsontext.Value {
	return encode(rapid.MapOf(drawName(), drawText()).Draw(t, "input"))
}

// drawTurns draws a conversation as messages have it: turns that alternate, each call with its result.
func drawTurns(t *rapid.T) []turn {
	var turns []turn
	var results blocks
	for i := range rapid.IntRange(1, 4).Draw(t, "rounds") {
		turns = append(turns, turn{Role: "user", Content: append(results, drawSaid(t, len(results) == 0)...)})
		results = nil
		answer := turn{Role: "assistant", Content: drawTexts(t)}
		for j := range rapid.IntRange(0, 2).Draw(t, "calls") {
			id := fmt.Sprintf("toolu_%d-%d", i, j)
			answer.Content = append(answer.Content, block{Type: "tool_use", ID: id, Name: drawName().Draw(t, "tool"), Input: drawInput(t)})
			results = append(results, block{Type: "tool_result", ToolUseID: id, Content: drawTexts(t)})
		}
		if len(answer.Content) == 0 {
			answer.Content = blocks{{Type: "text", Text: drawText().Draw(t, "text")}}
		}
		turns = append(turns, answer)
	}
	return append(turns, turn{Role: "user", Content: append(results, drawSaid(t, len(results) == 0)...)})
}

func drawTexts(t *rapid.T) blocks {
	var all blocks
	for range rapid.IntRange(0, 2).Draw(t, "texts") {
		all = append(all, block{Type: "text", Text: drawText().Draw(t, "text")})
	}
	return all
}

// drawSaid draws the content of a user's turn besides results; not empty, if required.
func drawSaid(t *rapid.T, must bool) blocks {
	least := 0
	if must {
		least = 1
	}
	var all blocks
	for range rapid.IntRange(least, 3).Draw(t, "blocks") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			all = append(all, block{Type: "text", Text: drawText().Draw(t, "text")})
		case 1:
			all = append(all, block{Type: "image", Source: &source{Type: "url", URL: "https://x.example/" + drawName().Draw(t, "path")}})
		case 2:
			all = append(all, block{Type: "image", Source: &source{Type: "base64", MediaType: "image/png", Data: drawData().Draw(t, "data")}})
		case 3:
			all = append(all, block{Type: "document", Title: drawName().Draw(t, "title"), Source: &source{Type: "base64", MediaType: pdf, Data: drawData().Draw(t, "data")}})
		}
	}
	return all
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], name string) *T {
	if !rapid.Bool().Draw(t, "has "+name) {
		return nil
	}
	v := g.Draw(t, name)
	return &v
}

func drawMessageRequest(t *rapid.T) messageRequest {
	r := messageRequest{
		Model: drawName().Draw(t, "model"), System: drawTexts(t), Messages: drawTurns(t), MaxTokens: rapid.Int64Range(1, 1<<20).Draw(t, "max"),
		Stream: rapid.Bool().Draw(t, "stream"), Temperature: maybe(t, rapid.Float64Range(0, 1), "temperature"),
		TopP: maybe(t, rapid.Float64Range(0, 1), "top_p"),
	}
	if stop := rapid.SliceOfN(drawText(), 0, 3).Draw(t, "stop"); len(stop) > 0 {
		r.StopSequences = stop
	}
	if user := maybe(t, drawName(), "user"); user != nil {
		r.Metadata = &messageMetadata{UserID: *user}
	}
	for range rapid.IntRange(0, 2).Draw(t, "tools") {
		r.Tools = append(r.Tools, messageTool{Name: drawName().Draw(t, "tool"), Description: drawText().Draw(t, "about"), InputSchema: drawInput(t)})
	}
	if len(r.Tools) > 0 {
		r.ToolChoice = maybe(t, rapid.SampledFrom([]messageToolChoice{
			{Type: "auto"}, {Type: "auto", DisableParallelToolUse: true}, {Type: "any"}, {Type: "any", DisableParallelToolUse: true},
			{Type: "none"}, {Type: "tool", Name: r.Tools[0].Name},
		}), "choice")
	}
	return r
}

// A body that is translated into chat completions and back is the same request.
func TestRequestsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := encode(drawMessageRequest(t))
		chat, dropped, err := chatFromMessages(first, testMost)
		if err != nil || len(dropped) > 0 {
			t.Fatalf("%s: dropped %q, %v", first, dropped, err)
		}
		second, dropped, err := messagesFromChat(chat, testMost)
		if err != nil || len(dropped) > 0 {
			t.Fatalf("%s became %s: dropped %q, %v", first, chat, dropped, err)
		}
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Fatalf("by way of %s (-first +second):\n%s", chat, diff)
		}
		third, _, err := chatFromMessages(second, testMost)
		if err != nil || string(third) != string(chat) {
			t.Fatalf("the chat completion %s came back as %s, %v", chat, third, err)
		}
	})
}

func drawMessage(t *rapid.T) []byte {
	m := newMessage(drawName().Draw(t, "id"), dialect.Asked{Model: "as-asked"})
	if text := maybe(t, drawText(), "text"); text != nil {
		m.Content = append(m.Content, block{Type: "text", Text: *text})
	}
	stops := []stop{stopTurn, stopLength, stopRefusal}
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		m.Content = append(m.Content, block{Type: "tool_use", ID: "toolu_" + strconv.Itoa(i), Name: drawName().Draw(t, "tool"), Input: drawInput(t)})
		stops = []stop{stopTools, stopLength}
	}
	m.StopReason = &messageWords[rapid.SampledFrom(stops).Draw(t, "stop")]
	count := rapid.Int64Range(0, 1<<40)
	m.Usage = tokens{input: count.Draw(t, "input"), cacheRead: count.Draw(t, "read"), cacheWrite: count.Draw(t, "write"), output: count.Draw(t, "output")}.message()
	return encode(m)
}

// A message that is translated into a chat completion and back is the same, in one piece or as a stream,
// however the stream is cut.
func TestAnswersComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := drawMessage(t)
		there, back := asked, dialect.Asked{Model: "as-asked"}
		there.Stream = rapid.Bool().Draw(t, "stream")
		contentType := typeJSON
		if there.Stream {
			contentType = typeStream
		}
		chat, said, end := read(chatToMessages.Answer(upstream(first, typeJSON), there))
		if end != io.EOF {
			t.Fatalf("%s: %v", first, end)
		}
		cut := upstream([]byte(chat), contentType)
		cut.size = rapid.IntRange(1, 200).Draw(t, "size")
		second, saidAgain, end := read(messagesToChat.Answer(cut, back))
		if end != io.EOF || said != saidAgain {
			t.Fatalf("%s became %s: %v, text %q and %q", first, chat, end, said, saidAgain)
		}
		if diff := cmp.Diff(string(first), second); diff != "" {
			t.Fatalf("by way of %s (-first +second):\n%s", chat, diff)
		}
	})
}
