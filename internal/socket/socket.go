// Package socket reads and writes TCP sockets without the announcement that Go's scheduler gets before other system calls.
//
// Package syscall announces every system call to the scheduler, because a call may block. In an idle process, the announcement wakes
// sysmon, the thread that takes the processor from blocked threads. Go's sockets are non-blocking, so the announcement is not needed. For
// a stream whose chunks come one by one it costs a fifth of the processor time, because each chunk finds the process idle. Decision 0043
// has the figures.
//
// The package owns system calls on non-blocking sockets and nothing else. The runtime's poller still waits, and still heeds deadlines
// and Close. Only Linux has such calls; on other systems the functions are those of packages syscall and net.
//
// All functions are safe for concurrent use, as those of a net.Conn are.
package socket

import "net"

// Listener accepts connections whose writes do not announce themselves to the scheduler.
type Listener struct{ net.Listener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wrap(c), nil
}
