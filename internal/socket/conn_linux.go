package socket

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
)

// conn is a TCP connection with a Write of its own.
type conn struct {
	*net.TCPConn
	raw syscall.RawConn
}

// wrap returns a connection whose writes do not announce themselves. A connection that is not TCP is returned unchanged.
func wrap(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	return &conn{tcp, raw}
}

// writing is a Write under way. A connection has none of its own, because most connections are silent most of the time.
type writing struct {
	left []byte
	err  error
	step func(fd uintptr) bool
}

var writings = sync.Pool{New: func() any {
	w := new(writing)
	w.step = w.write
	return w
}}

// maxWrite is up to which size a write is worth hiding from the scheduler: the kernel copies a larger one for longer than the
// announcement takes, and others could run meanwhile.
const maxWrite = 64 << 10

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) > maxWrite {
		return c.TCPConn.Write(p)
	}
	w := writings.Get().(*writing)
	w.left = p
	err := c.raw.Write(w.step)
	if err == nil {
		err = w.err
	}
	n := len(p) - len(w.left)
	w.left, w.err = nil, nil
	writings.Put(w)
	return n, c.opError("write", err)
}

// write writes as much as the socket takes. It returns false to be called again when the socket takes more.
func (w *writing) write(fd uintptr) bool {
	for len(w.left) > 0 {
		n, err := Write(fd, w.left)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return false
		case err != nil:
			w.err = os.NewSyscallError("write", err)
			return true
		default:
			w.left = w.left[n:]
		}
	}
	return true
}

// opError returns an error as package net does, nil for none.
func (c *conn) opError(op string, err error) error {
	if err == nil {
		return nil
	}
	if raw, ok := errors.AsType[*net.OpError](err); ok {
		err = raw.Err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
