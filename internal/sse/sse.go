// Package sse reads and writes server-sent events, byte for byte.
//
// It owns the framing of the text/event-stream format: line ends, fields, comments, and the
// difference between a stream that ended and one that broke off. It does not know what the events
// mean, does not reconnect and sets no timeouts: those belong to the owner of the connection.
//
// Invariants:
//   - Nothing is lost: the Raw bytes of all events, in order, are the bytes of the stream.
//   - How the bytes were cut into reads never shows: the same bytes give the same events.
//   - An event is returned as soon as its last byte has arrived, never one read later.
//   - Memory is bounded by the limit given to [NewReader], whatever the other side sends.
//
// A Reader belongs to one goroutine. The Append functions are pure.
package sse

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"sync"
)

// Event is one frame of a stream: the lines up to and including a blank one. Its slices point into
// the reader's buffers and are valid until the next call of Next or Await.
type Event struct {
	// Type is the value of the event field, empty when there is none.
	Type []byte
	// ID is the value of the id field, empty when there is none.
	ID []byte
	// Data is the values of the data fields, joined by line feeds. It is nil when the frame has no
	// data field at all: a comment that keeps the connection alive, a retry field, a stray blank
	// line. Such frames are no events to a client, but a proxy forwards them.
	Data []byte
	// Raw is the frame as it came, comments, unknown fields and the blank line included.
	Raw []byte
}

// TooLargeError says that a frame is larger than the reader's limit.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("server-sent event is larger than %d bytes", e.Limit)
}

// dense are buffers of streams that send much at once. A stream gives its buffer back when it waits for single events, or ends.
var dense = sync.Pool{New: func() any { return new([denseBuffer]byte) }}

const (
	// sparseBuffer holds a frame of a usual token stream. Thousands of streams can be open at a time, and most of the time
	// they wait: this is what each of them waits with.
	sparseBuffer = 512
	// denseBuffer is for streams of which more than that is there at once.
	denseBuffer = 4 << 10
)

// maxEmptyReads is how often a source may return nothing and no error before it counts as broken.
const maxEmptyReads = 100

var byteOrderMark = []byte("\xef\xbb\xbf")

// Reader reads the events of one stream.
type Reader struct {
	src io.Reader
	max int
	err error // why src has nothing more to give

	buf        []byte             // what was read and not yet returned is buf[start:end]
	dense      *[denseBuffer]byte // from the pool; nil for none
	start, end int
	size       int // of the frame at start, 0 while its end was not found
	line       int // where the current line starts, counted from start
	scanned    int // up to where the current line is known to go on, counted from start
	lines      int // of the frame that have ended, the blank one not included
	first      int // where the first of them ends, counted from start
	got        int // bytes of the last read

	sparse [sparseBuffer]byte // what buf is while events come one by one

	begun  bool   // a frame was returned; only the first can open with a byte order mark
	bareCR bool   // the last line ended in a CR that no LF followed
	joined []byte // the data of an event that has several data lines
}

// NewReader returns a reader of the events in r. A frame of more than maxEventBytes ends the stream
// with a [TooLargeError].
func NewReader(r io.Reader, maxEventBytes int) *Reader {
	return &Reader{src: r, max: min(maxEventBytes, math.MaxInt-1)}
}

// Next returns the next frame, and io.EOF when the stream ended after a complete one.
//
// A stream that ends inside a frame gives io.ErrUnexpectedEOF together with what there is of that
// frame, read as if it had ended there. By the standard a client discards it. It is returned because
// real servers end with "data: [DONE]" and a single line feed, or none: a caller that recognises the
// data as its protocol's last word may take it, anyone else must call the stream truncated.
//
// Any other error comes from the source. Errors stay: later calls return them again.
func (r *Reader) Next() (Event, error) {
	r.Await()
	switch {
	case r.size > r.max || (r.size == 0 && r.end-r.start > r.max):
		r.start, r.size, r.line, r.scanned, r.lines = r.end, 0, 0, 0, 0
		r.err = &TooLargeError{Limit: r.max}
		return Event{}, r.err
	case r.size > 0:
		return r.take(r.size), nil
	case r.err == io.EOF && r.start < r.end:
		r.err = io.ErrUnexpectedEOF
		return r.take(r.end - r.start), r.err
	default:
		return Event{}, r.err
	}
}

// Await returns when Next need not wait. That is all that Next waits for; who has thousands of streams waits here, with
// less of a stack.
func (r *Reader) Await() {
	for r.size == 0 {
		r.size = r.frame()
		if r.size > 0 || r.err != nil || r.end-r.start > r.max {
			return
		}
		r.fill()
	}
}

// Ready reports whether the next frame has arrived as a whole, so that Next returns without reading. It does not read either: the
// event that Next returned stays valid.
func (r *Reader) Ready() bool {
	if r.size == 0 {
		r.size = r.frame()
	}
	return r.size > 0
}

// frame returns the size of the frame at start, and 0 when its end has not been read yet. It
// remembers how far it looked, so that a long frame in small reads is not searched again and again.
func (r *Reader) frame() int {
	have := r.buf[r.start:r.end]
	for r.scanned < len(have) {
		n := lineEnd(have[r.scanned:])
		if n < 0 {
			r.scanned = len(have)
			return 0
		}
		at := r.scanned + n
		text := have[r.line:at]
		blank := len(text) == 0 || (!r.begun && r.line == 0 && bytes.Equal(text, byteOrderMark))
		width := r.breakWidth(have[at:])
		if blank && r.bareCR {
			// In a stream whose lines end in bare CRs, the CR of a blank line must release the event
			// now, not when the next one arrives. An LF that follows becomes a blank line of its own,
			// which means nothing; it does so even if it was read already, so that reads never show.
			width = 1
		}
		if width == 0 {
			r.scanned = at
			return 0
		}
		r.bareCR = have[at] == '\r' && width == 1
		r.line = at + width
		r.scanned = r.line
		if blank {
			return r.line
		}
		if r.lines++; r.lines == 1 {
			r.first = at
		}
	}
	return 0
}

// breakWidth says how many bytes the line break at the start of b takes: 0 when that is not known
// yet, because a CR at the end of what was read may be half a CRLF.
func (r *Reader) breakWidth(b []byte) int {
	switch {
	case b[0] == '\n':
		return 1
	case len(b) == 1 && r.err == nil:
		return 0
	case len(b) > 1 && b[1] == '\n':
		return 2
	default:
		return 1
	}
}

// take consumes size bytes and returns the event they hold.
func (r *Reader) take(size int) Event {
	end := r.start + size
	ev := r.parse(r.buf[r.start:end:end])
	r.begun = true
	r.start = end
	r.size, r.line, r.scanned, r.lines = 0, 0, 0, 0
	return ev
}

// fill reads once, after growing the buffer.
func (r *Reader) fill() {
	r.sizeBuffer()
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.got, r.err = n, err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// sizeBuffer chooses the buffer for the next read: a small one while reads are short, a larger one as soon as a read
// filled the buffer, and one that fits the frame if the frame is larger still.
func (r *Reader) sizeBuffer() {
	held, full := r.end-r.start, r.end == len(r.buf)
	next := r.buf
	switch {
	case held == 0 && !full && r.got <= sparseBuffer, r.buf == nil:
		next = r.sparse[:]
	case full && len(r.buf) < denseBuffer:
		r.dense = dense.Get().(*[denseBuffer]byte)
		next = r.dense[:]
	case held == len(r.buf):
		// One byte past the limit is what proves that a frame is too large.
		next = make([]byte, max(denseBuffer, min(2*len(r.buf), r.max+1)))
	}
	if held == 0 || full {
		copy(next, r.buf[r.start:r.end])
		r.buf, r.start, r.end = next, 0, held
		if len(next) != denseBuffer {
			r.giveBack()
		}
	}
}

// giveBack gives the dense buffer back. Nothing points into it any more.
func (r *Reader) giveBack() {
	if r.dense != nil {
		dense.Put(r.dense)
		r.dense = nil
	}
}

// Close gives the memory of the reader back. No event that the reader returned is valid any more, and no other follows.
func (r *Reader) Close() {
	r.buf, r.start, r.end, r.size = nil, 0, 0, 0
	r.err = cmp.Or(r.err, io.ErrClosedPipe)
	r.giveBack()
}
