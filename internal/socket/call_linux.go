//go:build !race

package socket

import (
	"syscall"
	"unsafe"
)

// Read reads from a non-blocking socket. It returns 0 at the end of the stream. An error is a syscall.Errno: EAGAIN if nothing has arrived.
func Read(fd uintptr, p []byte) (int, error) { return call(syscall.SYS_READ, fd, p) }

// Write writes to a non-blocking socket, perhaps not all of p. An error is a syscall.Errno: EAGAIN if the socket takes nothing now.
func Write(fd uintptr, p []byte) (int, error) { return call(syscall.SYS_WRITE, fd, p) }

func call(number, fd uintptr, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
