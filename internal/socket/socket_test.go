package socket

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// large is a write that a connection does not handle itself if it is one byte longer.
const large = 64 << 10

// pair returns a connection of a Listener, and the connection of its peer.
func pair(t *testing.T) (ours net.Conn, peer *net.TCPConn) {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listener{plain}
	t.Cleanup(func() { _ = l.Close() })
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dialled.Close() })
	ours, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	return ours, dialled.(*net.TCPConn)
}

// noise is text whose parts can be told apart.
func noise(n int) []byte {
	text := make([]byte, n)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(text)
	return text
}

// A peer that reads slowly gets all bytes in their order, although the socket takes few of them at a time.
func TestWriteToASlowReader(t *testing.T) {
	t.Parallel()
	ours, peer := pair(t)
	if err := ours.(interface{ SetWriteBuffer(int) error }).SetWriteBuffer(1); err != nil { // the least that the system has
		t.Fatal(err)
	}
	want := noise(1 << 20)
	failed := make(chan error, 1)
	go func() {
		defer ours.Close()
		for rest, size := want, 1; len(rest) > 0; size = size*3%(large+99) + 1 {
			n, err := ours.Write(rest[:min(size, len(rest))])
			if err != nil || n != min(size, len(rest)) {
				failed <- errors.Join(io.ErrShortWrite, err)
				return
			}
			rest = rest[n:]
		}
		failed <- nil
	}()
	got, err := io.ReadAll(peer)
	if err = errors.Join(err, <-failed); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrived, and they are not those that were sent", len(got))
	}
}

// Writes of several goroutines are not mixed.
func TestWritesAreNotMixed(t *testing.T) {
	t.Parallel()
	ours, peer := pair(t)
	const size, writers, each = 40_000, 4, 20
	ended := make(chan error, writers)
	for n := range writers {
		go func() {
			line := append(bytes.Repeat([]byte{'a' + byte(n)}, size-1), '\n')
			var err error
			for range each {
				_, failed := ours.Write(line)
				err = errors.Join(err, failed)
			}
			ended <- err
		}()
	}
	line := make([]byte, size)
	for range writers * each {
		if _, err := io.ReadFull(peer, line); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, line[:1]) != size-1 || line[size-1] != '\n' {
			t.Fatal("the writes of two goroutines are mixed")
		}
	}
	for range writers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// fill writes until an error.
func fill(c net.Conn) (written int, err error) {
	text := noise(large)
	for err == nil {
		var n int
		n, err = c.Write(text)
		written += n
	}
	return written, err
}

// isWriteError reports whether an error looks like those of package net.
func isWriteError(err error) bool {
	op, ok := err.(*net.OpError)
	return ok && op.Op == "write" && op.Addr != nil && op.Source != nil
}

// A deadline ends a write to a peer that does not read. The bytes that were written are counted.
func TestWriteDeadline(t *testing.T) {
	t.Parallel()
	ours, peer := pair(t)
	if err := ours.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	written, err := fill(ours)
	timeout, ok := errors.AsType[net.Error](err)
	if !ok || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) || !isWriteError(err) {
		t.Fatalf("%#v", err)
	}
	_ = ours.Close()
	if got, err := io.Copy(io.Discard, peer); err != nil || got != int64(written) {
		t.Errorf("%d bytes arrived of %d, %v", got, written, err)
	}
}

// Close ends a write.
func TestCloseEndsAWrite(t *testing.T) {
	t.Parallel()
	ours, _ := pair(t)
	ended := make(chan error, 1)
	go func() {
		_, err := fill(ours)
		ended <- err
	}()
	_ = ours.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) || !isWriteError(err) {
		t.Errorf("%#v", err)
	}
}

// A peer that is gone is an error with the system's own reason.
func TestWriteToAPeerThatLeft(t *testing.T) {
	t.Parallel()
	ours, peer := pair(t)
	if err := errors.Join(peer.SetLinger(0), peer.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := fill(ours)
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) || !isWriteError(err) {
		t.Errorf("%#v", err)
	}
}

// Connections that are not TCP are left alone.
func TestOtherConnections(t *testing.T) {
	t.Parallel()
	ours, peer := net.Pipe()
	defer peer.Close()
	if wrap(ours) != ours {
		t.Error("a pipe was wrapped")
	}
}
