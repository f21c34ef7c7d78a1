//go:build unix

package http1

import (
	"io"
	"net"
	"os"
	"syscall"

	"penstock/internal/socket"
)

// rawConn is the socket of a connection, nil if it has none.
func rawConn(c net.Conn) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// receive reads what is there. If that is nothing, it returns false and is called again when there is.
func (c *conn) receive(fd uintptr) bool {
	c.borrow()
	for {
		n, err := socket.Read(fd, c.input.buffer[:])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			c.giveBack()
			return false
		case err != nil:
			c.input.err = os.NewSyscallError("read", err)
		case n == 0:
			c.input.err = io.EOF
		}
		c.input.left = c.input.buffer[:max(n, 0)]
		c.input.drained = n < inputBytes
		return true
	}
}

// sendAndReceive sends the pending request if the server said nothing unasked, and then receives. It returns false to wait for the answer,
// and true when the answer has begun or the request was not sent as a whole.
func (c *conn) sendAndReceive(fd uintptr) bool {
	request := &c.request
	if request.buffer == nil {
		return c.receive(fd)
	}
	if c.listen(fd); !c.silent {
		request.err = errUnasked
		return true
	}
	n, err := socket.Write(fd, *request.buffer)
	switch {
	case n == len(*request.buffer):
		c.client.buffers.Put(request.buffer) // the answer may take minutes
		request.buffer = nil
	case err != nil && err != syscall.EAGAIN && err != syscall.EINTR:
		request.err = os.NewSyscallError("write", err)
	}
	c.sent = max(n, 0)
	return request.buffer != nil
}

// listen looks whether there is anything to be read, without waiting for it.
func (c *conn) listen(fd uintptr) bool {
	var one [1]byte
	_, err := socket.Read(fd, one[:])
	c.silent = err == syscall.EAGAIN
	return true
}
