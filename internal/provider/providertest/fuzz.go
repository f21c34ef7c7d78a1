package providertest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// maxFuzzedEvent bounds an event of a fuzzed stream.
const maxFuzzedEvent = 1 << 20

// FuzzStream holds that a reader neither panics nor counts nonsense whatever stream it reads, and that how
// the bytes of the stream arrived never shows: neither in its text nor in its usage.
// Readers keep memory between events, and events lie in a buffer that moves. An event has the same meaning to a reader that has read
// others before it as to a new one.
func FuzzStream(f *testing.F, d Dialect, open func() wire.Reader) {
	f.Helper()
	for _, tr := range []Transcript{d.Stream, d.StreamHidden} {
		var stream strings.Builder
		for _, frame := range tr.Answer {
			stream.WriteString(frame.Wire)
		}
		f.Add([]byte(stream.String()), []byte{7})
		f.Add([]byte(strings.ReplaceAll(stream.String(), "\n", "\r\n")), []byte{1, 30, 2})
		f.Add([]byte(": ping\n\n"+stream.String()+d.ErrorFrame.Wire), []byte{})
	}
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		whole := understand(open(), bytes.NewReader(stream))
		if diff := cmp.Diff(whole.Parts, understandEach(open, bytes.NewReader(stream))); diff != "" {
			t.Errorf("the events before an event change its meaning (-after others +alone):\n%s", diff)
		}
		if diff := cmp.Diff(whole, understand(open(), &pieces{rest: stream, sizes: sizes})); diff != "" {
			t.Errorf("how the bytes arrived shows (-whole +cut):\n%s", diff)
		}
		if u := whole.Usage; u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedInputTokens < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}

// understood is what a reader made of a stream.
type understood struct {
	Parts    []wire.Part
	Refused  []string // what it said of events that are not of its protocol
	Usage    penstock.Usage
	Reported wire.Reported
	End      string
}

func understand(r wire.Reader, stream io.Reader) (seen understood) {
	events := sse.NewReader(stream, maxFuzzedEvent)
	for {
		ev, err := events.Next()
		if ev.Data != nil {
			part, refused := r.Event(ev)
			seen.Parts = append(seen.Parts, part)
			if refused != nil {
				seen.Refused = append(seen.Refused, refused.Error())
			}
		}
		if err != nil {
			seen.Usage, seen.Reported = r.Usage()
			seen.End = err.Error()
			return seen
		}
	}
}

// understandEach reads each event of a stream with a reader of its own.
func understandEach(open func() wire.Reader, stream io.Reader) (parts []wire.Part) {
	events := sse.NewReader(stream, maxFuzzedEvent)
	for {
		ev, err := events.Next()
		if ev.Data != nil {
			part, _ := open().Event(ev)
			parts = append(parts, part)
		}
		if err != nil {
			return parts
		}
	}
}

// pieces cuts a stream into reads of the given sizes, over and over; of one byte without any.
type pieces struct {
	rest  []byte
	sizes []byte
	turn  int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(p.sizes) > 0 {
		size = max(1, int(p.sizes[p.turn%len(p.sizes)]))
		p.turn++
	}
	n := copy(b, p.rest[:min(size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
