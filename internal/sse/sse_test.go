package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// seen is an event that outlives the next call. HasData distinguishes empty data from none.
type seen struct {
	Type, ID, Data, Raw string
	HasData             bool
}

func see(ev Event) seen {
	return seen{
		Type: string(ev.Type), ID: string(ev.ID), Data: string(ev.Data), Raw: string(ev.Raw),
		HasData: ev.Data != nil,
	}
}

// readAll returns every event of a stream, the unfinished last one included, and how it ended.
func readAll(src io.Reader, limit int) ([]seen, error) {
	r := NewReader(src, limit)
	var all []seen
	for {
		ev, err := r.Next()
		if err == nil || ev.Raw != nil {
			all = append(all, see(ev))
		}
		if err != nil {
			return all, err
		}
	}
}

func data(data, raw string) seen { return seen{Data: data, Raw: raw, HasData: true} }

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		input string
		want  []seen
		err   error // io.EOF unless said
	}{
		{name: "empty stream"},
		{name: "LF", input: "data: a\n\ndata: b\n\n", want: []seen{data("a", "data: a\n\n"), data("b", "data: b\n\n")}},
		{name: "CRLF", input: "data: a\r\n\r\ndata: b\r\n\r\n",
			want: []seen{data("a", "data: a\r\n\r\n"), data("b", "data: b\r\n\r\n")}},
		{name: "CR", input: "data: a\r\rdata: b\r\r", want: []seen{data("a", "data: a\r\r"), data("b", "data: b\r\r")}},
		{name: "LF after a frame of bare CRs is a blank line", input: "data: a\r\r\ndata: b\n\n",
			want: []seen{data("a", "data: a\r\r"), {Raw: "\n"}, data("b", "data: b\n\n")}},
		{name: "mixed", input: "data: a\r\ndata: b\n\r\n", want: []seen{data("a\nb", "data: a\r\ndata: b\n\r\n")}},
		{name: "no space after the colon", input: "data:a\n\n", want: []seen{data("a", "data:a\n\n")}},
		{name: "only one space is framing", input: "data:  a\n\n", want: []seen{data(" a", "data:  a\n\n")}},
		{name: "several lines", input: "data: a\ndata\ndata: c\ndata:\n\n",
			want: []seen{data("a\n\nc\n", "data: a\ndata\ndata: c\ndata:\n\n")}},
		{name: "several lines, twice", input: "data: a\ndata: b\n\ndata: c\ndata: d\n\n",
			want: []seen{data("a\nb", "data: a\ndata: b\n\n"), data("c\nd", "data: c\ndata: d\n\n")}},
		{name: "first line empty", input: "data:\ndata: b\ndata: c\n\n",
			want: []seen{data("\nb\nc", "data:\ndata: b\ndata: c\n\n")}},
		{name: "empty data is data", input: "data:\n\ndata\n\n", want: []seen{data("", "data:\n\n"), data("", "data\n\n")}},
		{name: "type and id", input: "event: delta\nid: 7\ndata: a\n\n",
			want: []seen{{Type: "delta", ID: "7", Data: "a", HasData: true, Raw: "event: delta\nid: 7\ndata: a\n\n"}}},
		{name: "last type wins", input: "event: a\nevent: b\nid: 1\nid: 2\n\n",
			want: []seen{{Type: "b", ID: "2", Raw: "event: a\nevent: b\nid: 1\nid: 2\n\n"}}},
		{name: "id with NUL is ignored", input: "id: a\x00b\ndata: x\n\n", want: []seen{data("x", "id: a\x00b\ndata: x\n\n")}},
		{name: "comment", input: ": ping\n\ndata: a\n\n", want: []seen{{Raw: ": ping\n\n"}, data("a", "data: a\n\n")}},
		{name: "comment inside a frame", input: ": ping\ndata: a\n: pong\n\n",
			want: []seen{data("a", ": ping\ndata: a\n: pong\n\n")}},
		{name: "unknown fields", input: "retry: 10\n\nDATA: a\n\n data: b\n\n",
			want: []seen{{Raw: "retry: 10\n\n"}, {Raw: "DATA: a\n\n"}, {Raw: " data: b\n\n"}}},
		{name: "stray blank lines", input: "\n\ndata: a\n\n\n",
			want: []seen{{Raw: "\n"}, {Raw: "\n"}, data("a", "data: a\n\n"), {Raw: "\n"}}},
		{name: "byte order mark", input: "\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n",
			want: []seen{data("a", "\xef\xbb\xbfdata: a\n\n"), {Raw: "\xef\xbb\xbfdata: b\n\n"}}},
		{name: "byte order mark alone", input: "\xef\xbb\xbf\ndata: a\n\n",
			want: []seen{{Raw: "\xef\xbb\xbf\n"}, data("a", "data: a\n\n")}},
		{name: "ends on half a CRLF", input: "data: a\r\n\r", want: []seen{data("a", "data: a\r\n\r")}},
		{name: "ends without a blank line", input: "data: a\n\ndata: [DONE]\n", err: io.ErrUnexpectedEOF,
			want: []seen{data("a", "data: a\n\n"), data("[DONE]", "data: [DONE]\n")}},
		{name: "ends without a line end", input: "data: [DONE]", err: io.ErrUnexpectedEOF,
			want: []seen{data("[DONE]", "data: [DONE]")}},
		{name: "ends inside a field name", input: "data: a\n\nda", err: io.ErrUnexpectedEOF,
			want: []seen{data("a", "data: a\n\n"), {Raw: "da"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantErr := tt.err
			if wantErr == nil {
				wantErr = io.EOF
			}
			got, err := readAll(strings.NewReader(tt.input), 1<<20)
			if err != wantErr {
				t.Errorf("ended with %v, want %v", err, wantErr)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// An event must not wait for the one after it: a reader that looks ahead delays every token.
func TestNextReturnsAsSoonAsAFrameIsComplete(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r", ": ping\n\n"} {
		t.Run(fmt.Sprintf("%q", frame), func(t *testing.T) {
			t.Parallel()
			r := NewReader(&thenFatal{t: t, bytes: []byte(frame)}, 1<<20)
			ev, err := r.Next()
			if err != nil || string(ev.Raw) != frame {
				t.Errorf("got %q, %v", ev.Raw, err)
			}
		})
	}
}

// thenFatal gives its bytes one by one and fails the test when it is asked for more.
type thenFatal struct {
	t     *testing.T
	bytes []byte
}

func (r *thenFatal) Read(p []byte) (int, error) {
	if len(r.bytes) == 0 {
		r.t.Error("read past the end of a complete frame")
		return 0, io.EOF
	}
	n := copy(p[:1], r.bytes)
	r.bytes = r.bytes[n:]
	return n, nil
}

func TestNextBoundsFrames(t *testing.T) {
	t.Parallel()
	frame := "data: " + strings.Repeat("x", 100) + "\n\n"
	tests := []struct {
		name   string
		input  string
		limit  int
		events int
		tooBig bool
	}{
		{"exactly the limit", frame + frame, len(frame), 2, false},
		{"one byte more", frame, len(frame) - 1, 0, true},
		{"the second frame", "data: a\n\n" + frame + "data: b\n\n", 50, 1, true},
		{"a line that never ends", strings.Repeat("x", 10_000), 4096, 0, true},
		{"a frame that never ends", strings.Repeat("data: x\n", 10_000), 4096, 0, true},
		{"many frames", strings.Repeat(frame, 1000), len(frame), 1000, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, src := range map[string]io.Reader{
				"at once":      strings.NewReader(tt.input),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.input)),
			} {
				got, err := readAll(src, tt.limit)
				tooLarge, isTooLarge := errors.AsType[*TooLargeError](err)
				if isTooLarge != tt.tooBig || len(got) != tt.events {
					t.Errorf("%s: %d events, then %v", name, len(got), err)
				}
				if isTooLarge && tooLarge.Limit != tt.limit {
					t.Errorf("%s: the error names limit %d", name, tooLarge.Limit)
				}
			}
		})
	}
}

func TestErrorsStay(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := map[string]struct {
		src  io.Reader
		want error
	}{
		"clean end":  {strings.NewReader("data: a\n\n"), io.EOF},
		"cut short":  {strings.NewReader("data: a\n\ndata"), io.ErrUnexpectedEOF},
		"broken":     {io.MultiReader(strings.NewReader("data: a\n\ndata"), iotest.ErrReader(broken)), broken},
		"too large":  {strings.NewReader("data: a\n\n" + strings.Repeat("x", 100) + "\n\ndata: b\n\n"), &TooLargeError{}},
		"no advance": {io.MultiReader(strings.NewReader("data: a\n\n"), idle{}), io.ErrNoProgress},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewReader(tt.src, 50)
			if ev, err := r.Next(); err != nil || string(ev.Data) != "a" {
				t.Fatalf("first event: %q, %v", ev.Data, err)
			}
			_, first := r.Next()
			if _, tooLarge := tt.want.(*TooLargeError); !tooLarge && first != tt.want {
				t.Errorf("got %v, want %v", first, tt.want)
			}
			for range 3 {
				if ev, err := r.Next(); err != first || ev.Raw != nil {
					t.Errorf("later call: %q, %v; want %v again", ev.Raw, err, first)
				}
			}
		})
	}
}

// idle is a source that breaks the rules of io.Reader politely.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestNextDoesNotCopyOrAllocate(t *testing.T) {
	stream := bytes.Repeat([]byte("event: delta\ndata: {\"choices\":[]}\n\n"), 2000)
	r := NewReader(bytes.NewReader(stream), 1<<20)
	r.Next()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

// A stream whose events come one by one waits with the small buffer, also after it had to hold more.
func TestStreamsWaitWithLittle(t *testing.T) {
	t.Parallel()
	small, burst := "data: token\n\n", strings.Repeat("data: token\n\n", 200)
	for name, reads := range map[string][]string{
		"one by one":                           {small, small, small},
		"after a burst":                        {burst, small, small},
		"after a frame larger than any buffer": {"data: " + strings.Repeat("x", 1<<20) + "\n\n", small, small},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &turns{left: slices.Clone(reads)}
			r := NewReader(src, 2<<20)
			var got int
			for {
				ev, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got += len(ev.Raw)
			}
			if want := len(strings.Join(reads, "")); got != want {
				t.Errorf("%d bytes of events, want %d", got, want)
			}
			if src.space != sparseBuffer {
				t.Errorf("it waited with %d bytes, want %d", src.space, sparseBuffer)
			}
		})
	}
}

// turns gives what there is in turns, of which a read never sees two.
type turns struct {
	left  []string
	space int // of the last read
}

func (s *turns) Read(p []byte) (int, error) {
	s.space = len(p)
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.left[0])
	if s.left[0] = s.left[0][n:]; s.left[0] == "" {
		s.left = s.left[1:]
	}
	return n, nil
}

func TestAppendEventIsReadBack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ev   Event
		want string
	}{
		{Event{Data: []byte("a")}, "data: a\n\n"},
		{Event{Data: []byte{}}, "data: \n\n"},
		{Event{}, "\n"},
		{Event{Type: []byte("delta"), ID: []byte("7"), Data: []byte("a\nb\n")}, "event: delta\nid: 7\ndata: a\ndata: b\ndata: \n\n"},
		{Event{Data: []byte("a\r\nb\rc")}, "data: a\ndata: b\ndata: c\n\n"},
		{Event{Type: []byte("x\ndata: forged"), Data: []byte("a")}, "event: xdata: forged\ndata: a\n\n"},
	}
	for _, tt := range tests {
		if got := string(AppendEvent(nil, tt.ev)); got != tt.want {
			t.Errorf("AppendEvent(%q) = %q, want %q", tt.ev, got, tt.want)
		}
	}
	if got, want := string(AppendComment([]byte("x"), "ping\npong")), "x: ping\n: pong\n\n"; got != want {
		t.Errorf("AppendComment = %q, want %q", got, want)
	}
}

func BenchmarkNext(b *testing.B) {
	frame := `data: {"id":"chatcmpl-9x","object":"chat.completion.chunk","created":1730000000,"model":"m-1",` +
		`"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	for _, size := range []struct {
		name  string
		frame string
	}{{"token", frame}, {"megabyte", "data: " + strings.Repeat("x", 1<<20) + "\n\n"}} {
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(size.frame)))
			r := NewReader(&endless{frame: []byte(size.frame)}, 2<<20)
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// endless repeats a frame for ever.
type endless struct {
	frame []byte
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.frame[e.at:])
	e.at = (e.at + n) % len(e.frame)
	return n, nil
}

// Ready knows what has arrived, and does not read to find out.
func TestReady(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reads []string
		want  []bool // after each event
	}{
		{[]string{"data: a\n\ndata: b\n\n", "data: c\n\n"}, []bool{true, false, false}},
		{[]string{"data: a\n\ndata: b\n", "\n: ping\n\n"}, []bool{false, true, false}},
		{[]string{"data: a\r\n\r\ndata: b\r\n\r", "\n"}, []bool{false, false}},
		{[]string{"data: a\r\rdata: b\r\r"}, []bool{true, false}},
		{[]string{"data: a\n\ndata: b"}, []bool{false}},
	} {
		src := &countedReads{parts: tt.reads}
		r := NewReader(src, 1<<20)
		for i, want := range tt.want {
			ev, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			raw, reads := string(ev.Raw), src.n
			if got := r.Ready(); got != want || src.n != reads || string(ev.Raw) != raw {
				t.Errorf("%q: after event %d, which is now %q, %v with %d reads", tt.reads, i, ev.Raw, got, src.n-reads)
			}
		}
	}
}

// countedReads returns one part for each read.
type countedReads struct {
	parts []string
	n     int
}

func (r *countedReads) Read(p []byte) (int, error) {
	r.n++
	if len(r.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.parts[0])
	r.parts = r.parts[1:]
	return n, nil
}
