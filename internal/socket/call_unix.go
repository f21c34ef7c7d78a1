//go:build unix && (!linux || race)

// The race detector learns from package syscall that a write happens before the read of its bytes.

package socket

import "syscall"

// Read reads from a non-blocking socket. It returns 0 at the end of the stream. An error is a syscall.Errno: EAGAIN if nothing has arrived.
func Read(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }

// Write writes to a non-blocking socket, perhaps not all of p. An error is a syscall.Errno: EAGAIN if the socket takes nothing now.
func Write(fd uintptr, p []byte) (int, error) { return syscall.Write(int(fd), p) }
