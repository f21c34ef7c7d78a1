package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pieces cuts a stream into reads of the given sizes, over and over. A size of 0 gives one byte
// together with the error that follows it, if it is the last.
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
	if len(p.rest) == 0 && size%2 == 0 {
		return n, io.EOF
	}
	return n, nil
}

// dispatched is what the standard makes of a stream, by the shortest way: unify the line ends,
// split, and walk the lines. It knows nothing of reads, limits or raw bytes.
func dispatched(stream string) (events []seen) {
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var ev seen
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if ev.HasData {
				ev.Data = strings.TrimSuffix(ev.Data, "\n")
				events = append(events, ev)
			}
			ev = seen{}
		case name == "data":
			ev.Data += value + "\n"
			ev.HasData = true
		case name == "event":
			ev.Type = value
		case name == "id" && !strings.Contains(value, "\x00"):
			ev.ID = value
		}
	}
	return events
}

func FuzzNext(f *testing.F) {
	for _, s := range []string{
		"data: a\n\ndata: b\n\n", "data: a\r\n\r\n: ping\r\n\r\n", "data: a\r\rdata: b\r\r\n\n", "\xef\xbb\xbfid: 1\ndata\n\n",
		"data: a\n\ndata: [DONE]", "data: a\n\r\ndata: b\r\n\n\r", "event: x\ndata: {\ndata: }\n\n",
		": c\n" + strings.Repeat("data: xyz\n", 500) + "\n",
	} {
		f.Add([]byte(s), []byte{1}, uint16(1<<15))
		f.Add([]byte(s), []byte{3, 1, 2, 0}, uint16(10))
	}
	f.Fuzz(func(t *testing.T, stream, sizes []byte, limit uint16) {
		whole, wholeErr := readAll(bytes.NewReader(stream), int(limit))
		cut, cutErr := readAll(&pieces{rest: stream, sizes: sizes}, int(limit))
		if diff := cmp.Diff(whole, cut); diff != "" {
			t.Errorf("how the bytes were read shows (-whole +cut):\n%s", diff)
		}
		_, tooLarge := errors.AsType[*TooLargeError](wholeErr)
		_, cutTooLarge := errors.AsType[*TooLargeError](cutErr)
		if tooLarge != cutTooLarge || (!tooLarge && wholeErr != cutErr) {
			t.Errorf("whole ends with %v, cut with %v", wholeErr, cutErr)
		}
		for _, ev := range whole {
			if len(ev.Raw) > int(limit) {
				t.Errorf("frame of %d bytes passed the limit of %d", len(ev.Raw), limit)
			}
		}
		if !tooLarge {
			checkAgainstStandard(t, stream, whole, wholeErr)
		}
	})
}

// checkAgainstStandard compares a stream that was read to its end with what the standard says.
func checkAgainstStandard(t *testing.T, stream []byte, got []seen, end error) {
	var raw strings.Builder
	var events []seen
	for i, ev := range got {
		raw.WriteString(ev.Raw)
		unfinished := end == io.ErrUnexpectedEOF && i == len(got)-1
		if ev.HasData && !unfinished {
			ev.Raw = ""
			events = append(events, ev)
		}
	}
	if raw.String() != string(stream) {
		t.Errorf("raw frames make %q, the stream is %q", raw.String(), stream)
	}
	if diff := cmp.Diff(dispatched(string(stream)), events); diff != "" {
		t.Errorf("events (-standard +got):\n%s", diff)
	}
}

func FuzzAppendEvent(f *testing.F) {
	f.Add([]byte("delta"), []byte("7"), []byte("a\nb"))
	f.Add([]byte(""), []byte("\x00"), []byte("\r\n\r"))
	f.Fuzz(func(t *testing.T, typ, id, data []byte) {
		frame := AppendEvent(nil, Event{Type: typ, ID: id, Data: data})
		got, err := readAll(bytes.NewReader(frame), len(frame))
		if err != io.EOF || len(got) != 1 {
			t.Fatalf("%q reads as %d events, then %v", frame, len(got), err)
		}
		oneLine := strings.NewReplacer("\r", "", "\n", "")
		want := seen{
			Type: oneLine.Replace(string(typ)), ID: oneLine.Replace(string(id)), HasData: data != nil,
			Data: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), Raw: string(frame),
		}
		if strings.Contains(want.ID, "\x00") {
			want.ID = ""
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
