package rest

import (
	"net/http"
	"sync/atomic"
	"time"
)

// writeTimeout is how long a caller may take to receive written data. A caller that stops reading must not hold a
// target's capacity, or other resources, for ever.
const writeTimeout = 30 * time.Second

// lastWrite is how long a caller may take to receive the end of an answer that Penstock ends early.
const lastWrite = 250 * time.Millisecond

// Response records the status that was sent, and aborts the answer of a caller that does not read.
type Response struct {
	http.ResponseWriter
	Status int    // that was sent, 0 while none was
	Begin  func() // called once, before headers are sent; may be nil

	conn   http.ResponseController
	flush  interface{ FlushError() error } // the writer, if it can flush by itself; otherwise conn
	until  time.Time                       // written data must be received by then
	strict bool                            // a deadline that passes ends the answer, even if nothing is being written

	hurried atomic.Bool // its last deadline is set
}

// NewResponse returns the answer to a request.
func NewResponse(w http.ResponseWriter, r *http.Request) *Response {
	a := &Response{ResponseWriter: w, conn: *http.NewResponseController(w), strict: r.ProtoMajor > 1}
	a.flush, _ = w.(interface{ FlushError() error })
	return a
}

// WriteHeader sends the headers.
func (w *Response) WriteHeader(status int) {
	if w.Begin != nil {
		w.Begin()
		w.Begin = nil
	}
	if w.Status == 0 {
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *Response) Write(b []byte) (int, error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.extend()
	return w.ResponseWriter.Write(b)
}

// WriteOn sends a part of the body right after another part. The deadline of that part holds for both.
func (w *Response) WriteOn(b []byte) (int, error) { return w.ResponseWriter.Write(b) }

// extend gives the caller at least half of writeTimeout for the next write. Over HTTP/1.1, the deadline of a silent
// stream may pass without harm. So a stream of many small events moves the deadline rarely, instead of twice per event.
func (w *Response) extend() {
	now := time.Now()
	if w.until.Sub(now) > writeTimeout/2 {
		return
	}
	w.until = now.Add(writeTimeout)
	w.setDeadline(w.until)
}

// setDeadline moves the deadline of writes, unless the last one is set. A writer without deadlines has no slow reader.
func (w *Response) setDeadline(until time.Time) {
	_ = w.conn.SetWriteDeadline(until)
	if w.hurried.Load() {
		_ = w.conn.SetWriteDeadline(time.Now().Add(lastWrite))
	}
}

// Hurry sets the last deadline. It may be called while another goroutine writes.
func (w *Response) Hurry() {
	w.hurried.Store(true)
	_ = w.conn.SetWriteDeadline(time.Now().Add(lastWrite))
}

// Send flushes written data, and does not change the write deadline.
func (w *Response) Send() error {
	if w.flush != nil {
		return w.flush.FlushError()
	}
	return w.conn.Flush()
}

// FlushError flushes written data. The stream may be silent for a long time afterwards.
func (w *Response) FlushError() error {
	err := w.Send()
	if w.strict {
		w.until = time.Time{}
		w.setDeadline(w.until)
	}
	return err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
