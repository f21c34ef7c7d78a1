// Package socket reads and writes TCP sockets without the announcement that Go's scheduler gets before other system calls.
//
// Package syscall announces every system call, because it may block: the scheduler then takes the processor of the thread away, and wakes
// the thread that watches for it (sysmon). A socket of Go's never blocks. So all of that is in vain, and for a stream whose chunks come
// one by one it costs a fifth of the processor time: each chunk finds the process asleep. Decision 0043 has the figures.
//
// The package owns system calls on non-blocking sockets and nothing else. The runtime's poller still waits, and still heeds deadlines
// and Close. Only Linux has such calls; on other systems the functions are those of packages syscall and net.
//
// All functions are safe for concurrent use, as those of a net.Conn are.
package socket

import "net"

// Listener accepts connections that write in the way of this package.
type Listener struct{ net.Listener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wrap(c), nil
}
