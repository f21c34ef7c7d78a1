package edit

import (
	"bytes"
	"strings"
	"testing"

	"penstock/internal/sse"
)

// Read and Replace give the same bytes as a function, for every format, by event and with texts that are held back. A Replace that
// was replaced leaves no trace.
func TestReadAndReplace(t *testing.T) {
	t.Parallel()
	for endpoint, stream := range streams {
		e, f := New(endpoint), redact("secret", "*")
		events := sse.NewReader(strings.NewReader(stream), 1<<20)
		var got []byte
		for {
			event, err := events.Next()
			if err != nil {
				break
			}
			deltas, _ := e.Read(nil, bytes.Clone(event.Raw), Events)
			e.Replace(make([]Delta, len(deltas)))
			for i := range deltas {
				deltas[i].Text = f(deltas[i])
			}
			got = append(got, e.Replace(deltas)...)
		}
		if want := New(endpoint).Chunk([]byte(stream), redact("secret", "*")); !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", endpoint, got, want)
		}
	}
	for endpoint, text := range bodies {
		e := New(endpoint)
		deltas, passed := e.Read(nil, []byte(text), Plain)
		if string(passed) != text {
			t.Errorf("%s: Read changed %s", endpoint, passed)
		}
		for i := range deltas {
			deltas[i].Text = upper(deltas[i])
		}
		if got, want := e.Replace(deltas), New(endpoint).Body([]byte(text), upper); !bytes.Equal(got, want) {
			t.Errorf("%s: got %s, want %s", endpoint, got, want)
		}
	}
}

// A chunk that repeats an edited text is edited by Read alone.
func TestReadEditsRepeatedTexts(t *testing.T) {
	t.Parallel()
	e := New(responses)
	const delta = `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"secret"}` + "\n\n"
	const done = `data: {"type":"response.output_text.done","output_index":0,"content_index":0,"text":"secret"}` + "\n\n"
	deltas, _ := e.Read(nil, []byte(delta), Events)
	deltas[0].Text = "*"
	e.Replace(deltas)
	deltas, passed := e.Read(nil, []byte(done), Events)
	if len(deltas) != 1 || deltas[0].Text != "" || !deltas[0].Last || string(passed) != strings.Replace(done, "secret", "*", 1) {
		t.Errorf("%v, %s", deltas, passed)
	}
}

// An upstream may end a stream without a reason to finish. Text that is held back is sent all the same.
func TestHeldBackTextIsSentBeforeDone(t *testing.T) {
	t.Parallel()
	held := ""
	hold := func(d Delta) string {
		if held += d.Text; d.Last {
			return held
		}
		return ""
	}
	const stream = `data: {"choices":[{"index":0,"delta":{"content":"weir"}}]}` + "\n\ndata: [DONE]\n\n"
	got := string(New(chat).Chunk([]byte(stream), hold))
	if valid(t, got); !strings.Contains(got, `"delta":{"content":"weir"}`) || !strings.HasSuffix(got, "\n\ndata: [DONE]\n\n") {
		t.Error(got)
	}
}

// No string of an error passes unread, whatever its name.
func TestErrors(t *testing.T) {
	t.Parallel()
	const text = `{"error":{"message":"a","type":"b","code":"c","metadata":{"raw":"d","data":["e"]}},"user":"f","status":503}`
	if got := string(New(chat).Error([]byte(text), upper)); got != strings.NewReplacer(`"a"`, `"A"`, `"b"`, `"B"`, `"c"`, `"C"`, `"d"`, `"D"`, `"e"`, `"E"`, `"f"`, `"F"`).Replace(text) {
		t.Error(got)
	}
	if got := string(New(chat).Error([]byte("late"), upper)); got != "LATE" {
		t.Error(got)
	}
}
