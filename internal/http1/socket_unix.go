//go:build unix

package http1

import (
	"io"
	"net"
	"os"
	"syscall"
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
		n, err := syscall.Read(int(fd), c.input.buffer[:])
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

// listen looks whether there is anything to be read, without waiting for it.
func (c *conn) listen(fd uintptr) bool {
	var one [1]byte
	_, err := syscall.Read(int(fd), one[:])
	c.silent = err == syscall.EAGAIN
	return true
}
