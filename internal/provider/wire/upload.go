package wire

import (
	"io"
	"net/http"
	"sync"

	"penstock/internal/body"
)

// upload is the body of a request on its way to the upstream. net/http reads a body on goroutines of its own: it may read one
// again on another connection, and one that the server did not wait for even after the answer is over. So reading is guarded, and
// ends when the upload is closed: from then on nothing refers to the bytes, and their memory can be used for another call.
type upload struct {
	mu      sync.Mutex
	pieces  body.Pieces // nil when nothing opens the body again
	readers int         // those that were opened and have not read all of it
	closed  bool
}

// open returns a reader from the beginning.
func (u *upload) open() io.ReadCloser {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.readers++
	return &uploadReader{upload: u, left: u.pieces}
}

// reopen is an http.Request.GetBody.
func (u *upload) reopen() (io.ReadCloser, error) {
	if u.isClosed() {
		return nil, http.ErrBodyReadAfterClose
	}
	return u.open(), nil
}

// answered is called when the headers of the answer have arrived, or when the request has failed. The transport does not open the body
// again after that. The upload lives as long as the answer, which for a stream is minutes, so answered drops the pieces.
func (u *upload) answered() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pieces = nil
	u.closed = u.closed || u.readers == 0
}

// close ends all reading.
func (u *upload) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pieces, u.closed = nil, true
}

// isClosed reports that nothing reads the bytes any more.
func (u *upload) isClosed() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.closed
}

// uploadReader reads an upload. It drops the pieces that it has read.
type uploadReader struct {
	upload *upload
	left   body.Pieces
	read   int  // of the first of them
	ended  bool // it has read all, or was closed
}

// Read returns io.EOF with the last bytes, which spares the transport another call.
func (r *uploadReader) Read(p []byte) (n int, err error) {
	r.upload.mu.Lock()
	defer r.upload.mu.Unlock()
	if r.upload.closed && len(r.left) > 0 {
		r.left = nil
		return 0, http.ErrBodyReadAfterClose
	}
	for n < len(p) && len(r.left) > 0 {
		more := copy(p[n:], r.left[0][r.read:])
		n, r.read = n+more, r.read+more
		if r.read == len(r.left[0]) {
			r.left, r.read = r.left[1:], 0
		}
	}
	if len(r.left) == 0 {
		r.end()
		return n, io.EOF
	}
	return n, nil
}

func (r *uploadReader) Close() error {
	r.upload.mu.Lock()
	defer r.upload.mu.Unlock()
	r.end()
	return nil
}

// end is called with the lock held.
func (r *uploadReader) end() {
	r.left = nil
	if !r.ended {
		r.ended = true
		r.upload.readers--
	}
}
