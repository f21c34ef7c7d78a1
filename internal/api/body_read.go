package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/rest"
)

const (
	// pieceBytes is the size of a piece. Larger bodies are read in pieces, so that memory is allocated for bytes that have
	// arrived, and not for bytes that were announced.
	pieceBytes = 128 << 10
	// promptBytes is how much memory is allocated for a Content-Length alone: most bodies are not larger. Any other body
	// takes one piece before its first byte arrives, so it is no more than that.
	promptBytes = pieceBytes - bytes.MinRead

	// bodyGrace and bodyRate bound how long a caller may take to send a body: bodyGrace, and a second more for each bodyRate
	// bytes that have arrived. A body that stalls is given up after bodyGrace, however large it is.
	bodyGrace = 30 * time.Second
	bodyRate  = 64 << 10
)

// pieces are buffers of pieceBytes.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// readBody reads the whole body of a call, within the configured bounds. Codes: too_large, invalid_request,
// rate_limited, overloaded.
func (c *call) readBody() ([]byte, error) {
	return c.readBodyOf(c.Config.Current().Process.Limits.MaxBodyBytes)
}

// readBodyOf reads a body of so many bytes at the most.
func (c *call) readBodyOf(most int64) ([]byte, error) {
	text, err := c.readText(most)
	if err != nil {
		return nil, err
	}
	return text, c.checkDepth(body.Depth(text))
}

// checkDepth refuses a body that nests too deeply. Codes: invalid_request.
func (c *call) checkDepth(deep int) error {
	if most := c.Config.Current().Process.Limits.MaxJSONDepth; deep > most {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The body nests %d levels deep; at most %d are read.", deep, most)
	}
	return nil
}

// readInference reads the body of a call that is an inference. The scan of the body finds out how deeply it nests, so that most
// bodies are looked at once. Codes: those of readBody.
func (c *call) readInference(d *inferenceEndpoint) (dialect.Inference, error) {
	text, err := c.readText(c.Config.Current().Process.Limits.MaxBodyBytes)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf, err := d.read(text)
	if err == nil {
		return inf, c.checkDepth(inf.Object.Depth())
	}
	if deep := c.checkDepth(body.Depth(text)); deep != nil { // it was not read to its end
		return dialect.Inference{}, deep
	}
	return dialect.Inference{}, err
}

// readText reads a body of so many bytes at the most, however deeply it nests.
func (c *call) readText(most int64) ([]byte, error) {
	if enc := c.R.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, penstock.InvalidParam("Content-Encoding", "Content-Encoding %q is not supported; send the body as it is.", rest.Clip(enc))
	}
	c.memory = c.Bodies.Open(c.Principal.Tenant.ID)
	text, err := c.receiveBody(most)
	if err != nil {
		return nil, c.unreadableBody(err, most)
	}
	if len(text) == 0 {
		return nil, penstock.Errorf(penstock.CodeInvalidRequest, "The body is empty; send a JSON object.")
	}
	return text, nil
}

func (c *call) unreadableBody(err error, most int64) error {
	if _, ours := errors.AsType[*penstock.Error](err); ours {
		return err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return penstock.Errorf(penstock.CodeTooLarge, "The body is larger than %d bytes, the most that is read here.", most)
	}
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Message: "The body could not be read to its end.", Err: err}
}

// receiveBody takes a body off the connection.
func (c *call) receiveBody(most int64) ([]byte, error) {
	// A body that trickles in must not hold a connection for ever. The deadline is lifted afterwards:
	// from then on, reading only serves to notice that the caller left.
	conn := http.NewResponseController(c.W)
	began := c.Clock()
	if err := conn.SetReadDeadline(began.Add(bodyGrace)); err == nil {
		defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	}
	n := c.R.ContentLength
	if n > 0 && n <= min(promptBytes, most) { // the server reads no more than n
		return c.receivePrompt(n)
	}
	r := pieceReader{call: c, from: http.MaxBytesReader(c.W, c.R.Body, most), began: began}
	if n > most { // it is read all the same, so that the caller gets the error
		return nil, r.discard()
	}
	defer r.release()
	return r.read(n)
}

// receivePrompt reads a body of n bytes at once.
func (c *call) receivePrompt(n int64) ([]byte, error) {
	size := bufferSize(n + bytes.MinRead) // the end is read into the rest
	if err := c.memory.Take(size); err != nil {
		return nil, err
	}
	c.body = newBuffer(size)
	got := 0
	for {
		more, err := c.R.Body.Read(c.body.bytes[got:])
		got += more
		if errors.Is(err, io.EOF) {
			return c.body.first(got), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// pieceReader reads a body in pieces. It holds memory for what has arrived, and for one piece more.
type pieceReader struct {
	*call
	from  io.Reader
	began time.Time
	all   []*[pieceBytes]byte
	got   int64
}

// read returns the body. Of one whose length was announced, the second half is read to where it stays: by then there is
// little doubt about its length any more.
func (r *pieceReader) read(announced int64) ([]byte, error) {
	for announced <= 0 || r.got < announced/2 {
		err := r.next()
		if errors.Is(err, io.EOF) {
			return r.join(r.got)
		}
		if err != nil {
			return nil, err
		}
	}
	whole, err := r.join(announced)
	for err == nil && int64(len(whole)) < announced {
		at := len(whole)
		var n int
		n, err = r.fill(whole[at:min(at+pieceBytes, cap(whole))])
		whole = whole[:at+n]
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return whole, nil
}

// next reads the next piece. At the end of the body it returns io.EOF.
func (r *pieceReader) next() error {
	if err := r.memory.Take(pieceBytes); err != nil {
		return err
	}
	piece := pieces.Get().(*[pieceBytes]byte)
	r.all = append(r.all, piece)
	_, err := r.fill(piece[:])
	return err
}

// fill reads until the buffer is full, or returns why it is not: io.EOF at the end of the body, and only there.
func (r *pieceReader) fill(buf []byte) (n int, err error) {
	r.extendDeadline()
	for n < len(buf) && err == nil {
		var more int
		more, err = r.from.Read(buf[n:])
		n += more
	}
	r.got += int64(n)
	return n, err
}

// join puts what was read into one piece of size bytes, and gives the others back.
func (r *pieceReader) join(size int64) ([]byte, error) {
	held := bufferSize(size)
	if err := r.memory.Take(held); err != nil {
		return nil, err
	}
	r.body = newBuffer(size)
	whole := r.body.first(int(size))[:0]
	for left := r.got; left > 0; left -= pieceBytes {
		whole = append(whole, r.all[(r.got-left)/pieceBytes][:min(left, pieceBytes)]...)
	}
	r.release()
	r.memory.Shrink(held)
	return whole, nil
}

// release gives the pieces back.
func (r *pieceReader) release() {
	for _, piece := range r.all {
		pieces.Put(piece)
	}
	r.all = nil
}

// discard reads a body that is too large, and keeps nothing of it.
func (r *pieceReader) discard() error {
	for {
		r.extendDeadline()
		n, err := io.CopyN(io.Discard, r.from, pieceBytes)
		if r.got += n; err != nil {
			return err
		}
	}
}

// extendDeadline gives the rest of a body more time for the bytes that have arrived.
func (r *pieceReader) extendDeadline() {
	earned := time.Duration(r.got) * time.Second / bodyRate
	_ = http.NewResponseController(r.W).SetReadDeadline(r.began.Add(bodyGrace + earned))
}
