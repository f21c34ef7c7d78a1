package wire

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"penstock/internal/provider"
)

// How the bytes of an answer arrive never shows: the same chunks reach the caller, with the same end, before
// or after it has seen anything.
func FuzzStream(f *testing.F) {
	for _, stream := range []string{
		"data: a\n\ndata: secret\n\ndata: b\n\ndata: [DONE]", "data: ping\n\n: c\n\ndata: a\r\n\r\ndata: [DONE]\n\n",
		"data: ping\n\ndata: error\n\n", "data: a\n\ndata: gibberish\n\n", "data: a\n\ndata: b", strings.Repeat(": ping\n\n", 100) + "data: [DONE]\n\n",
	} {
		f.Add([]byte(stream), true)
		f.Add([]byte(stream), false)
	}
	f.Fuzz(func(t *testing.T, stream []byte, typed bool) {
		contentType := "text/plain"
		if typed {
			contentType = "text/event-stream"
		}
		whole := readAnswer(t, contentType, bytes.NewReader(stream))
		for name, cut := range map[string]io.Reader{
			"byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
			"in halves":    iotest.HalfReader(bytes.NewReader(stream)),
			"early end":    iotest.DataErrReader(bytes.NewReader(stream)),
		} {
			if got := readAnswer(t, contentType, cut); got != whole {
				t.Errorf("%s: %+v, whole: %+v", name, got, whole)
			}
		}
		if whole.kind == "" && !strings.Contains(string(stream), "[DONE]") {
			t.Errorf("a stream without its terminator counts as complete: %+v", whole)
		}
	})
}

// answered is what a caller gets of an answer.
type answered struct {
	wire, text string
	kind       provider.Kind // how it failed, "" if it is complete
	inCall     bool          // it failed before the caller saw anything
	meta       provider.Meta
}

func readAnswer(t *testing.T, contentType string, body io.Reader) (got answered) {
	t.Helper()
	answer, err := receiveFrom(t, contentType, body)
	if err != nil {
		return answered{kind: provider.AsError(err).Kind, inCall: true}
	}
	defer answer.Close()
	got.wire, got.text, err = collect(answer)
	if err != io.EOF {
		got.kind = provider.AsError(err).Kind
	}
	got.meta = answer.Meta()
	return got
}
