package http1

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

const (
	// parseBytes is memory of every connection. Lines of headers may be longer. All trailers of an answer together may not: they
	// are read from this buffer.
	parseBytes = 1 << 10
	// maxTrailers is how many trailers an answer may have.
	maxTrailers = 16
	// inputBytes is how much is read at a time.
	inputBytes = 4 << 10
	// maxJoined is up to which size a body is sent together with its head: copying it costs less than a list of
	// buffers for the kernel.
	maxJoined = 16 << 10
	// maxInterim is how many answers of the kind "100 Continue" are passed over.
	maxInterim = 5
	// lastWords is how long to wait for what a server said that took no more of a request.
	lastWords = 100 * time.Millisecond
)

// conn is a connection. It belongs to one call at a time; only closing it is everybody's right.
type conn struct {
	net.Conn
	client  *Client
	address string
	raw     syscall.RawConn // that is read; nil if it has none
	below   syscall.RawConn // of the socket, which with TLS is another one; nil if it has none
	probe   func(fd uintptr) bool
	silent  bool // what probe found
	input   input
	request pending
	waiting Phases // of the request whose answer is being read; nil for none
	in      *bufio.Reader
	left    int64 // bytes that may still be read: it bounds headers
	uses    int
	sent    int       // bytes of the request under way
	idle    time.Time // since when
}

func newConn(raw net.Conn, address string, client *Client) *conn {
	c := &conn{Conn: raw, client: client, address: address}
	c.raw = rawConn(raw)
	c.below = c.raw
	if over, ok := raw.(interface{ NetConn() net.Conn }); ok && c.raw == nil {
		c.below = rawConn(over.NetConn())
	}
	c.probe, c.request.send = c.listen, c.sendAndReceive
	c.input.receive, c.input.poll = c.receive, c.receiveNow
	c.in = bufio.NewReaderSize(limited{c}, parseBytes)
	return c
}

// drop closes the connection. What comes of that is nobody's concern any more.
func (c *conn) drop() { _ = c.Conn.Close() }

// limited reads a connection within its bound.
type limited struct{ *conn }

func (l limited) Read(p []byte) (n int, err error) {
	if l.left <= 0 {
		return 0, errHeader
	}
	l.await()
	n, err = l.take(p)
	l.left -= int64(n)
	return n, err
}

// exchange sends a request and reads the head of its answer.
func (c *conn) exchange(ctx context.Context, r *Request) (*http.Response, error) {
	c.uses++
	c.sent = 0
	stop := context.AfterFunc(ctx, c.drop)
	resp, err := c.ask(r)
	if err != nil {
		stop()
		return nil, err
	}
	c.waiting = r.Phases
	resp.Body = &body{conn: c, resp: resp, inner: resp.Body, stop: stop, reusable: !resp.Close, endless: resp.ContentLength < 0}
	return resp, nil
}

func (c *conn) ask(r *Request) (*http.Response, error) {
	if err := c.send(r); err != nil {
		if c.sent == 0 {
			return nil, err
		}
		// A server may answer and stop listening before it has seen everything.
		if c.SetReadDeadline(time.Now().Add(lastWords)) != nil {
			return nil, err
		}
		resp, unread := c.readHead()
		if unread != nil {
			return nil, err
		}
		resp.Close = true
		return resp, nil
	}
	return c.readHead()
}

func (c *conn) send(r *Request) (err error) {
	buffer := c.client.buffers.Get().(*[]byte)
	*buffer = r.appendHead((*buffer)[:0])
	joined := Length(r.Body) <= maxJoined
	if joined {
		for _, piece := range r.Body {
			*buffer = append(*buffer, piece...)
		}
	}
	pooled := c.uses > 1
	if pooled && joined && c.raw != nil {
		return c.sendPooled(buffer)
	}
	defer c.client.buffers.Put(buffer)
	switch {
	case pooled && c.dead():
		return errUnasked
	case joined:
		c.sent, err = c.Conn.Write(*buffer)
		return err
	}
	parts := append(net.Buffers{*buffer}, r.Body...)
	sent, err := parts.WriteTo(c.Conn)
	c.sent = int(sent)
	return err
}

// pending is a request that is sent on a connection from the pool.
type pending struct {
	send   func(fd uintptr) bool
	buffer *[]byte // nil once all of it was sent
	err    error   // why it was not
}

// sendPooled checks a connection from the pool, sends a request, and waits for the first bytes of the answer. It does all of that in one
// visit to the runtime's poller. The poller watches the socket from before the check on: so no byte arrives unnoticed
// between the check and the request, and no read is needed to find out that the answer has not arrived yet.
func (c *conn) sendPooled(buffer *[]byte) error {
	c.request.buffer, c.request.err = buffer, nil
	err := c.raw.Read(c.request.send)
	if c.request.buffer == nil {
		c.input.err = cmp.Or(c.input.err, err) // of the answer
		return nil
	}
	defer c.client.buffers.Put(buffer)
	c.request.buffer = nil
	if err = cmp.Or(c.request.err, err); err != nil {
		return err
	}
	rest, err := c.Conn.Write((*buffer)[c.sent:])
	c.sent += rest
	return err
}

// readHead reads up to the body of the answer.
func (c *conn) readHead() (*http.Response, error) {
	for range maxInterim + 1 {
		c.left = c.client.cfg.MaxHeaderBytes
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			return nil, err
		}
		c.left = math.MaxInt64
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return nil, errSwitched
		}
		if resp.StatusCode >= http.StatusOK {
			return resp, nil
		}
	}
	return nil, errInterim
}

// dead reports whether a connection that is not in use was closed by the server, or said something unasked.
func (c *conn) dead() bool {
	c.silent = false
	return c.below.Read(c.probe) != nil || !c.silent || c.raw == nil && c.decrypted()
}

// decrypted reports whether TLS has something to be read that the socket has no more. A read whose time is over does not wait.
func (c *conn) decrypted() bool {
	if c.SetReadDeadline(time.Unix(1, 0)) != nil {
		return true
	}
	var one [1]byte
	n, err := c.Conn.Read(one[:])
	return n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.SetReadDeadline(time.Time{}) != nil
}

// body is that of an answer. With its end the connection is free.
type body struct {
	conn     *conn
	resp     *http.Response // has the trailers at the end
	inner    io.Reader
	stop     func() bool // no longer heeds the context; false if that has ended
	reusable bool
	endless  bool  // its length is not known, so that only what arrives can say that there is no more
	closed   error // what is read from now on; nil while the connection is held
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed != nil {
		return 0, b.closed
	}
	if b.endless && b.conn.in.Buffered() == 0 {
		b.conn.await() // the reader below would, on a deeper stack
	}
	n, err := b.inner.Read(p)
	if err == io.EOF {
		b.closed = io.EOF
		if len(b.resp.Trailer) > maxTrailers {
			b.closed, b.reusable = errTrailer, false
		}
		b.resp.Trailer = nil // nothing here has a meaning for trailers
		b.release()
		err = b.closed
	}
	return n, err
}

// Close lets go of the connection. If the answer was not read to its end, the server is told by that to stop.
func (b *body) Close() error {
	if b.closed == nil {
		b.closed = errReadLate
		b.stop()
		b.conn.drop()
	}
	return nil
}

// release gives the connection back.
func (b *body) release() {
	b.conn.waiting = nil
	heeded := b.stop()
	if !heeded || !b.reusable || b.conn.in.Buffered() > 0 || !b.conn.input.empty() || b.conn.below == nil {
		b.conn.drop()
		return
	}
	b.conn.client.pool.put(b.conn)
}
