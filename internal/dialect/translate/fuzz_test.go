package translate

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

// ordered is the directions in an order that is the same each time, or the fuzzer takes the order for
// something that it found.
var ordered = []string{
	"chat_to_converse", "chat_to_gemini", "chat_to_messages", "messages_to_chat", "messages_to_converse", "messages_to_gemini", "responses_to_chat", "responses_to_messages",
}

func seed(f *testing.F, pattern string, add func(text []byte)) {
	f.Helper()
	for _, text := range inputs(f, pattern) {
		add(text)
	}
}

// Whatever a caller sends is translated into JSON or refused by naming a field; and what was translated
// is translated back or refused, so the two directions agree on what a body is.
func FuzzRequest(f *testing.F) {
	seed(f, "request_*.in.json", func(text []byte) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range ordered {
			tr := directions[name]
			body, dropped, err := tr.Request(text, testMost)
			if err != nil {
				if e, ok := errors.AsType[*penstock.Error](err); !ok || e.Code != penstock.CodeInvalidRequest || e.Param == "" || len(e.Message) > 2000 {
					t.Fatalf("%s: %v is no invalid_request that names a field", name, err)
				}
				continue
			}
			if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) {
				t.Fatalf("%s made %q", name, body)
			}
			if len(dropped) > MaxDropped {
				t.Fatalf("%s dropped %d names", name, len(dropped))
			}
			for _, back := range directions {
				if back != tr {
					_, _, _ = back.Request(body, testMost)
				}
			}
		}
	})
}

// Whatever an upstream sends, there is no panic, the chunks do not show, and each event that comes out
// is JSON.
func FuzzAnswer(f *testing.F) {
	seed(f, "stream_*.in.sse", func(text []byte) { f.Add(text, uint16(3), true) })
	seed(f, "answer_*.in.json", func(text []byte) { f.Add(text, uint16(3), false) })
	f.Fuzz(func(t *testing.T, text []byte, size uint16, streams bool) {
		contentType := typeJSON
		if streams {
			contentType = typeStream
		}
		for _, name := range ordered {
			tr := directions[name]
			for _, stream := range []bool{false, true} {
				a := asked
				a.Stream = stream
				wire, said, end := read(tr.Answer(upstream(text, contentType), a))
				cut := upstream(text, contentType)
				cut.size = int(size) + 1
				cutWire, cutSaid, cutEnd := read(tr.Answer(cut, a))
				if wire != cutWire || said != cutSaid || (end == io.EOF) != (cutEnd == io.EOF) {
					t.Fatalf("%s: in chunks of %d: %q, %v; whole: %q, %v", name, cut.size, cutWire, cutEnd, wire, end)
				}
				if end != io.EOF {
					if _, ok := errors.AsType[*provider.Error](end); !ok {
						t.Fatalf("%s ends with %v", name, end)
					}
					continue
				}
				checkWire(t, wire, a)
			}
		}
	})
}

func checkWire(t *testing.T, wire string, a dialect.Asked) {
	t.Helper()
	if !a.Stream {
		if !jsontext.Value(wire).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("%q is not JSON", wire)
		}
		return
	}
	events := sse.NewReader(strings.NewReader(wire), len(wire)+1)
	for {
		ev, err := events.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in %q", err, wire)
		}
		if ev.Data != nil && string(ev.Data) != "[DONE]" && !jsontext.Value(ev.Data).IsValid(jsontext.AllowDuplicateNames(true)) {
			t.Fatalf("%q is not JSON", ev.Data)
		}
	}
}
